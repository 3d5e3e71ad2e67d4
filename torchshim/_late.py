"""What `torch.` has and imports only when it is first asked for: rarely used parts, and names of theirs."""

_FROM = {
    "_dynamo.eval_frame": "compile",
    "_control_flow": "cond while_loop",
    "autograd.anomaly_mode": "set_anomaly_enabled",
    "tensor.core.qscheme": """qscheme per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric
        per_channel_affine_float_qparams""",
    "_toplevel": """has_mps has_cuda has_cudnn has_mkldnn has_lapack has_mkl has_openmp has_spectral
        is_distributed is_vulkan_available SymBool SymFloat SymInt _assert
        _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_tensor_all_with _check_type
        _check_value _check_with _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long
        _cast_Short _as_tensor_fullprec _shape_as_tensor cudnn_is_acceptable get_device_module init_num_threads is_storage sym_constrain_range
        sym_constrain_range_for_size set_vital""",
    "tensor.api.segments": "segment_reduce _segment_reduce",
    "_dispatch.schemas": "Tag",
    "nn.modules._fast_path": "_native_multi_head_attention _transformer_encoder_layer_fwd",
    "nn.utils.weight_norm": "norm_except_dim _weight_norm",
    "serialization": "load save",
    "symbolic": "sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum",
    "linalg._lobpcg": "lobpcg",
    "linalg.low_rank": "pca_lowrank svd_lowrank",
    "_C.jit_types": """AnyType BoolType ClassType ComplexType DeviceObjType DictType EnumType FloatType FutureType IntType InterfaceType
        ListType NoneType NumberType OptionalType PyObjectType StreamObjType StringType TensorType TupleType UnionType Block Node
        ScriptObject ScriptObjectProperty""",
    "_C": "JITException DisableTorchFunction DisableTorchFunctionSubclass Graph PyTorchFileReader PyTorchFileWriter ScriptModule Value",
    "amp": "GradScaler",
    "amp.grad_scaler": "_amp_foreach_non_finite_check_and_unscale_",
    "tensor.core.streams": "Event Stream",
    "cuda": "AcceleratorError OutOfMemoryError",
    "futures": "Future",
    "testing._file_check": "FileCheck",
    "nested": "_nested_compute_contiguous_strides_offsets _nested_tensor_from_mask _nested_view_from_buffer",
    "sparse": """sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor
        spmm dsmm hsmm hspmm""",
    "_foreach": " ".join([f"_foreach_{n}{end}" for end in ("", "_") for n in """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor
        frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc add sub mul div pow maximum
        minimum clamp_min clamp_max addcmul addcdiv lerp""".split()]) + " _foreach_zero_ _foreach_copy_ _foreach_norm _foreach_max",
    "amp.autocast_mode": """autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
        get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
        set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
        set_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_ipu_enabled is_autocast_xla_enabled
        set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled""",
}
MODULES = ("_C", "_VF", "__config__", "__future__", "_dynamo", "_functorch", "_guards", "_higher_order_ops", "_inductor", "_jit_internal",
           "_logging", "_ops", "numa", "_subclasses", "_tensor", "_tensor_str", "_utils", "_vmap_internals", "amp", "ao",
           "classes", "compiler", "_decomp", "export", "functional", "futures", "fx", "hub", "jit", "library", "monitor", "multiprocessing",
           "nested", "onnx", "overrides", "package", "profiler", "quantization", "sparse", "testing", "types")
NAMES = {name: module for module, names in _FROM.items() for name in names.split()}     # {name: the submodule that has it}
