"""The half of Module that moves and casts parameters and buffers."""
from __future__ import annotations

from ... import __future__ as future
from ...autograd.grad_mode import no_grad
from ...engine import warn
from ...tensor.api.convert import refusal_of_to
from ...tensor.core.copying import swap
from ...tensor.core.device import device as torch_device
from ...tensor.core.dtype import ALL, dtype as torch_dtype, of_python
from ...tensor.core.tensor import Tensor
from ..parameter import Parameter

def parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) from arguments as `Module.to` takes them. TypeError for others, RuntimeError for
    copy.
    """
    names = ["device", "dtype", "non_blocking", "copy"]
    args, kwargs = [of_python(a) for a in args], {name: of_python(value) for name, value in kwargs.items()}
    if args and isinstance(args[0], torch_dtype):
        names = names[1:]
    elif args and isinstance(args[0], Tensor) or "tensor" in kwargs:
        names = ["tensor", *names[2:]]
    given = dict(zip(names, args))
    fits = len(args) <= len(names) and not given.keys() & kwargs.keys() and kwargs.keys() <= {*names, "memory_format"}
    given |= kwargs
    kinds = {"device": (str, torch_device, int), "dtype": torch_dtype, "tensor": Tensor}
    for name, value in given.items():
        if name in ("non_blocking", "copy"):
            fits &= isinstance(value, bool)
        elif name in kinds and value is not None:
            fits &= isinstance(value, kinds[name]) and not isinstance(value, bool)
    if not fits:
        raise refusal_of_to(args, kwargs)
    if given.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    device, dtype = given.get("device"), given.get("dtype")
    if given.get("tensor") is not None:
        device, dtype = given["tensor"].device, given["tensor"].dtype
    return None if device is None else torch_device(device), dtype, given.get("non_blocking", False), given.get("memory_format")


class Conversion:
    """to() and its kin; see Module."""

    def _apply(self, fn, recurse=True):
        if recurse:
            for m in self.children():
                m._apply(fn)
        for key, p in self._parameters.items():
            if p is not None:
                self._apply_to_one(fn, key, p)
        for key, b in self._buffers.items():
            if b is not None:
                self._buffers[key] = fn(b)
        return self

    def _apply_to_one(self, fn, key, p):
        """`fn` for a parameter and its gradient, which keep their identity where they can."""
        grad = p.grad
        with no_grad():
            new = fn(p)
            new_grad = fn(grad) if grad is not None else None
        if future.get_swap_module_params_on_conversion():
            try:
                p.grad = None
                swap(p, Parameter(new, p.requires_grad))
                if grad is not None:
                    swap(grad, new_grad.requires_grad_(grad.requires_grad))
            except Exception as error:
                p.grad = grad
                raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{key}") from error
            p.grad = grad
            return
        if future.get_overwrite_module_params_on_conversion() or new.is_meta != p.is_meta or new.layout is not p.layout:
            p = self._parameters[key] = Parameter(new, p.requires_grad)
        elif new is not p:
            p.data = new
        if grad is not None and (new_grad is not grad or p.grad is not grad):
            p.grad = new_grad.requires_grad_(grad.requires_grad)

    def to(self, *args, **kwargs):
        """Move and cast parameters and buffers in place: to(device), to(dtype), to(tensor), non_blocking, memory_format."""
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        if dtype is not None and dtype.is_complex:
            warn("Complex modules are a new feature under active development whose design may change, and some modules might "
                 "not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
                 "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work "
                 "as expected.")

        def convert(t):
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                                          "torch.nn.Module.to() when moving module from meta to a different device.")
            extra = {}
            if memory_format is not None and t.dim() in (4, 5):
                extra["memory_format"] = memory_format
            return t.to(device=device, dtype=dtype if t.is_floating_point() or t.is_complex() else None, **extra)
        return self._apply(convert)

    def cpu(self):
        """Everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Everything to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None):
        """Everything to an XPU."""
        return self.to(_indexed("xpu", device))

    def ipu(self, device=None):
        """Everything to an IPU."""
        return self.to(_indexed("ipu", device))

    def mtia(self, device=None):
        """Everything to an MTIA device."""
        return self.to(_indexed("mtia", device))

    def _floating(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def type(self, dst_type):
        """Everything to one dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self):
        """Floating parameters and buffers to float32."""
        return self._floating(ALL["float32"])

    def double(self):
        """Floating parameters and buffers to float64."""
        return self._floating(ALL["float64"])

    def half(self):
        """Floating parameters and buffers to float16."""
        return self._floating(ALL["float16"])

    def bfloat16(self):
        """Floating parameters and buffers to bfloat16."""
        return self._floating(ALL["bfloat16"])

    def to_empty(self, *, device, recurse=True):
        """New parameters and buffers without values on another device."""
        from ...tensor.api.creation import empty_like
        return self._apply(lambda t: empty_like(t, device=device), recurse)


def _indexed(kind, device):
    return f"{kind}:{device}" if isinstance(device, int) else kind if device is None else device
