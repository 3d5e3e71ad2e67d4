"""What it costs to interpret a trace, to run it compiled and to compile it: estimates in nanoseconds from what it computes.

No clock is read: two runs of a program compile at the same repetitions and print the same digits. The constants were fitted by hand to
CPU times of the benchmark's programs in both tiers on one core of an AMD EPYC (JAX 0.10.2), those of calls to times on two cores; only the
ratios matter. The repetitions they give for the GPT are within a factor of two of those that the times give, for the stencil a little more.
A step at which nobody looks at once runs beside the recording of the next: an MLP's for 64 rows takes 105 µs compiled, 207 with NumPy; with
a look at each 190 and 209 (an unrolled cell's 870 and 1080, with looks 1300 and 1090; a stencil's 550 and 1020, with looks 730 and 1020).
NumPy wins where a step of small arrays has many of them in and out: a VAE's with 80 takes 420 µs against 495.
"""
from __future__ import annotations

import math
import os

from . import pieces
from .chains import inner_jaxprs

# interpreting: an operator, one of its primitives more than XLA's kernel for it (700 to 500), an alias of memory
OPERATOR, PRIMITIVE, VIEW = 1000, 200, 1500
# what a compiled program saves: an element; one of arrays of so many, which stay in a cache
ELEMENT, NEAR_ELEMENT, NEAR = 0.45, 0.12, 1 << 17
CALL, RESULT, INPUT = 10_000, 2_000, 1_000      # calling a compiled program, each array out of it and into it, which go between the tiers
AWAITED, RECORD = (15_000, 4_000, 2_500), 1000  # the same where somebody looks at once, and an operator that is not recorded meanwhile
MARGIN = 0.4               # what saves a smaller part of what it would without a call is not compiled: estimates are no better than that
COMPILE, COMPILE_PRIMITIVE = 30e6, 4e6         # compiling a program, each of its primitives (a view is half of one)
NEVER = 1 << 62
# Which part of what a compile costs must have been lost before it is made. What never pays is not compiled with a small one either.
PATIENCE = os.environ.get("TORCHSHIM_PATIENCE") or "1"
try:
    PATIENCE = float(PATIENCE)
except ValueError:
    PATIENCE = math.nan
if not 0 <= PATIENCE < math.inf:
    raise ValueError(f"TORCHSHIM_PATIENCE must be a number from 0, not {os.environ['TORCHSHIM_PATIENCE']!r}")

# What it saves for an element of a costly function, in tenths, since sizes may be symbolic and are multiplied with integers only;
# where NumPy's loop is the faster one, it loses.
_COSTLY = {**dict.fromkeys((
    "erf_inv", "lgamma", "digamma", "gather", "scatter", "scatter_add", "scatter_mul", "atan2", "asin", "acos", "atan", "sinh",
    "cosh", "tan", "erfc", "reduce_window_sum", "reduce_window_max"), 20),
    "erf": 50, "expm1": 0, "log1p": 0,
    "sort": -500, "top_k": -500, "cumlogsumexp": -4000, "cumsum": -10, "cumprod": -10, "cummax": -50, "cummin": -50, "argmax": -20,
    "argmin": -20, "reduce_sum": 1, "reduce_max": -4, "reduce_min": -4, "rem": -80, "sin": -60, "cos": -60, "pow": -50, "fft": -20}
# Likewise, of an element that is written or read by itself at a place of several coordinates, which XLA puts together one by one.
_PLACED = {"scatter": -80, "scatter_add": -80, "scatter_mul": -80, "scatter_min": -80, "scatter_max": -80, "gather": -20}
# Likewise, of calls that have a rule of their own.
_KNOWN = {"insertions_left": -2000, "insertions_right": -2000}
# Likewise, of small arrays, where NumPy's are computed by way of float64; of larger ones that part of it.
_ROUNDED, _ROUNDED_MOST, _ROUNDED_MORE = dict.fromkeys(("exp", "exp2", "tanh", "logistic"), 10), 1 << 14, 0.15
_PRODUCTS, _SUM_OF_PRODUCTS = frozenset(("mul", "square", "integer_pow")), -7     # each is rounded, in a compiled program
# Those without a rule are calls of small compiled programs when they are interpreted.
_CALLED = frozenset(("cholesky_update", "geqrf", "geqp3", "tridiagonal", "tridiagonal_solve", "schur", "hessenberg"))
_ONE_CALL = 300_000        # tenths, too
_HOST_COSTLY = 40          # a function of NumPy's of our own computes those of an element for a quarter of what it saves otherwise
_HOST_LOOP = 40            # it runs more primitives than that in a loop, whose further turns take XLA as long
_FREE = frozenset(("reshape", "squeeze", "expand_dims"))       # NumPy makes no elements for them
_SHRINK = ("reduce", "arg", "top_k")           # what reads more than it makes
_LOOPS = {"while": 16}     # turns of a loop whose length nobody knows
# How many primitives it takes as long to compile: a convolution (0.2 s), each primitive in a loop, which becomes a kernel of its own.
_DEAR = {"conv_general_dilated": 40, "scan": 3, "while": 3}


def weighed(jaxpr):
    """Counts that decide about a jaxpr: (primitives that run, primitives to compile, elements made, tenths of nanoseconds of costly
    functions, and of those that small arrays have rounded). They are symbolic where sizes are."""
    total, products = [0, 0, 0, 0, 0], set()
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name.replace("-", "_")
        if eqn.params.get("name") in _KNOWN:
            total[0], total[1] = total[0] + 1, total[1] + 2 * _DEAR["while"]
            total[3] += sum([math.prod(v.aval.shape) for v in eqn.outvars]) * _KNOWN[eqn.params["name"]]
            continue
        inner = [weighed(j) for j in inner_jaxprs(eqn.params)]
        if inner and not name.startswith(("reduce", "scatter", "custom_linear")):
            turns = eqn.params.get("length", 1) if name == "scan" else _LOOPS.get(name, 1)
            programmed = _DEAR.get(name, 1)
            for counts in inner:
                total = [t + n * (programmed if k == 1 else turns) for k, (t, n) in enumerate(zip(total, counts))]
            continue
        elements = sum([math.prod(getattr(v.aval, "shape", ())) for v in (eqn.invars if name.startswith(_SHRINK) else eqn.outvars)])
        total[0] += 1
        total[1] += _DEAR.get(name, 1)
        if name in _PRODUCTS and len({getattr(v.aval, "shape", ()) for v in eqn.invars}) == 1:
            products.update(eqn.outvars)
        if name == "reduce_sum" and eqn.invars[0] in products and len(eqn.invars[0].aval.shape) - 1 in eqn.params["axes"]:
            total[2] -= elements               # the product is not written down
            total[3] += elements * _SUM_OF_PRODUCTS
        elif name in _CALLED:
            total[3] += _ONE_CALL
        elif name in _PLACED and _by_places(name, eqn.params):
            total[3] += math.prod(eqn.invars[-1].aval.shape if name != "gather" else eqn.outvars[0].aval.shape) * _PLACED[name]
        elif name == "gather" and not all([n == 1 for n in eqn.params["slice_sizes"]]):
            pass                               # NumPy copies rows as fast
        elif name in _FREE:
            pass
        elif name in _ROUNDED:
            total[4] += elements * _ROUNDED[name]
        elif name in _COSTLY:
            total[3] += elements * _COSTLY[name]
        else:
            total[2] += elements
    return tuple(total)


def _by_places(name, params):
    """Whether it is single elements, at places of several coordinates, that a scatter writes or a gather reads."""
    numbers = params["dimension_numbers"]
    if name == "gather":
        coordinates, alone = numbers.start_index_map + numbers.operand_batching_dims, all([n == 1 for n in params["slice_sizes"]])
    else:
        coordinates, alone = numbers.scatter_dims_to_operand_dims + numbers.operand_batching_dims, not numbers.update_window_dims
    return alone and len(coordinates) > 1


def of_instance(inst):
    """(nanoseconds that compiling saves on an operator, primitives to compile)."""
    parts = inst.op.parts(inst)
    if parts:
        each = [part.cost for part, _, _ in parts]
        return sum([c[0] for c in each]), sum([c[1] for c in each])
    known = inst.op.weight and inst.op.weight(inst)
    if known:
        ran, programmed, elements, costly, *rounded = known
    elif inst.family is not None:
        ran, programmed, elements, costly, *rounded = inst.family.weight(inst.sizes)
    elif inst.traced:
        ran, programmed, elements, costly, *rounded = weighed(inst.jaxpr.jaxpr)
    else:                                      # what runs without being traced: views, and writes through them
        return (VIEW, 0.5) if inst.op.view is not None else (OPERATOR + _element(inst.out_metas[0]) * inst.out_metas[0].numel, 1)
    small = max([m.numel for m in (*inst.in_metas, *inst.out_metas)], default=0) <= _ROUNDED_MOST
    costly += sum(rounded) * (1 if small else _ROUNDED_MORE)
    # as many calls of NumPy, but block by block: memory is gone through once
    if inst.op.in_blocks and inst.op.on_host(inst) is not None:
        ran = min(ran, _HOST_LOOP)
        return OPERATOR + PRIMITIVE * ran + sum([_element(m) * m.numel for m in inst.out_metas]) + costly / _HOST_COSTLY, programmed
    element = max([_element(m) for m in (*inst.in_metas, *inst.out_metas)], default=NEAR_ELEMENT)
    return OPERATOR + PRIMITIVE * ran + element * elements + costly / 10, programmed


def _element(m):
    return NEAR_ELEMENT if m.numel <= NEAR else ELEMENT


def of_trace(steps, live, inputs, awaited=False):
    """(nanoseconds saved by each run of a compiled program, nanoseconds to compile it) for operators of which the slots `live` are wanted,
    with so many arrays in; `awaited`: somebody looks at once."""
    each, wanted = [s[0].cost for s in steps], set(live)
    written = sum([_element(m) * m.numel for s in steps if s[0].op.view is None for k, m in enumerate(s[0].out_metas, s[3]) if k in wanted])
    most = sum([c[0] for c in each]) - written                      # results are written in any case
    call, result, taken = AWAITED if awaited else (CALL, RESULT, INPUT)
    saved = most - (call + result * len(live) + taken * inputs) - (RECORD * len(steps) if awaited else 0)
    saved = saved if saved > MARGIN * most else 0
    primitives = sum([c[1] for c in each])
    if primitives <= pieces.LONG:
        return saved, COMPILE + COMPILE_PRIMITIVE * primitives
    made = pieces.cut(pieces.expanded(steps), live)
    apart = {piece.body: piece.primitives for piece in made}.values()
    return saved - call * (len(made) - 1), COMPILE * len(apart) + COMPILE_PRIMITIVE * sum(apart)


def repetitions(saved, price):
    """After how many runs a trace has lost by not being compiled what compiling it costs, or a part of that where `PATIENCE` says so."""
    return NEVER if saved <= 0 else max(2, math.ceil(PATIENCE * price / saved) + 1)
