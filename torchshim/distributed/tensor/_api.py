"""torch.distributed.tensor.DTensor over the one process there is: a tensor that holds all of its data and knows how it lies on a mesh.

Operators compute on the data as they do for plain tensors, with the same history; their results are DTensors whose placements
`_placing` says. `.grad` is a DTensor too.
"""
from __future__ import annotations

import torchshim as torch

from ... import overrides
from ...autograd import Function, is_grad_enabled
from ...engine import warn
from ...tensor.core.handle import TensorBase
from ...tensor.core.overriding import DisableTorchFunctionSubclass, of_class
from ...tensor.core.tensor import Tensor
from ..device_mesh import current_mesh, alone
from ._dtensor_spec import DTensorSpec, TensorMeta
from ._placing import placed
from .placement_types import Partial, Placement, Replicate, Shard  # noqa: F401

__all__ = ["DTensor", "distribute_tensor", "distribute_module", "ones", "empty", "full", "rand", "randn", "zeros"]

_TENSOR_OVERLOADS = frozenset("add sub mul div eq ne lt le gt ge remainder fmod floor_divide bitwise_and bitwise_or bitwise_xor".split())
_GIVEN_BACK = frozenset("numpy tolist".split())            # of which torch refuses tensors of subclasses


class Redistribute(Function):
    """The history of `DTensor.redistribute`: gradients pass as they are."""

    @staticmethod
    def forward(ctx, input):
        return _plain(input)

    @staticmethod
    def backward(ctx, grad):
        return grad


class _ToTorchTensor(Redistribute):
    pass


class _FromTorchTensor(Redistribute):
    @staticmethod
    def forward(ctx, input):
        return input.view_as(input)


def _plain(t):
    """The data of a DTensor as a plain tensor on the same memory, without history."""
    with DisableTorchFunctionSubclass():
        return torch.Tensor.detach(t)


def _made(t, mesh, placements):
    """Make a new plain tensor a DTensor."""
    placements = tuple([p._of(p.dim % t.ndim) if p.is_shard() and p.dim < 0 else p for p in placements])
    spec = DTensorSpec(mesh, placements, TensorMeta(t.shape, t.stride(), t.dtype))
    t = of_class(t, DTensor)
    t._spec = spec
    return t


def _checked(placements, mesh):
    alone(mesh, "torch.distributed.tensor.DTensor")
    placements = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(placements) != mesh.ndim:
        raise ValueError("`placements` must have the same length as `device_mesh.ndim`! "
                         f"Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    if len({p.reduce_op for p in placements if p.is_partial()}) > 1:
        raise ValueError(f"Mixing Partial reduce types is not supported, got {placements}")
    return placements


class DTensor(Tensor):
    """A tensor that lies on a mesh of processes. `DTensor.from_local` and `distribute_tensor` make one.

    placements, one for each dimension of `device_mesh`, say how it lies: Shard(dim), Replicate() or Partial(). Arguments of an operator are
    DTensors or numbers: RuntimeError for a plain tensor of more than no dimension beside a DTensor.
    """
    __slots__ = ()
    __module__ = "torch.distributed.tensor"

    def __new__(cls, local_tensor, spec, *, requires_grad):
        t = _made(_plain(local_tensor), spec.mesh, spec.placements)
        with DisableTorchFunctionSubclass():
            return t.requires_grad_(requires_grad)

    def __init__(self, *args, **kwargs):
        pass

    @property
    def _local_tensor(self):
        return _plain(self)

    @property
    def device_mesh(self):
        """The mesh of processes."""
        return self._spec.mesh

    @property
    def placements(self):
        """How it lies on each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(local_tensor, device_mesh=None, placements=None, *, run_check=False, shape=None, stride=None, grad_placements=None):
        """The DTensor of which `local_tensor` is this process's part: all of it. Differentiable; the memory is shared.

        RuntimeError where it is a DTensor already, or when only one of shape and stride is given.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} value.")
        mesh = device_mesh or current_mesh()
        if (shape is None) != (stride is None):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time.")
        if mesh.device_type != local_tensor.device.type and not local_tensor.is_meta:
            local_tensor = local_tensor.to(mesh.device_type)
        placements = _checked(placements, mesh)
        return _made(_FromTorchTensor.apply(local_tensor), mesh, placements)

    def to_local(self, *, grad_placements=None):
        """This process's part: all of it, as a plain tensor on the same memory. Differentiable."""
        with DisableTorchFunctionSubclass():
            result = _ToTorchTensor.apply(self) if is_grad_enabled() else _plain(self)
        if getattr(self, "_is_param", False):
            result._is_param = True
        return result

    def redistribute(self, device_mesh=None, placements=None, *, async_op=False, forward_dtype=None, backward_dtype=None):
        """The same tensor with other placements. RuntimeError without placements, or where one of them is Partial and was not before."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        mesh = device_mesh or self.device_mesh
        placements = _checked(placements, mesh)
        for old, new in zip(self.placements, placements):
            if new.is_partial() and old != new:
                raise RuntimeError(f"Can not redistribute from {old} to {new}, redistributing to Partial is for internal use only!")
        with DisableTorchFunctionSubclass():
            x = self if forward_dtype is None else self.to(forward_dtype)
            return _made(Redistribute.apply(x), mesh, placements)

    def full_tensor(self, *, grad_placements=None):
        """All of it as a plain tensor. Differentiable."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    @property
    def grad(self):
        """The gradient as a DTensor."""
        with DisableTorchFunctionSubclass():
            g = Tensor.grad.__get__(self)
            if g is not None and not isinstance(g, DTensor):
                _made(g, self.device_mesh, _gradient_placements(self))
        return g

    @grad.setter
    def grad(self, value):
        with DisableTorchFunctionSubclass():
            Tensor.grad.__set__(self, value)

    @grad.deleter
    def grad(self):
        Tensor.grad.__delete__(self)

    def __repr__(self, *, tensor_contents=None):
        local = _plain(self)
        shown = local.item() if not local.dim() else local           # as a formatted tensor of no dimension
        return f"DTensor(local_tensor={shown}, device_mesh={self.device_mesh}, placements={self.placements})"

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            made = _made(_plain(self).clone(), self.device_mesh, self.placements)
            with DisableTorchFunctionSubclass():
                made.requires_grad_(self.requires_grad)
            made.__dict__.update({k: v for k, v in self.__dict__.items() if k != "_spec"})
            memo[id(self)] = made
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        raise NotImplementedError("torchshim: pickling a DTensor; full_tensor() gives the plain tensor, torch.distributed.checkpoint saves "
                                  "DTensors")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = (overrides.resolve_name(func) or getattr(func, "__name__", "")).rpartition(".")
        attribute = name[2] in ("__get__", "__set__", "__delete__")
        name = name[0].rpartition(".")[2] if attribute else name[2]
        if name in _GIVEN_BACK:
            raise RuntimeError(f".{name}() is not supported for tensor subclasses" + (", got DTensor" if name == "tolist" else "."))
        with DisableTorchFunctionSubclass():
            if attribute and name in ("_base", "grad"):
                return func(*args, **kwargs)
            tensors = _among((*args, *kwargs.values()), name)
            result = func(*args, **kwargs)
            return (_wrapped(name.removesuffix("_") or name, tensors, result, args, kwargs) if isinstance(result, (TensorBase, tuple, list))
                    else result)


def _gradient_placements(t):
    return [Replicate() if p.is_partial() else p for p in t.placements]


def _among(args, name):
    """[(a DTensor among arguments, its spec)]; RuntimeError for plain tensors beside them."""
    found, alone = [], None
    todo = list(reversed(args))
    while todo:
        x = todo.pop()
        if isinstance(x, DTensor):
            found.append((x, x._spec))
        elif isinstance(x, Tensor):
            if x.dim() or x.numel() != 1:
                alone = x
                if x.numel() == 1 and x.dim() == 1:
                    warn("Found a non-scalar tensor with numel=1 and ndim!=0, we are implicitly creating a replicated DTensor for it. "
                         "However, please consider changing it to a scalar tensor or explicitly create a DTensor under distributed "
                         "environment.")
                    alone = None
        elif x.__class__ is list or x.__class__ is tuple:
            todo.extend(reversed(x))
    if found and alone is not None and not _implicit:
        name = name.strip("_").removeprefix("r") if name.startswith("__r") else name.strip("_")
        name = {"truediv": "div", "matmul": "mm", "linear": "addmm"}.get(name, name)
        raise RuntimeError(f"aten.{name}.{'Tensor' if name in _TENSOR_OVERLOADS else 'default'} got mixed torch.Tensor and DTensor, need "
                           "to convert all torch.Tensor to DTensor before calling distributed operators!")
    return found


_implicit: list = []              # grows by one in each `implicit_replication()`


def _wrapped(name, tensors, result, args, kwargs):
    if isinstance(result, TensorBase):
        if isinstance(result, DTensor) or not tensors:
            return result
        if any([result is x for x in args]):
            return result
        return _made(result, tensors[0][1].mesh, placed(name, tensors, result, args, kwargs))
    if isinstance(result, (tuple, list)):
        parts = [_wrapped(name, tensors, x, args, kwargs) for x in result]
        return type(result)(parts)
    return result


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """Put a leaf on the mesh: a DTensor that is a leaf too, on the same memory unless it is cut.

    placements: one for each dimension of the mesh, Replicate() by default. RuntimeError for a tensor with a history; ValueError for a wrong
    number of placements, or for a DTensor that lies otherwise.
    """
    mesh = device_mesh or current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    placements = _checked(placements, mesh)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}.")
        if tensor.placements != tuple(placements):
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {placements}. do "
                             "you want to call `redistribute` instead?")
        return tensor
    wanted = tensor.requires_grad
    if mesh.device_type != tensor.device.type and not tensor.is_meta:
        tensor = tensor.to(mesh.device_type)
    local = _plain(tensor)
    made = _made(local.clone() if any([p.is_shard() for p in placements]) else local, mesh, placements)      # a part has memory of its own
    with DisableTorchFunctionSubclass():
        return made.requires_grad_(wanted)


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """Make a module's parameters and buffers DTensors, in place; returns the module.

    partition_fn(name, submodule, mesh) places those it wants to; the rest is replicated. input_fn(module, inputs, mesh) and
    output_fn(module, outputs, mesh) run before and after forward.
    """
    mesh = device_mesh or current_mesh()
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, p in part._parameters.items():
            if p is not None and not isinstance(p, DTensor):
                part.register_parameter(key, torch.nn.Parameter(distribute_tensor(p.data, mesh), requires_grad=p.requires_grad))
        for key, b in part._buffers.items():
            if b is not None and not isinstance(b, DTensor):
                part._buffers[key] = distribute_tensor(b, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, mesh))
    return module


def _factory(name, fills=False):
    make = getattr(torch, name)

    def factory(*size, **kwargs):
        mesh, placements = kwargs.pop("device_mesh", None) or current_mesh(), kwargs.pop("placements", None)
        value = ()
        if fills:
            value = (kwargs.pop("fill_value") if "fill_value" in kwargs else size[-1],)
            size = size[:1]
        size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
        wanted = kwargs.pop("requires_grad", False)
        made = _made(make(size, *value, device=mesh.device_type, **kwargs), mesh, _checked(placements, mesh))
        with DisableTorchFunctionSubclass():
            return made.requires_grad_(wanted)
    factory.__name__ = factory.__qualname__ = name
    factory.__module__ = "torch.distributed.tensor"
    factory.__doc__ = f"torch.{name} as a DTensor on `device_mesh` with `placements` (replicated by default)."
    return factory


zeros, ones, empty, rand, randn, full = [_factory(n) for n in "zeros ones empty rand randn".split()] + [_factory("full", fills=True)]
