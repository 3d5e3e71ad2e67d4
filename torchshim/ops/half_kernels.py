"""For which operators torch has no kernel of complex32 on the CPU: what computes nothing is refused in its words.

Operators that `op(refuses=...)` refuses for every complex dtype stand there.
"""
from __future__ import annotations

import numpy as np

from . import promotion as P

# what torch computes in complex32, or moves
_HAS = frozenset("""
    abs absolute add addcmul all any as_strided_scatter block_diag cat clone complex conj_physical constant_pad_nd convolution copy
    count_nonzero diag_embed diagonal_copy diff dist embedding eq fill index index_add index_copy index_fill index_put index_reduce
    index_select isclose isfinite isinf isnan isreal kron l1_loss linalg_nan linalg_nonfinite linalg_vector_norm masked_fill masked_select
    more_than mul ne
    neg norm outer outside
    pad_sequence repeat roll rsub sgn stack std std_mean sub tril triu unsafe_view var var_mean where zero""".split())

_VML = "acos asin atan cos exp expm1 log log10 log1p log2 sin sqrt tan tanh"
_PLAIN = """acosh angle asinh atanh cosh logaddexp logical_and logical_not logical_or logical_xor logit reciprocal rsqrt sigmoid sinc sinh
    glu silu"""
_KERNELS = {name: f"{name}_vml_cpu" for name in _VML.split()} | {name: f"{name}_cpu" for name in _PLAIN.split()} | dict(
    addcdiv="addcdiv_cpu_out", addr="addr_cpu", div="div_cpu", true_divide="div_cpu", exp2="exp2", pow="pow", ldexp="pow",
    lerp="lerp_kernel",
    nan_to_num="nan_to_num", dot="dot", vdot="vdot", linalg_cross="cross", trace="trace", logcumsumexp="logcumsumexp_out_cpu",
    logsumexp="exp_vml_cpu", mse_loss="mse_cpu", smooth_l1_loss="smooth_l1_cpu", huber_loss="huber_cpu", prelu="prelu_cpu",
    binary_cross_entropy="binary_cross_entropy", rms_norm="rms_norm", masked_scatter="masked_scatter", unique="unique",
    isin="isin_default_cpu",
    searchsorted="searchsorted_out_cpu", im2col="im2col_out_cpu", col2im="col2im_out_cpu", geqrf="geqrf_cpu", linalg_qr="geqrf_cpu",
    ormqr="ormqr_cpu", linalg_householder_product="orgqr_cpu", linalg_eig="linalg_eig_out_cpu", linalg_eigvals="linalg_eig_out_cpu",
    triangular_solve="triangular_solve_cpu", linalg_solve_triangular="triangular_solve_cpu", cholesky_inverse="cholesky_inverse_out_cpu",
    cholesky_solve="cholesky_solve_cpu", softshrink="softshrink_check", gradient="div_cpu", special_logit="logit_cpu",
    avg_pool="avg_pool2d", max_pool="max_pool1d_impl", adaptive_avg_pool="adaptive_avg_pool2d",
    interpolate_to="compute_indices_weights_nearest",
    aminmax="aminmax_cpu", mode="mode_cpu", median="median_out", hash_tensor="xor_sum_cpu", cov="sum_cpu", corrcoef="sum_cpu",
    trapezoid="sum_cpu", trapz="sum_cpu", cumulative_trapezoid="cumsum_out_cpu", cummax="cummax_cpu", cummin="cummin_cpu")
# these have none where there is something to compute
_WITH_ELEMENTS = dict(
    sum="sum_cpu", mean="sum_cpu", sum_to_size="sum_cpu", prod="prod_out_cpu", cumsum="cumsum_out_cpu", cumprod="cumprod_out_cpu",
    amax="max_values_cpu", amin="min_values_cpu", softmax="softmax_lastdim_kernel_impl", log_softmax="log_softmax_lastdim_kernel_impl",
    mm="addmm_impl_cpu_", matmul="", addmm="addmm_impl_cpu_", addbmm="addmm_impl_cpu_", linear="addmm_impl_cpu_", mv="addmv_impl_cpu",
    addmv="addmv_impl_cpu",
    bmm="bmm", baddbmm="baddbmm", inner="addmm_impl_cpu_", tensordot="addmm_impl_cpu_", linalg_multi_dot="addmm_impl_cpu_", einsum="bmm",
    flip="flip_cpu", rot90="flip_cpu", gather="scatter_gather_tensor_cpu", scatter="scatter_gather_tensor_cpu",
    scatter_add="scatter_gather_tensor_cpu", scatter_reduce="scatter_gather_tensor_cpu", take="take_cpu", put="take_put_cpu",
    pixel_shuffle="pixel_shuffle", pixel_unshuffle="pixel_unshuffle", channel_shuffle="channel_shuffle",
    native_channel_shuffle="channel_shuffle",
    cholesky="cholesky_cpu", linalg_cholesky_ex="cholesky_cpu", linalg_eigh="linalg_eigh_cpu", linalg_eigvalsh="linalg_eigh_cpu",
    linalg_svd="linalg_svd_cpu", linalg_svdvals="linalg_svd_cpu", nuclear_norm="linalg_svd_cpu", linalg_lu="lu_cpu",
    linalg_lu_factor_ex="lu_cpu",
    linalg_det="lu_cpu", linalg_solve_ex="lu_cpu", linalg_lu_solve="linalg.lu_solve_cpu", linalg_ldl_factor_ex="ldl_factor_kernel_cpu",
    ldl_solve="ldl_solve_kernel_cpu", linalg_matrix_exp="bmm", lu_unpack="scatter_gather_scalar_cpu",
    dropout_with="bernoulli_scalar_cpu_", native_dropout_with="bernoulli_scalar_cpu_")
FIRST = frozenset(("addr", "ldexp"))           # whose bodies ask for the common dtype themselves
_SENTENCES = {
    "linalg_inv_ex": "linalg.inv: Low precision dtypes not supported. Got ComplexHalf",
    "linalg_slogdet": "linalg.slogdet: Low precision dtypes not supported. Got ComplexHalf",
    "logdet": "logdet: Low precision dtypes not supported. Got ComplexHalf",
    "linalg_lstsq": "This function doesn't handle types other than float and double",
    "linalg_matrix_rank": "This function doesn't handle types other than float and double",
    **dict.fromkeys(("fft_c2c", "fft_c2r", "fft_r2c"), "MKL FFT doesn't support tensors of type: Half"),
}


def refused(kernel):
    """torch's error for a kernel without complex32."""
    return NotImplementedError(f"\"{kernel}\" not implemented for 'ComplexHalf'")


def missing(op, common, layout, metas):
    """The error for a call of `op`, whose operands have the common dtype `common` (None: each its own), or None."""
    if common is None:
        asked = [x for x in layout if isinstance(x, np.dtype)]
        common = asked[-1] if asked else P.result_type([m.dtype for m in metas if P.kind_of(m.dtype) > 1], (), ())
    name = op.name
    copied = name == "pad_edge" and layout[2] == "circular" or name == "pow" and layout[1] in (0, 1)
    if common is not P.complex32 or name in _HAS or copied:
        return None
    if name in _SENTENCES:
        return RuntimeError(_SENTENCES[name])
    if name in _WITH_ELEMENTS:
        return None if _nothing_to_do(name, layout, metas) else refused(_exact(op, layout, metas))
    return refused(_exact(op, layout, metas))


def _nothing_to_do(name, layout, metas):
    if not all([m.numel for m in metas]) or name in ("inner", "cumsum", "cumprod") and not all([m.ndim for m in metas]):
        return True
    if name == "flip":
        return not _turns(metas[0], layout[1])
    if name == "rot90":
        return not _turns(metas[0], ((), layout[2][1:], layout[2], layout[2][:1])[layout[1] % 4])
    return False


def _turns(m, dims):
    """Whether elements of a row in memory change places: other flips copy rows."""
    long = [d for d, n in enumerate(m.shape) if n > 1]
    turned = [d for d in long if d in [k % m.ndim for k in dims]]
    inner = min(long, key=lambda d: m.strides[d], default=None)
    return bool(turned) and (inner in turned or m.strides[inner] != 1)


def _exact(op, layout, metas):
    """The kernel that this call would run."""
    name = op.name
    kernel = _KERNELS.get(name) or _WITH_ELEMENTS.get(name) or f"{name}_cpu"
    if name == "lerp":
        return "lerp_kernel_tensor" if len(metas) > 2 and metas[2].ndim else "lerp_kernel_scalar"
    if name == "scatter" and len(metas) == 2:
        return "scatter_gather_scalar_cpu"
    if name in ("softmax", "log_softmax"):
        last = metas[0].ndim in (0, layout[1] % max(metas[0].ndim, 1) + 1)
        return f"{name}_{'lastdim_' if last else ''}kernel_impl"
    if name == "pad_edge":
        return f"{'reflection' if layout[2] == 'reflect' else 'replication'}_pad{len(layout[1]) // 2}d"
    if name == "matmul":
        return _product(*metas[:2])
    if name in ("inner", "tensordot") and all([m.ndim == 1 for m in metas]):
        return "dot"
    return kernel


def _product(a, b):
    if b.ndim == 1:
        return "dot" if a.ndim == 1 else "addmv_impl_cpu"
    return "bmm" if b.ndim > 2 else "addmm_impl_cpu_"
