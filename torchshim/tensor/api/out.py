"""Results into `out=` tensors: resized where the shape differs, and of the dtypes that the operator takes there.

Most operators cast what their kind of dtype allows (no floats into integers). Others want the very dtype of the result, and a few take
any; each family has its own words for what it refuses.
"""
from __future__ import annotations

import functools
import re

import numpy as np

from ...engine import TRACED, context, warn
from ...ops import promotion as P
from ...ops.registry import OPS
from ..core.device import same_device
from ..core.handle import TensorBase, meta, read, tangent_of
from ..core.in_turn import waves
from ..core.write import is_inference, refuse_inference, refuse_overlap, refuse_together, unasked
from .parameters import type_name
from .return_types import written

CASTABLE = "result type {want} can't be cast to the desired output type {got}"
SAME = "Expected out tensor to have dtype {want_cpp}, but got {got_cpp} instead"
FOUND = "Found dtype {got} but expected {want}"
SCALAR_TYPE = "expected scalar type {want} but found {got}"
SAFELY = "Expected {field} to be safely castable from {want} dtype, but got {field} with dtype {got}"
COMPLEX = "{name} expects a complex output tensor, but got {got}"
CAT = "torch.cat(): input types can't be cast to the desired output type {got}"
FLOATING = "{name} expects a floating point output tensor, but got {got}"

#: Where the result's own dtype is wanted: the words, and whose they are. A name with a dot is an overload's.
_SAME = {
    SAME: """addmm addmv baddbmm mm bmm matmul linear cross linalg_cross isin.any isin lu_unpack lu_solve linalg_lu_solve max.dim min.dim
        aminmax argmax argmin argsort.stable frobenius_norm diag softmax log_softmax sort sort.stable msort topk triangular_solve renorm tril triu
        norm gather gather.along scatter scatter_add scatter_reduce index_copy index_add index_reduce slice_scatter take_along_dim
        split_with_sizes_copy unbind_copy alias_copy as_strided_copy diagonal_copy expand_copy permute_copy squeeze_copy t_copy transpose_copy
        unfold_copy unsqueeze_copy view_copy avg_pool2d avg_pool3d
        linalg_det linalg_slogdet linalg_cholesky linalg_cholesky_ex linalg_eigvalsh inverse linalg_inv linalg_inv_ex linalg_ldl_factor
        linalg_ldl_factor_ex linalg_ldl_solve ldl_solve linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_solve linalg_solve_ex
        linalg_svdvals linalg_svd svd linalg_qr qr linalg_eigh linalg_vector_norm cumsum cumprod sum prod""",
    FOUND: "bitwise_not ceil conj_physical floor frac gelu hardshrink neg round sgn sign softplus softshrink trunc",
    SCALAR_TYPE: "logsigmoid linalg_solve_triangular native_batch_norm",
    "expected scalar_type {want} but found {got}": "cummax cummin logcumsumexp",
    "expected scalar type '{want}' but got '{got}' for {field} output": "mode",
    "result dtype {got} does not match input dtype {want}": "dot vdot",
    "self and mat2 must have the same dtype, but got {got} and {want}": "addbmm",
    "Expected object of scalar type {want} but got scalar type {got} for argument 'out'": "complex polar",
    "quantile() out tensor must be same dtype as the input tensor": "quantile nanquantile",
    "{name}(): self and result must have the same scalar type": "masked_select index_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {want} and out.dtype = {got}": "take",
    "Expected the dtype for input and out to match, but got {want} for input's dtype and {got} for out's dtype.": "amax amin",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {want_cpp} and hist {got_cpp}": "histc",
    "linalg.matrix_norm expected out tensor dtype {want} but got: {got}": "linalg_matrix_norm nuclear_norm",
    "linalg.norm expected out tensor dtype {want} but got: {got}": "linalg_norm",
    "linalg.vecdot: Expected out of dtype{want} but found {got}": "linalg_vecdot",
    "multi_dot(): expected out tensor to have dtype {want_cpp} but got {got_cpp}": "linalg_multi_dot chain_matmul",
    "addmv input tensors must have the same dtype, but got {got}, {want}, and {want}": "mv",
    "tensordot: Expected the output tensor to have dtype {want}, but got an output tensor with dtype {got}": "tensordot inner",
    "the output given to float_power has dtype {got} but the operation's result requires dtype {want}": "float_power",
    "nan_to_num: dtype of out: {got} should be same as input: {want}": "nan_to_num",
    "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  If so, please report an "
    "enhancement request to PyTorch.)": "narrow_copy",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{want} and result has dtype {got}": "ormqr",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag "
    "is True, but we got output tensor's dtype {got} and out_int32 flag is {int32}": "searchsorted bucketize",
    "Expected out type to be {want} but got {got}": "where",
    "Expected result to be of dtype uint64, but got {got}": "hash_tensor",
    "nansum: provided dtype must match dtype of result. Got {got} and {want}.": "nansum",
    "nonzero: Expected out tensor to have scalar type {want} but got scalar type{got}": "nonzero",
    "multinomial expects {want} tensor out, got: {got}": "multinomial",
    "{name} does not support non-boolean outputs.": "isposinf isneginf signbit",
}

#: Operators that copy their result into what they have resized, which does not lie as that.
_CONTIGUOUS = {"cholesky", "cholesky_solve", "linalg_tensorinv", "quantile", "nanquantile", "kron"}

#: How the names of those begin that themselves ask where an out tensor is; for others what copies into it does.
#: What torch writes to elements of one place without a word.
_COINCIDING = frozenset(("aten::full", "aten::ones", "aten::zeros", "aten::empty", "aten::randperm", "aten::eye", "mv", "sum", "tril", "triu",
                         "multinomial", "argmax", "argmin"))
_OWN_DEVICE = "linalg_", "gather", "max", "min"

#: Operators that resize what they are given to write to before they look at its dtype.
_SHAPED_FIRST = frozenset("dot expand_copy kron mean stack std t_copy unsqueeze_copy var".split())

#: Where others than CASTABLE speak of what cannot be cast.
_CASTABLE = {
    CAT: "cat concat concatenate stack hstack vstack row_stack dstack column_stack",
    "mvlgamma: " + CASTABLE: "mvlgamma",
    "ldexp can't be cast to the desired output type {got}": "ldexp",
    "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but got false.  (Could this "
    "error message be improved?  If so, please report an enhancement request to PyTorch.)": "max min",
    "torch.linalg.lstsq: " + SAFELY: "linalg_lstsq",
    "torch.geqrf: " + SAFELY: "geqrf",
    "torch.linalg.matrix_rank: " + SAFELY: "linalg_matrix_rank",
    "torch.linalg.householder_product: " + SAFELY: "linalg_householder_product orgqr",
    "linalg.pinv: " + SAFELY: "linalg_pinv pinverse",
    "linalg.cond: " + SAFELY: "linalg_cond",
    "torch.linalg.eig: " + SAFELY: "linalg_eig",
    "torch.linalg.eigvals: " + SAFELY.replace("{field}", "eigenvalues"): "linalg_eigvals",
    "cholesky: " + SAFELY: "cholesky",
    "cholesky_inverse: " + SAFELY: "cholesky_inverse",
    "cholesky_solve: " + SAFELY: "cholesky_solve",
    "tensorinv: " + SAFELY: "linalg_tensorinv",
    "tensorsolve: " + SAFELY: "linalg_tensorsolve",
    COMPLEX: "fft_fft fft_fft2 fft_fftn fft_ifft2 fft_ifftn fft_rfft fft_rfft2 fft_rfftn fft_ihfft2 fft_ihfftn",
    FLOATING: "fft_hfft fft_hfft2 fft_hfftn fft_irfft fft_irfft2 fft_irfftn",
}

def _no_tensor_bounds(x, *bounds):
    return not any([isinstance(b, TensorBase) for b in bounds])


#: Which overload of a name wants the result's own dtype, by the operands.
_EXACT = {**dict.fromkeys(("clamp", "clip", "clamp_min", "clamp_max"), _no_tensor_bounds),
          **dict.fromkeys(("abs", "absolute"), lambda x: P.kind_of(x.dtype.np) < 3),
          "lerp": lambda x, end, weight: isinstance(weight, TensorBase) and weight.ndim > 0}


def can_cast(want, got):
    return P.can_cast(want, got)


def same(want, got):
    return want == got


def _bool_or_byte(want, got):
    return got in (P.bool_, P.uint8)


def _floating(want, got):
    return P.kind_of(got) == 2


#: name -> pairs of a test of the result's and an out tensor's dtype, and what torch says (for each result, where that differs) when it
#: fails
RULES = {name: ((same, words),) for words, names in _SAME.items() for name in names.split()}
RULES |= {name: ((can_cast, words),) for words, names in _CASTABLE.items() for name in names.split()}
RULES |= {name: ((_floating, FLOATING),) for name in _CASTABLE[FLOATING].split()}
#: Whose results have no derivative, so that torch does not ask for that of an out tensor.
_TRUTHS = (lambda want, got: True, ""),
RULES |= {name: _TRUTHS for name in "eq ne lt le gt ge logical_not logical_and logical_or logical_xor".split()}
RULES["lu"] = ()
RULES["bernoulli"] = (lambda want, got: P.kind_of(got) < 3, "\"bernoulli_tensor_cpu_self_\" not implemented for '{got}'"),
RULES |= {name: ((_bool_or_byte, "{name} only supports bool tensor for result, got: {got}"),) for name in ("all", "any")}
RULES |= {name: ((can_cast, COMPLEX), (same, FOUND)) for name in ("fft_ifft", "fft_ihfft")}
RULES |= {name: ((can_cast, "matrix_power: " + SAFELY), (same, SAME)) for name in ("matrix_power", "linalg_matrix_power")}
DEFAULT = (can_cast, CASTABLE),
RULES["mean"] = (can_cast, CASTABLE.replace("{want}", "Float")), (same, SAME)      # whatever is summed
RULES["logsumexp"] = (lambda want, got: P.kind_of(got) > 1, "logsumexp(): Expected floating point type for result tensor, but got: {got}"),
RULES["heaviside"] = ((lambda want, got: P.kind_of(got) < 3, "heaviside is not yet implemented for complex tensors."),
                      (same, "heaviside is not yet implemented for tensors with different dtypes."))
RULES["kthvalue"] = (same, ("output values must be of same type as input", "output indices must be of scalar type {want}")),
RULES["frexp"] = (same, ("torch.frexp() expects mantissa to have dtype {want_cpp} but got {got_cpp}",
                         "torch.frexp() expects exponent to have {want_cpp} dtype but got {got_cpp}")),
RULES["histogram"] = (same, tuple(f"torch.histogram: input tensor and {which} tensor should have the same dtype, but got input "
                                  f"{{want_cpp}} and {which} {{got_cpp}}{place}"
                                  for which, place in (("hist", ""), ("bin_edges", " for dimension 0")))),
RULES["median.dim"] = RULES["nanmedian.dim"] = (same, (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {got_type} does not equal "
    "{want_type} (while checking arguments for {name})",
    "Expected tensor for argument #1 'indices' to have scalar type {want}; but got torch.{got}Tensor instead (while checking arguments for "
    "{name})")),


#: What may share memory with an out tensor where the operator is not elementwise: (how many of its operands may be that very memory but not
#: overlap it in part, whether the others may not share any). Of those that are not here torch does not ask.
SHARED = {name: rule for rule, names in {
    (0, True): """cat concat concatenate stack hstack vstack row_stack dstack column_stack gather index_select take take_along_dim
        masked_select kthvalue mode median nanmedian max min aminmax diff cross linalg_cross""",
    (1, True): "scatter scatter_add scatter_reduce index_copy index_add index_reduce",
    (1, False): "cumsum cumprod logcumsumexp sort topk msort renorm addmm addmv addr baddbmm addbmm",
    (3, False): "where frexp polygamma bernoulli normal"}.items() for name in names.split()}


#: Those that ask whether elements of an out tensor coincide before it is resized.
_BEFORE_RESIZING = frozenset("index_select where take masked_select addr".split())

#: Written in terms of an elementwise kernel, which does ask.
ELEMENTWISE = frozenset(("square", "outer", "ger"))


def refuse_shared(out, operands, rule, anew=False):
    """torch's errors for an out tensor that shares memory with operands, by such a rule. anew: it is resized, so that its own elements do
    not coincide when it is written."""
    each = [y for x in operands for y in (x if isinstance(x, (list, tuple)) else (x,)) if isinstance(y, TensorBase)]
    itself, nothing = rule
    refuse_overlap(out, [x for x in each[:itself] if x is not out], "part" if anew else None)
    if nothing:
        for x in each[itself:]:
            refuse_overlap(out, (x, x) if x is out else (x,), "put")


#: What torch says where it has no kernel for a dtype.
_NO_KERNEL = re.compile(r"^\"\w+\" not implemented for '(\w+)'$")


def rule_of(full_name):
    """The rule of an operator, or of one of its overloads."""
    name = full_name.partition(".")[0]
    other = DEFAULT if name in ("max", "min") else RULES.get(name, DEFAULT)
    return RULES.get(full_name, other)


def dtype_of(out, x, op):
    """The dtype of `out`, in which such an operator of `x` computes unless told otherwise; None if that cannot be."""
    if not isinstance(out, TensorBase) or op.out == "floating dtype" and any([
            isinstance(t, TensorBase) and P.kind_of(t.dtype.np) < 2 for t in (out, x)]):
        return None
    return out.dtype


def writer(full_name):
    """`into` for the results of this operator."""
    return functools.partial(into, rule=rule_of(full_name))


def check_dtype(rule, want, got, name, field="result"):
    """Raise torch's error for an out tensor of dtype `got` where the result's is `want`."""
    for fits, words in rule:
        if not fits(want, got):
            kernel = name.removeprefix("fft_").replace("2", "n")
            error = TypeError if words is CAT else NotImplementedError if "\" not implemented for" in words else RuntimeError
            raise error(words.format(want=P.c_name(want), got=P.c_name(got), want_cpp=P.cpp_name(want), got_cpp=P.cpp_name(got),
                                     want_type=P.type_name(want), got_type=P.type_name(got),
                                     field=field, name=kernel if name.startswith("fft_") else name, int32=want == P.int32))


def _under_vmap():
    return "transform" in context.modes and any([x.kind == "vmap" for x in context.modes["transform"]])


def refuse_drawn(out):
    """torch's error for random numbers that are to be written to a given tensor under vmap."""
    if out is not None and _under_vmap():
        raise RuntimeError("vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as "
                           "a workaround")


#: Which overload has the `out=`, where it is not called "out"; and whose operands are lists.
_OVERLOADS = {"sum": "IntList_out", "prod": "int_out", "sort": "values", "topk": "values", "kthvalue": "values", "mode": "values",
              "max": "dim_max", "min": "dim_min", "median": "dim_values", "nanmedian": "dim_values", "pow": "Tensor_Scalar_out"}
_OF_LISTS = {"cat", "stack", "concat", "hstack", "vstack", "dstack"}


def _refuse_batched(name, *tensors):
    """torch's error for results that are to be written to a given tensor under vmap, where any of the tensors is a batch."""
    if _under_vmap() and any([read(t).extra is TRACED for t in tensors]):
        name = name.removeprefix("aten::")
        raise RuntimeError(f"Batching rule not implemented for aten::{name}.{_OVERLOADS.get(name, 'out')}" + (
            ". We could not generate a fallback." if name in _OF_LISTS else "; the fallback path doesn't work on out= or view ops."))


def into(out, result, name, operands=(), rule=None, field="result"):
    """Write results into `out=` tensors as torch does. `operands` are those of an elementwise operator, which may not overlap it in part,
    or of one that is in SHARED."""
    rule = rule_of(name) if rule is None else rule
    if name in _TENSOR_FIRST and operands and not isinstance(operands[0], TensorBase):
        raise TypeError(f"{name}(): a number comes first")     # the caller tells torch's signatures
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type_name(out)}")
        fields = getattr(result, "_names", (field,) * len(result))
        done = []
        owns = [tuple((fits, words[k] if words.__class__ is tuple else words) for fits, words in rule) for k in range(len(result))]
        if name in ("max", "min", "sort", "topk", "kthvalue") and all([isinstance(o, TensorBase) for o in out]) and not (
                context.grad and (result[0].requires_grad or out[0].requires_grad)):        # dtypes are looked at before anything is written
            for own, o, r, f in zip(owns, out, result, fields):
                check_dtype(own, r.dtype.np, o.dtype.np, name, f)
        for own, o, r, f in zip(owns, out, result, fields):
            done.append(into(o, r, name, operands if name in SHARED else (), own, f))
        return written(type(result))(done)
    if isinstance(out, (tuple, list)) and len(out) == 1:
        out = out[0]
    if not isinstance(out, TensorBase):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    _refuse_batched(name, out, result)
    of_two = name in ("max", "min") and sum([isinstance(x, TensorBase) for x in operands]) == 2        # maximum and minimum
    if name in _LOOKED_AT_FIRST or (name in _COPIED or name in _UNKNOWN) and context.grad:
        check_dtype(rule, result.dtype.np, out.dtype.np, name, field)
    if context.grad and (name in _UNKNOWN or name in _COPIED) and tangent_of(out) is None and tangent_of(result) is None:
        if name in _UNKNOWN and (out.requires_grad or result.requires_grad):
            return _leading_nowhere(out, result, name, rule)
        if out.requires_grad and out.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    elif rule is not _TRUTHS or tangent_of(out) is not None:
        refuse_history(_OF_TWO[name + ".other"] if of_two else name, (out, result))
    if operands and name not in SHARED:        # an elementwise kernel looks at memory, then at shapes, then at dtypes
        refuse_overlap(out, [x for x in operands if isinstance(x, TensorBase)])
        if out.shape != result.shape and any([x is out for x in operands]):
            raise RuntimeError(f"output with shape {list(out.shape)} doesn't match the broadcast shape {list(result.shape)}")
    if name in _EXACT and operands and _EXACT[name](*operands):
        rule = (same, FOUND),
    elif name == "mv" and out.shape not in (result.shape, (1,), ()):           # what does not expand is looked at as a result
        rule = (same, SAME),
    try:
        check_dtype(rule, result.dtype.np, out.dtype.np, name, field)
    except (RuntimeError, TypeError):
        if name in _SHAPED_FIRST and out.shape != result.shape and not out.requires_grad:
            _warn_of_shape(out, result)
            with unasked():
                _reshaped(out, result.shape)
        raise
    if (not operands or name in SHARED) and out.shape == result.shape:         # else it gets memory of its own
        if name not in _COINCIDING:
            refuse_overlap(out)
        refuse_together(name, out)
    if operands and name in SHARED:
        refuse_shared(out, operands, (2, False) if of_two else SHARED[name], out.shape != result.shape and name not in _BEFORE_RESIZING)
        operands = ()
    elif operands:
        if any([isinstance(x, TensorBase) and x._ts_st is out._ts_st for x in operands]):
            shared = [x for x in operands if isinstance(x, TensorBase)]
            if not out.requires_grad and waves(name, (out, *shared), kept=True) is not None:
                raise NotImplementedError(f"torchshim: {name}(out=) of operands that see what it has written")
        same_device(result._ts_meta.device, out._ts_meta.device)
    if result._ts_meta.device != out._ts_meta.device and "meta" in (result.device.type, out.device.type):
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {out.device} instead"
                           if name.startswith(_OWN_DEVICE) else f"Attempting to copy from device {result.device} to device "
                           f"{out.device}, but cross-device copies are not allowed!")
    if out.shape != result.shape:
        _warn_of_shape(out, result)
        inference, context.inference = context.inference, context.inference or is_inference(out)
        grad, history = context.grad, out._ts_edge
        try:
            if history is not None:            # what has no derivative is written all the same
                context.grad = False
            with unasked():
                _resized(out, result, name)
        finally:
            context.inference, context.grad = inference, grad
            if history is not None:
                out._ts_edge = history
        refuse_inference(out)                  # after it is done: that is when torch notices
        return out
    if "transform" in context.modes:
        with unasked():
            out.copy_(result)
    elif context.grad is True and out.requires_grad and name not in _COPIED:            # what has no derivative is written all the same
        context.grad = False
        try:
            out.copy_(result)
        finally:
            context.grad = True
    else:
        out.copy_(result)
    return out


def _warn_of_shape(out, result):
    if out.numel() > 0:
        warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
             f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
             "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse "
             "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).")


def _reshaped(out, shape):
    from .shape import resized
    resized(out, tuple(shape))


def _resized(out, result, name):
    """Give `out` the shape of the result, and what that holds. All of it counts as one write."""
    from .views import bump_version
    _reshaped(out, result.shape)
    strides = meta(out).strides if name in _CONTIGUOUS or name.startswith("fft_") and name != "fft_ihfft" else meta(result).strides
    if strides != meta(out).strides:           # an output that is made anew lies as the result would
        span = 1 + sum([(n - 1) * s for n, s in zip(result.shape, strides)]) if result.numel() else 0
        if span > result.numel():              # with gaps
            _reshaped(out, (span,))
        out.as_strided_(result.shape, strides)
        bump_version(out, -1)
    (out if name in _COPIED else out.data).copy_(result)


def _leading_nowhere(out, result, name, rule):
    """`into` without a history, and then with one of which nothing is known."""
    done = unfollowed(name, out, result)
    into(out, result.detach(), name, (), rule)
    return done()


def unfollowed(name, out, *sources):
    """Before something is written into `out` by a form of which torch's autograd knows nothing: torch's refusal of histories, or a function
    that gives `out` a history that leads nowhere once that is done."""
    from .undefined import no_derivative
    wanting = [t for t in (out, *sources) if context.grad and t.requires_grad]
    if name not in _UNKNOWN or not wanting or out._ts_view is not None or out.requires_grad and out.is_leaf:
        refuse_history(_UNKNOWN.get(name, name), (out, *sources))
        return lambda: out
    edge = no_derivative(out.detach().clone(), wanting, _UNKNOWN[name])._ts_edge
    out._ts_edge = None

    def done():
        out._ts_edge = edge
        return out
    return done


def history_first(op, name, args, out, error):
    """What an operator says with `out=` where its arguments do not fit, or None: first that it has no history, and before it asks for a
    kernel what it says of the dtype of `out`."""
    if out is None or not isinstance(error, (RuntimeError, IndexError)):
        return None
    if isinstance(error, NotImplementedError) and not str(error).startswith("clamp is not"):
        return _dtype_first(op, name, args, out, error)
    given = [x for a in (*args, out) for x in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(x, TensorBase)]
    try:
        if context.grad and op.grad not in (None, "NotImplemented") and name not in _UNKNOWN:
            refuse_history(_OF_TWO.get(op.full_name, name), given)
        if op.elementwise and name not in SHARED and isinstance(out, TensorBase):      # kernels look at memory before shapes
            refuse_overlap(out, given[:-1])
    except RuntimeError as first:
        return first.with_traceback(None)
    return None


#: Functions whose kernel looks at what does not fit, after the graph was asked.
_LOOKS_LATE = frozenset("cat concat concatenate stack index_select gather take where linalg_inv".split())


def history_of(name, args, out, error):
    """Likewise of a function of the facade."""
    if out is None or name not in _LOOKS_LATE or not isinstance(error, (RuntimeError, IndexError)):
        return None
    given = [x for a in (*args, out) for x in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(x, TensorBase)]
    try:
        refuse_history(name, given)
    except RuntimeError as first:
        return first.with_traceback(None)
    return None


def _dtype_first(op, name, args, out, error):
    lacking = _NO_KERNEL.search(str(error))
    first, field = (out[0], op.fields[0]) if op.fields and isinstance(out, (tuple, list)) and out else (out, "result")
    if lacking is None or not isinstance(first, TensorBase) or op.out != True:  # noqa: E712  (others compute in the dtype of `out`)
        return None
    want = np.dtype(np.int64) if name in ("searchsorted", "bucketize") else P.of_c_name(lacking[1])
    rule = ((same, FOUND),) if name in _EXACT and _EXACT[name](*args) else rule_of(op.full_name)
    try:
        check_dtype(tuple([(fits, words[0] if words.__class__ is tuple else words) for fits, words in rule]), want, first.dtype.np, name,
                    field)
    except RuntimeError as said:
        return said.with_traceback(None)
    return None


#: Aliases that are functions of their own here, and what calls the out= form of another function.
_WRITTEN = {name: called for called, names in dict(
    abs="absolute", div="true_divide", cat="concat concatenate hstack vstack row_stack dstack column_stack",
    linalg_vector_norm="norm", _linalg_det="linalg_det det", linalg_inv_ex="linalg_inv inverse", mm="linalg_multi_dot chain_matmul",
    mul="kron outer ger", nansum="nanmean", gather="take_along_dim", _linalg_svd="linalg_svdvals", _linalg_solve_ex="linalg_solve",
    matmul="linalg_matrix_power matrix_power", sub="diff", pow="square", log_sigmoid_forward="logsigmoid",
    sum="linalg_matrix_rank").items() for name in names.split()}
_OF_TWO = {"max.other": "maximum", "min.other": "minimum"}
#: Whose out tensor is looked at before histories are.
_LOOKED_AT_FIRST = frozenset("""any all argmax argmin nonzero isin multinomial isneginf isposinf signbit searchsorted bucketize
    linalg_multi_dot chain_matmul linalg_matrix_power matrix_power""".split())
#: Whose signatures with a number first have no out=.
_TENSOR_FIRST = frozenset("remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split())
#: That compute a result and copy it, which is followed.
_COPIED = frozenset("linalg_norm linalg_matrix_norm linalg_cond quantile nanquantile".split())
#: Of whose out= forms torch's autograd knows nothing: by the name that it calls them, what they write has a history that leads nowhere.
_UNKNOWN = {name: f"aten::{name}" for name in "floor_divide softmax log_softmax heaviside conj_physical linalg_eigvals".split()} | {
    "diag": "aten::diagonal_copy"} | {
    f"aten::{made}": f"aten::{made}" for made in "full zeros ones arange normal rand eye linspace logspace range".split()}


@functools.cache
def _spoken(name):
    """What the out= form of an operator is called by autograd: an alias's by what it stands for."""
    if name in _WRITTEN:
        return _WRITTEN[name]
    for op in OPS.values():
        if name in [a.replace(".", "_") for a in op.aliases]:
            return op.name
    return f"aten::{name}" if name.startswith("bitwise_") else name


def refuse_history(name, tensors):
    """torch's errors for an out= form whose output or operands take part in differentiation."""
    if any([tangent_of(t) is not None for t in tensors]):
        raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it is an out= function")
    if context.grad and any([t.requires_grad for t in tensors]):
        raise RuntimeError(f"{_spoken(name)}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
