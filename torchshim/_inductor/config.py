"""torch._inductor.config: its settings with torch's defaults. XLA compiles here, so they are kept and read back only."""
import os as _os
import types as _types

from ..utils._config_module import install_config_module as _install

debug = freezing = fallback_random = cpp_wrapper = max_autotune = max_autotune_gemm = conv_1x1_as_mm = benchmark_kernel = False
coordinate_descent_tuning = coordinate_descent_check_all_directions = force_fuse_int_mm_with_mul = profile_bandwidth = False
reorder_for_compute_comm_overlap = emulate_precision_casts = _micro_pipeline_tp = False
fx_graph_cache = epilogue_fusion = use_mixed_mm = shape_padding = layout_optimization = reorder_for_peak_memory = True
allow_buffer_reuse = assert_indirect_indexing = True
post_grad_custom_post_pass = None
compile_threads = _os.cpu_count() or 1
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
triton = _types.SimpleNamespace(cudagraphs=False, unique_kernel_names=True, cudagraph_trees=True)
cpp = _types.SimpleNamespace(threads=-1)
trace = _types.SimpleNamespace(enabled=False)

_install(__name__)
