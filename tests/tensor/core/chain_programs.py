"""Random programs of views, in-place writes and backward passes, run on the model and a library.

A program is a list of lines of Python.  Every line runs on the reference model and on the library;
whatever a user could see must agree.  A difference is reported as the shortest program that shows
it, ready to paste.  To extend: write a function that returns a line and give it a weight in LINES.
"""

import contextlib
import re

import numpy as np

import tests.tensor.core.strided_ops  # noqa: F401  (gives the model its operators)
from tests.tensor.core.strided_model import Predicted, Refused, Tensor, World

MOST_ELEMENTS = 24
SHAPES = [(4,), (6,), (3,), (2, 3), (3, 2), (2, 2), (4, 3), (2, 2, 3), (1, 4), (3, 3), (2, 1, 2)]
NUMBERS = [0.5, 2, -1, 1.5, 3, -0.5, 0.25, -2]
NOT_RAISED = "no error"


class Difference(Exception):
    """The library and the model disagree."""


class Session:
    """Runs lines on the model and, if given, on a library's ``torch``; raises Difference."""

    def __init__(self, torch=None, changed=False):
        self.torch = torch
        self.changed = changed  # lines left out or other numbers: some lines may fit no more
        self.model_names = {"torch": World()}
        self.names = {"torch": torch}
        self.lines = []
        self.raised = []
        self.over = False  # after a failed backward the gradients are anybody's guess

    def tensors(self):
        return {k: v for k, v in self.model_names.items() if isinstance(v, Tensor)}

    def step(self, line):
        """Run one line; False if the model refuses it (the library does not see it then)."""
        code = compile(line, "<chain>", "exec")
        before = set(self.model_names)
        changes = self.model_names["torch"].changes
        predicted = ()
        try:
            exec(code, self.model_names)
        except Predicted as e:
            predicted = e.args
        except (Refused, NameError, AttributeError, TypeError, ValueError, IndexError) as e:
            if not isinstance(e, Refused) and not lacks_a_line(e) and not self.changed:
                raise
            if self.model_names["torch"].changes != changes:  # refused halfway, as in t[0] += 1
                self.rebuild()
            return False
        new = [k for k in self.model_names if k not in before and k != "__builtins__"]
        if any(self.model_names[k].numel() > MOST_ELEMENTS for k in new if self.model_names[k] is not None):
            self.rebuild()
            return False
        self.lines.append(line)
        if predicted:
            self.raised.append(predicted[0])
            self.over = "backward" in line or "autograd.grad" in line
        if self.torch is not None:
            self.step_library(code, line, predicted)
        return True

    def rebuild(self):
        self.model_names = {"torch": World()}
        for line in self.lines:
            with contextlib.suppress(Predicted):
                exec(line, self.model_names)

    def step_library(self, code, line, predicted):
        message = NOT_RAISED
        try:
            exec(code, self.names)
        except RuntimeError as e:
            message = str(e)
        except Exception as e:
            raise Difference(f"{line}\n    {type(e).__name__}: {e}") from e
        expected = predicted or (NOT_RAISED,)
        if not any(e in message for e in expected):
            raise Difference(f"{line}\n    expected: {' or '.join(expected)}\n    got: {message}")
        if ".tolist()" in line:
            self.compare_one(line.split(".")[0])

    def compare_all(self):
        for name in self.tensors():
            self.compare_one(name)
        for name, value in self.model_names.items():
            if value is None and self.names[name] is not None:
                raise Difference(f"{name}: expected None")

        self.compare_addresses()

    def compare_addresses(self):
        """Same address if and only if same memory (elements are 8 bytes)."""
        seen = {}
        for name, want in self.tensors().items():
            if want.kind != "f" or name[0] != "t":  # gradients may share memory
                continue
            start = self.names[name].data_ptr() - 8 * want.storage_offset()
            if seen.setdefault(id(want.storage), start) != start:
                raise Difference(f"{name}.data_ptr(): not in the memory that it shares")
        if len(set(seen.values())) != len(seen):
            raise Difference("data_ptr(): the same for tensors that share no memory")

    def compare_one(self, name):
        try:
            self.compare_look(name)
        except Difference:
            raise
        except Exception as e:  # a tensor that cannot even be looked at
            raise Difference(f"looking at {name}\n    {type(e).__name__}: {e}") from e

    def compare_look(self, name):
        want, have = self.model_names[name], self.names[name]

        def same(what, expected, got):
            if expected != got:
                raise Difference(f"{name}.{what}: expected {expected}, got {got}")

        same("shape", want.shape, tuple(have.shape))
        same("requires_grad", want.requires_grad, have.requires_grad)
        if name.startswith("t"):  # the layout and version of gradients are the engine's business
            same("stride()", want.stride(), tuple(have.stride()))
            same("storage_offset()", want.storage_offset(), have.storage_offset())
            same("_version", want._version, have._version)
        if not want.poisoned:
            same("is_leaf", want.is_leaf, have.is_leaf)
        close(name, want, have)
        if self.over or want.poisoned:
            return
        if want.is_leaf or want.grad is not None:
            same("grad is None", want.grad is None, have.grad is None)
        if want.grad is not None:
            close(name + ".grad", want.grad, have.grad)


def lacks_a_line(error):
    """While shrinking, a tensor or a gradient that a line needs may be missing."""
    if isinstance(error, NameError):
        return error.name[0] in "tg"
    return "NoneType" in str(error)


def close(name, want, have):
    got = np.asarray(have.detach().numpy(), dtype=np.float64)
    expected = np.asarray(want.values())
    if got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-9, atol=1e-9):
        raise Difference(f"{name}: expected {expected.tolist()}, got {got.tolist()}")


# ---------------------------------------------------------------- writing lines


class Writer:
    """Chooses the next line, knowing the tensors that the model has."""

    def __init__(self, seed, session):
        self.rng = np.random.default_rng(seed)
        self.session = session
        self.count = 0

    def pick(self, items):
        items = list(items)
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p):
        return self.rng.random() < p

    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def new(self):
        self.count += 1
        return f"t{self.count}"

    def tensors(self, test=lambda t: True):
        found = [(k, t) for k, t in self.session.tensors().items() if k[0] == "t" and t.kind == "f" and test(t)]
        if not found:
            raise Refused("no such tensor")
        return found

    def any(self, test=lambda t: True):
        """A tensor; more often a recent one."""
        found = self.tensors(test)
        if len(found) > 2 and self.chance(0.4):
            found = found[-2:]
        return self.pick(found)

    def target(self):
        """A tensor to write to: mostly one that may be written to."""
        if self.chance(0.85):
            return self.any(lambda t: not (t.requires_grad and (t.is_leaf or t.family.node.leaf)))
        return self.any()

    def like(self, t):
        """A tensor, or a number, that broadcasts to t."""

        def fits(o):
            try:
                return np.broadcast_shapes(o.shape, t.shape) == t.shape
            except ValueError:
                return False

        if self.chance(0.3):
            return str(self.pick(NUMBERS))
        if self.chance(0.2):
            return self.data(t.shape)
        return self.any(fits)[0]

    def partner(self, t):
        def fits(o):
            try:
                np.broadcast_shapes(o.shape, t.shape)
                return True
            except ValueError:
                return False

        if self.chance(0.25):
            return str(self.pick(NUMBERS))
        return self.any(fits)[0]

    def data(self, shape, grad=False):
        values = np.round(self.rng.uniform(-2, 2, shape) * 8) / 8
        return f"torch.tensor({values.tolist()}, dtype=torch.float64{', requires_grad=True' if grad else ''})"

    def dim(self, t):
        if not t.ndim:
            raise Refused("no dimension")
        return self.integer(0, t.ndim - 1)

    def indices(self, n, distinct=False):
        k = self.integer(1, min(n, 3))
        if distinct:
            return self.rng.permutation(n)[:k].tolist()
        return self.rng.integers(0, n, k).tolist()

    def basic_index(self, t):
        if not t.ndim:
            return "..."
        parts = []
        for n in t.shape:
            kind = self.rng.random()
            if kind < 0.25:
                parts.append(str(self.integer(-n, n - 1)))
            elif kind < 0.75:
                start = self.integer(0, n - 1)
                stop = self.integer(start + 1, n)
                step = self.pick([1, 1, 1, 2])
                first = start if start or self.chance(0.3) else ""
                last = "" if stop == n else stop - n if self.chance(0.3) else stop
                text = f"{first}:{last}"
                parts.append(text + (f":{step}" if step > 1 else ""))
            else:
                parts.append(":")
            if self.chance(0.05):
                parts.append("None")
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        if self.chance(0.1):
            parts = ["...", self.pick([p for p in parts if p != "None"])]
        return ", ".join(parts)

    def under_grad(self, line, p=0.15):
        return f"with torch.no_grad(): {line}" if self.chance(p) else line


def view_text(w, t):
    """A view expression on the tensor ``t``, without its name."""
    kind = w.pick(["index", "index", "index", "transpose", "view", "reshape", "unsqueeze", "squeeze", "expand",
                   "diagonal", "unfold", "narrow", "select", "as_strided", "flatten", "permute", "movedim"])  # fmt: skip
    if kind == "index":
        return f"[{w.basic_index(t)}]"
    if kind == "transpose":
        if t.ndim < 2:
            raise Refused
        a, b = w.rng.permutation(t.ndim)[:2]
        return ".t()" if t.ndim == 2 and w.chance(0.5) else f".transpose({a}, {b})"
    if kind in ("view", "reshape"):
        shapes = [(-1,), (t.numel(),), (1, -1)] + [(k, t.numel() // k) for k in (2, 3, 4) if t.numel() % k == 0]
        if t.numel() % 4 == 0:
            shapes.append((2, 2, -1))
        return f".{kind}({', '.join(map(str, w.pick(shapes)))})"
    if kind == "unsqueeze":
        return f".unsqueeze({w.integer(-t.ndim - 1, t.ndim)})"
    if kind == "squeeze":
        return ".squeeze()" if w.chance(0.5) else f".squeeze({w.dim(t)})"
    if kind == "expand":
        sizes = [n if n > 1 else w.pick([-1, 2, 3]) for n in t.shape]
        if w.chance(0.4):
            sizes = [w.pick([1, 2, 3])] + sizes
        return f".expand({', '.join(map(str, sizes))})" if sizes else ".expand(3)"
    if kind == "diagonal":
        if t.ndim < 2:
            raise Refused
        return f".diagonal({w.pick([0, 0, 1, -1])})"
    if kind == "unfold":
        d = w.dim(t)
        size = w.integer(1, t.shape[d])
        return f".unfold({d}, {size}, {w.pick([1, 2, size])})"
    if kind == "narrow":
        d = w.dim(t)
        start = w.integer(0, t.shape[d] - 1)
        return f".narrow({d}, {start}, {w.integer(1, t.shape[d] - start)})"
    if kind == "select":
        d = w.dim(t)
        return f".select({d}, {w.integer(-t.shape[d], t.shape[d] - 1)})"
    if kind == "as_strided":
        size, stride = w.pick([((2,), (1,)), ((2, 2), (1, 2)), ((3,), (2,)), ((2, 2), (2, 1)), ((2, 2), (1, 1))])
        return f".as_strided({size}, {stride}, {t.offset + w.integer(0, 2)})"
    if kind == "flatten":
        return ".flatten()"
    if kind == "permute":
        return f".permute({', '.join(map(str, w.rng.permutation(t.ndim)))})" if t.ndim else ".view(1)"
    return f".movedim({w.dim(t)}, {w.dim(t)})"


def line_leaf(w):
    return f"{w.new()} = {w.data(w.pick(SHAPES), grad=True)}"


def line_buffer(w):
    shape = w.pick(SHAPES)
    if w.chance(0.5):
        return f"{w.new()} = torch.zeros({', '.join(map(str, shape))}, dtype=torch.float64)"
    return f"{w.new()} = {w.data(shape)}"


def line_view(w):
    name, t = w.any()
    return w.under_grad(f"{w.new()} = {name}{view_text(w, t)}", 0.06)


def line_pieces(w):
    name, t = w.any()
    d = w.dim(t)
    n = t.shape[d]
    kind = w.pick(["chunk", "split", "unbind"])
    if kind == "unbind":
        count, args = n, f"{d}"
    elif kind == "split":
        size = w.integer(1, n)
        count, args = -(-n // size), f"{size}, {d}"
    else:
        chunks = w.integer(1, 3)
        count, args = -(-n // -(-n // chunks)), f"{chunks}, {d}"
    names = "".join(f"{w.new()}, " for _ in range(count))
    return f"{names}= {name}.{kind}({args})"


def line_apart(w):
    """Tensors that share memory but no history, or share nothing."""
    name, _ = w.any()
    how = w.pick([".detach()", ".detach()", ".data", ".clone()", ".contiguous()", ".detach().clone().requires_grad_()"])
    return w.under_grad(f"{w.new()} = {name}{how}", 0.05)


def line_unary(w):
    name, t = w.any()
    f = w.pick(["neg()", "exp()", "sin()", "cos()", "tanh()", "sigmoid()", "relu()", "abs()", "square()",
                "clamp(-1.01, 1.01)", "pow(2)", "pow(3)"])  # fmt: skip
    return w.under_grad(f"{w.new()} = {name}.{f}", 0.08)


def line_binary(w):
    name, t = w.any()
    other = w.partner(t)
    form = w.pick(["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} * {b}", "{a} / {b}", "{a}.add({b}, alpha=0.5)"])
    if not other.startswith("t"):
        form = w.pick(["{a} + {b}", "{a} * {b}", "{a} / {b}", "{a} - {b}", "{b} - {a}", "{b} * {a}"])
        if form.startswith("{b}"):
            return w.under_grad(f"{w.new()} = {form.format(a=name, b=f'({other})')}", 0.08)
    elif w.chance(0.1):
        form = "torch.maximum({a}, {b})"
    return w.under_grad(f"{w.new()} = {form.format(a=name, b=other)}", 0.08)


def line_reduce(w):
    name, t = w.any()
    kind = w.pick(["sum", "mean", "cumsum", "flip", "sum", "index_select", "matmul", "cat", "where", "masked_fill", "get"])
    new = w.new()
    if kind in ("sum", "mean"):
        if not t.ndim or w.chance(0.3):
            return f"{new} = {name}.{kind}()"
        return f"{new} = {name}.{kind}({w.dim(t)}, keepdim={w.chance(0.3)})"
    if kind in ("cumsum", "flip"):
        return f"{new} = {name}.{kind}({w.dim(t)})"
    if kind == "index_select":
        d = w.dim(t)
        return f"{new} = {name}.index_select({d}, torch.tensor({w.indices(t.shape[d])}))"
    if kind == "matmul":
        other = w.any(lambda o: o.ndim and t.ndim and o.shape[0] == t.shape[-1])[0]
        return f"{new} = {name} @ {other}"
    if kind == "cat":
        other = w.any(lambda o: o.shape == t.shape)[0]
        return f"{new} = torch.{w.pick(['cat', 'stack'])}([{name}, {other}], {w.dim(t)})"
    if kind == "where":
        return f"{new} = torch.where({name} > 0.3, {name}, {w.any()[0]})"
    if kind == "masked_fill":
        return f"{new} = {name}.masked_fill({name} > 0.3, 0.5)"
    return f"{new} = {name}[{advanced_index(w, name, t)}]"


def advanced_index(w, name, t, distinct=False):
    if w.chance(0.4):
        return f"{name} > {w.pick([0.3, -0.3])}"
    d = w.dim(t)
    return ":, " * d + f"torch.tensor({w.indices(t.shape[d], distinct)})"


def line_write(w):
    name, t = w.target()
    kind = w.pick(["unary", "binary", "binary", "binary", "binary", "fill", "copy", "masked", "index", "index", "index",
                   "fused", "set", "set", "set", "put", "augmented", "augmented"])  # fmt: skip
    return w.under_grad(write_text(w, name, t, kind), 0.5 if t.requires_grad and t.is_leaf else 0.12)


def write_text(w, name, t, kind):
    if kind == "unary":
        f = w.pick(["neg_()", "exp_()", "sin_()", "tanh_()", "sigmoid_()", "relu_()", "abs_()", "square_()",
                    "pow_(2)", "clamp_(-1.01, 1.01)", "cos_()"])  # fmt: skip
        return f"{name}.{f}"
    if kind == "binary":
        f = w.pick(["add_", "mul_", "mul_", "sub_", "div_"])
        alpha = ", alpha=0.5" if f in ("add_", "sub_") and w.chance(0.3) else ""
        return f"{name}.{f}({w.like(t)}{alpha})"
    if kind == "augmented":
        where = f"[{w.basic_index(t)}]" if w.chance(0.7) else ""
        return f"{name}{where} {w.pick(['+=', '*=', '-='])} {w.like(t) if w.chance(0.5) else w.pick(NUMBERS)}"
    if kind == "fill":
        return f"{name}.{w.pick(['zero_()', 'fill_(1.5)', 'fill_(' + w.any(lambda o: o.ndim == 0)[0] + ')'])}"
    if kind == "copy":
        return f"{name}.copy_({w.any(lambda o: o.numel() <= t.numel())[0]})"
    if kind == "masked":
        return f"{name}.masked_fill_({name} {w.pick(['>', '<'])} 0.3, {w.pick(NUMBERS)})"
    if kind == "fused":
        a, b = (w.any(lambda o: o.shape == t.shape)[0] for _ in range(2))
        return f"{name}.{w.pick([f'addcmul_({a}, {b}, value=0.5)', f'lerp_({a}, 0.25)'])}"
    if kind == "set":
        return f"{name}[{w.basic_index(t)}] = {w.any()[0] if w.chance(0.6) else w.pick(NUMBERS)}"
    if kind == "put":
        return f"{name}[{advanced_index(w, name, t, True)}] = {w.any()[0] if w.chance(0.6) else w.pick(NUMBERS)}"
    d = w.dim(t)
    f = w.pick(["index_add_", "index_copy_", "index_fill_"])
    at = w.indices(t.shape[d], f == "index_copy_")
    if f == "index_fill_":
        return f"{name}.index_fill_({d}, torch.tensor({at}), {w.pick(NUMBERS)})"
    shape = t.shape[:d] + (len(at),) + t.shape[d + 1 :]
    fits = [k for k, o in w.tensors() if o.shape == shape]
    source = w.pick(fits) if fits and w.chance(0.8) else w.data(shape)
    return f"{name}.{f}({d}, torch.tensor({at}), {source})"


def line_chained_write(w):
    """A write through a view that nobody keeps."""
    name, t = w.target()
    views = view_text(w, t)
    op = w.pick(["mul_(2)", "add_(1)", "zero_()", "sin_()", "fill_(0.5)", "neg_()"])
    return w.under_grad(f"{name}{views}.{op}")


def line_apart_write(w):
    name, t = w.any()
    return f"{name}.{w.pick(['detach()', 'detach()', 'data'])}.{w.pick(['mul_(2)', 'add_(1)', 'zero_()'])}"


def line_backward(w):
    name, t = w.any(lambda t: t.requires_grad and t.family.node.leaf is None) if w.chance(0.95) else w.any()
    retain = w.pick(["", "", "retain_graph=True"])
    inputs = f"inputs=[{some_targets(w)}]" if w.chance(0.1) else ""
    if t.numel() == 1 and w.chance(0.7) or w.chance(0.02):
        return f"{name}.backward({join(retain, inputs)})"
    if w.chance(0.4):
        return f"{name}.sum().backward({join(retain, inputs)})"
    return f"{name}.backward({join(w.data(t.shape), retain, inputs)})"


def line_grad(w):
    name, t = w.any(lambda t: t.requires_grad)
    retain = w.pick(["", "retain_graph=True"])
    unused = "allow_unused=True" if w.chance(0.9) else ""
    targets = some_targets(w)
    names = "".join(f"g{i}{w.new()}, " for i in range(targets.count(",") + 1))
    weight = "" if t.numel() == 1 else f"{w.data(t.shape)}"
    return f"{names}= torch.autograd.grad({join(name, f'[{targets}]', weight, retain, unused)})"


def some_targets(w):
    found = [k for k, t in w.tensors(lambda t: t.requires_grad and t.is_base)]
    return ", ".join(w.rng.permutation(found)[: w.integer(1, 2)])


def join(*parts):
    return ", ".join(p for p in parts if p)


def line_leaf_grad(w):
    name, t = w.any(lambda t: t.grad is not None)
    how = w.pick(["keep", "none", "zero", "step", "step"])
    if how == "keep":
        return f"g{w.new()} = {name}.grad"
    if how == "none":
        return f"{name}.grad = None"
    if how == "zero":
        return f"{name}.grad.zero_()"
    return f"with torch.no_grad(): {name} -= 0.25 * {name}.grad"


def line_look(w):
    return f"{w.any()[0]}.tolist()"


def line_retain_grad(w):
    return f"{w.any(lambda t: t.requires_grad and t.is_base)[0]}.retain_grad()"


def line_forget(w):
    return f"del {w.pick(w.tensors()[1:])[0]}" if len(w.tensors()) > 3 else line_look(w)


LINES = {
    line_view: 22, line_pieces: 2, line_apart: 4, line_unary: 8, line_binary: 12, line_reduce: 8, line_write: 24,
    line_chained_write: 6, line_apart_write: 2, line_backward: 7, line_grad: 3, line_leaf_grad: 3, line_look: 4,
    line_retain_grad: 2, line_forget: 2, line_leaf: 1, line_buffer: 1,
}  # fmt: skip


def run_chain(torch, seed, least=6, most=18):
    """Write a program as it goes, on the model and ``torch`` at once; returns the session."""
    session = Session(torch)
    writer = Writer(seed, session)
    lines, weights = list(LINES), np.array(list(LINES.values()), dtype=float)
    weights /= weights.sum()
    for _ in range(writer.integer(1, 2)):
        session.step(line_leaf(writer))
    if writer.chance(0.4):
        session.step(line_buffer(writer))
    length = writer.integer(least, most)
    for _ in range(length * 8):
        if session.over or len(session.lines) >= length:
            break
        try:
            line = lines[int(writer.rng.choice(len(lines), p=weights))](writer)
        except Refused:
            continue
        session.step(line)
    for _ in range(4):
        if session.over:
            break
        try:
            if session.step(line_backward(writer)):
                break
        except Refused:
            break
    if torch is not None:
        session.compare_all()
    return session


def replay(torch, lines):
    """Run a given program; lines that the model refuses are left out."""
    session = Session(torch, changed=True)
    for line in lines:
        session.step(line)
        if session.over:
            break
    session.compare_all()
    return session


def shrink(torch, lines):
    """Leave lines out as long as some difference remains."""
    def differs(some):
        try:
            replay(torch, some)
        except Difference:
            return True
        return False

    again = True
    while again:
        again = False
        for i in reversed(range(len(lines))):
            shorter = lines[:i] + lines[i + 1 :]
            if differs(shorter):
                lines, again = shorter, True
    return lines


def other_numbers(lines, rng):
    """The same program on other data: for a library that remembers what it has run before."""

    def number(match):
        return repr(float(np.round(rng.uniform(-2, 2) * 8) / 8))

    def data(match):
        return re.sub(r"-?\d+\.\d+", number, match.group())

    return [re.sub(r"tensor\([^)]*dtype| [-+*/]=? -?\d+\.\d+", data, line) for line in lines]


def check_chain(torch, seed, rounds=1):
    """Run the chain of this seed, again with other data in further rounds; an AssertionError tells program and difference."""
    try:
        session = run_chain(torch, seed)
    except Difference as e:
        # the chain is written again on the model alone: it does not depend on the library
        report(seed, shrink(torch, run_chain(None, seed).lines), e)
    rng = np.random.default_rng(seed)
    before = []
    for _ in range(rounds - 1):
        lines = other_numbers(session.lines, rng)
        try:
            replay(torch, lines)
        except Difference as e:
            report(seed, before + ["# again, with other numbers:"] * bool(before) + shrink(torch, lines), e)
        before = lines
    return session


def report(seed, lines, difference):
    """Fail with a program to paste."""
    raise AssertionError(f"seed {seed}\n\n" + "\n".join(lines) + f"\n\nbefore it was shortened: {difference}")
