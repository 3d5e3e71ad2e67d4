"""Graphs of what a function does, for a compiler of the program's own (`torch.compile(f, backend=g)`).

PyTorch rewrites the function's bytecode and runs it again only where its guards fail. Here the function runs at each call, on tensors
that have no values yet, and a mode notes down what it asks of torch; so whatever the call depends on is looked at anew. Where the
program wants a value (a graph break), and at the end, what was noted becomes a graph, which the backend gets where it is a new one;
what the backend made of it computes the values, and the tensors that the program holds become them. What cannot be noted down is called
as it is, after what was noted before.
"""
from __future__ import annotations

import builtins
import contextlib
import copyreg
import operator
import sys
import weakref

from .. import Tensor
from .._C import _set_grad_enabled
from .._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode
from ..amp import casting
from ..amp.autocast_mode import _enter_autocast, _exit_autocast, set_autocast_dtype, set_autocast_enabled
from ..autograd import grad_mode as grad_modes
from ..engine import context
from ..nn import Buffer, Parameter
from ..overrides import TorchFunctionMode
from ..tensor.core.overriding import switches
from ..utils import _pytree as pytree
from . import names
from .graphs import GraphCompileReason
from .steps import Step, Unknown, Value, fakes, key_of, mapped, values

_PLAIN = (Tensor, Parameter, Buffer)
_OURS = ("torch function", "capture")          # modes that do not change what an operator does
#: What wants values, or changes a tensor in ways that are no operator.
_APART = frozenset("""item tolist __bool__ __float__ __int__ __index__ __complex__ __contains__ numpy __array__ __repr__ __str__ __format__
    backward register_hook register_post_accumulate_grad_hook retain_grad requires_grad_ data_ptr storage untyped_storage storage_type set_
    share_memory_ pin_memory __deepcopy__ __reduce__ __reduce_ex__ __dlpack__ __dlpack_device__ apply_ map_ map2_ is_set_to is_shared
    as_subclass grad equal allclose is_nonzero new_tensor __cuda_array_interface__""".split())
_SCALARS = frozenset("item __float__ __int__ __index__".split())        # what torch notes down where a function is to be one graph
#: Properties that say what a tensor is; those that are views of it; the rest is asked of the tensor itself.
_DESCRIBE = frozenset("""shape dtype device layout ndim requires_grad is_cuda is_cpu is_meta is_sparse is_sparse_csr is_quantized is_nested
    itemsize nbytes is_mps is_xpu is_mkldnn names""".split())
_VIEWS = frozenset("T mT H mH real imag".split())
_BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "floordiv": operator.floordiv,
           "mod": operator.mod, "pow": operator.pow, "matmul": operator.matmul, "and": operator.and_, "or": operator.or_,
           "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift}
#: {method: (Python's operator, whether its operands are the other way round)}
_OPERATORS = {**{f"__{n}__": (f, False) for n, f in _BINARY.items()}, **{f"__r{n}__": (f, True) for n, f in _BINARY.items()},
              **{f"__i{n}__": (getattr(operator, f"i{f.__name__.strip('_')}"), False) for n, f in _BINARY.items()},
              **{f"__{n}__": (getattr(operator, n), False) for n in "eq ne lt le gt ge neg pos abs invert getitem setitem".split()}}


def holding(t):
    """A tensor object for what `t` is, whose class is Tensor: what the program sees of a tensor without a value."""
    made = object.__new__(Tensor)
    become(made, t)
    made.__class__, made.__dict__ = Tensor, {}
    return made


_EMPTY = object()


def become(held, t):
    """Let a tensor object be what another is: memory, history, class."""
    held.__class__ = type(t)
    for name in copyreg._slotnames(type(t)):
        x = getattr(t, name, _EMPTY)
        if x is not _EMPTY:
            setattr(held, name, x)
    held.__dict__ = dict(t.__dict__)


def _autocast():
    s = casting.state
    return s.enabled["cpu"], s.dtypes["cpu"], s.cache_enabled


@contextlib.contextmanager
def _as_at_first(modes, grad, cast):
    """A block in the modes that the function was called in."""
    before, context.modes = context.modes, dict(modes)
    grad_before, context.grad = context.grad, grad or grad_modes.off
    cast_before = _autocast()
    _cast(cast)
    try:
        yield
    finally:
        context.modes, context.grad = before, grad_before
        _cast(cast_before)


def _cast(to):
    if _autocast() != to:
        set_autocast_enabled("cpu", to[0])
        set_autocast_dtype("cpu", to[1])
        casting.state.cache_enabled = to[2]


def foreign():
    """Whether a mode is on in which operators do something else than here."""
    return any([bool(x) for k, x in context.modes.items() if k not in _OURS]) or bool(switches())


class Capture(TorchFunctionMode):
    """One call of a function, noted down. graphs: what the backend has made so far, and gets what is new."""
    as_written = True

    def __init__(self, fn, code, graphs, args, kwargs):
        super().__init__()
        self.fn, self.code, self.graphs, self.sources = fn, code, graphs, names.Sources(fn, args, kwargs)
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        self.inference, self.count, self.lenient = context.inference, 0, False
        self.modes = dict(context.modes)
        self._begin()

    def _begin(self):
        self.values, self.inputs, self.steps, self.known = [], [], [], {}
        self.grad = self.grad_now = context.grad is True
        self.cast = self.cast_now = _autocast()
        self.at = self.graphs.root((self.count, self.grad, self.cast))

    def __enter__(self):
        super().__enter__()
        global _print
        context.modes["capture"] = self
        if builtins.print is not _printing:
            _print, builtins.print = builtins.print, _printing
        return self

    def __exit__(self, *exc):
        super().__exit__(*exc)
        context.modes.pop("capture", None)
        if builtins.print is _printing:
            builtins.print = _print

    # -- what the program asks ----------------------------------------------------------------------------------------------
    def called(self, asking, args, kwargs):
        """What a public function gives: noted down, or called after what was noted."""
        context.modes.pop("capture")           # nothing in it is to settle what it is a part of
        try:
            return self._answer(asking, args, kwargs)
        finally:
            context.modes["capture"] = self

    def _answer(self, asking, args, kwargs):
        own = asking.own
        if asking.name.endswith(("__get__", "__set__", "__delete__")):
            return self._property(asking, args, kwargs)
        if own == "get_device" and self._value(args[0]) is not None:
            return self._value(args[0]).fake.get_device()
        if own in _APART:
            return self._apart(asking, args, kwargs, own)
        if own == "unbind" and sys._getframe(5).f_code.co_name == "__iter__":
            return self._iterated(args[0], sys._getframe(5))
        return self._noted(asking, own, args, kwargs)

    def _iterated(self, t, frame):
        """The parts that a loop over a tensor, or taking it apart, goes through: each an index, as in torch."""
        becomes, s = names.goes_through(names.program_frame(frame)), switches()
        made = []
        for k in range(len(t)):
            kept, s.stack = s.stack, [*s.stack, self]
            context.modes["capture"] = self
            try:
                made.append(t[k])
            finally:
                s.stack = kept
                context.modes.pop("capture")
            if self.steps and becomes is not None:
                self.steps[-1].becomes = becomes if isinstance(becomes, str) else becomes[k] if k < len(becomes) else None
        return tuple(made)

    def _property(self, asking, args, kwargs):
        name, said = asking.name.split(".")[-2:]
        value = self._value(args[0])
        if said == "__get__":
            if name in _VIEWS:
                return self._noted(asking, name, args, kwargs, view=True)
            if value is None:
                return asking(args, kwargs)
            if name in _DESCRIBE:
                return getattr(value.fake, name)
            if value.real is not None and name == "grad":
                return asking(args, kwargs)
        return self._apart(asking, args, kwargs, name)

    def _value(self, t):
        found = self.known.get(id(t))
        if found is not None and (found.real is t or found.handle is not None and found.handle() is t):
            return found
        return None

    def _of(self, t):
        """The Value of a tensor, a new input where it is met for the first time."""
        found = self._value(t)
        if found is None:
            if type(t) not in _PLAIN or not _dense(t):
                raise Unknown
            found = Value(len(self.values), None, t)
            self.values.append(found)
            self.new.append(found)
            self.known[id(t)] = found
        return found

    def _noted(self, asking, own, args, kwargs, view=False):
        if foreign_now(self):
            return self._apart(asking, args, kwargs, own)
        self.new, before = [], len(self.values)
        try:
            given, named = [mapped(x, self._of) for x in args], {k: mapped(x, self._of) for k, x in kwargs.items()}
            known, key = self._met(asking, own, given, named)
            if known is None:
                for v in self.new:
                    v.fake = self.fake.from_tensor(v.real)
                described = [_description(v) for v in values([given, named])]
                made = self._computed(asking, fakes(given), fakes(named))
        except Exception as error:             # what a graph does not hold, what depends on values, and the program's own mistakes
            self._forget(before)
            return self._apart(asking, args, kwargs, own, error)
        if known is None:
            leaves, mine = pytree.tree_leaves(made), {id(v.fake) for v in values([given, named])}
            if made is NotImplemented or made is not None and not any([isinstance(x, Tensor) for x in leaves]):
                self._forget(before)
                return made
            if any([isinstance(x, Tensor) and x._ts_edge is True and id(x) not in mine for x in leaves]):
                self._forget(before)           # a new leaf is to be the very one that gets a gradient
                return self._apart(asking, args, kwargs, own)
            known = self._first_met(made, key, described == [_description(v) for v in values([given, named])])
        else:
            for v, like in zip(self.new, known.inputs):
                v.fake, v.hint = like.fake, like.hint
        self.at = known if self.at is not None and known.again else None
        self.inputs += [self.new[k] for k in known.order]
        self._switch()
        step = self._step(asking, own, given, named, view)
        step.becomes, step.place, step.fields = known.becomes, known.place, known.fields
        held, step.result = self._result(known.made, {id(v.fake): v for v in values([given, named])},
                                         own[:3] == "__i" and own != "__invert__")
        self.steps.append(step)
        return held

    def _met(self, asking, own, given, named):
        """What was found out when the same was asked for after the same steps; None, and under which key it is to be noted."""
        if self.at is None:
            return None, None
        key = (asking.func, own, context.grad is True, _autocast(), key_of(given), key_of(named), tuple([_meta_key(v) for v in self.new]))
        return self.at.next.get(key), key

    def _first_met(self, made, key, again):
        frame = sys._getframe(3)
        for v in self.new:
            v.hint = names.local_name(frame, v.real, self.code)
        becomes, where = names.becomes(frame, self.code)
        known = Known(made, self.new, self._in_order(self.new), becomes, names.summary(where), again)
        if key is not None and again:
            self.at.next[key] = known
            self.graphs.known += 1
        return known

    def _in_order(self, new):
        if len(new) < 2:
            return range(len(new))
        first = [k for k, v in enumerate(new) if names.is_attribute(self.sources[v.real])]
        return [*first, *[k for k in range(len(new)) if k not in first]]

    def _forget(self, before):
        for v in self.values[before:]:
            self.known.pop(id(v.real), None)
        del self.values[before:]

    def _computed(self, asking, args, kwargs):
        s = switches()
        if any([isinstance(x, FakeTensor) for x in pytree.tree_leaves((args, kwargs))]):
            return asking(tuple(args), kwargs)
        kept, s.stack = s.stack, [*s.stack, self.fake]
        try:
            return asking(tuple(args), kwargs)
        finally:
            s.stack = kept

    def _step(self, asking, own, args, kwargs, view):
        if view:
            return Step("call_function", getattr, (args[0], own), {})
        found = _OPERATORS.get(own)
        if found is not None and not kwargs:
            return Step("call_function", found[0], tuple(args[::-1] if found[1] else args), {})
        if asking.name.startswith("torch.Tensor."):
            return Step("call_method", own, tuple(args), kwargs)
        return Step("call_function", asking.func, tuple(args), kwargs)

    def _result(self, made, given, inplace=False):
        """(what the program gets, the same with Values) for a result without values."""
        if isinstance(made, Tensor):
            old = given.get(id(made))
            if old is not None:
                held = old.real if old.real is not None else old.handle()
                if not inplace:
                    return held, old
                now = Value(len(self.values), made, old.real)
                now.handle = old.handle
            else:
                held = holding(made)
                now = Value(len(self.values), made)
                now.handle = weakref.ref(held)
            self.values.append(now)
            self.known[id(held)] = now
            return held, now
        if isinstance(made, (tuple, list)):
            both = [self._result(x, given) for x in made]
            held = [b[0] for b in both]
            return type(made)(held), [b[1] for b in both]
        return made, None

    def _switch(self):
        """Note that gradients or autocast were switched since the last step."""
        if (context.grad is True) is not self.grad_now:
            self.grad_now = not self.grad_now
            self.steps.append(Step("call_function", _set_grad_enabled, (self.grad_now,), {}))
        now = _autocast()
        if now != self.cast_now:
            self._recast(now)

    def _recast(self, now):
        if self.cast_now != self.cast:
            entered = next(s for s in reversed(self.steps) if s.target is _enter_autocast)
            self.steps.append(Step("call_function", _exit_autocast, (entered,), {}))
        if now != self.cast:
            self.steps.append(Step("call_function", _enter_autocast, ("cpu", now[1], now[0], now[2]), {}))
        self.cast_now = now

    def operator(self, op, args, kwargs):
        """What an operator of torch.ops gives: noted down as such, or called where it is none of ATen's."""
        s = switches()
        kept = s.stack
        s.stack = [m for m in kept if m is not self]
        context.modes.pop("capture")
        try:
            return self._noted(_Operator(op), op.__name__, args, kwargs) if str(op).startswith("aten.") else self._apart(
                _Operator(op), args, kwargs, op.__name__)
        finally:
            s.stack, context.modes["capture"] = kept, self

    # -- graph breaks -------------------------------------------------------------------------------------------------------
    def _apart(self, asking, args, kwargs, own, error=None):
        frame = sys._getframe(2)
        if self.touches(args, kwargs) or self.steps:
            self.lenient = own in _SCALARS and not isinstance(error, Exception)
            self.settle(lambda: _reason(own, args, error), frame)
        return asking(args, kwargs)

    def touches(self, args, kwargs):
        """Whether a tensor among arguments has no value yet."""
        return any([self._value(x) is not None and self._value(x).real is None for x in pytree.tree_leaves((args, kwargs))])

    def settle(self, reason=None, frame=None):
        """Compute what was noted down: a graph break. Unsupported where the whole function was to be one graph."""
        frame = frame or sys._getframe(1)
        if self.graphs.fullgraph and reason is not None and not self.lenient:
            from .exc import Unsupported
            where = names.summary(names.program_frame(frame), True)
            raise Unsupported(f"{reason()}\n\n{names.from_user_code([where])}\n\n{_VERBOSE}")
        if self.steps:
            self.graphs.breaks.append(GraphCompileReason(
                (reason or _unknown)(), [names.summary(names.program_frame(frame))]) if reason is not None else None)
            self._compute(())
        else:
            self._begin()

    @contextlib.contextmanager
    def left(self):
        """A block whose calls are not noted down."""
        s = switches()
        kept, s.stack = s.stack, [m for m in s.stack if m is not self]
        on = context.modes.pop("capture", None)
        try:
            yield
        finally:
            s.stack = kept
            if on is not None:
                context.modes["capture"] = on

    def settle_now(self):
        """The same, as something that is not captured begins."""
        self.settle(_unknown, sys._getframe(2))

    def apart(self, reason=None):
        """A block before which what was noted is computed, and whose calls are not noted down."""
        self.settle(reason or _unknown, sys._getframe(2))
        return self.left()

    def done(self, made):
        """What the function returned, with values."""
        self._compute([x for x in pytree.tree_leaves(made) if isinstance(x, Tensor)])
        return made

    def _compute(self, first):
        with self.left():
            self._run(first)

    def _run(self, first):
        values = [v for v in [self._value(x) for x in first] if v is not None and v.real is None]
        alive = [v for v in self.values if v.real is None and v.handle is not None and v.handle() is not None]
        outs = list(dict.fromkeys([*values, *[v for v in alive if self.known.get(id(v.handle())) is v]]))
        if not self.steps:
            self._begin()
            return
        if self.cast_now != self.cast:
            self._recast(self.cast)
        if self.grad_now is not self.grad:
            self.steps.append(Step("call_function", _set_grad_enabled, (self.grad,), {}))
        held = [v.handle() for v in outs]
        inputs, steps = self.inputs, self.steps
        grad, cast = self.grad, self.cast
        made = tuple([v.index for v in outs])
        key = (self.at, made) if self.at is not None else (grad, cast, tuple([_meta_key(v) for v in inputs]), made, tuple([
            (s.kind, s.target, key_of(s.args) if s.target is not _exit_autocast else (), key_of(s.kwargs)) for s in steps]))
        with _as_at_first(self.modes, grad, cast):
            results = self.graphs.run(key, self, inputs, steps, outs)
        for t, x in zip(held, results):
            if any([x is v.real for v in inputs]):
                x = x.view_as(x)               # a tensor of its own, as the program has got it
            become(t, x)
        self.count += 1
        self._begin()


class Known:
    """What is known of a call after certain others (`next`: of those after it): what it gives (`made`), which of its new inputs comes when,
    and what the program does with it. again: whether tensors are described after it as when it was found out."""
    __slots__ = ("next", "made", "inputs", "order", "becomes", "place", "fields", "again")

    def __init__(self, made=None, inputs=(), order=(), becomes=None, place=None, again=True):
        self.next, self.made, self.inputs, self.order, self.becomes, self.place, self.again = {}, made, [], order, becomes, place, again
        self.fields = getattr(type(made), "_fields", None) or getattr(type(made), "__match_args__", None)
        for v in inputs:                       # without what they were then
            self.inputs.append(Value(v.index, v.fake, None, v.hint))


def _description(v):
    t = v.fake
    return t._ts_meta.shape, t.stride(), t._ts_edge is None, t._ts_meta.dtype


class _Operator:
    """An operator of torch.ops, in the place of what asks for a public function."""
    name, binary = "torch.ops", False

    def __init__(self, func):
        self.func, self.own = func, func.__name__

    def __call__(self, args, kwargs):
        return self.func(*args, **kwargs)


def foreign_now(capture):
    """Whether since the call began a mode was entered in which operators do something else."""
    return context.inference is not capture.inference or any([bool(x) for k, x in context.modes.items() if k not in _OURS])


def _dense(t):
    from .. import strided
    return t.layout is strided and not t.is_quantized and not t.is_nested


def _meta_key(v):
    t = v.real
    return type(t), t.dtype, tuple(t.shape), tuple(t.stride()), t.requires_grad, t.is_leaf, str(t.device)


# -- what torch says of graph breaks ----------------------------------------------------------------------------------------
_VERBOSE = ("Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to PyTorch). "
            'For even more developer context, set TORCH_LOGS="+dynamo"\n')


def explained(kind, explanation, *hints, context=""):
    """A reason as torch tells it."""
    hints = [f"  Hint: {h}" for h in hints]
    return "\n".join([kind, f"  Explanation: {explanation}", *hints, "", f"  Developer debug context: {context}", ""])


def _reason(own, args, error):
    if own == "__bool__":
        return explained(
            "Data-dependent branching", "Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`). Dynamo does not support tracing "
            "dynamic control flow.", "This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace through your "
            "code. Consider finding a workaround.", "Use `torch.cond` to express dynamic control flow.",
            context="attempted to jump with TensorVariable()")
    if isinstance(error, DynamicOutputShapeException):
        return explained("Dynamic shape operator", f"Operator `{error.func}`'s output shape depends on input Tensor data.",
                         "Enable tracing of dynamic shape operators with `torch._dynamo.config.capture_dynamic_output_shape_ops = True`",
                         context=str(error.func))
    if own in ("item", "__float__", "__int__", "__index__"):
        return explained("Unsupported Tensor.item() call with capture_scalar_outputs=False", "Dynamo does not support tracing `Tensor.item()` "
                         "with config.capture_scalar_outputs=False.", "Set `torch._dynamo.config.capture_scalar_outputs = True` or "
                         "`export TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1` to include these operations in the captured graph.",
                         context="call_method TensorVariable() item () {}")
    return explained(f"Call of `{own}` that is not captured", f"{type(error).__name__}: {error}" if error is not None else
                     "It wants a value, or does what no graph holds.")


def _unknown():
    return "A function that is not captured"


_print = print


def _printing(*args, **kwargs):
    """`print` while a function is captured: what was noted before is computed first, as it prints between."""
    capture = context.modes.get("capture")
    if capture is not None:
        kinds = [type(a).__name__ for a in args]
        capture.settle(lambda: explained(
            "Failed to trace builtin operator", f"Dynamo does not know how to trace builtin operator `print` with argument types {kinds} "
            f"(has_kwargs {bool(kwargs)})", f"Avoid calling builtin `print` with argument types {kinds}. Consider using an equivalent "
            "alternative function/method to `print`.", "If you are attempting to call a logging function (e.g. `print`), you can try adding "
            "it to `torch._dynamo.config.reorderable_logging_functions`.", "Please report an issue to PyTorch.",
            context=f"builtin print {kinds} {bool(kwargs)}"), sys._getframe(1))
        with capture.left():
            return _print(*args, **kwargs)
    return _print(*args, **kwargs)
