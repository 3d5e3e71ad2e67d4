"""Numbers and sizes that depend on values, while a module's call is traced: symbols u0, u1 ... of which ranges alone are known.

What torch._check says of one is written down as an assertion, and makes its range smaller (`Again`: the call is traced anew, with that range from
the beginning). A question that its range does not answer has no answer: torch's GuardOnDataDependentSymNode.
"""
from __future__ import annotations

import math
import operator
import traceback

from .. import Tensor, empty, int64, ops
from .._dispatch.python import state
from .._subclasses.fake_tensor import _faked
from .._toplevel import SymBool
from .sizes import INFINITE, Again, DynamicInt, Expr, symbolic, value_in

_MOST = 2 ** 63 - 2                            # elements of any tensor
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SAID = {"eq": "Eq({}, {})", "ne": "Ne({}, {})"}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class Condition(SymBool):
    """A comparison of numbers of which one depends on values. `operands` are the program's."""
    __slots__ = ("of", "gap", "op", "operands", "holds")

    def __init__(self, of, gap, op, operands, holds):
        self.of, self.gap, self.op, self.operands, self.holds = of, gap, op, operands, holds

    def __str__(self):
        said = _SAID.get(self.op)
        return said.format(*self.operands) if said else f"{self.operands[0]} {_SIGNS[self.op]} {self.operands[1]}"

    __repr__ = __str__

    def answer(self):
        """What the ranges say; None where they leave it open."""
        line = self._line()
        if line is None:
            return None
        name, a, b = line
        answers = {self.holds(a * n + b) for n in self.of.unbacked[name]}
        if self.op in ("eq", "ne") and len(answers) == 1:
            least, most = self.of.unbacked[name]
            root = -b / a
            return None if least < root < most and root == int(root) else answers.pop()
        return answers.pop() if len(answers) == 1 else None

    def _line(self):
        """(symbol, a, b) where the difference of the sides is a * symbol + b."""
        names = self.gap.symbols()
        a = [c for k, c in self.gap.terms.items() if k]
        if len(names) != 1 or len(a) != 1 or Expr.atom(*names).scaled(a[0]) + Expr.number(self.gap.terms.get((), 0)) != self.gap:
            return None
        return *names, a[0], self.gap.terms.get((), 0)

    def __bool__(self):
        found = self.answer()
        if found is None:
            raise unanswered(self)
        return found

    def check(self, message=None):
        """torch._check: from now on it holds."""
        known = self.answer()
        if known is None:
            self._learn()
        if known is False:
            raise RuntimeError(str(message()) if message is not None else "Expected cond to be True, but got False. (Could this error message "
                               "be improved? If so, please report an enhancement request to PyTorch.)")
        if str(self) not in self.of.asserted:
            asserted(self.of.mode, self, f"{self.op}_1")

    def _learn(self):
        line = self._line()
        if line is None:
            if not all([self.holds(self.gap.at(case)) for case in self.of.cases]):
                raise NotImplementedError(f"torchshim: torch.export of torch._check({self}), a condition on several sizes")
            return
        name, a, b = line
        op, root = self.op if a > 0 else _TURNED.get(self.op, self.op), -b / a
        low, high = self.of.unbacked[name]
        if op in ("ge", "gt", "eq"):
            low = max(low, math.ceil(root) if op != "gt" else math.floor(root) + 1)
        if op in ("le", "lt", "eq"):
            high = min(high, math.floor(root) if op != "lt" else math.ceil(root) - 1)
        if low > high:
            raise RuntimeError(f"Expected cond to be True, but got False: {self}")
        if (low, high) != self.of.unbacked[name]:
            raise Again("values", [name], (low, high))


def unanswered(said):
    """torch's error for a question about values."""
    from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    from ..fx.proxy import _program
    frame = _program(traceback.extract_stack())[-1]
    return GuardOnDataDependentSymNode(
        said, f"Could not guard on data-dependent expression {said} (unhinted: {said}).  (Size-like symbols: none)\n\nconsider using "
        "data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true.\n\nThe following call raised this "
        f'error:\n  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n')


def compared(of, left, right, op, operands, holds):
    """What a comparison gives where a side depends on values: a Condition; for who computes shapes, the example's answer."""
    gap = left + right.scaled(-1)
    if state().off or gap.constant() is not None:
        return holds(gap.at(of.cases[0]))
    return Condition(of, gap, op, operands, holds)


def asserted(mode, condition, name):
    """Write down that a condition holds, beside what it is about."""
    mode.of.asserted.add(str(condition))
    args = tuple([mode.argument(x) for x in condition.operands])
    about = next((a for a in args if hasattr(a, "meta")), None)
    step = mode.graph.create_node("call_function", getattr(operator, condition.op), args, {}, name=name)
    end = mode.graph.call_function(ops.aten._assert_scalar.default, (
        step, f"Runtime assertion failed for expression {condition} on node '{step.name}'"))
    for s in (step, end):
        s.meta.update({k: x for k, x in about.meta.items() if k in ("stack_trace", "nn_module_stack", "torch_fn")})
    step.meta["val"], end.meta["val"] = condition, None


def number(mode, func, x):
    """`x.item()` of a whole number: a symbol."""
    expr = mode.of.fresh(-INFINITE, INFINITE)
    step = mode.graph.create_node("call_function", func, (mode.argument(x),), {}, name="item")
    mode.describe(step, "item")
    made = step.meta["val"] = DynamicInt(mode.of, expr)
    mode.sizes[expr] = step
    return made


def _shapes(name, args, k):
    """(shape with None for the size that depends on values, the most that it may be, dtype) in the k-th case; None where it is not known."""
    plain = [tuple(value_in(x, k)._ts_meta.shape) if isinstance(x, Tensor) else None for x in args]
    if name in ("nonzero", "argwhere"):
        return (None, len(plain[0])), math.prod(plain[0]), int64
    if name == "masked_select":
        return (None,), _MOST, args[0].dtype
    if name == "index":
        masks = [(j, i) for j, i in enumerate(args[1]) if i is not None]
        if len(masks) == 1 and str(masks[0][1].dtype) == "torch.bool":
            j, mask = masks[0]
            over = tuple(value_in(mask, k)._ts_meta.shape)
            return (*plain[0][:j], None, *plain[0][j + len(over):]), math.prod(over), args[0].dtype
    if name == "slice" and any([getattr(x, "of_values", False) for x in args[2:4]]):
        d = args[1] % len(plain[0])
        return (*plain[0][:d], None, *plain[0][d + 1:]), plain[0][d], args[0].dtype
    return None


def tensor(mode, name, args):
    """A tensor of whose sizes one depends on values, with what is known of that; None for operators that are missing here."""
    of = mode.of
    found = [_shapes(name, args, k) for k in range(len(of.cases))]
    if None in found:
        return None
    most = {n for _, n, _ in found}
    bound = most.pop() if len(most) == 1 else _MOST
    expr = of.fresh(0, bound)
    made = []
    for n, (shape, _, dtype) in zip(of.vector(expr), found):
        plain = empty([n if m is None else m for m in shape], dtype=dtype, device="meta")
        made.append(_faked(plain, getattr(args[0], "fake_device", args[0].device), mode.fake))
    return symbolic(of, made), expr, found[0][0].index(None), bound != _MOST and bound


def bounded(mode, made, expr, at, most):
    """Write down the range of the size `at` of a tensor whose step is there."""
    size = DynamicInt(mode.of, expr, ("size", (made, at)))
    for op, n in (("ge", 0), ("le", most)):
        if n is not False:
            holds = (lambda g: g >= 0) if op == "ge" else (lambda g: g <= 0)
            asserted(mode, Condition(mode.of, expr + Expr.number(-n), op, (size, n), holds), op)
