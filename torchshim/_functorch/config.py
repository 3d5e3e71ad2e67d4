"""torch._functorch.config: its settings with torch's defaults. XLA decides what is kept for backward, so they are kept and read back
only.
"""
from ..utils._config_module import install_config_module as _install

functionalize_rng_ops = recompute_views = debug_partitioner = aggressive_recomputation = debug_assert = False
visualize_memory_budget_pareto = strict_autograd_cache = bundled_autograd_cache = False
fake_tensor_allow_meta = enable_autograd_cache = donated_buffer = cse = treat_parameters_as_free_to_save = True
ban_recompute_reductions = ban_recompute_materialized_backward = ban_recompute_not_in_allowlist = True
guess_tangent_strides_as_outputs = True
max_dist_from_bw = 1000
activation_memory_budget = 1.0
activation_memory_budget_runtime_estimator = "flops"
activation_memory_budget_solver = "dp"
memory_budget_pareto_dir = None

_install(__name__)
