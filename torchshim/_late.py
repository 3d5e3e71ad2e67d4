"""What `torch.` has and imports only when it is first asked for: rarely used parts, and names of theirs."""

_FROM = {
    "_dynamo.eval_frame": "compile",
    "amp": "GradScaler",
    "amp.autocast_mode": """autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
        get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
        set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
        set_autocast_gpu_dtype""",
}
MODULES = ("_dynamo", "_inductor", "amp", "compiler", "export", "futures", "jit", "multiprocessing", "onnx", "testing")
NAMES = {name: module for module, names in _FROM.items() for name in names.split()}     # {name: the submodule that has it}
