"""Which operators autocast gives other dtypes, and how calls come to be cast.

While autocast is off nowhere, calls are as if there were no such thing: its first use exchanges the code of the functions that record
operators for one that casts first, its last exit puts their own back. Operators that are on no list run in the dtypes they get.
"""
from __future__ import annotations

import inspect
import threading
import types

from .. import bfloat16, float16, float32, promote_types
from ..engine import context
from ..nn.functional import attention as _attention, ctc as _ctc, distances as _distances, linear as _linear, pooling as _pooling
from ..ops.registry import OPS, T
from ..tensor.core import dispatch
from ..tensor.core.handle import TensorBase, meta

LOWER, SINGLE, WIDEST = "lower", "float32", "widest"
_SMALL = {"float16", "bfloat16", "float32"}    # float64 is never cast

#: {device type: {policy: operators}}, by the names of their declarations.
_LISTS = {
    "cpu": {
        LOWER: """convolution bmm mm linear matmul baddbmm addmm addbmm conv_tbc prelu scaled_dot_product_attention einsum.parsed
            tensordot.dims linalg_multi_dot rnn_layer rnn_relu_cell rnn_tanh_cell""",
        SINGLE: """binary_cross_entropy binary_cross_entropy_with_logits grid_sampler polar prod quantile.any cdist.mode trace
            cholesky.ex cholesky_inverse cholesky_solve linalg_cholesky_ex linalg_inv_ex linalg_solve_ex linalg_qr linalg_svd linalg_svdvals
            linalg_eig linalg_eigvals linalg_eigh linalg_eigvalsh linalg_pinv linalg_lstsq linalg_lu linalg_lu_factor_ex
            linalg_matrix_rank linalg_householder_product linalg_lu_solve ormqr geqrf mse_loss nll_loss hinge_embedding_loss
            poisson_nll_loss smooth_l1_loss cross_entropy_loss cross_entropy_soft l1_loss huber_loss margin_ranking_loss soft_margin_loss
            multi_margin_loss multilabel_margin_loss kl_div fft_c2c fft_c2r fft_r2c max_unpool pad_edge""",
        WIDEST: "cat.tensors stack.tensors index_copy.rows",
    },
    "cuda": {
        LOWER: """convolution bmm mm linear matmul baddbmm addmm addbmm addmv addr conv_tbc prelu scaled_dot_product_attention mv dot
            einsum.parsed inner linalg_multi_dot rnn_layer gru_cell lstm_cell_state rnn_relu_cell rnn_tanh_cell""",
        SINGLE: """acos asin cosh cumprod cumsum dist erfinv exp expm1 log log10 log2 log1p pow reciprocal rsqrt sinh tan
            nn.functional:softplus layer_norm group_norm cosine_similarity poisson_nll_loss nll_loss hinge_embedding_loss kl_div l1_loss
            smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss multi_margin_loss
            binary_cross_entropy_with_logits cross_entropy_loss cross_entropy_soft pdist cdist.mode renorm logsumexp prod softmax
            log_softmax sum linalg_vector_norm""",
        WIDEST: "addcdiv addcmul atan2 bilinear linalg_cross grid_sampler index_put.values tensordot.dims scatter_add.along "
                "cat.tensors stack.tensors",
    },
}
#: Functions above the operators that look at dtypes, or consist of several operators of which torch casts the arguments.
_FUNCTIONS = {
    "cpu": {LOWER: (_attention.scaled_dot_product_attention,),
            SINGLE: (_distances.cosine_embedding_loss, _distances.triplet_margin_loss, _distances.margin_ranking_loss,
                     _pooling.avg_pool3d, _pooling.adaptive_avg_pool3d, _ctc.ctc_loss)},
    "cuda": {LOWER: (_attention.scaled_dot_product_attention,),
             SINGLE: (_distances.cosine_embedding_loss, _distances.triplet_margin_loss, _distances.cosine_similarity)},
}


class _State(threading.local):
    """A thread's modes. `cache` holds the casts of parameters until the outermost autocast ends."""

    def __init__(self):
        self.enabled = {"cpu": False, "cuda": False}
        self.dtypes = {"cpu": bfloat16, "cuda": float16}
        self.cache_enabled, self.nesting, self.cache = True, 0, {}


state = _State()
_lock, _users, _policies = threading.Lock(), [0], {}


def _tables():
    """{device type: {operator or function's name: policy}}."""
    if not _policies:
        known = {o.full_name: o for o in OPS.values()}
        known.update({f"{o.namespace}:{o.name}": o for o in OPS.values() if o.namespace})
        for device, lists in _LISTS.items():
            table = {known[n]: policy for policy, names in lists.items() for n in names.split() if n in known}
            table.update({f.__name__: policy for policy, fs in _FUNCTIONS[device].items() for f in fs})
            _policies[device] = table
    return _policies


def _cast(t, dtype):
    """`t` as `dtype`; a parameter is cast once for all its uses."""
    if t.dtype is dtype:
        return t
    if not (state.cache_enabled and state.nesting and t._ts_edge is True and t._ts_view is None and t.dtype is float32 and context.grad):
        return t.to(dtype)
    known = state.cache.get((id(t), dtype))
    if known is None:
        known = state.cache[id(t), dtype] = (t, t.to(dtype))       # with t, whose id is then no one else's
    return known[1]


def cast(what, tensors, layout=()):
    """The tensors that operator or function `what` is to work with."""
    for t in tensors:
        if isinstance(t, TensorBase):
            device = "cpu" if meta(t).device == "meta" else t.device.type
            break
    else:
        return tensors
    policy = _tables()[device].get(what) if state.enabled.get(device) else None
    if policy is None:
        return tensors
    if "GRU" in layout:                        # of a GRU the products are shortened, not the state
        first, _, *others = cast(what, tensors)
        return [first, tensors[1], *others]
    small = [isinstance(t, TensorBase) and meta(t).dtype.name in _SMALL for t in tensors]
    dtype = state.dtypes[device] if policy is LOWER else float32
    if policy is WIDEST:
        dtype = None
        for t, s in zip(tensors, small):
            if s:
                dtype = t.dtype if dtype is None else promote_types(dtype, t.dtype)
    return [_cast(t, dtype) if s else t for t, s in zip(tensors, small)]


# -- the exchange of code ----------------------------------------------------------------------------------------------------------
def _some(form, op, tensors, layout):
    made = _composed(op, tensors, layout)
    return plain[form](op, *cast(op, tensors, layout), layout) if made is None else made


def _apply1(op, a, layout):
    return _some("apply1", op, (a,), layout)


def _apply2(op, a, b, layout):
    return _some("apply2", op, (a, b), layout)


def _apply3(op, a, b, c, layout):
    return _some("apply3", op, (a, b, c), layout)


def _apply_number(op, a, x, layout, kind):
    return plain["apply_number"](op, *cast(op, (a,)), x, layout, kind)


def _gates(x, h, w_ih, w_hh, b_ih, b_hh):
    return _linear(x, w_ih, b_ih), _linear(h, w_hh, b_hh)


def _gru_cell(x, h, *weights):
    (i_r, i_z, i_n), (h_r, h_z, h_n) = [g.chunk(3, 1) for g in _gates(x, h, *weights)]
    r, z = (h_r + i_r).sigmoid(), (h_z + i_z).sigmoid()
    n = (i_n + h_n * r).tanh()
    return (h - n) * z + n


def _lstm_cell(x, h, c, *weights):
    from_input, from_state = _gates(x, h, *weights)
    i, f, g, o = (from_state + from_input).chunk(4, 1)
    return f.sigmoid() * c + i.sigmoid() * g.tanh(), o.sigmoid()


def _cov(x, correction, fweights, aweights):
    x = x if x.ndim == 2 else x.reshape(1, -1)
    w = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total = x.shape[1] if w is None else w.sum()
    mean = (x if w is None else x * w).sum(1) / total
    norm = total - correction * (1 if w is None or aweights is None or not correction else (w * aweights).sum() / total)
    x = x - mean.unsqueeze(1)
    norm = max(norm, 0) if w is None else norm.clamp(min=0)
    return (x.mm((x if w is None else x * w).mT.conj()) / norm).squeeze()


def _corrcoef(x):
    c = x.cov()
    if not c.ndim:
        return c / c
    dev = c.diag().sqrt()
    return (c / dev[:, None] / dev).clip(-1, 1)


#: Operators that are several in torch, of which autocast on the CPU shortens the products.
_COMPOSED = {"gru_cell": _gru_cell, "lstm_cell_state": _lstm_cell, "cov": _cov, "corrcoef": _corrcoef}


def _composed(op, tensors, layout):
    """What the operators that this one is in torch give, or None: where it is none of those, or not shortened."""
    f = _COMPOSED.get(getattr(op, "full_name", None))
    if f is None or not state.enabled["cpu"] or tensors[0].device.type != "cpu":
        return None
    if op.name in ("cov", "corrcoef"):
        plain["apply"](op, tensors, layout)    # for what it refuses
        if meta(tensors[0]).dtype.name in ("float64", "complex64", "complex128"):
            return None
    given = iter(tensors)
    return f(*[next(given) if part is T else part for part in layout])


def _apply(op, tensors, layout, nums=(), kinds=""):
    made = _composed(op, tensors, layout)
    if made is not None:
        return made
    return plain["apply"](op, cast(op, tensors, layout), layout, nums, kinds)


def _apply_any(op, tensors, layout, nums=(), kinds=""):
    return plain["apply_any"](op, cast(op, tensors, layout), layout, nums, kinds)


def _function(name, args, kwargs):
    names, values = list(kwargs), cast(name, [*args, *kwargs.values()])
    return plain[name](*values[:len(args)], **dict(zip(names, values[len(args):])))


casting = {"apply1": _apply1, "apply2": _apply2, "apply3": _apply3, "apply_number": _apply_number, "apply": _apply, "apply_any": _apply_any}
plain, _codes = {}, {}


def _computing(f):
    """The function whose code computes: where arguments are asked first (see torchshim.overrides), the one behind."""
    return f.__wrapped__ if "_asking" in (f.__kwdefaults__ or ()) else f


def _prepare():
    """For each function the code that it has and the one that casts first, with the same parameters: callers keep what they imported."""
    for f in [getattr(dispatch, n) for n in casting] + [f for by in _FUNCTIONS.values() for fs in by.values() for f in fs]:
        name = f.__name__
        if name in plain:
            continue
        of, f = f, _computing(f)
        copy = plain[name] = types.FunctionType(f.__code__, f.__globals__, name, f.__defaults__, f.__closure__)
        copy.__kwdefaults__ = f.__kwdefaults__
        params = inspect.signature(f).parameters.values()
        positional = [p.name for p in params if p.kind is p.POSITIONAL_OR_KEYWORD]
        named = [p.name for p in params if p.kind is p.KEYWORD_ONLY]
        signature = ", ".join(positional + ["*"] * bool(named) + named)
        call = (f"_casting[{name!r}]({', '.join(positional)})" if name in casting else
                f"_casting_function({name!r}, ({', '.join(positional)},), dict({', '.join([f'{n}={n}' for n in named])}))")
        space = {}
        exec(f"def {name}({signature}):\n    return {call}\n", space)
        f.__globals__.update(_casting=casting, _casting_function=_function)
        _codes[of] = f.__code__, space[name].__code__


def use(step):
    """One user of autocast more (1) or less (-1)."""
    with _lock:
        if not plain:
            _prepare()
        before = _users[0]
        _users[0] += step
        if bool(before) != bool(_users[0]):
            for f, codes in _codes.items():
                _computing(f).__code__ = codes[bool(_users[0])]
