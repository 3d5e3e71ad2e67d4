"""torch.ops: `torch.ops.<namespace>.<name>.<overload>`. `aten` has PyTorch's operators by the names of their kernels; other namespaces have
what `torch.library` put there.
"""
from __future__ import annotations

import functools
import inspect
import types

from .. import Tensor, fft, linalg, special
from ..engine import context
from ..nn import functional
from ..tensor.api.bind import FUNCTIONS
from ..tensor.core import overriding
from ..tensor.core.dtype import ALL as DTYPES


def _slice(self, dim=0, start=None, end=None, step=1):
    return self[(slice(None),) * (dim % self.dim()) + (slice(start, end, step),)]


def _index(self, indices):
    return self[tuple([slice(None) if i is None else i for i in indices])]


def _index_put(name):
    """index_put, or index_put_, of a list in which None stands for a whole dimension, which the methods do not take."""
    def index_put(self, indices, values, accumulate=False):
        put = getattr(Tensor, name)
        while indices and indices[-1] is None:
            indices = indices[:-1]
        if None not in indices:
            return put(self, tuple(indices), values, accumulate)
        if any([i is not None and i.dtype in (DTYPES["bool"], DTYPES["uint8"]) for i in indices]):
            raise NotImplementedError(f"torchshim: torch.ops.aten.{name} with None beside a mask")
        at = [k for k, i in enumerate(indices) if i is not None]
        count = max([indices[k].ndim for k in at])
        first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0           # where the indexed dimensions come in the result
        order = [*at, *[k for k in range(self.ndim) if k not in at]]
        seen = Tensor.permute(self if name.endswith("_") else self.clone(), order)
        spread = values.expand(_index(self.detach(), indices).shape).movedim(tuple(range(first, first + count)), tuple(range(count)))
        Tensor.index_put_(seen, tuple([indices[k] for k in at]), spread, accumulate)
        return self if name.endswith("_") else Tensor.permute(seen, sorted(range(self.ndim), key=order.__getitem__))
    return index_put


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    options = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(device=device, dtype=dtype, non_blocking=non_blocking, copy=True, **options)


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.ops.aten.{name}")
    return missing


def _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *of_cudnn, **named_of_cudnn):
    return FUNCTIONS["convolution"](input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


#: Kernels that neither a function nor a method stands for.
_KERNELS = {"_pin_memory": lambda self, device=None: self.pin_memory(), "_to_copy": _to_copy, "_unsafe_view": lambda self,
            size: self.reshape(size),
            "alias": lambda self: self.view_as(self), "index": _index, "slice": _slice, "_convolution": _convolution,
            "index_put": _index_put("index_put"),
            "index_put_": _index_put("index_put_")}
_KERNELS.update((name, _missing(name)) for name in ("_sparse_addmm", "_sparse_mm_reduce_impl",
                "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
))
_PREFIXED = {"fft_": fft, "linalg_": linalg, "special_": special}


#: Losses of which `torch` has a function that by default reduces nothing, where the operator's schema says the mean.
_LOSSES = frozenset("binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss kl_div margin_ranking_loss "
                    "triplet_margin_loss".split())


def _averaging(loss):
    at = list(inspect.signature(loss).parameters).index("reduction")

    @functools.wraps(loss)
    def kernel(*args, **kwargs):
        return loss(*args, **kwargs) if len(args) > at else loss(*args, **{"reduction": 1, **kwargs})
    return kernel


def _kernel(name):
    """What computes aten::name, or None."""
    if name in _KERNELS:
        return _KERNELS[name]
    for prefix, home in _PREFIXED.items():
        if name.startswith(prefix):
            return getattr(home, name.removeprefix(prefix), None)
    found = FUNCTIONS.get(name) or getattr(Tensor, name, None) or _functional(name)
    if callable(found):
        return _averaging(found) if name in _LOSSES else found
    from .._dispatch.kernels import known
    return known(name) or _in_place(name)


def _in_place(name):
    """What writes the result of an operator without the underscore; None where ATen has no such operator."""
    from .._dispatch.schemas import whole_table
    if not name.endswith("_") or name not in whole_table():
        return None
    plain = vars(functional).get(name[:-1])
    if isinstance(plain, types.FunctionType) and "inplace" in inspect.signature(plain).parameters:
        return functools.partial(plain, inplace=True)
    plain = _kernel(name[:-1])
    return plain and (lambda self, *args, **kwargs: self.copy_(plain(self, *args, **kwargs)))


def _named_only(name):
    """What stands for an operator of ATen that no function of this name computes: an overload of it may be known all the same."""
    from .._dispatch.schemas import whole_table
    return _missing(name) if name in whole_table() else None


def _functional(name):
    """torch.nn.functional's function where its arguments are the kernel's: a loss's kernel takes its reduction as a number."""
    found = vars(functional).get(name)
    return found if isinstance(found, types.FunctionType) and "reduction" not in inspect.signature(found).parameters else None


class OpOverload:
    """One overload of an operator. It takes what its packet takes."""

    def __init__(self, packet, overload):
        self._overloadpacket, self._overloadname, self.namespace = packet, overload, packet._qualified_op_name.partition("::")[0]
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self.__name__

    @property
    def _schema(self):
        """The schema of a program's own operator, or of one of `aten` that is among those of _dispatch/schemas.py."""
        found = getattr(self._overloadpacket._kernel, "_schema", None) or self._known
        if found is None:
            raise AttributeError(f"torchshim: no schema of {self} is known", name="_schema", obj=self)
        return found

    @functools.cached_property
    def _known(self):
        from .._dispatch.schemas import schema
        return schema(self._overloadpacket.__name__, self._overloadname) if self.namespace == "aten" else None

    @functools.cached_property
    def tags(self):
        """What is said of it, as torch.Tags."""
        from .._dispatch.schemas import tags
        if self.namespace == "aten":
            return tags(self._overloadpacket.__name__, self._overloadname)
        return list(getattr(self._overloadpacket._kernel, "tags", ()))

    @property
    def is_view(self):
        """Whether a result shares memory with an argument that is not written to."""
        return any([a.alias and not a.mutated for a in self._schema.arguments])

    overloadpacket = property(lambda self: self._overloadpacket, doc="All overloads of the name.")

    def name(self):
        """`aten::add.Tensor`, without `.default`."""
        return self._overloadpacket._qualified_op_name + ("" if self._overloadname == "default" else f".{self._overloadname}")

    def __deepcopy__(self, memo):
        return self

    def __call__(self, /, *args, **kwargs):
        if "capture" in context.modes:
            return context.modes["capture"].operator(self, args, kwargs)
        answer = overriding.operator_answer(self, self._overloadpacket._qualified_op_name, args, kwargs)
        if answer is not None:
            return answer[0]
        if self._known is None:
            return self._overloadpacket(*args, **kwargs)
        from .._dispatch.python import call
        return call(self, args, kwargs)

    @functools.cached_property
    def composite(self):
        """Whether it is made of other operators before anything is dispatched."""
        from .._dispatch.schemas import composite
        return self.namespace == "aten" and composite(self._overloadpacket.__name__, self._overloadname)

    def __str__(self):
        return f"{self._overloadpacket}.{self._overloadname}"

    def __repr__(self):
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """All overloads of one name; called, it chooses by the arguments."""

    def __init__(self, namespace, name, kernel):
        self._qualified_op_name, self.__name__, self._kernel = f"{namespace}::{name}", name, kernel

    def __getattr__(self, overload):
        if overload.startswith("__"):
            raise AttributeError(f"'{self}' can't have an overload name beginning with '__' and the underlying op "
                                 f"{self._qualified_op_name} has no attribute {overload} either.")
        made = self.__dict__[overload] = OpOverload(self, overload)
        return made

    def __deepcopy__(self, memo):
        return self

    def overloads(self):
        """The names of the overloads of a program's own operator, or of one of `aten` that is among those of _dispatch/schemas.py;
        NotImplementedError for others."""
        if not self._qualified_op_name.startswith("aten::"):
            return ["default"]
        from .._dispatch.schemas import whole_table
        if self.__name__ not in whole_table():
            raise NotImplementedError(f"torchshim: the overloads of {self}")
        return list(whole_table()[self.__name__])

    def __call__(self, /, *args, **kwargs):
        if "capture" in context.modes:
            return context.modes["capture"].operator(self, args, kwargs)
        answer = overriding.operator_answer(self, self._qualified_op_name, args, kwargs)
        if answer is not None:
            return answer[0]
        if self._qualified_op_name.startswith("aten::") and overriding.dispatch is not None:
            from .._dispatch import python
            if self.__name__ in python.table() and python.wanted(args, kwargs):
                found = python.chosen(self.__name__, args, kwargs)
                if found is not None:
                    return python.call(getattr(self, found[0]), *found[1:])
        return self._kernel(*args, **kwargs)

    def __str__(self):
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"


#: Namespaces whose operators are those of quantized tensors.
_QUANTIZED = ("quantized", "_quantized", "quantized_decomposed")


class Namespace:
    """`torch.ops.<name>`."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, op):
        kernel = None
        if self.name == "aten" and op not in ("__file__", "__path__", "__wrapped__", "__name__"):
            kernel = (_kernel(op) if not op.startswith("__") else None) or _named_only(op)
        elif self.name in _QUANTIZED and not op.startswith("__"):
            from ..ao._kernels import kernel as of_quantized
            kernel = of_quantized(self.name, op)
        elif self.name == "profiler":
            from ..profiler.ranges import KERNELS
            kernel = KERNELS.get(op)
        if self.name == "higher_order" and op in ("cond", "wrap_with_set_grad_enabled"):
            from .._higher_order_ops.cond import cond_op
            from .._higher_order_ops.wrap import wrap_with_set_grad_enabled
            made = self.__dict__[op] = cond_op if op == "cond" else wrap_with_set_grad_enabled
            return made
        if kernel is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op}'")
        made = self.__dict__[op] = OpOverloadPacket(self.name, op, kernel)
        return made

    def __repr__(self):
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"
