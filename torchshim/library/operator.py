"""A program's own operator: its functions by device, its gradient, its rule for vmap."""
from __future__ import annotations

import contextlib
import inspect
import types

from .. import Tensor, autograd, float64, ops as _ops
from ..engine import context, warn
from ..autograd.grad_mode import grad_mode
from ..tensor.core.overriding import operator_answer, plainly
from .namespaces import OpOverloadPacket
from .schema import inferred, parse

known: dict = {}


def place(qualname, op):
    """Put an operator into torch.ops; returns what stands there."""
    space, name = qualname.split("::")
    home = getattr(_ops, space)
    if isinstance(home, types.ModuleType):
        raise NotImplementedError(f"torchshim: operators in the namespace {space!r}, which is a part of torchshim")
    packet = OpOverloadPacket(space, name, op)
    setattr(home, name, packet)
    known[qualname] = op
    return packet


def _flat(values):
    """Tensors and all else in a row, with the lengths of the lists (None for what is none)."""
    lengths = [len(v) if isinstance(v, (list, tuple)) and any([isinstance(x, Tensor) for x in v]) else None for v in values]
    flat = [x for v, n in zip(values, lengths) for x in (v if n is not None else (v,))]
    return flat, lengths


def _nested(flat, lengths):
    flat = iter(flat)
    return [next(flat) if n is None else [next(flat) for _ in range(n)] for n in lengths]


class CustomOpDef:
    """An operator: callable; `register_autograd` gives it a gradient, `register_kernel` a function for a device.

    Its function runs below autograd: without a registered gradient a backward through it raises RuntimeError.
    """

    def __init__(self, qualname, fn=None, schema=None, mutates_args=(), device_types=None):
        if schema is not None:
            self._schema = parse(schema if not schema.lstrip().startswith("(") else qualname + schema)
            self._schema.name = qualname
        elif fn is not None:
            self._schema = inferred(fn, mutates_args, qualname)
        else:
            self._schema = None
        self._qualname, self._name = qualname, qualname.partition("::")[2]
        self._kernels, self._fake, self._vmap, self._backward, self._setup = {}, None, None, None, None
        self._implicit = self._above = self._function = None
        self._autocast = {}                    # what runs instead while autocast is on, by device
        self._init_name = getattr(fn, "__name__", None)
        self._strict = fn is not None          # one of `custom_op`; those of a Library only warn where they have no gradient
        if fn is not None:
            self.register_kernel(device_types, fn)
        self._packet = place(qualname, self)

    _opoverload = property(lambda self: self._packet.default, doc="What torch.ops has.")
    default = property(lambda self: self._packet.default, doc="The only overload.")

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """A decorator: the function that computes on one device, several, or (None) all others."""
        if fn is None:
            return lambda f: self.register_kernel(device_types, f)
        for kind in device_types if isinstance(device_types, (list, tuple)) else (device_types,):
            self._kernels[kind and kind.lower()] = fn
        return fn

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """A context in which the function of a device is used or not."""
        kept = self._kernels.get(device_type)
        if not enabled:
            self._kernels.pop(device_type, None)
        try:
            yield
        finally:
            if kept is not None:
                self._kernels[device_type] = kept

    def register_fake(self, fn, /):
        """A decorator: the function for tensors of the meta device. Elsewhere shapes are found by running the operator."""
        self._fake = fn
        return fn

    def _fake_kernel(self):
        """What runs for meta tensors: the registered function; nothing for what writes and returns nothing. None where a Library's
        operator has none; RuntimeError for one of `custom_op`."""
        found = self._fake or self._implicit
        if found is None and self._schema is not None and self._schema.mutated and self._schema.result == "()":
            return lambda *args, **named: None
        if found is None and self._strict:
            raise RuntimeError(f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
                               f"work. Please use `{self._init_name}.register_fake` to add an fake impl.")
        return found

    def register_autocast(self, device_type, cast_inputs):
        """While autocast is on for the device, floating tensors (but float64's) are cast to the dtype, and autocast is off within."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"Unknown device type: {device_type}")

        def cast(value):
            if isinstance(value, (list, tuple)):
                return type(value)(map(cast, value))
            wanted = isinstance(value, Tensor) and value.is_floating_point() and value.device.type == device_type
            return value.to(cast_inputs) if wanted and value.dtype is not float64 else value

        def run(*args, **named):
            from ..amp import autocast
            with autocast(device_type, enabled=False):
                return self(*map(cast, args), **{k: cast(v) for k, v in named.items()})
        self._autocast[device_type] = run

    def register_vmap(self, func=None):
        """A decorator: func(info, in_dims, *args) -> (result, out_dims) for vmap; without one,
        vmap goes through what the operator calls."""
        if func is None:
            return self.register_vmap
        self._vmap, self._function = func, None
        return func

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """NotImplementedError."""
        raise NotImplementedError("torchshim: register_torch_dispatch; there is no __torch_dispatch__")

    def register_autograd(self, backward, /, *, setup_context=None):
        """The gradient: backward(ctx, *grads), and setup_context(ctx, inputs, output), which saves for it."""
        if self._schema is not None and self._schema.mutated:
            raise RuntimeError(f"Cannot register autograd formula for non-functional operator {self} with schema {self._schema}. Please "
                               f"create "
                               "a functional operator and register an autograd formula for that.")
        self._backward, self._setup, self._function = backward, setup_context, None

    def _make_function(self):
        op = self

        class Custom(autograd.Function):
            generate_vmap_rule = op._vmap is None

            @staticmethod
            def forward(call, *flat):
                args = _nested(flat, call.lengths)
                output = op._compute(args, call.named)
                call.output = output
                if isinstance(output, (list, tuple)):
                    flat_out, call.out_lengths = _flat(output)
                    call.kind = type(output)
                    return tuple(flat_out)
                call.out_lengths = None
                return output

            @staticmethod
            def setup_context(ctx, inputs, output):
                call, *flat = inputs
                ctx._ts_call = call.lengths, call.out_lengths
                if op._setup is not None:
                    args = _nested(flat, call.lengths)
                    if call.out_lengths is not None:
                        nested = _nested(output, call.out_lengths)
                        output = nested if call.kind is list else tuple(nested)
                    named = {"keyword_only_inputs": call.named} if call.named else {}
                    op._setup(ctx=ctx, inputs=tuple(args), output=output, **named)

            @staticmethod
            def backward(ctx, *grads):
                lengths, out_lengths = ctx._ts_call
                if op._backward is None:
                    if op._strict:
                        raise RuntimeError(f"Trying to backward through {op._packet.default} but no autograd formula was registered. "
                                           f"Please use "
                                           "register_autograd to add one.")
                    warn(f"{op._qualname}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
                         f"through "
                         "it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a future "
                         "version of PyTorch. If your operator is differentiable, please ensure you have registered an autograd kernel to "
                         "the correct Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your operator "
                         "is not differentiable, or to squash this warning and use the previous behavior, please register "
                         "torch::CppFunction"
                         "::makeFallthrough() to DispatchKey::Autograd.")
                    return (None,) * (1 + sum([1 if n is None else n for n in lengths]))
                if out_lengths is not None and any([n is not None for n in out_lengths]):
                    grads = _nested(grads, out_lengths)
                    if op._schema.result == "Tensor[]":
                        grads = [list(grads)]
                elif out_lengths is not None and op._schema is not None and op._schema.result == "Tensor[]":
                    grads = [list(grads)]
                given = op._backward(ctx, *grads)
                given = given if isinstance(given, tuple) else (given,)
                if len(given) != len(lengths):
                    raise RuntimeError(f"function {type(ctx).__name__} returned an incorrect number of gradients (expected {len(lengths)}, "
                                       f"got {len(given)})")
                flat = []
                for g, n in zip(given, lengths):
                    flat += [g] if n is None else [None] * n if g is None else list(g)
                return (None, *flat)

        if self._vmap is not None:
            def batched(info, in_dims, call, *flat):
                args, dims = _nested(flat, call.lengths), _nested(in_dims[1:], call.lengths)
                result, out_dims = op._vmap(info, tuple(dims), *args, **call.named)
                call.out_lengths = None if not isinstance(result, (list, tuple)) else [None] * len(result)
                call.kind = type(result)
                return result, out_dims
            Custom.vmap = staticmethod(batched)
        Custom.__name__ = Custom.__qualname__ = f"GeneratedBackwardFor_{self._qualname.replace('::', '_')}_default"
        return Custom

    def _kernel_for(self, flat):
        where = next((t.device.type for t in flat if isinstance(t, Tensor)), None)
        fake = self._fake_kernel() if where == "meta" else None
        if fake is not None:
            return fake
        found = self._kernels.get(where) or self._kernels.get(None)
        if found is None and where is None and self._kernels:
            found = next(iter(self._kernels.values()))
        if found is None:
            backend = (where or "cpu").upper()
            raise NotImplementedError(f"Could not run '{self._qualname}' with arguments from the '{backend}' backend. This could be "
                                      f"because the "
                                      "operator doesn't exist for this backend: no implementation is registered")
        return found

    def _compute(self, args, named):
        flat = _flat(args)[0] + list(named.values())
        kernel = self._kernel_for(flat)
        output = kernel(*args, **named)
        if self._strict and not self._schema.mutated:
            seen = {id(t._ts_st) for t in flat if isinstance(t, Tensor) and t.layout is not None and hasattr(t, "_ts_st")}
            for t in output if isinstance(output, (list, tuple)) else (output,):
                if isinstance(t, Tensor) and id(t._ts_st) in seen:
                    raise RuntimeError(f"{self._name} (with implementation in {inspect.getmodule(kernel)}): The output of this custom "
                                       f"operator (1) "
                                       "must not also be an input to this custom operator and (2) may not alias any inputs to this custom "
                                       "operator or other returns. The most common way to trigger this error is if we have y = "
                                       "custom_op(x) "
                                       "and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s) "
                                       "(e.g. return x.clone()) or refactor the custom operator to not return y.")
        return output

    def __call__(self, /, *args, **kwargs):
        if "capture" in context.modes:
            with plainly():
                return self(*args, **kwargs)
        answer = operator_answer(self._opoverload, self._qualname, args, kwargs)
        if answer is not None:
            return answer[0]
        if self._schema is None:
            args, named = list(args), kwargs
        else:
            args, named = self._schema.bind(args, kwargs)
        if self._autocast:
            from ..amp.autocast_mode import is_autocast_enabled
            where = next((t.device.type for t in _flat(args)[0] if isinstance(t, Tensor)), None)
            if where in self._autocast and is_autocast_enabled(where):
                return self._autocast[where](*args, **named)
        below = context.modes.get("below autograd")
        if self._above is not None and not below:
            return self._above(*args, **named)
        if self._implicit is not None and not self._kernels:
            return self._implicit(*args, **named)
        flat, lengths = _flat(args)
        if self._schema is not None and self._schema.mutated:
            with grad_mode(False):
                output = self._compute(args, named)
            for a in self._schema.arguments:
                written = dict(zip([b.name for b in self._schema.arguments if not b.kwarg_only], args)).get(a.name, named.get(a.name))
                if a.mutated and isinstance(written, Tensor):
                    autograd.graph.increment_version(written)
            return output
        traced = "transform" in context.modes
        wanted = context.grad and not below and any([isinstance(t, Tensor) and t.requires_grad for t in flat])
        if traced and (self._vmap is None and self._backward is None) or not traced and not wanted:
            return self._compute(args, named)
        if self._function is None:
            self._function = self._make_function()
        call = _Call(lengths, named)
        output = self._function.apply(call, *flat)
        if call.out_lengths is None:
            return output
        nested = _nested(output, call.out_lengths)
        return nested if call.kind is list else tuple(nested)


class _Call:
    """What one call of an operator hands on beside its tensors."""
    __slots__ = ("lengths", "named", "out_lengths", "kind", "output")

    def __init__(self, lengths, named):
        self.lengths, self.named, self.out_lengths, self.kind, self.output = lengths, named, None, None, None
