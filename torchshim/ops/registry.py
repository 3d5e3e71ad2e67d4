"""One operator, one definition.

    @op("exp(Tensor self) -> Tensor", promote="float", grad="ExpBackward0", inplace=True)
    def exp(self):
        return jnp.exp(self)

The schema is torch's. From it and the body follow `torch.exp`, `Tensor.exp`, `exp_`, `out=`, shape and dtype inference
(the body's jaxpr), the gradient (`jax.vjp` of the body) and batching. The body is a pure function of arrays; parameters
declared `Tensor` arrive as arrays, `Scalar` and `float` as 0-d arrays (run-time inputs of the compiled program, so that
a changing number never recompiles), all others as Python values known when the program is built.

promote:
  "arith"   operands go to their common dtype; so does the result (half types are computed in float32)
  "float"   the same, and integers become the default floating dtype
  "compare" operands go to their common dtype, the result is what the body returns
  None      the body gets the arrays as they are
partials: for elementwise bodies, d result / d parameter as functions (result, *params): torch's convention where it
  differs from JAX's. A bool array says where the gradient passes (elsewhere it is 0, even if it is inf or nan); a pair is
  such a mask with a factor. `vjp`: a rule (ct, result, *params) -> gradients, for anything else.
view: see `views`; such an operator returns an alias of its first argument.
nondiff: Tensor parameters without a gradient; they keep their own dtype.
numbers: the Tensor parameters for which a Python number may stand (default: all but the first of an elementwise operator).
refuses: (kernel, kinds): torch has no such kernel for common dtypes of these kinds ('b', 'i', 'f', 'c').
inplace: True makes `f_` a method and a function, "method" only a method. functional: also in nn.functional; "inplace"
  gives it an `inplace` flag there. inplace_grad: the grad_fn of `f_` where it has another name.
grad="NotImplemented": the result has a history, but its backward raises, as torch's.
"""
from __future__ import annotations

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import Instance, meta_of
from . import promotion as P
from .layout import broadcast_shapes, elementwise_strides

OPS: dict = {}


class _Token:
    """How an argument reaches the body, where that is not a static value."""
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


T = _Token("T")                            # a tensor
SB, SI, SF, SC = (_Token(n) for n in ("SB", "SI", "SF", "SC"))       # a Python number: bool, int, float, complex
NUMBER_KIND = {SB: "b", SI: "i", SF: "f", SC: "c"}
PACKED = {SB: "i", SI: "i", SF: "f", SC: "ff"}                       # what it takes in the packed arrays


class Param:
    __slots__ = ("name", "type", "default", "keyword_only", "kind", "optional", "is_list")

    def __init__(self, type_, name, default, keyword_only):
        self.name, self.default, self.keyword_only = name, default, keyword_only
        self.optional = type_.endswith("?")
        base = type_.rstrip("?")
        self.is_list = "[" in base
        self.type = base
        bare = base.split("[")[0].rstrip("?")
        self.kind = "tensor" if bare == "Tensor" else "number" if bare in ("Scalar", "float") and not self.is_list else "static"


REQUIRED = inspect.Parameter.empty
_DEFAULTS = {"None": None, "True": True, "False": False, "[]": (), "Mean": 1}


def parse_schema(text):
    """name, parameters, number of results (0 for a list) of a torch schema."""
    m = re.fullmatch(r"\s*([\w.]+)\((.*)\)\s*->\s*(.*?)\s*", text, re.S)
    if not m:
        raise ValueError(f"not a schema: {text}")
    name, inside, returns = m.groups()
    params, keyword_only = [], False
    for part in re.split(r",\s*(?![^\[\(]*[\]\)])", inside) if inside.strip() else []:
        part = part.strip()
        if part == "*":
            keyword_only = True
            continue
        decl, _, default = part.partition("=")
        type_, pname = decl.rsplit(None, 1)
        if not default:
            value = REQUIRED
        elif default in _DEFAULTS:
            value = _DEFAULTS[default]
        elif re.fullmatch(r"-?\d+", default):
            value = int(default)
        elif re.fullmatch(r"\[[-\d, ]*\]", default):
            value = tuple(int(x) for x in default[1:-1].split(",") if x.strip())
        elif default[0] in "'\"":
            value = default[1:-1]
        else:
            value = float(default)
        params.append(Param(type_, pname, value, keyword_only))
    count = 0 if returns.startswith("Tensor[") else returns.count("Tensor") if returns.startswith("(") else 1
    return name, tuple(params), count


class Op:
    """A declared operator; see the module docstring. `layout` (one entry per parameter: a token, a tuple of tokens for
    tensor lists, or the static value) with the metas of the tensors decides everything about a call: `resolve`."""
    vjp_rule = None
    precheck = None            # set by the facade: called with a call's arguments, for errors that depend on numbers

    def __init__(self, schema, body, *, promote=None, grad=None, partials=None, vjp=None, view=None, inplace=False, method=True,
                 function=True, strides=None, check=None, nondiff=(), aliases=(), elementwise=None, namespace=None, varargs=None,
                 result=None, scalar_left=False, numbers=None, refuses=None, functional=None, inplace_grad=None):
        full, self.params, self.returns = parse_schema(schema)
        self.full_name = full
        self.name = full.partition(".")[0]
        self.schema, self.body, self.promote, self.view = schema, body, promote, view
        self.grad, self.inplace, self.method, self.function = grad, inplace, method, function
        self.strides, self.check, self.nondiff, self.aliases = strides, check, frozenset(nondiff), aliases
        self.namespace, self.varargs, self.result = namespace, varargs, result
        self.scalar_left = scalar_left
        self.refuses, self.functional, self.inplace_grad = refuses, functional, inplace_grad
        self.partials, self.vjp = partials, vjp
        self.elementwise = promote is not None if elementwise is None else elementwise
        if numbers is None:
            numbers = [p.name for p in self.params if p.kind == "tensor" and (p.name != "self" or scalar_left)] if self.elementwise else ()
        self.numbers = frozenset(numbers)
        self.doc = inspect.getdoc(body) or ""
        self.core = self._with_rule(body)
        self.insts = {}
        self.layout = tuple(T if p.kind == "tensor" else p.default for p in self.params)   # all tensors given, rest defaults
        self.inplace_op = InplaceOp(self) if inplace else None

    def __repr__(self):
        return f"<op {self.full_name}>"

    def _with_rule(self, body):
        if self.partials is None and self.vjp is None:
            return body
        tensorlike = [p.kind != "static" for p in self.params]
        partials, vjp = self.partials, self.vjp

        def core(*args):
            """Apply the rule on the array arguments only; the others are closed over."""
            at = [i for i, a in enumerate(args) if tensorlike[i] and isinstance(a, jax.Array)]

            def spread(arrays):
                full = list(args)
                for i, a in zip(at, arrays):
                    full[i] = a
                return full
            if partials is not None:
                f = jax.custom_jvp(lambda *arrays: body(*spread(arrays)))

                @f.defjvp
                def rule(primals, tangents):
                    full = spread(primals)
                    out = f(*primals)
                    total = jnp.zeros_like(out)
                    number = 0
                    for i, t in zip(at, tangents):
                        if i < len(partials) and partials[i] is not None and jnp.issubdtype(t.dtype, jnp.inexact):
                            total = total + term(t, partials[i](out, *full))
                            number += 1
                    return out, total
                return f(*[args[i] for i in at])
            g = jax.custom_vjp(lambda *arrays: body(*spread(arrays)))

            def forward(*arrays):
                out = g(*arrays)
                return out, (arrays, out)

            def backward(res, ct):
                arrays, out = res
                grads = vjp(ct, out, *spread(arrays))
                full = dict(zip((i for i, p in enumerate(self.params) if p.kind == "tensor"), grads))
                return tuple(zero_ct(a) if full.get(i) is None else full[i].astype(a.dtype) for i, a in zip(at, arrays))
            g.defvjp(forward, backward)
            return g(*[args[i] for i in at])
        return core

    def number_layouts(self, position):
        """{type: (layout, kind)} for a Python number at `position`, all other parameters as in `layout`."""
        if position >= len(self.params) or self.params[position].kind != "tensor":
            return {}
        lay = self.layout
        return {c: (lay[:position] + (t,) + lay[position + 1:], PACKED[t]) for c, t in ((float, SF), (int, SI), (bool, SB))}

    # -- resolution ---------------------------------------------------------------------------------------------------
    def resolve(self, layout, metas, kinds):
        """The Instance for this call; raises torch's errors for arguments that do not fit."""
        key = (layout, metas, P.default_float)
        inst = self.insts.get(key)
        if inst is None:
            inst = self.insts[key] = self._resolve(layout, metas, kinds)
        return inst

    def _resolve(self, layout, metas, kinds):
        if self.check:
            self.check(*_spread(layout, metas, lambda t: t))
        device = metas[0].device if metas else None
        common = self.common_dtype(layout, metas)
        if self.refuses:
            kernel, kinds = self.refuses
            d = common or metas[0].dtype
            if "bifc"[P.kind_of(d)] in kinds:
                raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(d)}\'')
        shape = broadcast_shapes([m.shape for m in metas]) if self.elementwise else None
        fn = self.function_of(layout, common, shape)
        avals_kinds = "".join(PACKED[x] for x in layout if x in PACKED_SET) if any(x.__class__ is _Token for x in layout) else ""
        strides = None
        if self.elementwise:
            number = self.name not in NOT_OPERANDS and any([p.kind == "tensor" and x in PACKED_SET for p, x in zip(self.params, layout)])
            strides = elementwise_strides(metas, shape, number)
        try:
            inst = Instance(self, layout, fn, metas, avals_kinds, device or self.device_of(layout))
        except (TypeError, ValueError) as error:
            raise self.explained(error, metas) from error
        if strides is not None or self.strides:
            if self.strides:
                strides = self.strides(inst, *_spread(layout, metas, lambda t: t))
            if strides is not None:
                many = strides if strides and isinstance(strides[0], (tuple, type(None))) else (strides,) * len(inst.out_metas)
                inst.out_metas = tuple(meta_of(m.shape, m.dtype, m.device, s) for m, s in zip(inst.out_metas, many))
                inst.out = inst.out_metas[0] if len(inst.out_metas) == 1 else inst.out_metas
        inst.grad_fn_name = self.grad_name(inst)
        if self.grad is None and not self.view:
            inst.diff_outs = ()
        if self.nondiff:
            named = _positions(self.params, layout)
            inst.diff_ins = tuple(i for i in inst.diff_ins if named[i] not in self.nondiff)
        return inst

    def device_of(self, layout):
        from ..engine import default_device
        return default_device()

    def common_dtype(self, layout, metas):
        promote = self.promotion(layout)
        if promote is None:
            return None
        # only what stands where a tensor could takes part: an alpha or a slope does not
        numbers = [x for x, p in zip(layout, self.params) if p.kind == "tensor" and x is not T]
        d = common_of(metas, numbers)
        if promote == "float" and P.kind_of(d) < 2:
            d = P.default_float
        return d

    def promotion(self, layout):
        """The kind of promotion, which may depend on a static argument (div's rounding mode)."""
        return self.promote(layout) if callable(self.promote) else self.promote

    def function_of(self, layout, common, shape):
        """The pure function behind a call: arrays then packed numbers in, list of arrays out."""
        core, promote = self.core, self.promotion(layout)
        compute = None if common is None else P.compute_dtype(common)
        elementwise = self.elementwise
        own_dtype = [p.name in self.nondiff for p in self.params]          # where's condition is no operand to promote

        def fn(*flat):
            it = iter(flat)
            arrays, args = [], []
            n_tensors = sum(1 if x is T else sum(y is T for y in x) if x.__class__ is tuple else 0 for x in layout)
            arrays = [next(it) for _ in range(n_tensors)]
            ai = iter(arrays)
            for x, own in zip(layout, own_dtype):
                if x is T:
                    a = next(ai)
                    if compute is not None and not own:
                        a = cast(a, compute)
                    if elementwise and shape is not None and a.shape != shape:
                        a = jnp.broadcast_to(a, shape)
                elif x.__class__ is tuple and any(y is T for y in x):
                    a = [next(ai) if y is T else y for y in x]
                elif x.__class__ is _Token:
                    if x is SC:
                        a = jax.lax.complex(next(it), next(it))
                    else:
                        a = next(it)
                        if x is SB:
                            a = a != 0
                    if compute is not None:
                        a = cast(a, compute if not (P.kind_of(compute) == 0 and x is not SB) else a.dtype)
                else:
                    a = x
                args.append(a)
            out = core(*args)
            out = list(out) if isinstance(out, (tuple, list)) else [out]
            if promote in ("arith", "float"):
                out = [cast(o, common) for o in out]
            return out
        return fn

    def grad_name(self, inst):
        return self.grad(inst) if callable(self.grad) else self.grad

    def explained(self, error, metas):
        return RuntimeError(f"{self.name}: {error}")


# torch passes the numbers of these to its kernel; the others' take part in the iteration as 0-d tensors
NOT_OPERANDS = ("pow", "clamp", "clamp_min", "clamp_max", "clip")
def term(t, partial):
    """A tangent times a partial derivative; see the module docstring for masks."""
    mask, factor = partial if partial.__class__ is tuple else (partial, None) if partial.dtype == jnp.bool_ else (None, partial)
    if mask is not None:                       # first here, so last in the transposed program: it has the last word there
        t = jnp.where(mask, t, jnp.zeros_like(t))
    return t if factor is None else t * factor


PACKED_SET = frozenset((SB, SI, SF, SC))
_STATIC_KIND = {bool: "b", int: "i", float: "f", complex: "c"}


def common_of(metas, numbers=()):
    """The dtype that tensors and numbers (tokens, or static Python numbers) promote to."""
    kinds = [NUMBER_KIND.get(x) or _STATIC_KIND.get(x.__class__) for x in numbers]
    return P.result_type([m.dtype for m in metas if m.ndim], [m.dtype for m in metas if not m.ndim], [k for k in kinds if k])


def cast(a, dtype):
    """astype with torch's rules: complex to real drops the imaginary part; to bool is `!= 0`."""
    if a.dtype == dtype:
        return a
    if jnp.issubdtype(a.dtype, jnp.complexfloating) and not jnp.issubdtype(dtype, jnp.complexfloating):
        if dtype == np.bool_:
            return a != 0
        a = jnp.real(a)
    return a.astype(dtype)


def zero_ct(a):
    return np.zeros(a.shape, jax.dtypes.float0) if not jnp.issubdtype(a.dtype, jnp.inexact) else jnp.zeros_like(a)


def _spread(layout, metas, f):
    it = iter(metas)
    out = []
    for x in layout:
        if x is T:
            out.append(f(next(it)))
        elif x.__class__ is tuple and any(y is T for y in x):
            out.append([f(next(it)) if y is T else y for y in x])
        else:
            out.append(x)
    return out


def _positions(params, layout):
    """Parameter name of each tensor input."""
    names = []
    for p, x in zip(params, layout):
        if x is T:
            names.append(p.name)
        elif x.__class__ is tuple:
            names.extend(p.name for y in x if y is T)
    return names


class InplaceOp:
    """`add_` for `add`: the result takes the first operand's dtype, shape and layout."""
    view = None
    vjp_rule = None

    def __init__(self, op):
        self.op, self.name, self.insts = op, op.name + "_", {}

    def __repr__(self):
        return f"<op {self.name}>"

    def resolve(self, layout, metas, kinds):
        key = (layout, metas, P.default_float)
        inst = self.insts.get(key)
        if inst is None:
            try:
                base = self.op.resolve(layout, metas, kinds)
            except NotImplementedError:
                if self.op.promote is not None:    # torch looks at the dtypes before it looks for a kernel
                    self.check_cast(self.op.common_dtype(layout, metas), metas[0].dtype)
                raise
            inst = self.insts[key] = self.bound(base, metas[0])
        return inst

    @staticmethod
    def check_cast(made, target):
        if not P.can_cast(made, target):
            raise RuntimeError(f"result type {P.c_name(made)} can't be cast to the desired output type {P.c_name(target)}")

    def bound(self, base, target):
        made = base.out_metas[0]
        if made.shape != target.shape:
            raise RuntimeError(f"output with shape {shown(target.shape)} doesn't match the broadcast shape {shown(made.shape)}")
        self.check_cast(made.dtype, target.dtype)
        if P.kind_of(target.dtype) == 3 and P.kind_of(made.dtype) == 2 and self.op.promote is None:
            raise RuntimeError(f"In-place {self.op.name} is not supported for complex tensors.")
        fn = base.fn

        def inplace(*flat):
            return [cast(fn(*flat)[0], target.dtype)]
        inst = Instance(self, base.layout, inplace, base.in_metas, base.kinds, target.device, (target.strides,))
        inst.grad_fn_name = self.op.inplace_grad or base.grad_fn_name
        inst.diff_ins = base.diff_ins
        if not base.diff_outs:
            inst.diff_outs = ()
        return inst

    def grad_name(self, inst):
        return inst.grad_fn_name


def shown(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


def op(schema, **options):
    """Declare an operator; the decorated function is its body. Returns the Op."""
    def declare(body):
        made = Op(schema, body, **options)
        if made.full_name in OPS:
            raise ValueError(f"operator {made.full_name} is declared twice")
        OPS[made.full_name] = made
        return made
    return declare
