"""The optimizers as functions of lists: parameters, gradients, the entries of their states, and options, as torch.optim.<name>.<name> has
them. They change the parameters and the states in place.
"""
from __future__ import annotations

import inspect

_PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}
_DEFAULTS = {"foreach": None, "fused": None, "grad_scale": None, "found_inf": None}                # those of all other switches: False


def functional(cls, lists, switches, options, **fixed):
    """The function of an optimizer's class. lists: {argument: entry of the state}; switches: arguments that may be left out; options: the
    keywords that must be given; fixed: options that the class has and the function has not."""
    name = cls.__name__.lower()
    of = inspect.Parameter
    given = [of(n, of.POSITIONAL_OR_KEYWORD) for n in ("params", "grads", *lists)]
    given += [of(n, of.POSITIONAL_OR_KEYWORD, default=_DEFAULTS.get(n, False)) for n in switches.split()]
    signature = inspect.Signature(given + [of(n, of.KEYWORD_ONLY) for n in options.split()])

    def run(*args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        a = {**fixed, **bound.arguments}
        if a.get("grad_scale") is not None or a.get("found_inf") is not None:
            raise NotImplementedError(f"torchshim: torch.optim.{name}.{name} with grad_scale or found_inf")
        if not all([hasattr(s, "dim") for s in a.get("state_steps", ())]):
            raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
        group = {**a, **{pair: (a[x], a[y]) for pair, (x, y) in _PAIRS.items() if x in a}}
        cls.run_lists(group, a["params"], a["grads"], {entry: a[n] for n, entry in lists.items()})
    run.__name__ = run.__qualname__ = name
    run.__module__ = cls.__module__
    run.__signature__ = signature
    run.__doc__ = f"One step of {cls.__name__} for lists of parameters, gradients and state entries, in place."
    return run
