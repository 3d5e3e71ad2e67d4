"""Adagrad (Duchi, Hazan & Singer, 2011)."""
from __future__ import annotations

from ..autograd.grad_mode import grad_mode
from ..tensor.api.bind import FUNCTIONS
from ..tensor.api.sparse import sparse_coo_tensor
from ._functional import functional
from ._update import Update, add, addcdiv, addcmul, downhill, mul, number, root
from .optimizer import SteppedOptimizer, check, check_first, check_fused, check_lr, host_scalar, scalar_type, sparse_and_dense


def _adagrad(p, g, total, numbers, flags):
    lr, eps, weight_decay = numbers
    g = downhill(p, g, weight_decay, flags)
    total = addcmul(total, g, g, 1)
    if "foreach" in flags:                     # a list that is torch's own is multiplied in place
        g = mul(g, -lr, flags if "weight_decay" in flags or "maximize" in flags else ())
        return addcdiv(p, g, add(root(total), eps), 1), total
    return addcdiv(p, g, add(root(total), eps), -lr), total


class Adagrad(SteppedOptimizer):
    """Gradients over the root of the sum of their squares; the state is there from the beginning."""
    update = Update("adagrad_step", _adagrad)

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):
        check_lr(lr)
        check(0.0 <= lr_decay, f"Invalid lr_decay value: {lr_decay}")
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        check(0.0 <= initial_accumulator_value, f"Invalid initial_accumulator_value value: {initial_accumulator_value}")
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, fused=fused))
        check_fused(self, fused, differentiable, foreach)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(step=host_scalar(0.0, scalar_type(group["fused"])), **self._fresh(p, group))

    def _fresh(self, p, group):
        x = self.defaults["initial_accumulator_value"]
        return {"sum": FUNCTIONS["full_like"](p, complex(x, x) if p.is_complex() else x).detach()}

    def _names(self, group, p):
        return ("sum",)

    def _numbers(self, group, step):
        return group["lr"] / (1 + (step - 1) * group["lr_decay"]), group["eps"], group["weight_decay"]

    def _update_all(self, group, params, grads):
        if params:
            check_first(self, group, params[0])
        if group.get("fused") and any([p.is_complex() or g.is_sparse for p, g in zip(params, grads)]):
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        super()._update_all(group, params, grads)

    def _advance(self, group, step, others, flags, params, grads, states):
        given = params
        sparse, params, grads = sparse_and_dense(given, grads)
        if sparse and group["weight_decay"]:
            first = next(k for k, p in enumerate(given) if p is sparse[0][0])           # those before it have made their steps
            if first:
                super()._advance(group, step, others, flags, params[:first], grads[:first], states[:first])
            self.state[given[first]]["step"].add_(1)
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        for p, g in sparse:
            self._sparse_step(p, -g if group["maximize"] else g, self.state[p], self._numbers(group, step))
            self.state[p]["step"] = host_scalar(step, scalar_type(group["fused"]))
        if params:
            super()._advance(group, step, others, flags, params, grads, [self.state[p] for p in params])

    @staticmethod
    def _sparse_step(p, g, state, numbers):
        """One step for a sparse gradient: only the rows that it has change."""
        with grad_mode(False):
            g = g.coalesce()
            at, rows = g.indices(), g.values()
            state["sum"].add_(sparse_coo_tensor(at, rows * rows, g.shape))
            roots = state["sum"].sparse_mask(g)._values().sqrt() + numbers[1]
            p.add_(sparse_coo_tensor(at, rows / roots, g.shape), alpha=-number(numbers[0]))

    def share_memory(self):
        """Move the state to shared memory."""
        for s in self.state.values():
            s["sum"].share_memory_()


adagrad = functional(Adagrad, {"state_sums": "sum", "state_steps": "step"},
                     "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
                     "lr weight_decay lr_decay eps maximize")
