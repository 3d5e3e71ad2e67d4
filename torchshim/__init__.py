"""torchshim: PyTorch's Python API and autograd semantics without PyTorch, on JAX.

`python -m torchshim train.py` runs an unmodified torch script; `import torchshim as torch` and
`torchshim.install()` are the other ways in.

One step through the house, room by room: `z = (x * 2).sum(); z.backward(); print(x.grad)`.

x * 2           `tensor/api/operators.py` finds the declaration of `mul` in `ops/arithmetic.py` (its schema in torch's words, its
                body in JAX's) and hands both operands to `apply_number` in `tensor/core/dispatch.py`.
                Nothing is computed: the call is looked up in the trie of all calls so far (`engine/record/trie.py`) and the
                thread's walk through it, the trace (`engine/record/trace.py`), moves on. The 2 is noted as a number of this
                trace, so that another one compiles nothing.
                The first time ever the trie does not know the call: `Op.resolve` (`ops/registry.py`) checks the arguments and
                makes an `Instance` (`engine/compile/instance.py`), the body as a jaxpr with what it returns.
                The result is a handle (`tensor/core/tensor.py`) on a storage (`tensor/core/storage.py`) whose value is still to
                be made (`engine/record/value.py`). x requires grad, so `tensor/core/graph.py` makes its node, MulBackward0.
.sum()          the same, by a method that `tensor/api/bind.py` generated from a declaration in `ops/reduction.py`.
z.backward()    `autograd/backward.py` walks the nodes from z and records their gradients as operators, the pullbacks of
                `engine/compile/gradient.py`; a walk that is known is repeated by `autograd/replay.py`. It ends a step, so the
                trace is flushed: `engine/execute.py` runs a new one operator by operator (`engine/interpret/`: NumPy, no
                compiler) and, when `engine/compile/policy.py` finds that it comes again, as one XLA program
                (`engine/compile/program.py`).
print(x.grad)   `tensor/core/printing.py` asks for the array; it would have flushed the trace, had backward not.

Above these rooms stand torch's own folders (`nn`, `optim`, `random` ...), written with what the rooms below offer; `dropin/`
makes `import torch` mean this package; `tracebacks.py` shows errors at the user's line. `torchshim.ops` tells how an operator
is added.
"""
import gc as _gc

_collects = _gc.isenabled()
_gc.disable()                                  # what an import makes stays: looking through JAX's objects for garbage would double its time
from .dropin import (TORCH_COMPAT as __torch_compat__, TORCH_VERSION as __version__, TORCHSHIM_VERSION as __torchshim_version__,
                     install, missing_attribute as _missing_attribute, uninstall)
from . import engine as _engine
from .engine import explain, stats
from .ops import promotion as _promotion
from .tensor.api import bind as _bind
from .tensor.core.size import Size
from .tensor.core.properties import read_only as _read_only
from .tensor.core.tensor import Tensor
from .tensor.core.dtype import (ALL as _dtypes, ALIASES as _dtype_aliases, can_cast, dtype, finfo, get_default_dtype, iinfo,
                                promote_types, set_default_dtype)
from .tensor.core.device import device, get_default_device, set_default_device
from .tensor.core.layout import ALL as _layouts, layout
from .tensor.api import creation as _creation, convert as _convert, sharing as _sharing
from .tensor.core import printing as _printing

# Importing a family declares its operators or registers its functions; `torch.` has none of these names.
from .ops import (activation as _, arithmetic as _, complex as _, contractions as _, index as _, linalg as _, products as _,
                  logic as _, nn as _, quantization as _, reduction as _, shape as _, sorting as _, unary as _)
from .tensor.api import (complex as _, elementwise as _, fft as _, index as _, indexing as _, linalg as _, masks as _, matrix_norms as _,
                         operators as _, slicing as _, ranges as _, reduction as _, products as _, sorting as _, statistics as _,
                         shape as _, joining as _, sparse as _, storages as _, subclasses as _, views as _, windows as _)
from .tensor.core.memory_format import FORMATS as _formats, memory_format
from .random import fills as _
_bind.bind_all(Tensor)
from .nn.functional import kernels as _, recurrent as _, spectral as _, toplevel as _
del _
_bind.name_written(Tensor)

_read_only(Tensor)

globals().update(_bind.FUNCTIONS)
globals().update(_formats, legacy_contiguous_format=_formats["contiguous_format"])
globals().update(_dtypes)
globals().update(_dtype_aliases)
globals().update({_n: _l for _n, _l in _layouts.items() if not _n.startswith("_")})

from .tensor.api.storages import NAMED as _storages, Storage, TypedStorage, UntypedStorage
from .tensor.api.storages import UntypedStorage as StorageBase
globals().update(_storages)

from .interop import from_jax, to_jax
from .tensor.core.printing import set_printoptions
from . import __config__, autograd
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .determinism import (are_deterministic_algorithms_enabled, get_deterministic_debug_mode,
                          is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode, use_deterministic_algorithms)
from .settings import (compiled_with_cxx11_abi, get_float32_matmul_precision, get_num_interop_threads, get_num_threads,
                       is_warn_always_enabled, set_float32_matmul_precision, set_flush_denormal, set_num_interop_threads, set_num_threads,
                       set_warn_always)
from .torch_version import TorchVersion as _TorchVersion
from . import random, storage, version         # storage: it says how storages are pickled
from .random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

from math import e, inf, nan, pi
newaxis = None
import sys as _sys
torch = _sys.modules[__name__]             # torch.torch is torch


def is_tensor(obj, /):
    """Whether obj is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether the dtype is floating."""
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype is complex."""
    return input.is_complex()


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """torch.func.vmap."""
    from .func import vmap as make
    return make(func, in_dims, out_dims, randomness, chunk_size=chunk_size)


def typename(obj, /):
    """The name of a tensor's type, as `torch.FloatTensor`, or of anything else with its module."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    name = getattr(obj, "__name__", named.__qualname__) if named is not obj else named.__qualname__
    module = getattr(named, "__module__", None)
    return name if module in (None, "builtins") else f"{module}.{name}"


def get_device(input):
    """The index of the tensor's device, -1 for a CPU."""
    return input.get_device()


def is_signed(input):
    """Whether the dtype has negative numbers."""
    return input.is_signed()


def is_inference(input):
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


def numel(input):
    """Number of elements."""
    return input.numel()


def is_nonzero(input):
    """The truth of a tensor with one element."""
    return input.__bool__()


for _f in (is_floating_point, is_complex, get_device, is_signed, is_inference, is_nonzero, numel):
    globals()[_f.__name__] = _bind.guarded(_f, _f.__name__, False)
del _f

from . import tracebacks as _tracebacks
from .tensor.api import docs as _docs
_tracebacks.install()
_docs.complete({"torch.": globals(), "Tensor.": vars(Tensor)})

from . import _late
__getattr__ = _missing_attribute(__name__, lazy=(
    "accelerator", "backends", "cpu", "cuda", "distributed", "distributions", "fft", "linalg", "masked", "mps", "mtia", "nn", "optim",
    "quasirandom", "return_types", "serialization", "signal", "utils", "func", "special", "xpu", *_late.MODULES), elsewhere=_late.NAMES)



def _operators(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}", name=name)
    from .library.namespaces import Namespace
    setattr(ops, name, Namespace(name))
    return getattr(ops, name)


ops.__getattr__ = _operators               # torch.ops.<namespace>: from above, as operators know nothing of functions and methods

_gc.freeze()                                   # nor does it stay to be looked through later: at the end of a process that takes a third of an import
if _collects:
    _gc.enable()
