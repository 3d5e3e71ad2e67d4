"""torch.compiler.config: switches of a compiler of Python. They are kept, and change nothing here."""
from ..dropin import missing_attribute as _missing_attribute

accumulated_recompile_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = automatic_dynamic_shapes = dynamic_shapes = True
capture_dynamic_output_shape_ops = capture_scalar_outputs = False
enable_cpp_symbolic_shape_guards = fail_on_recompile_limit_hit = force_disable_caches = False
job_id = log_file_name = None
recompile_limit = 8
reorderable_logging_functions: set = set()
skip_tensor_guards_with_matching_dict_tags = True
verbose = False
wrap_top_frame = False

__getattr__ = _missing_attribute(__name__)
