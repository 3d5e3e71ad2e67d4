"""SparseAdam: Adam that touches only what sparse gradients touch."""
from __future__ import annotations

from .optimizer import Optimizer, check, check_betas, check_lr, number, with_grads


class SparseAdam(Optimizer):
    """Adam for sparse gradients; dense ones are refused, as torch does."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        check(number(lr) > 0.0, f"Invalid learning rate: {lr}")
        check(0.0 < eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        places = [([i, k], p) for i, group in enumerate(self.param_groups) for k, p in enumerate(group["params"])]
        sparse, complex_ = [at for at, p in places if p.is_sparse], [at for at, p in places if p.is_complex()]
        check(not sparse, f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        check(not complex_, f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._loss(closure)
        for group in self.param_groups:
            for g in with_grads(group)[1]:
                if not g.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                raise NotImplementedError("torchshim: SparseAdam with a sparse gradient")
        return loss
