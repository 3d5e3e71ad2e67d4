"""Protects what threads share: compiled programs, their numbers, and JAX's settings, which an import leaves alone."""
import functools
import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import writers
from torchshim.engine.compile import policy

BIG = policy.DONATE_BYTES


def in_threads(*functions):
    """Run all of them at once, switching often; raises what one of them raised."""
    errors = []

    def guarded(f):
        try:
            f()
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


def run_python(code, **env):
    """What a fresh process prints that runs `code`."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, env={**os.environ, **env})
    assert not done.returncode, done.stderr
    return done.stdout


def test_numbers_of_threads_do_not_mix():
    """One program, several threads, each with numbers of its own; every number comes twice, as it is kept on the device then."""
    wrong = []

    def work(k):
        x = torch.arange(8.)
        for i in range(400):
            s = float(k + 1 + i // 2 % 5)
            if ((x * s + s).sum() * 2 - s).item() != (28 * s + 8 * s) * 2 - s:
                wrong.append((k, s))
    work(0)
    in_threads(*[lambda k=k: work(k) for k in range(4)])
    assert not wrong


def test_two_threads_compile_a_state_once(monkeypatch):
    monkeypatch.setattr(policy, "tier", "compiled")
    start, xs = threading.Barrier(4), [torch.full((13,), float(k)) for k in range(4)]
    before, got = torch.stats()["compiles"], {}

    def work(k):
        start.wait()
        got[k] = (xs[k].cos() - 0.125).exp().tolist()
    for x in xs:
        x.tolist()
    before = torch.stats()["compiles"]
    in_threads(*[lambda k=k: work(k) for k in range(4)])
    assert torch.stats()["compiles"] == before + 1
    assert all(np.allclose(got[k], np.exp(np.cos(k) - 0.125)) for k in range(4))


def test_a_buffer_of_the_users_is_not_overwritten(monkeypatch):
    """Two JAX arrays may share a buffer: the one that torchshim holds alone is not its own."""
    monkeypatch.setattr(policy, "tier", "compiled")

    def steps(box, n):
        t = box.pop()
        for _ in range(n):
            t = t * 1.5 + 1.0
            t.sum().item()
        return t
    steps([torch.ones(BIG)], 4)
    mine = jnp.ones(BIG, jnp.float32)
    steps([torch.from_jax(jax.device_put(mine, jax.devices()[0]))], 2)
    assert bool((mine == 1).all())
    t = steps([torch.ones(BIG)], 2)
    mine, want = jax.device_put(torch.to_jax(t), jax.devices()[0]), t.tolist()[0]
    box = [t]
    del t
    steps(box, 2)
    assert bool((mine == want).all())


def test_an_import_leaves_the_settings_of_jax_alone():
    code = ("import jax; before = dict(jax.config.values); import torchshim as t; (t.ones(2) + 1).tolist(); "
            "print(before == jax.config.values)")
    assert run_python(code) == "True\n"


@pytest.mark.parametrize("shared", [False, True])
def test_writes_of_several_threads_to_one_tensor_are_all_there(shared):
    """To parts of their own, and sums of all of them: of memory that NumPy sees, too."""
    rows, places, total = torch.zeros(4, 50), torch.zeros(200), torch.zeros(3)
    seen = [t.numpy() for t in (rows, places, total)] if shared else []
    at, before = torch.arange(50), writers.several

    def work(k):
        for i in range(50):
            rows[k, i] = i + 1
            total.add_(1)
            places[at[i:i + 1] + 50 * k] = i + 1.0
    in_threads(*[functools.partial(work, k) for k in range(4)])
    assert rows.tolist() == [list(range(1, 51))] * 4 and places.tolist() == list(range(1, 51)) * 4 and total.tolist() == [200] * 3
    assert not shared or seen[2].tolist() == [200] * 3
    assert writers.several == before           # they are gone: nobody waits for anybody any more


def test_backward_passes_of_several_threads_add_to_the_same_gradients():
    w, b = torch.ones(5, requires_grad=True), torch.zeros(5, requires_grad=True)

    def work(k):
        for _ in range(20):
            ((w * w).sum() + b.sum()).backward()
    in_threads(*[functools.partial(work, k) for k in range(4)])
    assert w.grad.tolist() == [160] * 5 and b.grad.tolist() == [80] * 5


def test_steps_of_several_threads_are_all_there():
    w = torch.zeros(5, requires_grad=True)
    w.grad = torch.ones(5)

    def work(k):
        step = torch.optim.SGD([w], 1.0).step
        for _ in range(25):
            step()
    in_threads(*[functools.partial(work, k) for k in range(4)])
    assert w.tolist() == [-100] * 5
