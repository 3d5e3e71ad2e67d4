"""The cheap tier: run a jaxpr with NumPy, without compiling anything.

Compiling costs tens of milliseconds for one operator and seconds for a model; code that runs once
should not pay that. `build` turns a jaxpr, once, into a flat list of steps: a Python function made
by a rule in the `*_rules` files, the slots of its inputs and of its outputs. Nested calls are
inlined, literals are preloaded, arithmetic on literals is done in advance, results that nobody
reads are never computed, and a value is dropped after its last use. The steps become one Python
function, whose text programs of the same form share (`_Text`).

Two things are decided lazily while the steps are made. A broadcast needs no memory when its
consumers are elementwise, as NumPy broadcasts by itself. An array that came from JAX is converted
only when a NumPy rule reads it.

A primitive without a rule runs as a jitted call of that one primitive, cached across programs by
primitive and parameters. Elementwise ones run on flat arrays padded to few sizes, so that new
shapes do not compile again.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from . import (array_rules, conv_rules, elementwise_rules, fused_sums, hypotenuse, index_rules, linalg_rules, order_rules,   # noqa: F401
               scan_rules, sum_rules, window_rules)            # they register rules
from ..compile.sizes import Sizes, is_open
from .fallback import flat, jitted
from .rules import ANY_SHAPE, CALLS, ELEMENTWISE, F32, F64, RULES, Spec, plain
from .shared import Shared, shared, writes
from .structure import INNER, STRUCTURAL, reshaper
from .values import Value, opened, spec_of, to_numpy

__all__ = ["OpenProgram", "build"]

_ndarray, _asarray = np.ndarray, np.asarray


def build(closed_jaxpr, *, guard: bool = True, check: bool = False, numbers: int = 0) -> Callable[..., list]:
    """A function that evaluates `closed_jaxpr` on NumPy (or JAX) arrays.

    It returns a list of `np.ndarray`, with `jax.Array` where a value came from JAX: an output of a
    primitive that fell back to XLA, or an input passed through. Results may share memory with
    inputs and with each other; nobody may write into them.

    Without `guard` the function leaves it to the caller to silence NumPy's floating-point warnings
    (`np.errstate(all="ignore")`), which costs half a microsecond a call. `check` verifies the dtype
    and shape of every intermediate value (for tests). The last `numbers` arguments are 0-d arrays that
    nobody writes to: what is computed from one alone is remembered while it is the same object.
    """
    with np.errstate(all="ignore"):
        run, _ = _program(closed_jaxpr, check, numbers)
    if not guard:
        return run

    def interpret(*args):
        with np.errstate(all="ignore"):
            return run(*args)

    return interpret


def _program(closed_jaxpr, check: bool, numbers: int = 0) -> tuple[Callable[..., list], int]:
    """The evaluator without its error state, and its number of steps."""
    builder = _Builder(check, numbers=numbers)
    steps, outputs = builder.program(closed_jaxpr)
    return _Text(builder, steps, outputs).function([fn for fn, *_ in steps]), len(steps)


class OpenProgram:
    """The steps of a jaxpr with symbolic sizes, planned once; `at` makes the functions for given sizes.

    How the steps fit together is decided with the sizes `example`. numbers: see `build`.
    """

    def __init__(self, closed_jaxpr, example, numbers=0):
        self.sizes = Sizes(example)
        builder = _Builder(False, self.sizes, numbers)
        with np.errstate(all="ignore"):
            steps, outputs = builder.program(closed_jaxpr)
        self.functions, self.text, self.shaped = [fn for fn, *_ in steps], _Text(builder, steps, outputs), builder.shaped
        self.open = [(k, fn) for k, fn in enumerate(self.functions) if fn.__class__ is _Open]

    def at(self, sizes):
        """The evaluator for sizes (without a guard, see `build`); None where a rule has no function for them."""
        data, functions = self.sizes.at(sizes), list(self.functions)
        for k, step in self.open:
            fn = step.make(*data[step.index])
            if fn is None:
                return None
            for wrap in step.wrappers:
                fn = wrap(fn)
            functions[k] = fn
        return self.text.function(functions)


class _Open:
    """A function that is made when the sizes are known: `make` of the data at `index`, then wrapped."""

    __slots__ = ("make", "index", "wrappers")

    def __init__(self, make, index):
        self.make, self.index, self.wrappers = make, index, ()


def _wrapped(fn, wrap):
    if fn.__class__ is not _Open:
        return wrap(fn)
    fn.wrappers += (wrap,)
    return fn


class _Text:
    """The steps of a program as the text of a Python function, which gets their functions and the constants when it is made.

    Where one step makes the only result of constants and the arguments in their order, that step is the function's `bare`: it does
    the same to NumPy's arrays, and returns the result itself. Its `inlined` writes the steps into another function's text."""

    def __init__(self, builder, steps, outputs):
        self.arguments, self.outputs, self.foreign = builder.arguments, outputs, builder.foreign
        self.steps = [(ins, out, builder.into.get(out) if out.__class__ is int else None, last, fn is to_numpy)
                      for fn, ins, out, last in steps]
        read = dict.fromkeys([slot for ins, *_ in self.steps for slot in ins] + outputs)
        self.constants = {slot: builder.template[slot] for slot in read if builder.template[slot] is not None}
        names = {slot: f"a{slot}" for slot in range(builder.arguments)}
        names.update({slot: f"c{k}" for k, slot in enumerate(self.constants)})
        body = self._lines(names, [f"f{k}" for k in range(len(steps))], "")
        body.append(f"return [{', '.join([names[slot] for slot in outputs])}]")
        given = ", ".join(["ndarray"] + [f"f{k}" for k in range(len(steps))] + [f"c{k}" for k in range(len(self.constants))])
        arguments = ", ".join([f"a{slot}" for slot in range(builder.arguments)])
        self.source = f"def make({given}):\n def run({arguments}):\n  " + "\n  ".join(body) + "\n return run\n"
        self.bare = self._bare(steps, outputs)

    def _lines(self, names, functions, prefix, array=None):
        """The steps as lines; names: those of the arguments and the constants, to which those of results are added, made with the prefix.
        array: see `_inlined`, whose arguments are not let go here."""
        body, own = [], set()
        for k, (ins, out, into, last, converts) in enumerate(self.steps):
            arguments, f = [names[slot] for slot in ins], functions[k]
            if converts and array is not None and ins[0] < self.arguments:
                names[out] = array(arguments[0])
                continue
            more = f", out={names[into]}" if into is not None else ""
            call = f"{f}({', '.join(arguments)}{more})"
            if converts:                       # mostly it is an array already
                call = f"{arguments[0]} if {arguments[0]}.__class__ is ndarray else {call}"
            for slot in out if out.__class__ is list else (out,):
                names[slot] = f"{prefix}v{slot}"
                own.add(slot)
            made = "".join([names[slot] + ", " for slot in out]) if out.__class__ is list else names[out]
            body.append(f"{made} = {call}" if made else call)
            over = [slot for slot in last if slot in own or array is None]
            if over and (k < len(self.steps) - 1 or array is not None):
                body.append(" = ".join([names[slot] for slot in over]) + " = None")
        return body

    def _bare(self, steps, outputs):
        """(number of the step, constants before its arguments) or None."""
        place = {slot: slot for slot in range(self.arguments)}
        for k, (fn, ins, out, _) in enumerate(steps):
            if fn is to_numpy:
                place[out] = place[ins[0]]
            elif k < len(steps) - 1 or outputs != [out]:
                return None
            else:
                constants = [self.constants[slot] for slot in ins if slot not in place]
                given = [place[slot] for slot in ins[len(constants):] if slot in place]
                return (k, constants) if given == list(range(self.arguments)) else None

    def function(self, functions) -> Callable[..., list]:
        run = function_of(self.source)(_ndarray, *functions, *self.constants.values())
        if self.bare is not None:
            k, constants = self.bare
            run.bare = functools.partial(functions[k], *constants) if constants else functions[k]
        run.inlined = functools.partial(self._inlined, functions)
        return run

    def _inlined(self, functions, arguments, prefix, give, array):
        """(lines that do what the function does with the variables `arguments`, the names of its results and whether each is NumPy's for
        sure). New variables begin with the prefix. give(object): the name by which lines know it; array(name): that of a variable with an
        argument as NumPy's array."""
        names = dict(enumerate(arguments))
        names.update({slot: give(value) for slot, value in self.constants.items()})
        body = self._lines(names, [give(f) for f in functions], prefix, array)
        return body, [(names[slot], slot >= self.arguments and slot not in self.foreign) for slot in self.outputs]


@functools.lru_cache(maxsize=2048)
def function_of(source):
    """What the text of a module with a function `make` calls so."""
    found: dict[str, Callable] = {}
    exec(source, {"__builtins__": {"__import__": __import__}}, found)          # it is asked for where a warning is given
    return found["make"]


def _broadcast_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    if not is_open(shapes):
        return np.broadcast_shapes(*shapes)
    rank = max(map(len, shapes))
    columns = zip(*[(1,) * (rank - len(s)) + s for s in shapes])
    return tuple(next((n for n in column if n != 1), 1) for column in columns)


# Calls that run their jaxpr once: inlined.
_CALLS = {
    "jit", "pjit", "closed_call", "core_call", "call", "core_closed_call", "eval_jaxpr", "composite",
    "remat", "remat2", "checkpoint", "custom_jvp_call", "custom_jvp_call_jaxpr",
    "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_vmap_call",
}  # fmt: skip
_CALL_PARAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")

# Primitives that return their operands.
_IDENTITIES = {
    "copy", "copy_p", "stop_gradient", "name", "optimization_barrier", "pvary", "sharding_constraint",
    "layout_constraint", "reshard", "reduced_vary_cast_p", "mesh_cast", "xla_metadata_value",
}  # fmt: skip

# Primitives that keep a uniform array uniform: only the shape changes.
_SHAPE_ONLY = {"reshape", "squeeze", "expand_dims", "transpose", "rev", "slice", "dynamic_slice", "tile"}

# Elementwise primitives whose results are views.
_VIEWS = {"real", "imag"}

# Up to this many bytes a broadcast is copied, which costs less than NumPy's making of a view.
_COPY_LIMIT = 1 << 15
# Values of literals alone are computed while building, up to this many elements.
_FOLD_LIMIT = 64


class _Builder:
    """Collects the steps of one program."""

    def __init__(self, check: bool, sizes: Sizes | None = None, numbers: int = 0):
        self.check, self.sizes, self.numbers = check, sizes, numbers
        self.template: list[Any] = []  # the initial contents of the slots
        self.arguments = 0
        self.steps: list[tuple] = []  # (fn, input slots, output slot or list of them, has effects)
        self.literals: dict[tuple, Value] = {}
        self.products: dict[int, tuple[int, int]] = {}     # slots of products: those of the two factors, of the same shape
        self.raised: dict[int, tuple[int, int]] = {}       # slots of arrays that are nowhere below a number: those of the two
        self.fresh: dict[int, Spec] = {}       # slots of arrays that share no memory with what they were made of
        self.into: dict[int, int] = {}         # slots of results: those of the operands whose memory they take
        self.foreign: set[int] = set()         # slots of results that may be JAX's arrays
        self.shaped = False        # whether a step depends on the shape, and not the number of elements alone

    def made(self, make: Callable, *data):
        """`make(*data)`, a function or None; where the data has symbolic sizes, an `_Open` in the function's place."""
        if self.sizes is None:
            return make(*data)
        text, value = self.sizes.read(data)
        if text is None:
            return make(*data)
        return None if make(*value) is None else _Open(make, self.sizes.add(text))

    # -- slots and forms

    def new_slot(self, value=None) -> int:
        self.template.append(value)
        return len(self.template) - 1

    def argument(self, aval) -> Value:
        self.arguments += 1
        return Value(spec_of(aval), raw=self.new_slot())

    def constant(self, value, spec: Spec) -> Value:
        if not plain(spec):
            return Value(spec, raw=self.new_slot(value))
        array = _asarray(value, dtype=spec.dtype)
        const = array if array.size <= _FOLD_LIMIT else None
        return Value(spec, slot=self.new_slot(array), const=const)

    def literal(self, atom) -> Value:
        spec, value = spec_of(atom.aval), atom.val
        if not isinstance(value, (bool, int, float, complex)):
            return self.constant(value, spec)
        key = (repr(value), spec.dtype)  # repr tells -0.0 from 0.0 and True from 1
        found = self.literals.get(key)
        if found is None:
            found = self.literals[key] = self.constant(value, spec)
        return found

    def array(self, value: Value) -> int:
        """The slot of the value as a full NumPy array."""
        if value.slot is None:
            spec = value.spec
            if value.small is not None:
                self.shaped = True
                more = [n for n in spec.shape if n != 1] != [n for n in value.small_shape if n != 1]
                value.slot = self.emit(self.made(_expander, spec) if more else self.made(reshaper, spec.shape), [value.small], spec)
            else:
                value.slot = self.emit(to_numpy, [value.raw], spec)
        return value.slot

    def any_form(self, value: Value) -> int:
        """The slot of the value as a full array of NumPy or JAX."""
        return self.array(value) if value.raw is None else value.raw

    def broadcastable(self, value: Value) -> tuple[int, tuple[int, ...]]:
        """The slot of the value in its smallest form, and that form's shape."""
        if value.small is not None:
            return value.small, value.small_shape
        return self.array(value), value.spec.shape

    def emit(self, fn: Callable, ins: list[int], out: Spec, fresh: bool = False) -> int:
        """Add a step with one NumPy result; returns its slot. fresh: the result shares no memory with the operands."""
        if out.shape == ():
            fn, fresh = _wrapped(fn, _zero_dimensional), False
        if self.check:
            fn = _checked(fn, out)
        slot = self.new_slot()
        if fresh or isinstance(fn, np.ufunc) or fn.__class__ is Shared and fn.into:
            self.fresh[slot] = out
        self.steps.append((fn, ins, slot, False))
        return slot

    def emit_many(self, fn: Callable, ins: list[int], outs: list[Spec], *, raw: bool, effects: bool = False):
        """Add a step that returns a sequence; returns the values."""
        slots = [self.new_slot() for _ in outs]
        if raw:
            self.foreign.update(slots)
        if self.check:
            fn = _checked_many(fn, outs)
        self.steps.append((fn, ins, slots, effects))
        return [Value(s, raw=i) if raw else Value(s, slot=i) for s, i in zip(outs, slots)]

    # -- equations

    def inline(self, closed_jaxpr, args: list[Value]) -> list[Value]:
        """Add the equations of a jaxpr; returns its outputs."""
        jaxpr = opened(closed_jaxpr)
        env: dict[Any, Value] = {}
        for var, const in zip(jaxpr.constvars, getattr(closed_jaxpr, "consts", ())):
            env[var] = self.constant(const, spec_of(var.aval))
        env.update(zip(jaxpr.invars, args))

        def read(atom) -> Value:
            return self.literal(atom) if hasattr(atom, "val") else env[atom]        # jax.extend, where Literal is, takes 20 ms to import

        for eqn in jaxpr.eqns:
            outs = self.equation(eqn, [read(a) for a in eqn.invars])
            env.update(zip(eqn.outvars, outs))
        return [read(a) for a in jaxpr.outvars]

    def program_of(self, closed_jaxpr) -> tuple[Callable[..., list], int]:
        """(the function of a program within this one, how many steps it has)."""
        return _program(closed_jaxpr, self.check)

    def equation(self, eqn, ins: list[Value]) -> list[Value]:
        name = eqn.primitive.name
        if name in _CALLS:
            known = CALLS.get(eqn.params.get("name"))
            values = known and self.known_call(known, ins, [spec_of(v.aval) for v in eqn.outvars])
            if values:
                return values
            for param in _CALL_PARAMS:
                if param in eqn.params:
                    return self.inline(eqn.params[param], ins)
        if name in _IDENTITIES and len(ins) == len(eqn.outvars):
            return ins
        before = len(self.steps)
        special = STRUCTURAL.get(name)
        outs = [spec_of(v.aval) for v in eqn.outvars]
        if self.sizes is not None and name in INNER and not (name == "cond" and ins[0].const is not None):
            raise NotImplementedError(f"interpret: {name} with symbolic sizes")
        if special is not None:
            values = special(self, eqn, ins, outs)
        elif name in ELEMENTWISE:
            values = self.elementwise(eqn, ins, outs)
        else:
            values = self.general(eqn, ins, outs)
        if values is None:
            values = self.fallback(eqn, ins, outs)
        self.shaped |= len(self.steps) > before and (name not in ELEMENTWISE or name not in RULES or name == "select_n" and len(ins) == 2)
        return values

    def known_call(self, make, ins, outs):
        """A function that has a rule of its own."""
        specs = [v.spec for v in ins]
        fn = self.made(make, {}, specs, outs) if plain(*specs, *outs) else None
        self.shaped |= bool(fn) and make not in ANY_SHAPE
        return fn and self.emit_many(fn, [self.array(v) for v in ins], outs, raw=False)

    def elementwise(self, eqn, ins, outs):
        if not plain(*outs, *(v.spec for v in ins)):
            return None
        if eqn.primitive.name == "max":
            for least, value in (ins, ins[::-1]):
                if least.const is not None and least.const.dtype.kind == "f" and np.isneginf(least.const).all() and value.spec == outs[0]:
                    return [value]             # as in every softmax
        forms = [self.broadcastable(v) for v in ins]
        shape = _broadcast_shape([s for _, s in forms])
        out = Spec(shape, outs[0].dtype)
        make = RULES.get(eqn.primitive.name)
        specs = [Spec(s, v.spec.dtype) for v, (_, s) in zip(ins, forms)]
        fn = make and self.made(make if eqn.primitive.name in _VIEWS else _threaded(make), eqn.params, specs, [out])
        slots, const, number = [i for i, _ in forms], None, None
        if fn is not None and fn.__class__ is not _Open and shape == () and not self.check:
            number = _of_number(fn, ins)
        if number is not None:
            slot = self.new_slot()
            self.steps.append((_remembered(number[1]), [number[0]], slot, False))
        elif fn is None:
            self.shaped = True                 # a rule may refuse some sizes
            slot = self.emit(self.made(flat, eqn, [v.spec.dtype for v in ins], out), slots, out)
        elif all(v.const is not None for v in ins) and not is_open(shape) and out.size <= _FOLD_LIMIT:
            const = _asarray(fn(*[v.const for v in ins]))
            slot = self.new_slot(const)
        else:
            name, raised = eqn.primitive.name, None
            bounded = elementwise_rules.CLIPS and len(forms) == 2 and forms[0][1] == () != shape and out.dtype in (F32, F64)
            if name == "min" and bounded:
                raised = self.raised.get(slots[1])
            if raised is not None:
                clips = self.made(shared, _clip, [out, specs[0], specs[0]], out)
            slot = self.emit(fn, slots, out) if raised is None else self.emit(clips, [*raised, slots[0]], out)
            if name == "max" and bounded:
                self.raised[slot] = slots[1], slots[0]
            if name == "square" or name == "integer_pow" and eqn.params["y"] == 2:
                self.products[slot] = slots[0], slots[0]
            elif name == "mul" and forms[0][1] == forms[1][1] and ins[0].spec.dtype == ins[1].spec.dtype == out.dtype:
                self.products[slot] = tuple(slots)
        if shape == outs[0].shape:
            return [Value(outs[0], slot=slot, const=const, number=number)]
        return [Value(outs[0], small=slot, small_shape=shape, const=const, number=number)]

    def general(self, eqn, ins, outs):
        name = eqn.primitive.name
        if name in _SHAPE_ONLY and ins[0].small is not None and ins[0].small_shape == ():
            return [Value(outs[0], small=ins[0].small, small_shape=(), const=ins[0].const)]
        make = RULES.get(name)
        specs = [v.spec for v in ins]
        if make is None or not plain(*specs, *outs):
            return None
        if name == "reduce_sum" and ins[0].slot in self.products:
            fn = self.made(sum_rules.make_sum_of_products, eqn.params, specs, outs)
            return [Value(outs[0], slot=self.emit(fn, list(self.products[ins[0].slot]), outs[0]))]
        fn = self.made(make, eqn.params, specs, outs)
        if fn is None:
            return None
        slots = [self.array(v) for v in ins]
        if eqn.primitive.multiple_results:
            return self.emit_many(fn, slots, outs, raw=False)
        return [Value(outs[0], slot=self.emit(fn, slots, outs[0], name == "dot_general"))]

    def fallback(self, eqn, ins, outs):
        """A jitted call of this one primitive."""
        fn = self.made(jitted, eqn.primitive, eqn.params)
        if not eqn.primitive.multiple_results:
            fn = _wrapped(fn, lambda call: lambda *args: (call(*args),))
        return self.emit_many(fn, [self.any_form(v) for v in ins], outs, raw=True, effects=bool(eqn.effects))

    # -- the finished program

    def program(self, closed_jaxpr) -> tuple[list[tuple], list[int]]:
        """The steps of a whole jaxpr, in order, and the slots of its results."""
        args = [self.argument(v.aval) for v in opened(closed_jaxpr).invars]
        for value in args[len(args) - self.numbers:]:
            value.number = value.raw, to_numpy
        outs = self.inline(closed_jaxpr, args)
        return self.link([self.any_form(v) for v in outs])

    def link(self, outputs: list[int]) -> tuple[list[tuple], list[int]]:
        """The steps that `outputs` and effects need, in order: (fn, slots read, slot or list of slots made,
        slots that are not read again)."""
        steps = []
        keep = set(outputs)
        seen = set(outputs)  # slots read later on
        for fn, ins, out, effects in reversed(self.steps):
            many = isinstance(out, list)
            if not effects and not (any(o in keep for o in out) if many else out in keep):
                continue
            keep.update(ins)
            # Arguments and results that are read for the last time here, and results never read.
            last = {i for i in ins if i not in seen and not self.is_constant(i)}
            seen.update(ins)
            if many:
                last.update(o for o in out if o not in seen)
            steps.append((fn, ins, out, sorted(last)))
        steps.reverse()
        self.place(steps, outputs)
        return steps, outputs

    def place(self, steps, outputs):
        """Give results of NumPy's loops the memory of an operand that only this program has seen and that is read for the last time."""
        seen = set(outputs)                    # slots whose memory others may look at, by a view
        for _, ins, out, _ in steps:
            if out.__class__ is list or out not in self.fresh:
                seen.update(ins)
        for fn, ins, out, last in steps:
            if isinstance(fn, np.ufunc) and fn.signature is None or fn.__class__ is Shared and fn.into:
                spec = self.fresh[out]
                taken = [i for i in ins if i in last and i not in seen and self.fresh.get(i) == spec]
                if taken:
                    self.into[out] = taken[0]

    def is_constant(self, slot: int) -> bool:
        return self.template[slot] is not None


# ---------------------------------------------------------------- step functions


@functools.cache
def _threaded(make):
    """An elementwise primitive's rule, whose functions share large arrays among threads."""
    return lambda params, ins, outs: shared(make(params, ins, outs), ins, outs[0])


@writes
def _clip(x, low, high, out=None):
    return x.clip(low, high, out)


def _of_number(fn: Callable, ins: list[Value]):
    """`fn` of these operands as (slot of a number, function of it), where one operand is computed from a number and the others are
    known."""
    places = [k for k, v in enumerate(ins) if v.const is None]
    if len(places) != 1 or ins[places[0]].number is None:
        return None
    slot, before = ins[places[0]].number
    given, k = [v.const for v in ins], places[0]

    def of_number(x):
        return _asarray(fn(*given[:k], before(x), *given[k + 1:]))

    return slot, of_number


def _remembered(fn: Callable) -> Callable:
    """`fn` of one argument, which nobody writes to, with its last result."""
    last = None, None

    def remembered(x):
        nonlocal last
        known = last                           # one pair: threads share it
        if known[0] is x:
            return known[1]
        y = fn(x)
        last = x, y
        return y

    return remembered


def _zero_dimensional(fn: Callable) -> Callable:
    """`fn` with a 0-d array for a result, where NumPy would return a scalar."""
    if isinstance(fn, np.ufunc) and _UFUNC_ELLIPSIS:
        return functools.partial(fn, out=...)
    return lambda *args: _asarray(fn(*args))


# Since NumPy 2.3, `out=...` asks for an array.
_UFUNC_ELLIPSIS = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 3)


def _expander(spec: Spec) -> Callable:
    shape, dtype = spec
    if spec.size * dtype.itemsize > _COPY_LIMIT:
        return lambda x: np.broadcast_to(x, shape)

    def expand(x):
        out = np.empty(shape, dtype)
        out[...] = x
        return out

    return expand


def _checked(fn: Callable, out: Spec) -> Callable:
    def checked(*args):
        result = fn(*args)
        if type(result) is not np.ndarray or result.shape != out.shape or result.dtype != out.dtype:
            raise AssertionError(f"{fn}: expected {out}, got {type(result)} {np.shape(result)} {result.dtype}")
        return result

    return checked


def _checked_many(fn: Callable, outs: list[Spec]) -> Callable:
    def checked(*args):
        results = list(fn(*args))
        found = [Spec(r.shape, r.dtype) for r in results]
        if found != outs:
            raise AssertionError(f"{fn}: expected {outs}, got {found}")
        return results

    return checked
