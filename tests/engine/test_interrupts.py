"""Protects the numbers from what comes between two bytecodes: exceptions, finalizers and handlers that record, and signals."""
import contextlib
import dis
import gc
import math
import random
import signal
import sys

import pytest

import torchshim as torch
from torchshim import engine
from torchshim.autograd.backward import accumulate_grad
from torchshim.autograd.replay import Walk
from torchshim.engine.compile import policy
from torchshim.engine.record import trace, trie
from torchshim.tensor.core import dispatch, handle, host, inplace, view, write


@pytest.fixture(autouse=True)
def no_compiles():
    """What is recorded is in question, not how it is computed."""
    policy.pin("operators")
    yield
    policy.pin(None)


class Stop(Exception):
    pass


RECORDING = [dispatch.apply, dispatch.apply1, dispatch.apply2, dispatch.apply3, dispatch.apply_number, dispatch.finish, dispatch.wrap,
             handle.read, handle.edge, view.make_view, view.make_view_any, write.write, write.rewrite, write._rewrite_hosted,
             write.set_value, write.count, inplace.inplace1, inplace.inplace2, inplace.inplace_number, inplace.put_slice,
             inplace.put_slice_number, write.apply_inplace, write._history, host.HostStorage.__setattr__, host.HostStorage._write_through, trace.record,
             trace.place_input, trace.Trace.enter, trace.Trace.trim, trace.Trace.flush, trie.State.miss, trie.State.grow,
             trie.State.__init__, Walk.replay, Walk._record, accumulate_grad]
CODES = {f.__code__ for f in RECORDING}
#: An exception between the bytecodes that release its lock would leave it locked for all other threads; CPython lets none in there.
GROWS = trie.State.grow.__code__
#: After these CPython may take a signal, collect garbage or switch threads; elsewhere it does not.
INTERRUPTIBLE = ("CALL", "BUILD", "JUMP_BACKWARD", "RESUME")


def breaks(code, known={}):
    """Offsets of the bytecodes before which other code may run."""
    if code not in known:
        found, before = set(), ""
        for i in dis.get_instructions(code):
            if before.startswith(INTERRUPTIBLE):
                found.add(i.offset)
            before = i.opname
        known[code] = found
    return known[code]


@contextlib.contextmanager
def at_bytecode(n, action, everywhere):
    """`action()` comes before the `n`th bytecode in the recording functions; yields a list that is not empty once it came."""
    came, count = [], 0

    def local(frame, event, arg):
        nonlocal count
        if event == "opcode" and not came and (everywhere and frame.f_code is not GROWS or frame.f_lasti in breaks(frame.f_code)):
            count += 1
            if count > n:
                came.append(True)
                sys.settrace(None)
                action()
        return local

    def enter(frame, event, arg):
        if frame.f_code in CODES:
            frame.f_trace_opcodes = True
            return local
        return None
    sys._getframe().f_trace_opcodes = True     # Python 3.12 traces bytecodes only if it was set on some frame before settrace
    sys.settrace(enter)
    try:
        yield came
    finally:
        sys.settrace(None)


def stop():
    raise Stop


def session(step):
    """One program for all of the tests: every way to record, on values that were computed and values that were not."""
    x = torch.tensor([1.0, -2.0, 3.0])
    early = x * 2.0 + 1.0                      # recorded before, looked at after
    out = []
    with contextlib.suppress(Stop), step:
        y = x * 3.0
        out.append(y)
        out.append(torch.relu(y) + early)
        out.append(torch.addcmul(early, x, y, value=2.0))
        out.append(torch.max(y, 0)[0])
        out.append(torch.ones(3) - y)
    z = (x * 5.0 + early) * 0.5
    want = ([3, -6, 9], [6, -3, 16], [9, 21, 61], 9, [-2, 7, -8])
    assert early.tolist() == [3, -3, 7]
    for got, expected in zip(out, want):
        assert got.tolist() == expected
    assert z.tolist() == [4, -6.5, 11]


def writes(step):
    """Writes, with a view that looks on: they happened for both or for none."""
    x = torch.tensor([1.0, 2.0, 3.0])
    x.tolist()
    v = x[1:]
    with contextlib.suppress(Stop), step:
        x.mul_(2.0)
        v.add_(1.0)
        x[0] = 7.0
    got = x.tolist()
    assert got in ([1, 2, 3], [2, 4, 6], [2, 5, 7], [7, 5, 7]) and v.tolist() == got[1:]
    assert (v * 2.0).tolist() == [2 * e for e in got[1:]]


def histories(step):
    """Writes that have a gradient: the value and the history are both of before or both of after."""
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 1.0
    x.retain_grad()
    v, h = x[1:], torch.zeros(3)
    seen = h.numpy()
    done = 0
    with contextlib.suppress(Stop), step:
        h.add_(w)                              # NumPy sees it
        x.mul_(2.0)
        done = 1
        v.add_(x[:2] * 3.0)
        done = 2
        x.exp_()
        done = 3
    assert seen.tolist() == ([1, 2, 3] if h.requires_grad else [0, 0, 0])
    got, (a, b, c) = x.tolist(), (1.0, 2.0, 3.0)
    reached = [[a, b, c], [2 * a, 2 * b, 2 * c], [2 * a, 2 * b + 6 * a, 2 * c + 6 * b]]
    reached.append([math.exp(e) for e in reached[2]])
    k = next(k for k, want in enumerate(reached) if got == pytest.approx(want))
    assert k in (done, done + 1) and v.tolist() == got[1:]
    d = [1.0] * 3 if k < 3 else got
    want = [[1.0] * 3, [2.0] * 3, [2 * d[0] + 6 * d[1], 2 * d[1] + 6 * d[2], 2 * d[2]]][min(k, 2)]
    try:
        x.sum().backward()
    except RuntimeError as error:              # what is interrupted may have counted a write, and a saved value refuses then
        assert "modified by an inplace operation" in str(error) and k < 3
    else:
        assert w.grad.tolist() == pytest.approx(want)
        assert x.grad is None or x.grad.tolist() == [1.0] * 3


def steps(step):
    """A backward pass, replayed."""
    w, u = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    done = False
    loss = (w * u * 3.0).sum()
    with contextlib.suppress(Stop), step:
        loss.backward()
        done = True
    for leaf, want in ((w, [9, 12]), (u, [3, 6])):
        assert (leaf.grad is None and not done) or leaf.grad.tolist() == want
    w.grad = None
    (w * u * 3.0).sum().backward()
    assert w.grad.tolist() == [9, 12]


def each_bytecode(program, action, everywhere):
    """Runs `program` with `action` before each bytecode in turn; how many there were."""
    for _ in range(3):
        program(contextlib.nullcontext())
    for n in range(100_000):
        step = at_bytecode(n, action, everywhere)
        came = []

        @contextlib.contextmanager
        def watched():
            with step as c:
                came.append(c)
                yield
        program(watched())
        if not came[0]:
            return n


@pytest.mark.parametrize("program", [session, writes, steps])
def test_an_exception_at_each_bytecode(program):
    assert each_bytecode(program, stop, everywhere=True) > 150


def record_more():
    record_more.kept.append(torch.full((2,), 3.0) * 7.0)
    del record_more.kept[:-3]


record_more.kept = []


def look():
    assert ((torch.full((2,), 3.0) + 1.0) * 2.0).tolist() == [8, 8]


def test_an_exception_wherever_cpython_lets_one_in():
    """An in-place operator with a gradient writes the value and its history, or neither."""
    assert each_bytecode(histories, stop, everywhere=False) > 50


@pytest.mark.parametrize("program", [session, writes, histories, steps])
@pytest.mark.parametrize("action", [record_more, look, engine.flush])
def test_other_code_between_bytecodes(program, action):
    """A finalizer or a handler that records, that looks, or that computes what is pending."""
    record_more.kept.clear()
    assert each_bytecode(program, action, everywhere=False) > 20
    assert all([k.tolist() == [21, 21] for k in record_more.kept])


def test_an_exception_and_then_other_code():
    """What an interrupted record left is dropped by whoever records next, be it a finalizer."""
    x = torch.tensor([1.0, 2.0])
    x.tolist()
    for n in range(200):
        a = x * 2.0
        with contextlib.suppress(Stop), at_bytecode(n, stop, True):
            x * 5.0
        with at_bytecode(n % 17, record_more, False):
            b = a + x * 3.0
        assert b.tolist() == [5, 10] and record_more.kept[-1].tolist() == [21, 21]


def test_finalizers_that_record():
    class Noisy:
        def __init__(self):
            self.me = self

        def __del__(self):
            y = torch.ones(3) * 2.0
            if mode == "look":
                y.sum().item()
    before = gc.get_threshold()
    gc.set_threshold(5, 2, 2)
    try:
        for mode in ("record", "look"):
            for i in range(60):
                x = z = torch.full((4,), float(i % 7))
                f = v = float(i % 7)
                for _ in range(3):
                    Noisy()
                    z = z * 2.0 + x - 1.0
                    z = z.relu() + z.abs() * 0.5
                    v = v * 2.0 + f - 1.0
                    v = max(v, 0) + abs(v) * 0.5
                assert z.tolist() == [v] * 4
    finally:
        gc.set_threshold(*before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
def test_a_thousand_interrupts():
    """Ctrl-C anywhere: whatever is computed later is right."""
    armed = False

    def handler(*_):
        if armed:
            raise Stop
    x = torch.arange(4.0).requires_grad_()

    def body():
        z = x
        for _ in range(6):
            z = (z * 0.5 + x) - 0.25
            z = z.relu() + 1.0
        return z
    want, draw = body().tolist(), random.Random(0)
    before, noise = signal.signal(signal.SIGALRM, handler), sys.unraisablehook
    stops = 0
    sys.unraisablehook = lambda _: None        # an interrupt inside of a callback of the garbage collector has nowhere to go
    try:
        for _ in range(1000):
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 10 ** draw.uniform(-5, -3))       # some end before, on slow machines too
                kept = body()
                armed = False
            except Stop:
                stops += 1
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert body().tolist() == want
        assert kept.tolist() == want and stops > 50
    finally:
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = noise
