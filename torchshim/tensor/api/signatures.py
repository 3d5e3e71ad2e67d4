"""torch's argument errors for functions written in terms of others.

In torch their arguments pass a parser before anything else is asked. Here nothing is parsed while all goes well: a call that fails is
compared with torch's signatures, and if none takes the arguments the error is the parser's. Declared operators have their signature from
their declaration.
"""
from __future__ import annotations

import functools
import re
import sys

from ...engine.record.memo import Memo
from ...engine.site import TRACED_ERRORS, asked_by, call_at, is_ours, leaving
from ...ops.schema import parse_schema
from .old_forms import KEPT_ALONG, OLD_FORMS
from .misfits import complain, misfit
from . import return_types
from .overloads import _LISTS, Overload, _key, decided_by_values, foreign
from .parameters import OTHER_NAMES, shown_name

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False"
_MADE = "Tensor? out=None, " + _OPTIONS
_RECURRENT = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
_LIKE = "MemoryFormat? memory_format=None, " + _OPTIONS

#: torch's signatures and the names that have them; a name that occurs more than once is overloaded, in this order.
_SIGNATURES = (
    *[(f"Tensor log_probs, Tensor targets, {kind} input_lengths, {kind} target_lengths, int blank=0, int reduction=Mean, "
       "bool zero_infinity=False", "ctc_loss") for kind in ("int[]", "Tensor")],
    ("Device device", "device"), ("str type, int index=-1", "device"),
    ("Tensor self, int[] shape", "reshape"),
    ("Tensor self",
     "ravel t squeeze alias_copy view_as_real view_as_complex real imag conj is_conj is_neg resolve_conj resolve_neg adjoint "
     "square square_ positive conj_physical conj_physical_ zero_ zero fliplr flipud detach_copy squeeze_copy t_copy view_as_real_copy "
     "view_as_complex_copy is_floating_point is_complex get_device is_signed is_inference is_nonzero numel is_distributed "
     "nonzero argwhere inverse det matrix_exp slogdet msort squeeze_ t_ linalg_eig linalg_eigvals"),
    ("Tensor tensor, Tensor other", "result_type"),
    ("Scalar scalar, Tensor tensor", "result_type"),
    ("Tensor tensor, Scalar other", "result_type"),
    ("Scalar scalar1, Scalar scalar2", "result_type"),
    ("Tensor self, int start_dim=0, int end_dim=-1", "flatten"),
    ("Tensor self, int dim0, int dim1", "transpose swapdims transpose_copy swapdims_ transpose_"),
    ("Tensor self, int axis0, int axis1", "swapaxes swapaxes_"),
    ("Tensor self, int[] dims", "permute tile flip permute_copy"),
    ("Tensor self, int source, int destination", "movedim moveaxis"),
    ("Tensor self, int[] source, int[] destination", "movedim moveaxis"),
    ("Tensor self, int dim", "squeeze unsqueeze squeeze_copy unsqueeze_copy squeeze_ unsqueeze_"),
    ("Tensor self, int[] dim", "squeeze squeeze_copy squeeze_"),
    ("Tensor self, ScalarType dtype", "view"),
    ("Tensor self, int[] size", "broadcast_to view"),
    ("Tensor self, int[] size, int[] stride, int? storage_offset=None", "as_strided as_strided_ as_strided_copy"),
    ("Tensor self, Tensor other", "is_same_size equal expand_as reshape_as type_as view_as"),
    (f"Tensor self, *, Generator? generator, {_LIKE}", "rand_like randn_like"),
    (f"Tensor self, *, {_LIKE}", "zeros_like ones_like empty_like rand_like randn_like"),
    (f"Tensor self, Scalar fill_value, *, {_LIKE}", "full_like"),
    ("Tensor self, int dim, int index", "select select_copy"),
    ("Tensor self, int dim, Tensor start, int length", "narrow"),
    ("Tensor self, int dim, int start, int length", "narrow narrow_copy"),
    ("Tensor self, int[] split_sizes, int dim=0", "split_with_sizes unsafe_split_with_sizes split_with_sizes_copy"),
    ("Tensor self, int chunks, int dim=0", "chunk unsafe_chunk"),
    ("Tensor self, int split_size, int dim=0", "unsafe_split split_copy"),
    ("Tensor self, int dim=0", "unbind unbind_copy"),
    ("Tensor self, int[] indices, int dim=0", "tensor_split"),
    ("Tensor self, Tensor tensor_indices_or_sections, int dim=0", "tensor_split"),
    ("Tensor self, int sections, int dim=0", "tensor_split"),
    ("Tensor self, int sections", "hsplit vsplit dsplit"),
    ("Tensor self, int[] indices", "hsplit vsplit dsplit"),
    ("Tensor self, int offset=0, int dim1=0, int dim2=1", "diagonal diagonal_copy"),
    ("Tensor condition", "where"),
    ("Tensor condition, Tensor self, Tensor other, *, Tensor? out=None", "where"),
    ("Tensor condition, Scalar self, Tensor other", "where"),
    ("Tensor condition, Tensor self, Scalar other", "where"),
    ("Tensor condition, Scalar self, Scalar other", "where"),
    ("Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False", "isclose allclose"),
    ("Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None", "diff"),
    ("Tensor self, int bins=100, Scalar min=0, Scalar max=0", "histc"),
    ("Tensor self, Tensor? weights=None, int minlength=0", "bincount"),
    ("Tensor self, Tensor other, int? dim=None", "cross"),
    ("Tensor self, *, MemoryFormat? memory_format=None", "clone"),
    ("Tensor self, Tensor value", "fill_ fill"),
    ("Tensor self, Scalar value", "fill_ fill"),
    ("Tensor self, Scalar fill_value, bool wrap=False", "fill_diagonal_"),
    ("Tensor[] tensors, int dim=0", "cat concat concatenate stack"),
    ("Tensor[] tensors", "hstack vstack row_stack dstack column_stack"),
    ("Tensor self, int r=2, bool with_replacement=False", "combinations"),
    ("Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None", "repeat_interleave"),
    ("Tensor repeats, *, int? output_size=None", "repeat_interleave"),
    ("Tensor self, int repeats, int? dim=None, *, int? output_size=None", "repeat_interleave"),
    ("Tensor self, int diagonal=0", "diag"),
    ("Tensor self, int offset=0", "diagflat"),
    ("Tensor x, int? N=None, bool increasing=False", "vander"),
    ("Tensor self, int[] size, *, bool implicit=False", "expand_copy expand"),
    ("Tensor self, int dimension, int size, int step", "unfold_copy unfold"),
    ("Tensor self, int dim=0, int? start=None, int? end=None, int step=1", "slice_copy"),
    ("Tensor self, int dim, Tensor index, *, bool sparse_grad=False", "gather"),
    ("Tensor self, int dim, Tensor index, Tensor src", "scatter scatter_add scatter_ scatter_add_"),
    ("Tensor self, int dim, Tensor index, Tensor src, *, str reduce", "scatter scatter_"),
    ("Tensor self, int dim, Tensor index, Tensor value", "index_fill index_fill_"),
    ("Tensor self, int dim, Tensor index, Scalar value", "scatter index_fill index_fill_ scatter_"),
    ("Tensor self, int dim, Tensor index, Scalar value, *, str reduce", "scatter scatter_"),
    ("Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True", "scatter_reduce scatter_reduce_"),
    ("Tensor self, int dim, Tensor index", "index_select"),
    ("Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1", "index_add index_add_"),
    ("Tensor self, int dim, Tensor index, Tensor source", "index_copy index_copy_"),
    ("Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True", "index_reduce index_reduce_"),
    ("Tensor self, Tensor mask, Tensor value", "masked_fill masked_fill_"),
    ("Tensor self, Tensor mask, Scalar value", "masked_fill masked_fill_"),
    ("Tensor self, Tensor mask", "masked_select"),
    ("Tensor self, Tensor vec2", "outer ger"),
    ("Tensor self, Tensor mask, Tensor source", "masked_scatter masked_scatter_"),
    ("Tensor self, *, int size, int fill_value=-1", "nonzero_static"),
    ("Tensor self, Tensor index", "take"),
    ("Tensor self, Tensor index, Tensor source, bool accumulate=False", "put put_"),
    ("Tensor self, Tensor indices, int? dim=None", "take_along_dim"),
    ("Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False", "index_put index_put_"),
    ("Tensor self, Tensor src, int dim, int index", "select_scatter"),
    ("Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1", "slice_scatter"),
    ("Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1", "diagonal_scatter"),
    ("Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None", "as_strided_scatter"),
    ("Tensor self, bool some=True", "qr"),
    ("Tensor self, bool some=True, bool compute_uv=True", "svd"),
    ("Tensor self, float rcond=1e-15", "pinverse"),
    ("Tensor self, int n", "matrix_power linalg_matrix_power"),
    ("Tensor self, int[2] dim, bool keepdim=False", "nuclear_norm"),
    ("Tensor self, bool keepdim=False", "nuclear_norm"),
    ("Tensor self, int[1] dim, bool keepdim=False", "frobenius_norm"),
    ("Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear', Tensor? out=None", "quantile nanquantile"),
    ("Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear', Tensor? out=None", "quantile nanquantile"),
    ("Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, "
     "Tensor? out=None", "searchsorted"),
    ("Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, "
     "Tensor? out=None", "searchsorted"),
    ("Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor? out=None", "bucketize"),
    ("Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False", "bucketize"),
    ("Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False, Tensor[]? out=None", "histogram"),
    ("Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False, Tensor[]? out=None", "histogram"),
    *[(f"Tensor self, {high}, *, {drawn}{_LIKE}", "randint_like") for high in ("int low, int high", "Tensor high", "int high")
      for drawn in ("Generator? generator, ", "")],
    ("Tensor mean, Tensor std, *, Generator? generator=None, Tensor? out=None", "normal"),
    ("Tensor mean, float std=1., *, Generator? generator=None, Tensor? out=None", "normal"),
    ("float mean, Tensor std, *, Generator? generator=None, Tensor? out=None", "normal"),
    ("float mean, float std, int[] size, *, Generator? generator=None, Tensor? out=None, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=False, bool? requires_grad=False",
     "normal"),
    ("Tensor self, *, Generator? generator=None, Tensor? out=None", "bernoulli"),
    ("Tensor self, float p, *, Generator? generator=None", "bernoulli geometric_"),
    ("Tensor self, Tensor p, *, Generator? generator=None", "bernoulli_"),
    ("Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None", "multinomial"),
    ("Tensor self, Generator? generator=None", "poisson"),
    ("Tensor count, Tensor prob, Generator? generator=None", "binomial"),
    ("Tensor self, float p=0.5, *, Generator? generator=None", "bernoulli_"),
    ("Tensor self, float median=0., float sigma=1., *, Generator? generator=None", "cauchy_"),
    ("Tensor self, Tensor other, bool non_blocking=False", "copy_"),
    ("Tensor self, float lambd=1., *, Generator? generator=None", "exponential_"),
    ("Tensor self, Tensor tensor", "is_set_to"),
    ("Tensor self, float mean=1., float std=2., *, Generator? generator=None", "log_normal_"),
    ("Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, "
     "bool? requires_grad=False",
     "new_empty new_ones new_zeros"),
    ("Tensor self, int[] size, int[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=False, bool? requires_grad=False",
     "new_empty_strided"),
    ("Tensor self, int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=False, bool? requires_grad=False",
     "new_full"),
    ("Tensor self, float mean=0., float std=1., *, Generator? generator=None", "normal_"),
    ("Tensor self, int[] repeats", "repeat"),
    ("Tensor self, float from=0., float to=1., *, Generator? generator=None", "uniform_"),
    ("Tensor self, int? n=None, int dim=-1, str? norm=None", "fft_fft fft_ifft fft_rfft fft_ihfft fft_irfft fft_hfft"),
    ("Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None", "fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn"),
    ("Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None", "fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_hfft2 fft_ihfft2"),
    ("Tensor self, int[1]? dim=None", "fft_fftshift fft_ifftshift"),
    ("Tensor self, *, bool upper=False, bool check_errors=False", "linalg_cholesky_ex"),
    ("Tensor self, *, bool upper=False", "linalg_cholesky"),
    ("Tensor A, *, bool pivot=True, bool check_errors=False", "linalg_lu_factor_ex"),
    ("Tensor A, *, bool pivot=True", "linalg_lu_factor linalg_lu"),
    ("Tensor A, str mode='reduced'", "linalg_qr"),
    ("Tensor self, *, bool hermitian=False, bool check_errors=False", "linalg_ldl_factor_ex"),
    ("Tensor self, *, bool hermitian=False", "linalg_ldl_factor"),
    ("Tensor A, bool full_matrices=True, *, str? driver=None", "linalg_svd"),
    ("Tensor A, *, str? driver=None", "linalg_svdvals"),
    ("Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False", "linalg_matrix_rank linalg_pinv"),
    ("Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False", "linalg_matrix_rank linalg_pinv"),
    ("Tensor self, Tensor tol, bool hermitian=False", "linalg_matrix_rank"),
    ("Tensor self, float tol, bool hermitian=False", "linalg_matrix_rank"),
    ("Tensor self, Tensor rcond, bool hermitian=False", "linalg_pinv"),
    ("Tensor self, float rcond, bool hermitian=False", "linalg_pinv"),
    ("Tensor A, Tensor B, *, bool left=True, bool check_errors=False", "linalg_solve_ex"),
    ("Tensor A, Tensor B, *, bool left=True", "linalg_solve"),
    ("Tensor A, *, bool check_errors=False", "linalg_inv_ex"),
    ("Tensor A", "linalg_inv"),
    ("Tensor self, bool upper=False", "cholesky"),
    ("Tensor self, Device? device=None", "is_pinned pin_memory"),
    (f"Scalar s, *, {_OPTIONS}", "scalar_tensor"),
    ("Tensor self", "detach detach_ dequantize int_repr q_scale q_zero_point q_per_channel_axis q_per_channel_scales "
     "q_per_channel_zero_points indices_copy values_copy crow_indices_copy col_indices_copy ccol_indices_copy row_indices_copy"),
    ("Tensor[] tensors", "dequantize"),
    ("Tensor self, ScalarType dtype, *, Tensor? out=None", "view_copy"),
    ("Tensor self, int[] size, *, Tensor? out=None", "view_copy"),
    *[(f"Tensor data, Tensor batch_sizes, {states} hx, Tensor[] params, {_RECURRENT}", names)
      for states, names in (("Tensor[]", "lstm"), ("Tensor", "gru rnn_tanh rnn_relu"))],
    *[(f"Tensor self, {states} hx, Tensor[] params, {_RECURRENT}, bool batch_first", names)
      for states, names in (("Tensor[]", "lstm"), ("Tensor", "gru rnn_tanh rnn_relu"))],
    ("Tensor self, int[] size, int sparse_dim, int dense_dim", "sparse_resize_ sparse_resize_and_clear_"),
    ("Tensor self, float padding, int[]? output_size=None", "to_padded_tensor"),
    ("Tensor self, Tensor mat2", "smm"),
    ("Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None", "to_dense"),
    ("Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False", "_unique2"),
    ("Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False", "unique_dim"),
    ("Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None", "unique_consecutive"),
    ("Tensor self, bool pivot=True, bool check_errors=True", "_lu_with_info"),
    ("Tensor self, Tensor b, float? rcond=None, *, str? driver=None", "linalg_lstsq"),
    ("Tensor self, int ind=2", "linalg_tensorinv"),
    ("Tensor self, Tensor other, int[]? dims=None", "linalg_tensorsolve"),
    ("Tensor x, *, int? N=None", "linalg_vander"),
    ("Tensor x, Tensor y, *, int dim=-1", "linalg_vecdot"),
    ("Tensor A, *, int offset=0, int dim1=-2, int dim2=-1", "linalg_diagonal"),
    ("Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None", "linalg_matrix_norm"),
    ("Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None", "linalg_matrix_norm"),
    ("Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None", "linalg_norm"),
    ("Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None", "linalg_norm"),
    ("Tensor self, Scalar? p=None", "linalg_cond"),
    ("Tensor self, str p", "linalg_cond"),
    ("Tensor self, Tensor exponent, *, Tensor? out=None", "pow"),
    ("Scalar self, Tensor exponent, *, Tensor? out=None", "pow"),
    ("Tensor self, Scalar exponent, *, Tensor? out=None", "pow"),
    ("Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None", "isin"),
    ("Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None", "isin"),
    ("Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False, Tensor? out=None", "isin"),
    (f"int[] size, *, {_MADE}", "zeros ones"),
    (f"int[] size, *, MemoryFormat? memory_format=None, {_MADE}", "empty"),
    (f"int[] size, int[] stride, *, {_OPTIONS}", "empty_strided"),
    (f"int[] size, Scalar fill_value, *, {_MADE}", "full"),
    (f"int[] size, *, Generator? generator, {_MADE}", "rand randn"),
    (f"int[] size, *, {_MADE}", "rand randn"),
    (f"int high, int[] size, *, Generator? generator, {_MADE}", "randint"),
    (f"int high, int[] size, *, {_MADE}", "randint"),
    (f"int low, int high, int[] size, *, Generator? generator, {_MADE}", "randint"),
    (f"int low, int high, int[] size, *, {_MADE}", "randint"),
    (f"int n, *, Generator? generator, {_MADE}", "randperm"),
    (f"int n, *, {_MADE}", "randperm eye"),
    (f"int n, int m, *, {_MADE}", "eye"),
    (f"Scalar end, *, {_MADE}", "arange"),
    (f"Scalar start, Scalar end, *, {_OPTIONS}", "arange"),
    (f"Scalar start, Scalar end, Scalar step=1, *, {_MADE}", "arange range"),
    *[(f"{a} start, {b} end, int steps, *, {_MADE}", "linspace") for b in ("Tensor", "Scalar") for a in ("Tensor", "Scalar")],
    *[(f"{a} start, {b} end, int steps, float base=10.0, *, {_MADE}", "logspace") for b in ("Tensor", "Scalar")
      for a in ("Tensor", "Scalar")],
    (f"int row, int col, int offset=0, *, {_OPTIONS}", "tril_indices triu_indices"),
    (f"int window_length, *, {_OPTIONS}", "hann_window bartlett_window blackman_window hamming_window kaiser_window"),
    (f"int window_length, bool periodic, *, {_OPTIONS}", "hann_window bartlett_window blackman_window hamming_window kaiser_window"),
    (f"int window_length, bool periodic, float alpha, *, {_OPTIONS}", "hamming_window"),
    (f"int window_length, bool periodic, float alpha, float beta, *, {_OPTIONS}", "hamming_window"),
    (f"int window_length, bool periodic, float beta, *, {_OPTIONS}", "kaiser_window"),
    ("Tensor self, float p, bool train",
     "dropout dropout_ alpha_dropout alpha_dropout_ feature_dropout feature_dropout_ feature_alpha_dropout feature_alpha_dropout_"),
    ("Tensor self, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True", "layer_norm"),
    ("Tensor self, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True", "group_norm"),
    ("Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=0", "binary_cross_entropy_with_logits"),
    ("Tensor self, Tensor target, float margin=1.0, int reduction=0", "hinge_embedding_loss"),
    ("Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=0", "margin_ranking_loss cosine_embedding_loss"),
    *[(f"Tensor self, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool {of_batch}, float momentum, float eps, "
       "bool cudnn_enabled", name) for of_batch, name in (("training", "batch_norm"), ("use_input_stats", "instance_norm"))],
    ("Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1", "slice_inverse"),
    ("Tensor self, int numel, int n_bins, float ratio, int bit_width", "choose_qparams_optimized"),
    ("Tensor self, Tensor? running_mean, Tensor? running_var, float momentum", "batch_norm_update_stats"),
    ("Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None", "linalg__powsum"),
    ("int n, Tensor self", "polygamma special_polygamma polygamma_"),
    ("Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False", "embedding"),
    ("Tensor self, Tensor target, int reduction=0, *, bool log_target=False", "kl_div"),
    ("Tensor self, Tensor target, bool log_input, bool full, float eps, int reduction", "poisson_nll_loss"),
    ("Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=0",
     "triplet_margin_loss"),
    ("Tensor self, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, *, "
     "Tensor[]? out=None", "native_batch_norm"),
    ("Tensor self, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps", "native_group_norm"),
    ("Tensor self, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps", "native_layer_norm"),
    ("Tensor self, float p, bool? train", "native_dropout"),
    ("Tensor v, int pow=2, int dim=0", "norm_except_dim"),
    ("Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, Tensor[]? out=None", "lu_unpack"),
    (f"int n, float d=1.0, *, {_MADE}", "fft_fftfreq fft_rfftfreq"),
    ("Tensor self, *, int[] dim, int edge_order=1", "gradient"),
    ("Tensor self, *, Scalar spacing, int[] dim, int edge_order=1", "gradient"),
    ("Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1", "gradient"),
    ("Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1", "gradient"),
    ("Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1", "gradient"),
    ("Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1", "gradient"),
    ("Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1", "gradient"),
    ("Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False",
     "max_pool1d max_pool1d_with_indices max_pool2d max_pool3d"),
    ("Tensor self, int[1] output_size", "adaptive_max_pool1d"),
    ("Tensor self, int[] normalized_shape, Tensor? weight=None, float? eps=None", "rms_norm"),
    ("Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False", "pairwise_distance"),
    *[(f"Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, {centred}bool normalized=False, "
       "bool? onesided=None, bool? return_complex=None, bool? align_to_window=None", "stft")
      for centred in ("", "bool center=True, str pad_mode='reflect', ")],
    # operators that are declared once here
    ("Tensor self, *, ScalarType? dtype=None", "sum prod"),
    ("Tensor self, *, ScalarType? dtype=None, Tensor? out=None", "mean"),
    ("Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None", "sum mean"),
    ("Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor? out=None", "prod"),
    ("Tensor self, int? dim=None", "count_nonzero"),
    ("Tensor self, int[] dim", "count_nonzero"),
    ("Tensor self, *, Tensor? out=None", "all any round"),
    ("Tensor self, int[1]? dim=None, bool keepdim=False, *, Tensor? out=None", "all any"),
    ("Tensor self, int dim, bool keepdim=False, *, Tensor? out=None", "all any"),
    ("Tensor self, *, int decimals, Tensor? out=None", "round"),
    ("Tensor self, Tensor mat2, *, Tensor? out=None", "mm bmm"),
    ("Tensor self, Tensor mat2, ScalarType out_dtype, *, Tensor? out=None", "mm bmm"),
    *[(f"Tensor self, Tensor {a}, Tensor {b}, {typed}*, Scalar beta=1, Scalar alpha=1, Tensor? out=None", name)
      for a, b, name in (("mat1", "mat2", "addmm"), ("batch1", "batch2", "baddbmm")) for typed in ("", "ScalarType out_dtype, ")],
    ("Tensor self, Tensor other, *, Tensor? out=None",
     "div divide true_divide floor_divide remainder fmod copysign xlogy eq ne lt le gt ge "
     "greater greater_equal less less_equal not_equal bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift"),
    ("Scalar self, Tensor other, *, Tensor? out=None", "xlogy"),
    ("Scalar self, Tensor other", "remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift"),
    ("Tensor self, Scalar other, *, Tensor? out=None",
     "remainder fmod copysign xlogy eq ne lt le gt ge greater greater_equal less less_equal not_equal "
     "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift"),
    ("Tensor self, Scalar other", "true_divide floor_divide"),
    ("Tensor self, Tensor exponent, *, Tensor? out=None", "float_power"),
    ("Scalar self, Tensor exponent, *, Tensor? out=None", "float_power"),
    ("Tensor self, Scalar exponent, *, Tensor? out=None", "float_power"),
    ("Tensor self, Tensor other, *, Scalar alpha=1", "rsub"),
    ("Tensor self, Scalar other, Scalar alpha=1", "rsub"),
    ("Tensor self, Tensor other, *, str? rounding_mode, Tensor? out=None", "div divide"),
    ("Tensor self, Scalar other", "divide"),
    ("Tensor self, Scalar other, *, str? rounding_mode", "div divide"),
    ("Tensor self, Tensor end, Tensor weight, *, Tensor? out=None", "lerp"),
    ("Tensor self, Tensor end, Scalar weight, *, Tensor? out=None", "lerp"),
    ("Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor? out=None", "clamp clip"),
    ("Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor? out=None", "clamp clip"),
    ("Tensor self, Tensor min, *, Tensor? out=None", "clamp_min"),
    ("Tensor self, Scalar min, *, Tensor? out=None", "clamp_min"),
    ("Tensor self, Tensor max, *, Tensor? out=None", "clamp_max"),
    ("Tensor self, Scalar max, *, Tensor? out=None", "clamp_max"),
)


#: Operators that take a number for a tensor, and do not tell.
_NUMBERS = dict.fromkeys(("div", "divide", "true_divide", "floor_divide"), ("self", "other"))


#: Whose results are a list of tensors, written into as many; nothing is returned then.
LISTED = frozenset(("split_copy", "split_with_sizes_copy", "unbind_copy"))


class _Unset:
    def __repr__(self):
        return "<unset>"


UNSET = _Unset()                               # what a required parameter has that was not given


class Declared:
    """What `Overload` asks of an operator: its signature."""
    fields = None

    def __init__(self, schema):
        self.name, self.params, _ = parse_schema(schema)
        if self.name in return_types.ALL:      # several results are written into a tuple
            self.fields = return_types.ALL[self.name]._names
        elif self.name in LISTED:
            self.fields = ()
        self.numbers = _NUMBERS.get(self.name, ())


@functools.cache
def _table():
    found = {}
    for schema, names in _SIGNATURES:
        for name in names.split():
            found.setdefault(name, []).append(f"{name}({schema}) -> Tensor")
    return found


@functools.cache
def _overloads(name, method, out=False):
    """The overloads of one of NAMES."""
    schemas = _table()[name]
    if name in _WITHOUT_OUT or any(["? out=" in schema for schema in schemas]):        # it says which have one
        out = False
    if method:                                 # self comes first, wherever it stands
        schemas = [re.sub("(, )?Tensor self(, )?", lambda m: ", " if m[1] and m[2] else "", schema, count=1)
                   .replace("(", "(Tensor self, ", 1).replace("self, )", "self)") for schema in schemas if "Tensor self" in schema]
        schemas = [re.sub(r"(, \*)?, Tensor(\[\])?\? out=None", "", schema) if "*, Tensor? out" in schema else
                   re.sub(r", Tensor(\[\])?\? out=None", "", schema) for schema in schemas]
    return [Overload(Declared(schema), None, method, out) for schema in schemas]


#: Functions with out= of which torch's errors do not tell.
_WITHOUT_OUT = frozenset("""max_pool1d max_pool1d_with_indices max_pool2d max_pool3d adaptive_max_pool1d rms_norm pairwise_distance stft
    slice_inverse choose_qparams_optimized batch_norm_update_stats count_nonzero index_fill masked_fill gradient embedding kl_div poisson_nll_loss
    triplet_margin_loss native_group_norm native_layer_norm native_dropout norm_except_dim bartlett_window blackman_window hamming_window hann_window
    kaiser_window""".split())
NAMES = frozenset([name for _, names in _SIGNATURES for name in names.split()])


def refused(name, overloads, args, kwargs, others=False):
    """The TypeError with which torch's parser refuses a call, or None if it takes the arguments. `args` are without a method's self.
    others: there are more signatures, of which torch does not tell."""
    try:
        if any([o.matches(_gathered(o, args), kwargs) for o in overloads]):
            return None
    except Exception:                          # an argument that cannot even be asked what it is: the call's own error tells
        return None
    plausible = [o for o in overloads if o.least <= len(args) + len(kwargs) <= o.most] if len(overloads) > 1 or others else overloads
    try:
        if len(plausible) == 1:
            complain(plausible[0], name, _gathered(plausible[0], args), kwargs)
        return misfit(name, overloads, args, kwargs)
    except TypeError as error:
        return error


def _gathered(overload, args):
    """The arguments, where several integers stand for one sequence of them."""
    rest = overload.positional
    if args and len(rest) == 1 and rest[0].type == "int[]" and args[0].__class__ is int:
        return (tuple(args),)
    return args


def no_overload(name, op, given, method, out, kwargs=None):
    """What to raise where all arguments are known to fit none of torch's signatures."""
    known = name.removesuffix("_")
    overloads = _overloads(known, method, out) if known in NAMES else [Overload(op, None, method, out)]
    return refused(name, overloads, given, kwargs or {})


def refused_by_operator(op, name, args, method, out, given_out=None):
    """The same for a declared operator; `args` are all of its parameters, those that were not given with their defaults. Which of them
    were given by name is written where its function was called."""
    old = op.full_name in OLD_FORMS and op.full_name != "rsub"
    if op.full_name in KEPT_ALONG and args[1] is None and args[0] is not UNSET:
        return None                            # these have words of their own
    values = args[1:] if method else args
    params = op.params[1:] if method else op.params
    called = sys._getframe(1)
    if called.f_globals["_hands_on"]:          # a function of Python's
        missing = [repr(shown_name(p)) for p, x in zip(params, values) if x is UNSET]
        if missing:
            listed = ", ".join(missing[:-1]) + ("," if len(missing) > 2 else "") + " and " * (len(missing) > 1) + missing[-1]
            return TypeError(f"{name}() missing {len(missing)} required positional argument{'s' * (len(missing) > 1)}: {listed}")
    count, names = (None, ()) if called.f_globals["_hands_on"] else call_at(called.f_back)
    count, names = count and count - (method and is_ours(called.f_back)), [OTHER_NAMES.get(k, k) for k in names]
    given, kwargs = [], {shown_name(p): x for p, x in zip(params, values)} | {"out": given_out}
    kwargs = {k: kwargs[k] for k in names if k in kwargs}
    for k, (p, x) in enumerate(zip(params, values)):
        if x is UNSET or shown_name(p) in names:
            break
        if p.keyword_only:
            if x is not p.default:
                kwargs[shown_name(p)] = x
        elif k < count if count is not None else any([y is not q.default and not q.keyword_only for q, y in zip(params[k:], values[k:])]):
            given.append(x)
    if given_out is not None:
        kwargs["out"] = given_out
    known = name.removesuffix("_")
    overloads = _overloads(known, method, out) if known in NAMES else _sides(op) or [Overload(op, None, method, out)]
    return refused(name, overloads, given, kwargs, old)


def _sides(op):
    """The overloads of a declared operator of two tensors of which either may be a number; None for others."""
    if op.scalar_left is not True or len(op.params) != 2:
        return None
    a, b = [p.name for p in op.params]
    return [Overload(Declared(f"{op.name}({x} {a}, {y} {b}, *, Tensor? out=None) -> Tensor"), None, False, False)
            for x, y in (("Tensor", "Tensor"), ("Scalar", "Tensor"), ("Tensor", "Scalar"))]


def refusal(name, args, kwargs, method=False, out=False):
    """The same for a function that is written by hand; None for one that is not among NAMES."""
    return (refused(name, _overloads(name, method, out or "out" in kwargs), args[1:] if method else args, kwargs)
            if name in NAMES else None)


#: Functions that are lenient, beside those of linalg: they would make something of arguments that torch's parser refuses.
_LENIENT = frozenset(
    "flip frobenius_norm nuclear_norm as_strided as_strided_ as_strided_copy "
    "qr svd cholesky pinverse bernoulli dropout dropout_ alpha_dropout alpha_dropout_ feature_dropout feature_dropout_ "
    "feature_alpha_dropout feature_alpha_dropout_ is_pinned pin_memory detach detach_ dequantize view_copy int_repr q_scale "
    "q_zero_point q_per_channel_axis q_per_channel_scales q_per_channel_zero_points indices_copy values_copy crow_indices_copy "
    "col_indices_copy ccol_indices_copy row_indices_copy lstm gru rnn_tanh rnn_relu sparse_resize_ sparse_resize_and_clear_ "
    "to_padded_tensor smm to_dense "
    "allclose isclose index_put index_put_ put put_ movedim moveaxis nonzero_static histogram bincount combinations bucketize isin "
    "multinomial repeat_interleave vander scatter_reduce scatter_reduce_ batch_norm instance_norm group_norm layer_norm embedding kl_div "
    "poisson_nll_loss triplet_margin_loss hinge_embedding_loss margin_ranking_loss native_batch_norm native_group_norm native_layer_norm "
    "native_dropout norm_except_dim lu_unpack gradient polygamma special_polygamma fft_fftfreq fft_rfftfreq slice_inverse "
    "choose_qparams_optimized batch_norm_update_stats "
    "diag diagflat fill_diagonal_ randint randint_like normal tile polygamma_ cauchy_ log_normal_ is_nonzero "
    "hann_window bartlett_window blackman_window hamming_window kaiser_window".split())


def ask_parser(name, args, kwargs):
    """Raise torch's TypeError for arguments that its operator `name` does not take: what a function of Python's hands on to it."""
    failure = refusal(name, args, kwargs)
    if failure is not None:
        raise failure


#: Functions of Python's in torch, which know NumPy's names not.
_UNPARSED = frozenset(("norm", "split", "unique", "unique_consecutive", "unflatten", "cdist", "tensordot"))


def renamed(name, args, kwargs, error, method=False):
    """The keywords of a call with torch's names for NumPy's, where it failed because the function is written with torch's alone; else None."""
    if error.__class__ is not TypeError or OTHER_NAMES.keys().isdisjoint(kwargs) or name in _UNPARSED:
        return None
    if not any([f"got an unexpected keyword argument '{k}'" in str(error) for k in OTHER_NAMES]) or refusal(name, args, kwargs, method):
        return None
    names = [OTHER_NAMES.get(k, k) for k in kwargs]
    return dict(zip(names, kwargs.values())) if len(set(names)) == len(names) else None


def strict(f, name, method):
    """`f`, or where it is lenient a function that asks torch's parser first: once for arguments of these types."""
    if name not in NAMES or not (name in _LENIENT or name.startswith("linalg_")):
        return f
    taken = Memo(256)

    @functools.wraps(f)
    def g(*args, **kwargs):
        key = (*map(type, args), *kwargs, *map(type, kwargs.values()))
        if not _LISTS.isdisjoint(key):
            key = (*map(_key, args), *kwargs, *map(_key, kwargs.values()))
        if taken.get(key) is None:
            failure = refusal(name, args, kwargs, method)
            if failure is not None:
                raise failure
            if not decided_by_values(args, kwargs):
                taken.keep(key, True)
        return f(*args, **kwargs)
    return g


def guarded(f, name, method):
    """`f` with torch's argument errors; `name` is one of NAMES."""
    f = strict(f, name, method)

    @functools.wraps(f)
    def g(*args, **kwargs):
        try:
            return f(*args, **kwargs)
        except Exception as error:
            if foreign((*args, *kwargs.values()), error):
                return g(*args, **kwargs)
            by_torch = renamed(name, args, kwargs, error, method)
            if by_torch is not None:
                return g(*args, **by_torch)
            if isinstance(error, TRACED_ERRORS):       # it fits, but asks a batch of examples for numbers
                raise leaving(asked_by(error, name))
            failure = refusal(name, args, kwargs, method) or error
            if failure is error and error.__class__ is TypeError and error.__traceback__.tb_next is None:
                error.args = (str(error).replace(f"{f.__qualname__}()", f"{name}()"),)      # Python's own, of a call that did not begin
        try:
            raise leaving(failure)             # outside of the handler, or what it handled were the context of a refusal
        finally:
            del failure
    return g
