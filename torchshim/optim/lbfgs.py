"""L-BFGS (Nocedal & Wright, Numerical Optimization, algorithms 7.4 and 7.5; line search 3.5 and 3.6 as in minFunc).

Where it goes next hangs on numbers of each iteration, so its own vectors are arrays that NumPy computes with at once: recorded, each length
of the history would be another trace. Those on an accelerator, and short dtypes, stay tensors, for which the same lines hold.
"""
from __future__ import annotations

import numpy as np

from ..autograd.grad_mode import grad_mode
from ..engine import is_host, literal
from ..tensor.api.bind import FUNCTIONS
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import look
from ..tensor.core.tensor import Tensor
from ._update import number
from .optimizer import Optimizer, check, check_lr


def _vector(x):
    """What the iteration computes with: the array of a tensor that NumPy computes with."""
    if isinstance(x, Tensor):
        meta = x._ts_st.value.meta
        if is_host(meta.device) and meta.dtype.itemsize > 2:
            return np.asarray(look(x))
    return x


def _tensor(x):
    """A vector or number as the state keeps it."""
    return wrap(literal(np.asarray(x))) if isinstance(x, (np.ndarray, np.generic)) else x


def _scalar(x):
    """A tensor's number, which Python's numbers do not make more precise: where the line search goes hangs on how differences round."""
    if not isinstance(x, Tensor):
        return x
    return x.item() if x.dtype.name == "bfloat16" else x.numpy()[()]


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with given values and slopes is smallest, within bounds (the two points). Under torch's name:
    libraries of minimisers call it, with tensors."""
    low, high = bounds or sorted((x1, x2))
    a = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = a * a - g1 * g2
    if not square >= 0:
        return (low + high) / 2
    root = square.sqrt() if isinstance(square, Tensor) else np.sqrt(square)
    if x1 > x2:
        x1, g1, x2, g2 = x2, g2, x1, g1
    best = x2 - (x2 - x1) * ((g2 + root - a) / (g2 - g1 + 2 * root))
    return min(max(best, low), high)               # (NaN, of slopes that cancel, stays)


class _Point:
    """A place on the line: its distance, the value, gradient and slope there."""

    def __init__(self, t, f, gradient, slope):
        self.t, self.f, self.gradient, self.slope = t, f, gradient, slope


def _search(evaluate, start, t, direction, tolerance_change, most, c1=1e-4, c2=0.9):
    """(the point found, number of evaluations): one that satisfies the strong Wolfe conditions, or the best one met.

    evaluate(t) is the _Point at distance t, start the one at 0.
    """
    def too_high(p):
        return p.f > start.f + c1 * p.t * start.slope

    def flat(p):
        return abs(p.slope) <= -c2 * start.slope

    now, before, rounds, calls = evaluate(t), start, 0, 1
    bracket = None
    while rounds < most:                           # go on until a bracket is found
        if too_high(now) or (rounds > 1 and now.f >= before.f):
            bracket = [before, now]
        elif flat(now):
            return now, calls
        elif now.slope >= 0:
            bracket = [before, now]
        if bracket:
            break
        reach = now.t + 0.01 * (now.t - before.t), now.t * 10
        t = _cubic_interpolate(before.t, before.f, before.slope, now.t, now.f, now.slope, reach)
        before, now = now, evaluate(t)
        calls += 1
        rounds += 1
    if bracket is None:
        bracket = [start, now]
    low, high = bracket if bracket[0].f <= bracket[1].f else bracket[::-1]
    width, stuck = _scalar(abs(direction).max()), False
    while rounds < most and not abs(high.t - low.t) * width < tolerance_change:      # and narrow it
        first, last = sorted((low.t, high.t))
        t = _cubic_interpolate(bracket[0].t, bracket[0].f, bracket[0].slope, bracket[1].t, bracket[1].f, bracket[1].slope)
        margin = 0.1 * (last - first)
        if min(last - t, t - first) < margin:      # too near an end: twice in a row is no progress
            if stuck or t >= last or t <= first:
                t = last - margin if abs(t - last) < abs(t - first) else first + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = evaluate(t)
        calls += 1
        rounds += 1
        at_low = bracket.index(low)
        if too_high(now) or now.f >= low.f:
            bracket[1 - at_low] = now
            low, high = bracket if bracket[0].f <= bracket[1].f else bracket[::-1]
            continue
        done = flat(now)
        if not done and now.slope * (high.t - low.t) >= 0:
            bracket[1 - at_low] = high = low
        bracket[at_low] = low = now
        if done:
            break
    return low, calls


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """The line search alone, for libraries that import it: (value, gradient, distance, evaluations) of a step from x along d.

    obj_func(x, t, d) gives value and gradient at distance t; f, g and gtd are value, gradient and slope at distance 0, t is tried first.
    """
    def evaluate(at):
        value, gradient = obj_func(x, at, d)
        return _Point(at, value, gradient.clone(), gradient.dot(d))
    found, calls = _search(evaluate, _Point(0, f, g.clone(), gtd), t, d, tolerance_change, max_ls, c1, c2)
    return found.f, found.gradient, found.t, calls


def _as_given(lr, t):
    """The distance as the state has it: a tensor where the learning rate is one, or where it comes of the parameters' numbers."""
    if not isinstance(lr, Tensor):
        return _tensor(t)
    return (lr if lr.is_floating_point() else lr.float()).new_tensor(float(t))


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` differences of parameters and gradients; step(closure) makes up to max_iter.

    line_search_fn: "strong_wolfe", or None for steps of length lr. All parameters form one group, on one device.
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None):
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
                                      tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn))
        check(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    def _gather_flat_grad(self):
        parts = []
        for p in self._params:
            g = p.new_zeros(p.numel()) if p.grad is None else (p.grad.to_dense() if p.grad.is_sparse else p.grad).view(-1)
            parts.append(FUNCTIONS["view_as_real"](g).view(-1) if g.is_complex() else g)
        return _vector(FUNCTIONS["cat"](parts, 0) if len(parts) > 1 else parts[0].clone())

    def _add_grad(self, step_size, direction):
        at = 0
        for p in self._params:
            p = FUNCTIONS["view_as_real"](p) if p.is_complex() else p
            n = p.numel()
            p.add_(_tensor(direction[at:at + n]).view_as(p), alpha=float(step_size))
            at += n

    def _evaluate(self, closure, origin, direction, t):
        """The point at distance t from `origin`, where the parameters are afterwards."""
        self._add_grad(t, direction)
        f = float(closure())
        gradient = self._gather_flat_grad()
        for p, x in zip(self._params, origin):
            p.copy_(x)
        return _Point(t, f, gradient, _scalar(gradient.dot(direction)))

    def _remember(self, state, gradient, size):
        """Add the last step to the history, where the curvature along it is positive."""
        y = gradient - _vector(state["prev_flat_grad"])
        s = _vector(state["d"]) * number(state["t"])
        ys = y.dot(s)
        if not ys > 1e-10:
            return
        lists = state["old_dirs"], state["old_stps"], state["ro"]
        if len(state["old_dirs"]) == size:
            for x in lists:
                x.pop(0)
        for x, new in zip(lists, (y, s, 1.0 / ys)):
            x.append(_tensor(new))
        state["H_diag"] = _tensor(ys / y.dot(y))

    @staticmethod
    def _direction(state, gradient, size):
        """Minus the approximate inverse Hessian times the gradient, by the two loops."""
        ys, ss, ro = [[_vector(x) for x in state[name]] for name in ("old_dirs", "old_stps", "ro")]
        weights = [None] * len(ys)
        q = -gradient
        for i in range(len(ys) - 1, -1, -1):
            weights[i] = ss[i].dot(q) * ro[i]
            q = q - ys[i] * weights[i]
        d = q * _vector(state["H_diag"])
        for i in range(len(ys)):
            d = d + ss[i] * (weights[i] - ys[i].dot(d) * ro[i])
        state.setdefault("al", [None] * size)[:len(ys)] = map(_tensor, weights)
        return d

    def step(self, closure):
        """Up to max_iter iterations; closure() clears the gradients, computes the loss, calls backward and returns the loss."""
        with grad_mode(False), np.errstate(all="ignore"):
            return self._iterate(closure)

    def _iterate(self, closure):
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        lr, size, small = number(group["lr"]), group["history_size"], group["tolerance_change"]
        search = group["line_search_fn"]

        def evaluate():
            with grad_mode(True):
                return closure()
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        begins = not state["n_iter"]
        first = evaluate()
        loss, gradient = float(first), self._gather_flat_grad()
        state["func_evals"] += 1
        evals = 1
        if abs(gradient).max() <= group["tolerance_grad"]:
            return first
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=None, t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1)
                d, t = -gradient, min(1.0, 1.0 / _scalar(abs(gradient).sum())) * lr
            else:
                self._remember(state, gradient, size)
                d, t = self._direction(state, gradient, size), lr
            state.update(d=_tensor(d), t=group["lr"] if t is lr else _as_given(group["lr"], t), prev_flat_grad=_tensor(gradient),
                         prev_loss=loss)
            before, slope = loss, _scalar(gradient.dot(d))
            if slope > -small:
                break
            calls = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                origin = [p.clone() for p in self._params]
                found, calls = _search(lambda at: self._evaluate(evaluate, origin, d, at), _Point(0, loss, gradient, slope),
                                             t, d, 1e-9, group["max_eval"] - evals)
                loss, gradient, t = found.f, found.gradient, found.t
                state["t"] = group["lr"] if t is lr else _as_given(group["lr"], t)
                self._add_grad(t, d)
            else:
                self._add_grad(t, d)
                if n != group["max_iter"]:
                    loss, gradient, calls = float(evaluate()), self._gather_flat_grad(), 1
            evals += calls
            state["func_evals"] += calls
            if (n == group["max_iter"] or evals >= group["max_eval"] or abs(gradient).max() <= group["tolerance_grad"]
                    or float(abs(d).max()) * abs(t) <= small or abs(loss - before) < small):
                break
        if begins and "al" in state:               # torch notes the rest when a call ends
            for name in ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"):
                state[name] = state.pop(name)
        return first
