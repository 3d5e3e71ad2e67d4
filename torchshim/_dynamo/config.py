"""torch._dynamo.config: its settings with torch's defaults. Backends of the program's own go by `recompile_limit` and `suppress_errors`; the
others are kept and read back only."""
from ..utils._config_module import install_config_module as _install

verbose = suppress_errors = error_on_recompile = fail_on_recompile_limit_hit = disable = allow_rnn = compiled_autograd = False
recompile_limit = cache_size_limit = 8
accumulated_recompile_limit = accumulated_cache_size_limit = 256
automatic_dynamic_shapes = assume_static_by_default = dynamic_shapes = force_parameter_static_shapes = True
capture_scalar_outputs = capture_dynamic_output_shape_ops = specialize_int = specialize_float = allow_unspec_int_on_nn_module = False
optimize_ddp = guard_nn_modules = inline_inbuilt_nn_modules = trace_numpy = skip_nnmodule_hook_guards = error_on_nested_fx_trace = True
skip_fwd_side_effects_in_bwd_under_checkpoint = force_unspec_int_unbacked_size_like_on_torchrec_kjt = False
numpy_default_float = "float64"

_install(__name__)
