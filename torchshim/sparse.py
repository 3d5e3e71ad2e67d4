"""torch.sparse: importable; there are no sparse tensors yet, so that every function raises NotImplementedError."""
from __future__ import annotations

from .dropin import missing_attribute as _missing_attribute


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.{name}; there are no sparse tensors yet")
    missing.__name__ = missing.__qualname__ = name.rpartition(".")[2]
    missing.__doc__ = "NotImplementedError."
    missing.__unimplemented__ = True
    return missing


for _name in "mm addmm sum softmax log_softmax spdiags sampled_addmm check_sparse_tensor_invariants to_sparse_semi_structured".split():
    globals()[_name] = _missing(f"sparse.{_name}")
for _name in """sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor sparse_compressed_tensor spmm dsmm hsmm
        hspmm""".split():
    globals()[_name] = _missing(_name)
__getattr__ = _missing_attribute(__name__)
