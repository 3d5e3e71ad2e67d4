"""torch._inductor: the names that programs touch. XLA compiles here."""
from ..compiler import cudagraph_mark_step_begin
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("codecache", "config", "utils"))
_MODES = {"default": {}, "reduce-overhead": {"triton.cudagraphs": True},
          "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
          "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
          "lite": {"fallback_by_default": True, "selective_decompose": True, "reorder_for_peak_memory": False,
                   "reorder_for_compute_comm_overlap": False, "triton.reorder_for_reducing_graph_partitions": False,
                   "use_pre_grad_passes": False, "use_joint_graph_passes": False, "use_post_grad_passes": False, "use_dce": False,
                   "allow_buffer_reuse": False}}


def list_mode_options(mode=None, dynamic=None):
    """What torch.compile's modes set in `config`, all of them or one. RuntimeError for a mode that there is not."""
    if mode is None:
        return {name: dict(options) for name, options in _MODES.items()}
    if mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    return dict(_MODES[mode])
