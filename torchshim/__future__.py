"""torch.__future__: how a Module's conversions and load_state_dict replace its parameters."""

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value):
    """Whether `to`, `half`, … give a module new parameters instead of new data for those it has."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion():
    """See set_overwrite_module_params_on_conversion; False at first."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value):
    """Whether conversions and `load_state_dict` exchange a parameter's contents by `torch.utils.swap_tensors`; goes before overwriting."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion():
    """See set_swap_module_params_on_conversion; False at first."""
    return _swap_module_params_on_conversion
