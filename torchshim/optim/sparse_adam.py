"""SparseAdam: Adam that touches only what sparse gradients touch."""
from __future__ import annotations

import math

from ..autograd.grad_mode import grad_mode
from ..tensor.api.creation import zeros_like
from ..tensor.api.sparse import sparse_coo_tensor
from ..tensor.core.tensor import Tensor
from ._update import number
from .optimizer import Optimizer, check, check_betas, with_grads


class SparseAdam(Optimizer):
    """Adam for sparse gradients; dense ones are refused, as torch does."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        check(0.0 < (lr.item() if isinstance(lr, Tensor) else lr), f"Invalid learning rate: {lr}")
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
            for p, g in zip(*with_grads(group)):
                if not g.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=zeros_like(p).detach(), exp_avg_sq=zeros_like(p).detach())
                state["step"] += 1
                self._advance(p, g, state, group)
        return loss

    @staticmethod
    def _advance(p, g, state, group):
        """Adam's step for the rows that a gradient has; the averages of the others stay as they are."""
        (beta1, beta2), lr = [number(b) for b in group["betas"]], number(group["lr"])
        with grad_mode(False):
            g = (-g if group["maximize"] else g).coalesce()
            at, rows = g.indices(), g.values()
            if not rows.numel():
                return

            def sparse(values):
                return sparse_coo_tensor(at, values, g.shape, check_invariants=False)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            old_mean, old_square = mean.sparse_mask(g)._values(), square.sparse_mask(g)._values()
            more, more_square = (rows - old_mean) * (1 - beta1), (rows * rows - old_square) * (1 - beta2)
            mean.add_(sparse(more))
            square.add_(sparse(more_square))
            step = (more + old_mean) / ((more_square + old_square).sqrt() + group["eps"])
            size = lr * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
            p.add_(sparse(step * -size))
