"""torch._C._functorch: what libraries ask of a tensor inside vmap and grad. Levels are numbered from 1, the outermost first."""
from __future__ import annotations

from ..autograd.levels import below, is_traced, levels, rebatched, stand_ins, unbatched
from ..autograd.levels import leads_to
from ..autograd.grad_mode import no_grad
from ..dropin import missing_attribute as _missing_attribute


def _batch(t):
    """(level's number, the level, tensor with its batch, the batch's dimension) at the innermost vmap that batches `t`;
    None where none does."""
    if not is_traced(t):
        return None
    found = levels()
    for n in range(len(found), 0, -1):
        if found[n - 1].kind == "vmap":
            with below(found[n - 1], keep=True):
                got = unbatched([t])
            if got is not None and got[1][0] is not None:
                return n, found[n - 1], got[0][0], got[1][0]
    return None


def _tracking(t):
    """(level's number, the argument of the transform that `t` stands for, or None) at the innermost grad that tracks `t`;
    None where none does."""
    found = levels()
    for n in range(len(found), 0, -1):
        level = found[n - 1]
        if level.kind == "grad" and leads_to(t, level.ins):
            return n, next((g for g, i in zip(level.given, level.ins) if i is t), None)
    return None


def is_batchedtensor(t):
    """Whether a vmap batches the tensor."""
    return _batch(t) is not None and not (_tracking(t) or (0,))[0] > _batch(t)[0]


def is_gradtrackingtensor(t):
    """Whether the innermost transform that knows the tensor is one of derivatives."""
    return _tracking(t) is not None and not is_batchedtensor(t)


def is_functorch_wrapped_tensor(t):
    """Whether any transform knows the tensor."""
    return _batch(t) is not None or _tracking(t) is not None


def is_legacy_batchedtensor(t):
    """False: there is one vmap."""
    return False


def is_functionaltensor(t):
    """False: `functionalize` wraps nothing."""
    return False


def maybe_get_level(t):
    """The number of the innermost transform that knows the tensor, -1 if there is none."""
    return max((_batch(t) or (-1,))[0], (_tracking(t) or (-1,))[0])


def maybe_get_bdim(t):
    """The batch's dimension where a vmap batches the tensor, -1 elsewhere."""
    return _batch(t)[3] if is_batchedtensor(t) else -1


def get_unwrapped(t):
    """The tensor as the innermost transform that knows it was given it: a vmap's with its batch."""
    if is_batchedtensor(t):
        return _batch(t)[2]
    tracked = _tracking(t)
    if tracked is None:
        raise RuntimeError("No wrappers present!")
    return t.detach() if tracked[1] is None else tracked[1]


def unwrap_if_dead(t):
    """The tensor: what a transform that ended knew is one like any other."""
    return t


def maybe_current_level():
    """The number of the innermost transform that runs, None outside of all."""
    return len(levels()) or None


def _level(number):
    found = levels()
    if not 1 <= number <= len(found) or found[number - 1].kind != "vmap":
        raise RuntimeError(f"there is no vmap of level {number}")
    return found[number - 1]


def _add_batch_dim(t, dim, level):
    """The tensor as the function that a running vmap maps sees it, of which dimension `dim` is the batch."""
    if level in stand_ins:
        return stand_ins[level].add(t, dim)
    with no_grad():                            # it leaves its history
        return rebatched([t.movedim(dim, 0)], _level(level))[0]


def _remove_batch_dim(t, level, batch_size, out_dim):
    """What an example's tensor is for all of them, with the batch as dimension `out_dim`; repeated where all share it."""
    if level in stand_ins:
        return stand_ins[level].remove(t, batch_size, out_dim)
    found = _batch(t)
    if found is None or found[0] != level:
        return t.unsqueeze(out_dim).expand(*t.shape[:out_dim], batch_size, *t.shape[out_dim:]) if out_dim is not None else t
    return found[2].movedim(found[3], out_dim)


def _vmap_increment_nesting(batch_size, randomness):
    """NotImplementedError: a vmap is entered by torch.vmap."""
    raise NotImplementedError("torchshim: torch._C._functorch._vmap_increment_nesting; use torch.vmap")


def _vmap_decrement_nesting():
    """NotImplementedError, as `_vmap_increment_nesting`."""
    raise NotImplementedError("torchshim: torch._C._functorch._vmap_decrement_nesting; use torch.vmap")


__getattr__ = _missing_attribute(__name__)
