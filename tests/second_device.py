"""The host's further devices stand in for GPUs: "cuda" means them. Everything but a GPU's own arithmetic is as there."""
import sys

import jax


def devices():
    """JAX's GPUs; without one the host's devices but the first, of which conftest.py asks for some."""
    try:
        return jax.devices("gpu")
    except RuntimeError:
        return jax.devices("cpu")[1:]


def imitate(replace):
    """Let torchshim take `devices()` for its GPUs; `replace(module, name, value)` as pytest's monkeypatch.setattr."""
    import torchshim.accelerator, torchshim.backends.cuda, torchshim.cuda, torchshim.serialization  # noqa: E401, F401
    from torchshim.engine import device as naming
    from torchshim.tensor.core import device as finding
    found, name, accelerators = devices(), naming.device_name, finding.accelerators
    new = {name: lambda d: f"cuda:{found.index(d)}" if d in found else name(d),
           accelerators: lambda kind: found if kind == "cuda" else accelerators(kind)}
    for module in [m for n, m in sys.modules.items() if n.startswith("torchshim")]:
        for key, value in list(vars(module).items()):
            if value is name or value is accelerators:
                replace(module, key, new[value])
