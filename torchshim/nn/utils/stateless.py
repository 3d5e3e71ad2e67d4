"""functional_call: a module with other parameters and buffers for the time of one call."""
from __future__ import annotations

import contextlib

from ...engine import warn
from ...tensor.core.tensor import Tensor
from ..modules.module import Module


def _tied(module):
    """Every name of each tensor that has several."""
    names = {}
    for get in (module.named_parameters, module.named_buffers):
        for name, t in get(remove_duplicate=False):
            names.setdefault(id(t), []).append(name)
    return [group for group in names.values() if len(group) > 1]


def _submodule(module, path):
    """The submodule at a path, with the errors that torch has for one that is none."""
    for part in path.split(".") if path else ():
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
        if not isinstance(module, Module):
            raise TypeError(f"submodule `{path}`: {module} is not an instance of torch.nn.Module")
    return module


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    """A block in which a module has the given tensors in place of its own. What the module puts in their places meanwhile (a buffer
    that `forward` makes anew) is found in `parameters_and_buffers` afterwards. stack_weights changes nothing: the module's own
    tensors always come back in reverse order."""
    tensors = dict(parameters_and_buffers)
    known = {n for get in (module.named_parameters, module.named_buffers) for n, _ in get(remove_duplicate=False)}
    if tie_weights:
        for group in _tied(module):
            given = [n for n in group if n in tensors]
            if len({id(tensors[n]) for n in given}) > 1:
                raise ValueError(f"functional_call got multiple values for keys {sorted(given)}, which are tied. Consider using "
                                 "tie_weights=False")
            for n in group:
                if given:
                    tensors.setdefault(n, tensors[given[0]])
    unexpected = [n for n in tensors if n not in known]
    missing = [n for n in known if n not in tensors]
    if strict and (unexpected or missing):
        what = [f"{kind} key(s): {', '.join(map(repr, sorted(keys)))}." for kind, keys in (("Unexpected", unexpected), ("Missing", missing))
                if keys]
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(what))
    before = []
    try:
        for name, t in tensors.items():
            path, _, last = name.rpartition(".")
            owner = _submodule(module, path)
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"{t} is not an instance of torch.Tensor")
            if not last:
                raise KeyError('tensor name can\'t be empty string ""')
            if not isinstance(getattr(owner, last, t), (Tensor, type(None))):
                raise TypeError(f"attribute `{last}`: {getattr(owner, last)} is not an instance of torch.Tensor")
            if name not in known:
                continue                       # torch ignores what it does not know unless strict
            table = owner._parameters if last in owner._parameters else owner._buffers
            before.append((name, table, last, table[last]))
            table[last] = t
        yield
    finally:
        left = {name: table[last] for name, table, last, _ in before if name in parameters_and_buffers and last in table}
        for _, table, last, t in reversed(before):
            table[last] = t
        parameters_and_buffers.update(left)


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """torch.func.functional_call under the name it had before."""
    warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
         "Please use `torch.func.functional_call` instead which is a drop-in replacement.", FutureWarning)
    return called_with(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def called_with(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with the given tensors in place of its own; the module is as before afterwards."""
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))
