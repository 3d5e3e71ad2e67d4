"""functorch.experimental: names that torch.func has now."""
from ...dropin import missing_attribute as _missing_attribute
from ...func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """vmap(func) over `chunks` pieces of the batch, one after the other: the answers are those of `vmap`, which takes it in one piece."""
    if chunks == 1:
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness)
    raise NotImplementedError("torchshim: functorch.experimental.chunk_vmap; torch.vmap has chunk_size")


__getattr__ = _missing_attribute(__name__)
