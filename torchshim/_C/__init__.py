"""torch._C: the names of PyTorch's compiled part that libraries touch. Switches of TorchScript are accepted; there is none."""
import enum

from .. import Generator, Tensor, _VF as _VariableFunctions, device, dtype, layout, memory_format
from ..autograd.levels import levels as _levels
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api.linalg import _LinAlgError
from ..tensor.core.overriding import (DisableTorchFunction, DisableTorchFunctionSubclass,
                                      disabled_torch_function_impl as _disabled_torch_function_impl, switches as _switches)

TensorBase, _TensorBase, _TensorMeta = Tensor, Tensor, type(Tensor)
_GLIBCXX_USE_CXX11_ABI = True


class JITException(Exception):
    """torch.jit.Error: what the code of a loaded archive, or of a scripted function, raises itself."""
    __module__, __qualname__ = "torch.jit", "Error"


JITException.__name__ = "Error"


class Value:
    """A value in a graph of TorchScript's, in torch."""


class Graph:
    """A graph of TorchScript's, in torch."""


class PyTorchFileReader:
    """A reader of torch.save's archives: NotImplementedError when made."""

    def __init__(self, file):
        raise NotImplementedError("torchshim: torch.PyTorchFileReader; use torch.load")


class PyTorchFileWriter:
    """A writer of torch.save's archives: NotImplementedError when made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torchshim: torch.PyTorchFileWriter; use torch.save")


class ScriptModule:
    """A module of TorchScript's, in torch."""


class DispatchKey(enum.Enum):
    """The names of the dispatcher's keys, of which some libraries make sets when they are imported. There is no dispatcher."""
    Undefined, CPU, CUDA, XPU, MPS, Meta, BackendSelect, Python, FuncTorchBatched, ADInplaceOrView = range(10)
    AutogradOther, AutogradCPU, AutogradCUDA, AutogradXPU, AutogradMPS, AutogradMeta = range(10, 16)
    AutocastCPU, AutocastCUDA, AutocastXPU, AutocastMPS = range(16, 20)
    Autograd, CompositeImplicitAutograd, CompositeExplicitAutograd = range(20, 23)


class DispatchKeySet:
    """A set of keys: joined with `|`, cut with `&`, subtracted with `-`, asked with `has`."""

    def __init__(self, key=None):
        self._keys = frozenset(() if key is None else [key])

    @staticmethod
    def _of(keys):
        made = DispatchKeySet()
        made._keys = keys
        return made

    def __or__(self, other):
        return self._of(self._keys | other._keys)

    def __and__(self, other):
        return self._of(self._keys & other._keys)

    def __sub__(self, other):
        return self._of(self._keys - other._keys)

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def has(self, key):
        """Whether the key is in it."""
        return key in self._keys

    def __repr__(self):
        return f"DispatchKeySet({', '.join(key.name for key in DispatchKey if key in self._keys)})"


class _ExcludeDispatchKeyGuard:
    """A context in which autocast is off for the devices whose keys are in the set. The other keys stand for nothing here."""

    def __init__(self, keys):
        self._keys = keys

    def __enter__(self):
        from ..amp import autocast_mode as mode
        kinds = [key.name.removeprefix("Autocast").lower() for key in DispatchKey
                 if key.name.startswith("Autocast") and self._keys.has(key)]
        self._stopped = [kind for kind in kinds if mode.is_autocast_enabled(kind)]
        for kind in self._stopped:
            mode.set_autocast_enabled(kind, False)

    def __exit__(self, *exc):
        from ..amp import autocast_mode as mode
        for kind in self._stopped:
            mode.set_autocast_enabled(kind, True)


def _log_api_usage_once(event):
    """Nothing is logged."""


def _get_tracing_state():
    """The scopes of the trace that torch.jit._get_trace_graph makes of the caller; None where it makes none."""
    import sys
    traces = sys.modules.get(f"{__package__.partition('.')[0]}.jit.traces")
    return None if traces is None else traces.current


def _is_tracing():
    """Whether torch.jit._get_trace_graph traces the caller."""
    return _get_tracing_state() is not None


def _graph_task():
    from ..engine import context
    return context.modes.get("graph task")


def _current_graph_task_id():
    """The number of the backward pass that runs in this thread; -1 where none does."""
    task = _graph_task()
    return -1 if task is None else task[0]


def _current_autograd_node():
    """The node whose turn it is in this thread's backward pass; None where none runs."""
    from ..tensor.core.graph import Node, accumulator
    task = _graph_task()
    at = None if task is None else task[2].at
    return at if at is None or isinstance(at, Node) else accumulator(at)


def _are_functorch_transforms_active():
    """Whether a function of torch.func's runs the program's; `functionalize`, which changes nothing here, does not count."""
    return bool(_levels())


def _set_grad_enabled(mode):
    """Switch the recording of gradients, as a step of a graph."""
    from ..autograd import grad_mode
    grad_mode.context.grad = bool(mode) or grad_mode.off


def _get_default_device():
    """The kind of device of the default tensor type: the CPU; `set_default_device` does not change it."""
    return "cpu"


def _get_accelerator(check=None):
    """The accelerator that JAX has, else the CPU."""
    from .. import cuda
    return device("cuda" if cuda.is_available() else "cpu")


def _is_torch_function_mode_enabled():
    """Whether a TorchFunctionMode is entered."""
    return bool(_switches().stack)


def _is_alias_of(a, b):
    """Whether two tensors share a storage."""
    return a._ts_st is b._ts_st


_vmap_warnings = [False]


def _debug_only_display_vmap_fallback_warnings(enabled):
    """Whether vmap is to warn where it runs a function example by example: accepted, it never does."""
    _vmap_warnings[0] = bool(enabled)


def _debug_only_are_vmap_fallback_warnings_enabled():
    """What was last said."""
    return _vmap_warnings[0]


def _get_privateuse1_backend_name():
    """What torch calls the backend of an out-of-tree device; there is none."""
    return "privateuseone"


def _show_config():
    """The text of `torch.__config__.show()`."""
    from ..__config__ import show
    return show()


def _parallel_info():
    """The text of `torch.__config__.parallel_info()`."""
    from ..__config__ import parallel_info
    return parallel_info()


def _jit_clear_class_registry():
    """Nothing: no classes are compiled."""


def _jit_switch(*args):
    """Accepted; returns what was set before, nothing."""
    return False


(_jit_set_profiling_executor, _jit_set_profiling_mode, _jit_set_texpr_fuser_enabled, _jit_override_can_fuse_on_gpu,
 _jit_override_can_fuse_on_cpu, _jit_set_nvfuser_enabled, _set_graph_executor_optimize, _jit_set_bailout_depth,
 _jit_set_num_profiled_runs, _debug_set_fusion_group_inlining, _debug_set_autodiff_subgraph_inlining,
 _jit_set_autocast_mode, _jit_set_nvfuser_guard_mode, _jit_can_fuse_on_cpu, _jit_can_fuse_on_gpu) = [_jit_switch] * 15


def _get_cudnn_enabled():
    """torch.backends.cudnn.enabled."""
    from ..backends import cudnn
    return cudnn.enabled

def is_grad_enabled():
    """torch.is_grad_enabled."""
    from ..autograd.grad_mode import is_grad_enabled as ask
    return ask()


class _DisableTorchDispatch:
    """A context in which no call comes to __torch_dispatch__."""

    def __enter__(self):
        from .._dispatch.python import unseen
        self.inner = unseen()
        self.inner.__enter__()

    def __exit__(self, *exc):
        return self.inner.__exit__(*exc)


_TYPES = """AnyType BoolType ClassType ComplexType DeviceObjType DictType EnumType FloatType FutureType IntType InterfaceType JitType
    ListType NoneType NumberType OptionalType PyObjectType StreamObjType StringType TensorType TupleType UnionType Block Node ScriptObject
    ScriptObjectProperty"""
__getattr__ = _missing_attribute(__name__, lazy=("_autograd", "_distributed_rpc", "_fft", "_functorch", "_linalg", "_nn", "_special"),
                                 elsewhere={name: "jit_types" for name in _TYPES.split()})
