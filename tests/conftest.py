"""What every test runs with: no network, and an Inductor cache that outlives neither the machine nor the user's."""

from __future__ import annotations

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), "constviz-inductor"))
