"""What a shell and PyTorch hold that might have been changed."""

from __future__ import annotations

from constviz.capture.seam import PRIVATE_NAMES


def patchable():
    """Everything of PyTorch that might have been patched, and IPython's own lists."""
    import torch
    import torch._dynamo

    found = {"torch.compile": torch.compile, "Module.compile": torch.nn.Module.compile}
    for name in PRIVATE_NAMES:
        parts, value = name.split(".")[1:], torch
        for part in parts:
            value = getattr(value, part, None)
        if callable(value):
            found[name] = value
    return found


def hooks(ip):
    return {
        "transforms": list(ip.input_transformers_cleanup),
        "events": {name: list(found) for name, found in ip.events.callbacks.items()},
        "magics": {kind: set(found) for kind, found in ip.magics_manager.magics.items()},
        "matchers": list(ip.Completer.custom_matchers),
        "registry": set(ip.magics_manager.registry),
        "attributes": set(vars(ip)),
    }
