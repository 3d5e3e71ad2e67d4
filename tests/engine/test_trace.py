"""Protects the engine's promises: what is recorded, when it is computed, what is compiled and what is reused."""
import gc
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest

import torchshim as torch
from torchshim import engine

pytestmark = pytest.mark.usefixtures("free_compiles")


def compiles():
    return torch.stats()["compiles"]


def model(n=8):
    torch.manual_seed(0)
    w = torch.randn(n, n, requires_grad=True)
    b = torch.zeros(n, requires_grad=True)
    return w, b, torch.randn(4, n)


def loop(step, times=8, settled=3):
    """Run a step repeatedly; the number of compiles after the first `settled`."""
    for _ in range(settled):
        step()
    before = compiles()
    for _ in range(times - settled):
        step()
    return compiles() - before


def test_nothing_runs_before_a_look():
    torch.manual_seed(1)
    engine.flush()
    before = torch.stats()["flushes"]
    x = torch.ones(3)
    y = (x + 1) * 2
    assert torch.stats()["flushes"] == before
    assert y.tolist() == [4.0, 4.0, 4.0]
    assert torch.stats()["flushes"] == before + 1


def test_changing_numbers_do_not_recompile():
    w, b, x = model()
    state = {"lr": 0.1}

    def step():
        state["lr"] *= 0.9
        loss = ((x @ w + b) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w.sub_(state["lr"] * w.grad)
            b.sub_(state["lr"] * b.grad)
        w.grad = b.grad = None
    assert loop(step) == 0


def test_equal_numbers_keep_their_places():
    """lr == momentum in one step and not in the next is the same program."""
    x = torch.ones(3)
    engine.flush()
    out = []
    for a, b in ((0.5, 0.5), (0.5, 0.25), (0.25, 0.25), (1.0, 2.0)):
        out.append((x * a + x * b).tolist()[0])
    assert out == [1.0, 0.75, 0.5, 3.0]


def test_holding_the_loss_reuses_the_program():
    w, b, x = model()
    kept = []
    opt = torch.optim.SGD([w, b], lr=0.01)

    def step(keep):
        opt.zero_grad()
        loss = ((x @ w + b) ** 2).mean()
        loss.backward()
        opt.step()
        if keep:
            kept.append(loss)
    for _ in range(3):
        step(True)
    before = compiles()
    for k in range(6):
        step(k % 2 == 0)
    assert compiles() - before <= 1            # holding no loss may ask for one program more; never again
    before = compiles()
    for k in range(6):
        step(k % 2 == 0)
    assert compiles() == before


def test_a_retained_graph_is_no_step_boundary():
    """Two passes over one graph are one program; whoever only ever retains is cut at the second pass."""
    w, counts = torch.ones(3, requires_grad=True), []
    engine.flush()
    for _ in range(2):
        before = torch.stats()["flushes"]
        loss = (w * 2.0).sum()
        loss.backward(retain_graph=True)
        counts.append(torch.stats()["flushes"] - before)
        loss.backward(retain_graph=True)
        counts.append(torch.stats()["flushes"] - before)
    assert counts == [0, 1, 0, 1] and w.grad.tolist() == [8.0] * 3


@pytest.mark.parametrize("where", ["before", "after", "never"])
def test_item_does_not_recompile(where):
    w, b, x = model()
    opt = torch.optim.AdamW([w, b], lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 100)

    def step():
        opt.zero_grad()
        loss = ((x @ w + b) ** 2).mean()
        if where == "before":
            loss.item()
        loss.backward()
        if where == "after":
            loss.item()
        opt.step()
        schedule.step()
    assert loop(step, 10) == 0


def test_unlooked_loop_is_cut_and_settles():
    """10,000 operators that nobody looks at: bounded memory, and few programs."""
    x = torch.zeros(16)
    engine.flush()
    for _ in range(400):
        x = x * 0.5 + 1.0
        x[1:-1] = x[1:-1] + 0.25
    before = compiles()
    for _ in range(2000):
        x = x * 0.5 + 1.0
        x[1:-1] = x[1:-1] + 0.25
    assert compiles() - before <= 1
    assert len(engine.context.trace.values) <= 4096
    assert x[0].item() == pytest.approx(2.0)


def test_memory_does_not_grow():
    w, b, x = model()
    opt = torch.optim.SGD([w, b], lr=0.01, momentum=0.9)

    def step():
        opt.zero_grad()
        ((x @ w + b) ** 2).mean().backward()
        opt.step()
    for _ in range(50):
        step()
    gc.collect()
    before, states = len(gc.get_objects()), torch.stats()["states"]
    for _ in range(10_000):
        step()
    gc.collect()
    assert len(gc.get_objects()) - before < 200
    assert torch.stats()["states"] == states


def test_program_cap():
    from torchshim.engine.compile import policy
    cap, policy.PROGRAM_CAP = policy.PROGRAM_CAP, 3
    try:
        for n in range(2, 9):
            for _ in range(2):
                assert (torch.ones(n) * 2 + 1).sum().item() == 3 * n
        assert len(policy._lru) <= 3
    finally:
        policy.PROGRAM_CAP = cap


def test_results_survive_a_trace_dropped_by_the_cap(monkeypatch):
    from torchshim.engine.record import trie
    monkeypatch.setattr(trie, "TRIE_CAP", 10)
    y = torch.ones(3)
    for k in range(30):
        y = y + k
        if k % 7 == 0:
            y.sum().item()
    assert y.tolist() == [436.0] * 3


def test_threads_have_their_own_traces_and_share_tensors():
    x = torch.arange(4.0)
    y = x * 2                                  # pending in this thread
    out = {}

    def work():
        z = y + 1                              # needs what another thread recorded
        out["z"] = z.tolist()
        out["grad"] = torch.is_grad_enabled()
    with torch.no_grad():
        t = threading.Thread(target=work)
        t.start()
        t.join()
    assert out == {"z": [1.0, 3.0, 5.0, 7.0], "grad": True}
    assert (y + 2).tolist() == [2.0, 4.0, 6.0, 8.0]


def test_many_threads():
    errors = []

    def work(seed):
        try:
            x = torch.full((5,), float(seed), requires_grad=True)
            for _ in range(20):
                y = (x * x).sum()
                x.grad = None
                y.backward()
                assert x.grad.tolist() == [2.0 * seed] * 5
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors


def test_x64_stays_inside():
    import jax.numpy as jnp
    t = torch.ones(3, dtype=torch.float64) + torch.arange(3)
    assert t.dtype == torch.float64 and t.tolist() == [1.0, 2.0, 3.0]
    assert jnp.arange(3).dtype == jnp.int32 and not jax.config.jax_enable_x64


def test_inside_jit_grad_and_vmap():
    def f(t):
        return (t * t).sum() + t[0]
    x = torch.arange(3.0)
    assert jax.jit(f)(x).item() == 5.0
    assert jax.jit(f)(x).item() == 5.0
    g = jax.grad(lambda t: torch.to_jax(f(t)))(x)
    assert isinstance(g, torch.Tensor) and g.tolist() == [1.0, 2.0, 4.0]
    rows = jax.vmap(f)(torch.ones(2, 3))
    assert rows.tolist() == [4.0, 4.0]


def test_autograd_inside_jit():
    def f(a):
        t = torch.from_jax(a).requires_grad_()
        (t.exp() * t).sum().backward()
        return torch.to_jax(t.grad)
    a = jax.numpy.arange(3.0)
    assert np.allclose(jax.jit(f)(a), np.exp(a) * a + np.exp(a))


def test_interop_makes_no_copy():
    a = jax.numpy.arange(4.0)
    t = torch.from_jax(a)
    assert torch.to_jax(t) is a
    assert torch.to_jax(t.detach()) is a


def test_eager_variable():
    code = ("import torchshim as torch\nx = torch.ones(3, requires_grad=True)\ny = (x * 2 + 1).sum()\ny.backward()\n"
            "s = torch.stats()\nprint(x.grad.tolist(), s['flushes'] >= 4, s['compiles'])")
    import os
    env = dict(os.environ, TORCHSHIM_EAGER="1")
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert out.stdout.strip() == "[2.0, 2.0, 2.0] True 0", out.stderr


def test_explain_names_the_cause(capsys):
    x = torch.ones(7)
    for _ in range(3):
        (x * 3 + 1).tolist()
    for _ in range(2):
        (x * 3 - 1).tolist()
    torch.explain()
    text = capsys.readouterr().out
    assert "sub(" in text and "where earlier traces had" in text and __file__ in text


def test_an_error_at_the_call_leaves_everything_usable():
    x = torch.ones(2, 3)
    y = x + 1
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        y + torch.ones(2, 4)
    assert (y * 2).tolist() == [[4.0] * 3] * 2


class _Broken(engine.Operator):
    """An operator that infers well and fails when it runs."""
    name = "broken"
    bad = True

    def build(self, layout, metas, kinds):
        def body(x):
            def fail(a):
                if self.bad:
                    raise ValueError("the kernel failed")
                return np.asarray(a)
            return [jax.pure_callback(fail, jax.ShapeDtypeStruct(x.shape, x.dtype), x)]
        return engine.Instance(self, (), body, metas, "", metas[0].device)


def test_a_failure_when_running_names_the_line_and_loses_only_its_results():
    from torchshim.tensor.core.dispatch import apply
    x = torch.arange(3.0)
    good = x + 1
    bad = apply(_Broken(), (x,), ())           # the line that is named
    after = bad * 2
    with pytest.raises(RuntimeError, match="broken failed") as e:
        after.tolist()
    assert __file__ in str(e.value)
    assert good.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="broken failed"):
        bad.tolist()
    assert (x * 2).tolist() == [0.0, 2.0, 4.0]


def test_an_interrupt_in_a_flush_loses_nothing(monkeypatch):
    from torchshim.engine import execute
    from torchshim.engine.compile import policy
    x = torch.ones(3)
    y = x * 5
    original = execute.run_operators

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt
    monkeypatch.setattr(execute, "run_operators", interrupted)
    monkeypatch.setattr(policy, "tier", "operators")
    with pytest.raises(KeyboardInterrupt):
        y.tolist()
    monkeypatch.setattr(execute, "run_operators", original)
    assert y.tolist() == [5.0, 5.0, 5.0]


def test_negative_zero_is_not_zero():
    """Packed numbers are reused when their bytes are equal, and only then."""
    x = torch.ones(2)
    out = []
    for number in (0.0, 0.0, 0.0, -0.0, 0.0):
        out.append(torch.signbit(x * number).tolist())
    assert out == [[False] * 2] * 3 + [[True] * 2] + [[False] * 2]


def test_donated_buffers_are_nobody_elses():
    """A parameter that someone looked at through a copy, NumPy's or JAX's, keeps its old value there."""
    n = 200                                    # big enough to be donated
    w = torch.ones(n, n)
    views = []
    for k in range(6):
        views.append((k, w.clone().numpy(), torch.to_jax(w), w.clone()))
        w.mul_(2.0)
        engine.flush()
    for k, a, j, t in views:
        assert a[0, 0] == 2.0 ** k and float(j[0, 0]) == 2.0 ** k and t[0, 0].item() == 2.0 ** k


def test_float64_is_not_taken_for_no_dtype():
    """NumPy holds the dtype float64 equal to None: a call that names it is another one than a call that names none."""
    x = torch.tensor([1.0, 2.0])
    for f in (lambda **d: torch.softmax(x, 0, **d), lambda **d: x.sum(0, **d), lambda **d: torch.cumsum(x, 0, **d)):
        for named in ({}, {"dtype": torch.float64}, {}, {"dtype": torch.float64}):
            engine.flush()
            made = f(**named)
            assert made.dtype is named.get("dtype", torch.float32)
            made.tolist()
