"""gradcheck and gradgradcheck: gradients compared with finite differences.

A Jacobian here has a row for each element of an input and a column for each element of an output.
"""
from __future__ import annotations

import numpy as np

from ..engine import warn
from ..tensor.api.bind import FUNCTIONS
from ..tensor.api.creation import empty_like, zeros_like
from ..tensor.api.joining import stack
from ..tensor.api.sharing import from_numpy
from ..tensor.core.layout import strided
from ..tensor.core.tensor import Tensor
from . import forward_ad
from .batched import walked_once
from .fast_gradcheck import directions, in_full, numbers, weighed
from .function import Function
from .grad_mode import grad_mode

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient is not what it should be."""


_UNDEFINED = ("Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at \"Notes "
              "about undefined output gradients\" in \"tools/autograd/derivatives.yaml\"")
_NEW_CHECK = ("Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
              "callers of this function. If this is true for you, you can call this function with \"check_undefined_grad=False\" to "
              "disable the feature")
_NOT_REENTRANT = ("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                  "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.\n\n"
                  "NOTE: If your op relies on non-deterministic operations i.e., it is listed here:\n"
                  "https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html\nthis failure might be expected.\n\n"
                  "If you are adding a new operator, please file an issue and then use one of the\nworkarounds. The workaround depends on "
                  "how your test invokes gradcheck/gradgradcheck.\nIf the test\n- manually invokes gradcheck/gradgradcheck, then call "
                  "gradcheck/gradgradcheck\n  with `nondet_tol=<tol>` as a keyword argument.\n- is OpInfo-based (e.g., in "
                  "test_ops_gradients.py), then modify the OpInfo for the test\n  to have `gradcheck_nondet_tol=<tol>`.\n- is a Module "
                  "test (e.g., in common_nn.py), then modify the corresponding\n  module_test entry to have `gradcheck_nondet_tol=<tol>`\n")


def _inexact(x):
    return x.is_floating_point() or x.is_complex()


def _tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(outs):
    return tuple([o for o in _tuple(outs) if o.requires_grad])


def _by_values(func, inputs):
    """`func` and its inputs with the values of sparse ones in their places: it is checked where these have elements."""
    made = {k: x for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.layout.name != "strided" and x.requires_grad}
    if not made:
        return func, inputs
    with grad_mode(False):
        parts = [(x._values() if made[k].layout.name == "sparse_coo" else x.values()).clone().requires_grad_() if k in made else x
                 for k, x in enumerate(inputs)]
    return lambda *ts: func(*[_sparse(made[k], t) if k in made else t for k, t in enumerate(ts)]), tuple(parts)


def _sparse(like, values):
    """A tensor as sparse as `like`, with these values."""
    if like.layout.name == "sparse_coo":
        return FUNCTIONS["sparse_coo_tensor"](like._indices(), values, like.shape, check_invariants=False)
    by_rows = like.layout.name in ("sparse_csr", "sparse_bsr")
    first, second = (like.crow_indices(), like.col_indices()) if by_rows else (like.ccol_indices(), like.row_indices())
    return FUNCTIONS["sparse_compressed_tensor"](first, second, values, like.shape, layout=like.layout)


def _check_inputs(inputs):
    wanted = False
    for k, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x.dtype.name not in ("float64", "complex128"):
            warn(f"Input #{k} requires gradient and is not a double precision floating point or complex. This check will likely "
                 "fail if all the inputs are not of double precision floating point or complex. ")
        if any([s == 0 and n > 1 for s, n in zip(x.stride(), x.shape)]):
            raise RuntimeError(f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                               "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                               "passing it to gradcheck.")
        wanted = True
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")


def _numerical(fn, inputs, k, eps, along=None):
    """For each output of `fn` (real arrays) its Jacobian in input `k`, by central differences, or `along` one direction alone. For a complex
    input the derivative along the imaginary axis is the imaginary part, as torch's gradient has it (directions are two then). The input
    itself is changed for a while: what `fn` knows of it in other ways (its closure, a dict that holds it) has to see the same number."""
    x = inputs[k]
    base = np.array(numbers(x), order="C")
    rows = []

    def at(i, step):
        a = base.copy()
        a.reshape(-1)[i] += step
        x.data.copy_(Tensor.new_tensor(x.detach(), a))
        try:
            return [np.array(o) for o in fn(*inputs)]
        finally:
            x.data.copy_(Tensor.new_tensor(x.detach(), base))
    for i, u, w in [(i, 1, 1) for i in range(base.size)] if along is None else [(slice(None), *along)]:
        plus, minus = at(i, eps * u), at(i, -eps * u)
        for k, (p, m) in enumerate(zip(plus, minus)):
            _check_alike(p, m, eps, k if len(plus) > 1 else None)
        row = [(p - m) / (2 * eps) for p, m in zip(plus, minus)]
        if x.is_complex():
            row = [r + 1j * (p - m) / (2 * eps) for r, p, m in zip(row, at(i, eps * 1j * w), at(i, -eps * 1j * w))]
        rows.append(row)
    if not rows:
        return []
    return [np.stack([r[o].reshape(-1) for r in rows]) for o in range(len(rows[0]))]


def _check_alike(p, m, eps, k):
    """AssertionError where an output has another shape or dtype a little aside."""
    at = "" if k is None else f"on index {k} "
    for what, a, b in (("shape", p.shape, m.shape), ("dtype", f"torch.{p.dtype}", f"torch.{m.dtype}")):
        if a != b:
            a, b = (f"torch.Size({list(x)})" if what == "shape" else x for x in (a, b))
            raise AssertionError(f"Expected `func` to return outputs with the same {what} when inputs are perturbed {at}by {eps}, but got: "
                                 f"{what}s {a} and {b}.")


def _analytical(out, inputs, weights=None):
    """The Jacobian of one real output in each input, one backward pass for each of its elements, or for their sum with these weights."""
    from . import grad
    columns = [[] for _ in inputs]
    for j in range(out.numel() if weights is None else 1):
        ct = zeros_like(out.detach()).reshape(-1)
        ct[j if weights is None else slice(None)] = 1 if weights is None else from_numpy(weights)
        gs = grad(out, inputs, ct.reshape(out.shape), retain_graph=True, allow_unused=True)
        for column, g, x in zip(columns, gs, inputs):
            column.append(np.zeros(x.numel(), numbers(x).dtype) if g is None else numbers(g.to_dense()).reshape(-1))
    return [np.stack(c, 1) if c else np.zeros((x.numel(), 0), numbers(x).dtype) for c, x in zip(columns, inputs)]


def _parts(outs):
    """[(what the messages say first, real functions of the outputs)]: complex outputs are looked at part by part."""
    if any([o.is_complex() for o in outs]):
        return [("While considering the imaginary part of complex outputs only, ", lambda os: [o.imag for o in os if o.is_complex()],
                 [k for k, o in enumerate(outs) if o.is_complex()]),
                ("While considering the real part of complex outputs only, ", lambda os: [o.real if o.is_complex() else o for o in os],
                 list(range(len(outs))))]
    return [("", list, list(range(len(outs))))]


def _mismatch(analytical, numerical, o, i, prefix, in_dtype, out_dtype, what="Jacobian"):
    a, n = from_numpy(np.asarray(analytical)), from_numpy(np.asarray(numerical))
    return (f"{prefix}{what} mismatch for output {o} with respect to input "
            f"{i},\nnumerical:{n.to(out_dtype)}\nanalytical:{a.to(in_dtype)}\n")


def _compare(func, inputs, outs, eps, atol, rtol, nondet_tol, fast):
    """Reverse mode against differences; returns these, by input and output, where all is real."""
    diff = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad and _inexact(x)]
    wrt = [inputs[k] for k in diff]
    for prefix, part, which in _parts(outs):
        def made_of(*xs):
            with grad_mode(True):
                made = part([o for o in _differentiable(func(*xs))])
            return [numbers(o) for o in made]
        parts = part(list(outs))
        along, weights = directions(wrt, parts) if fast else ([None] * len(wrt), [None] * len(parts))
        numerical = [_numerical(made_of, inputs, k, eps, u) for k, u in zip(diff, along)]
        for o, (out, v) in enumerate(zip(parts, weights)):
            analytical = _analytical(out, wrt, v)
            again = _analytical(out, wrt, v)
            if any([a.size and np.abs(a - b).max() > nondet_tol for a, b in zip(analytical, again)]):
                raise GradcheckError(_NOT_REENTRANT.format(nondet_tol))
            for i, (a, x, u) in enumerate(zip(analytical, wrt, along)):
                n, within = numerical[i][o] if numerical[i] else np.zeros((0, out.numel())), atol
                if fast:
                    n, a, within = n[0] @ v, weighed(a[:, 0], u), atol * sum([w.sum() for w in u if w is not None]) * v.sum()
                if not np.allclose(a, n, rtol=rtol, atol=within):
                    dtype = from_numpy(np.asarray(n)).dtype if out.dtype.name == "float64" or x.is_complex() else out.dtype
                    text = _mismatch(a, n, which[o], i, prefix, x.dtype, dtype)
                    if fast:
                        n = _numerical(made_of, inputs, diff[i], eps)[o]
                        text += in_full(from_numpy(n).to(dtype), from_numpy(_analytical(out, wrt)[i]).to(x.dtype), rtol, atol)
                    raise GradcheckError(text)
    return None if any([t.is_complex() for t in (*wrt, *outs)]) else numerical


def _compare_forward(func, inputs, outs, eps, atol, rtol, fast, known=None):
    """Forward mode: the tangent along each element of each input against a difference; along both axes where it is complex. known: the
    differences, where they were computed before."""
    diff = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad and _inexact(x)]
    made = [k for k, o in enumerate(_tuple(outs)) if o.requires_grad]

    def values(k, a):
        got = _tuple(func(*inputs[:k], Tensor.new_tensor(inputs[k].detach(), a), *inputs[k + 1:]))
        return [np.asarray(numbers(got[o])).reshape(-1) for o in made]

    def tangents(k, direction):
        with forward_ad.dual_level():
            full = list(inputs)
            for j in diff:
                x = inputs[j].detach()
                full[j] = forward_ad.make_dual(x, Tensor.new_tensor(x, direction) if j == k else zeros_like(x))
            got = _tuple(func(*full))
            pushed = [forward_ad.unpack_dual(got[o]).tangent for o in made]
            return [np.zeros(got[o].numel(), got[o].dtype.np) if t is None else t.numpy(force=True).reshape(-1)
                    for o, t in zip(made, pushed)]

    def both(k, base, unit, along=None):
        """By output: (differences or None, tangents), a row for each element or for the direction `along`."""
        numerical, analytical = [], []
        for at, u in [(j, 1) for j in range(base.size)] if along is None else [(slice(None), along)]:
            direction = np.zeros_like(base)
            direction.reshape(-1)[at] = unit * u
            if known is None:
                plus, minus = values(k, base + eps * direction), values(k, base - eps * direction)
                numerical.append([(p - m) / (2 * eps) for p, m in zip(plus, minus)])
            analytical.append(tangents(k, direction))
        return [(known is None and np.stack([r[o] for r in numerical]), np.stack([r[o] for r in analytical])) for o in range(len(made))]
    axes = [("", 1.0)]
    if any([inputs[k].is_complex() for k in diff]):
        axes = [("While considering the imaginary part of complex inputs only, ", 1j),
                ("While considering the real part of complex inputs only, ", 1.0)]
    for prefix, unit in axes:
        along = directions([inputs[k].detach().real for k in diff], ())[0] if fast else [(None,)] * len(diff)
        for i, (k, (u, *_)) in enumerate(zip(diff, along)):
            x = inputs[k]
            if unit == 1j and not x.is_complex() or not x.numel():
                continue
            base = np.array(numbers(x), order="C")
            for o, (n, a) in enumerate(both(k, base, unit, u)):
                n, within = n if known is None else known[i][o], atol
                if fast:
                    n, a, within = n[0], a[0], atol * u.sum()
                if not np.allclose(a, n, rtol=rtol, atol=within):
                    dtype = _tuple(outs)[made[o]].dtype
                    text = _mismatch(a, n, o, i, prefix, dtype, dtype, "Jacobian computed with forward mode")
                    if fast:
                        known = None
                        text += in_full(*[from_numpy(j).to(dtype) for j in both(k, base, unit)[o]], rtol, atol)
                    raise GradcheckError(text)


def _check_multiplied(outs, wrt):
    from . import grad
    gs = grad(outs, wrt, [zeros_like(o) for o in outs], retain_graph=True, allow_unused=True)
    for g, x in zip(gs, wrt):
        if g is None:
            continue
        if g.layout is not strided and g.layout is not x.layout:
            raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {x.layout})")
        for what in ("sparse_dim", "dense_dim") if g.is_sparse else ():
            made, expected = getattr(g, what)(), getattr(x, what)()
            if made != expected:
                raise GradcheckError(f"grad is sparse tensor, but has incorrect {what} {made}, expected {expected}")
        g = g._values() if g.is_sparse else g if g.layout is strided else g.values()
        if not bool((g == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")


class _Undefined(Function):
    """The same, with no gradient coming back."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return None


def _check_undefined(func, inputs):
    """A gradient that is missing must count as zeros: all of them, then one after the other."""
    from . import grad
    wrt, n = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad], len(_differentiable(func(*inputs)))
    for missing in [range(n), *([k] for k in range(n if n > 1 else 0))]:
        outs = [_Undefined.apply(o) if k in missing else o for k, o in enumerate(_differentiable(func(*inputs)))]
        try:
            gs = grad(outs, wrt, [zeros_like(o) for o in outs], allow_unused=True)
        except RuntimeError as error:
            warn(_NEW_CHECK)
            raise GradcheckError("Expected backward function to handle undefined output grads. Please look at \"Notes about undefined "
                                 "output gradients\" in \"tools/autograd/derivatives.yaml\"") from error
        if any([g is not None and not bool((g == 0).all()) for g in gs]):
            warn(_NEW_CHECK)
            raise GradcheckError(_UNDEFINED)


def _check_undefined_forward(func, inputs):
    """A tangent that is missing must count as zeros."""
    which = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    pushed = {k: u if w is None else u + 1j * w for k, (u, w) in zip(which, directions([inputs[k] for k in which], ())[0])}
    for k in which:
        with forward_ad.dual_level():
            plain = [x.detach() if j in which else x for j, x in enumerate(inputs)]
            duals = [forward_ad.make_dual(x, from_numpy(pushed[j]).reshape(x.shape).to(x.dtype)) if j in which else x
                     for j, x in enumerate(plain)]
            seen = []
            for given in (forward_ad.make_dual(plain[k], zeros_like(plain[k])), plain[k]):
                outs = _tuple(func(*duals[:k], given, *duals[k + 1:]))
                seen.append([forward_ad.unpack_dual(o).tangent for o in outs if isinstance(o, Tensor) and _inexact(o)])
            for o, (a, b) in enumerate(zip(*seen)):
                if a is not None and b is not None and not a.allclose(b):
                    raise GradcheckError("Mismatch in tangent values for output with index: ", o, " when input: ", inputs[k],
                                         " has an undefined tangent value. ", " Got: ", a, " but expected: ", b)


_BATCHED = ("gradcheck or gradgradcheck failed while testing batched gradient computation. Call gradcheck(..., {}=False) to disable this "
            "check; the function's {} does not work under vmap.")


def _check_batched(outs, wrt, inputs):
    """A backward pass for a batch of cotangents must give what one for each of them does."""
    from . import grad
    said = _BATCHED.format("check_batched_grad", "backward")
    if any([isinstance(x, Tensor) and x.requires_grad and x.layout.name != "strided" for x in inputs]):
        raise GradcheckError(f"While computing batched gradients, got: sparse gradients cannot be stacked\n\n{said}")
    for k, o in enumerate(outs):
        cts = [empty_like(o.detach()).normal_() for _ in range(2)]
        each = [grad(o, wrt, ct, retain_graph=True, allow_unused=True) for ct in cts]
        try:
            rows = grad(o, wrt, stack(cts), retain_graph=True, allow_unused=True, is_grads_batched=True)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{said}") from error
        for i, row in enumerate(rows):
            _same_batch(row, [g[i] for g in each], k, i, said)


def _check_batched_forward(func, inputs):
    """The tangents of a batch of directions must be what those of each of them are."""
    for k, x in enumerate(inputs):
        if not (isinstance(x, Tensor) and x.requires_grad and _inexact(x)):
            continue

        def tangents(direction):
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(x.detach(), direction)
                outs = _tuple(func(*[dual if j == k else y.detach() if isinstance(y, Tensor) else y for j, y in enumerate(inputs)]))
                pairs = [forward_ad.unpack_dual(o) for o in outs if o is not None]
                return tuple([zeros_like(p) if t is None else t for p, t in pairs])
        directions = [empty_like(x.detach()).normal_() for _ in range(2)]
        each = [tangents(d) for d in directions]
        said = _BATCHED.format("check_batched_forward_grad", "jvp")
        try:
            rows = walked_once(lambda ts: tangents(*ts), [stack(directions)])
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{said}") from error
        for i, row in enumerate(rows):
            _same_batch(row, [t[i] for t in each], i, k, said)


def _same_batch(row, each, o, i, said):
    if row is None or each[0] is None:
        return
    expected = stack(each)
    if not row.allclose(expected):
        raise GradcheckError(f"For output {o} and input {i}:\n\n{said}\n\nGot:\n{row}\n\nExpected:\n{expected}\n")


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Whether the gradients of `func` at `inputs` (those that require one) agree with finite differences.

    Raises GradcheckError where they do not, or returns False with raise_exception=False. fast_mode: along one random direction, see
    fast_gradcheck.py; else each element is checked.
    """
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    whole = func, _tuple(inputs)
    func, inputs = _by_values(*whole)
    _check_inputs(inputs)
    known = None
    try:
        if check_backward_ad:
            known = _gradcheck(func, inputs, whole, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
                               fast_mode)
        if check_forward_ad:
            with grad_mode(True):
                _compare_forward(func, inputs, func(*inputs), eps, atol, rtol, fast_mode, known)
                if check_batched_forward_grad:
                    _check_batched_forward(func, inputs)
                if check_undefined_grad:
                    _check_undefined_forward(func, inputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _gradcheck(func, inputs, whole, eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, fast):
    from . import grad
    wrt = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    outs = _differentiable(func(*inputs))          # in the caller's mode
    if not outs:
        _check_constant(func, inputs, eps, fast)
        return None
    with grad_mode(True):
        known = _compare(func, inputs, outs, eps, atol, rtol, nondet_tol, fast)
        if check_batched_grad:
            _check_batched(outs, wrt, whole[1])
        if whole[1] is not inputs:                 # gradients of sparse inputs must be as sparse as these
            _check_multiplied(_differentiable(whole[0](*whole[1])), [x for x in whole[1] if isinstance(x, Tensor) and x.requires_grad])
        else:
            _check_multiplied(outs, wrt)
        if check_undefined_grad:
            _check_undefined(func, inputs)
        if check_grad_dtypes:
            gs = grad(outs, wrt, [o.detach() for o in outs], retain_graph=True, allow_unused=True)
            if any([g is not None and g.dtype != x.dtype for g, x in zip(gs, wrt)]):
                raise GradcheckError("Gradient has dtype mismatch")
    return known


def _check_constant(func, inputs, eps, fast):
    def made_of(*xs):
        return [np.asarray(numbers(o)) for o in _tuple(func(*xs)) if isinstance(o, Tensor) and _inexact(o)]
    wrt = [(k, x) for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    along = directions([x for _, x in wrt], ())[0] if fast else [None] * len(wrt)
    for (k, _), u in zip(wrt, along):
        if any([(np.abs(j) > (eps if fast else 0)).any() for j in _numerical(made_of, inputs, k, eps, u)]):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """gradcheck of the gradients of `func`, as functions of `inputs` and of `grad_outputs` (random ones where not given)."""
    from . import grad
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    inputs = _tuple(inputs)
    if grad_outputs is None:
        grad_outputs = tuple([empty_like(o).uniform_(-1, 1).requires_grad_() if o.is_floating_point() else
                              empty_like(o.detach()).normal_().requires_grad_() for o in _differentiable(func(*inputs))])
    else:
        grad_outputs = _tuple(grad_outputs)
    n = len(grad_outputs)
    wanted = [isinstance(x, Tensor) and x.requires_grad for x in inputs + grad_outputs]

    def gradients(*args):
        args = [x.requires_grad_() if on else x for x, on in zip(args, wanted)]       # forward mode gives them without
        xs, cts = args[:-n], args[-n:]         # as in torch, which without outputs calls the function with nothing
        outs = _differentiable(func(*xs))
        wrt = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        return tuple([g for g in grad(outs, wrt, cts, create_graph=True, allow_unused=True) if g is not None])
    return gradcheck(gradients, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
                     fast_mode=fast_mode, masked=masked)
