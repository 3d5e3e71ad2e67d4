"""softmax, softmin, log_softmax, gumbel_softmax."""
from __future__ import annotations


from ...engine import context, warn
from ...ops.nn import softmax as ops
from ...tensor.api.bind import call
from ...tensor.core.dtype import dtype as torch_dtype
from ...tensor.core.handle import TensorBase
from ...tensor.core.memory_format import FORMATS


def _get_softmax_dim(name, ndim, stacklevel=3):
    """The dimension that very old code leaves out. stacklevel changes nothing: the warning is at the user's line."""
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


def _as_asked(input, dtype):
    """The input in the dtype that is asked for: cast by an operator of its own, as in torch, so that what follows is the usual softmax."""
    if dtype is None or not isinstance(dtype, torch_dtype) or not isinstance(input, TensorBase) or input.dtype is dtype:
        return input
    return input.to(dtype)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) along `dim`; dtype: cast before."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim())
    try:
        return call(ops.softmax, (_as_asked(input, dtype), dim, dtype))
    except TypeError:
        input.softmax                          # the method that torch looks up on whatever was given
        raise


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)) along `dim`; dtype: cast before."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim())
    try:
        return call(ops.log_softmax, (_as_asked(input, dtype), dim, dtype))
    except TypeError:
        input.log_softmax                      # the method that torch looks up on whatever was given
        raise


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim())
    return call(ops.softmax, (_as_asked(-input, dtype), dim, dtype))


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution; hard: one-hot, with the gradient of the soft sample."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    from ...tensor.api.creation import empty_like, zeros_like
    contiguous = {"memory_format": FORMATS["contiguous_format"]}
    if not isinstance(logits, TensorBase):
        empty_like(logits, **contiguous)       # refuses it
    # under vmap one for each example
    room = logits.detach().clone() if "transform" in context.modes else empty_like(logits.detach(), **contiguous)
    noise = -room.exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = zeros_like(logits.detach(), **contiguous).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft

