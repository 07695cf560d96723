"""What every test runs with: no network, no timing unless a test asks for it, a cache of Inductor's of its own."""

from __future__ import annotations

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["CONSTVIZ_BUDGET_S"] = "0"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), "constviz-inductor"))
