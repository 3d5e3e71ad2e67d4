"""What the programs here share: a case is a function whose result is told on a line, its name first."""
import os
import signal
import warnings

import torch

warnings.filterwarnings("ignore")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
LIMIT = 60                 # seconds of a case


def shown(x):
    """A value in few characters: of a tensor its shape, dtype, first elements and the mean of their sizes."""
    if isinstance(x, torch.Tensor):
        d = x.detach().resolve_conj()
        d = (d.abs() if d.is_complex() else d).double()
        return (list(x.shape), str(x.dtype), [round(float(v), 4) for v in d.flatten()[:4]], round(float(d.abs().mean()), 4) if d.numel() else None)
    if isinstance(x, (list, tuple)):
        return [shown(v) for v in x]
    if isinstance(x, dict):
        return {k: shown(v) for k, v in x.items()}
    if isinstance(x, float):
        return round(x, 5)
    return x if isinstance(x, (int, str, bool, type(None))) else type(x).__name__


def _out_of_time(*_):
    raise TimeoutError("out of time")


def case(name, f):
    """Tell what `f` returns from a fixed seed, or how it fails."""
    torch.manual_seed(0)
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.alarm(LIMIT)
    try:
        said = repr(shown(f()))
    except Exception as error:
        said = f"ERROR {type(error).__name__} {str(error)[:150]!r}"
    finally:
        signal.alarm(0)
    print(name, said, sep="\t", flush=True)


def cases(space):
    """Tell all functions of a module that begin with `case_`, in the order of its text."""
    for name, f in list(space.items()):
        if name.startswith("case_"):
            case(name[5:], f)


def learned(module, *inputs, **named):
    """(what a module makes, the sum of the sizes of its parameters' gradients for the mean of its sines: that of squares would be constant
    after a norm)."""
    made = module(*inputs, **named)
    made = made[0] if isinstance(made, tuple) or not isinstance(made, torch.Tensor) else made
    made.float().sin().mean().backward()
    return made, float(sum([p.grad.double().abs().sum() for p in module.parameters() if p.grad is not None]))


def trained(module, loss, steps=3, rate=1e-2):
    """The losses of some steps of AdamW, and the one after them when the module has lost its parameters and loaded its state."""
    optimizer, told = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], rate), []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(module)
        value.backward()
        optimizer.step()
        told.append(value.item())
    state = {name: v.clone() for name, v in module.state_dict().items()}
    with torch.no_grad():
        for p in module.parameters():
            p.zero_()
        module.load_state_dict(state)
        return [*told, loss(module).item()]
