"""Threads that compute parts: all of them, each once, with NumPy's warnings off, and the caller hears of what fails."""
import os
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import interpret, pool
from torchshim.engine.compile import policy
from torchshim.engine.interpret import array_rules, attend


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setattr(pool, "threads", 3)
    monkeypatch.setattr(pool, "_pool", None)
    monkeypatch.setattr(pool, "_limit", None)


def test_parts_are_as_many_as_threads_and_as_long_as_is_worth_it():
    assert pool.parts(10) == [slice(0, 3), slice(3, 6), slice(6, 10)]
    assert pool.parts(10, 4) == [slice(0, 5), slice(5, 10)]
    assert pool.parts(10, 11) == [slice(0, 10)] and pool.parts(2) == [slice(0, 1), slice(1, 2)] and pool.parts(0) == [slice(0, 0)]


def test_shares_are_of_about_as_many_elements():
    million = 1 << 20
    assert pool.shares([million, 5, 3 * million, 2 * million, 7]) == [[1, 4, 0], [2], [3]]
    assert pool.shares([5, 3 * million, 7]) == [[0, 2], [1]] and pool.shares([3 * million]) == [[0]]
    assert pool.shares([1000] * 4) == [[0, 1, 2, 3]] and pool.shares([]) == [[]]


def test_an_optimizer_shares_out_large_parameters(monkeypatch):
    """What a parameter becomes does not depend on who computes it, and beside what."""
    monkeypatch.setattr(policy, "tier", "operators")
    monkeypatch.setattr(pool, "WORTH", 1)
    cut, together = [], pool.together
    monkeypatch.setattr(pool, "together", lambda job, parts: cut.append(len(parts)) or together(job, parts))

    def trained(alone):
        torch.manual_seed(0)
        layers = [torch.randn(301, 251, requires_grad=True) for _ in range(3)] + [torch.randn(41, requires_grad=True) for _ in range(2)]
        optimizers = [torch.optim.Adam([x]) for x in layers] if alone else [torch.optim.Adam(layers)]
        for _ in range(2):
            sum([(x * x).sum() for x in layers]).backward()
            for optimizer in optimizers:
                optimizer.step()
        return [x.tolist() for x in layers]
    assert trained(False) == trained(True) and 3 in cut


def test_each_part_is_computed_once(recwarn):
    x, done = np.zeros(1000), []

    def job(part):
        x[part] += 1 / np.zeros(1)
        done.append(part)
    pool.together(job, pool.parts(1000))
    assert sorted(p.start for p in done) == [0, 333, 666] and np.isinf(x).all()
    assert len(recwarn) <= 1                   # that of this thread, which no trace has told to be quiet


def test_with_one_thread_all_parts_are_computed_by_it():
    """As in a DataLoader's workers, which say so, though parts were cut before."""
    n, names, cut = torch.get_num_threads(), [], pool.parts(9)
    torch.set_num_threads(1)
    pool.together(lambda part: names.append(threading.current_thread()), cut)
    torch.set_num_threads(n)
    assert names == [threading.current_thread()] * 3 and pool._pool is None


def test_a_thread_of_ours_waits_for_no_other():
    """Else several programs' threads could all wait for parts that nobody is left to compute."""
    seen = []

    def outer(part):
        here = threading.current_thread()
        if part.start:
            pool.together(lambda inner: seen.append(threading.current_thread() is here), pool.parts(3))
    pool.together(outer, pool.parts(3))
    assert seen == [True] * 6


@pytest.mark.parametrize("which", [0, 2])
def test_the_caller_hears_of_what_fails(which):
    cut, done = pool.parts(9), []

    def job(part):
        if part is cut[which]:
            raise MemoryError("no room")
        done.append(part)
    with pytest.raises(MemoryError, match="no room"):
        pool.together(job, cut)
    assert len(done) == 2                      # nobody writes any more


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_child_has_threads_of_its_own():
    pool.together(lambda part: None, pool.parts(3))
    child = os.fork()
    if not child:
        try:
            x = np.zeros(3)
            pool.together(lambda part: x.__setitem__(part, 1), pool.parts(3))
            os._exit(0 if x.all() else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def run(f, *args):
    return interpret.build(jax.make_jaxpr(f)(*args), check=True)(*args)


@pytest.mark.parametrize("f, shapes", [
    (jnp.matmul, ((37, 5), (5, 11))), (jnp.matmul, ((3, 5), (5, 40))), (jnp.matmul, ((37, 5), (5,))), (jnp.matmul, ((5,), (5, 11))),
    (lambda a, b: a.T @ b, ((5, 37), (5, 11))), (lambda a, b: a @ b.T, ((7, 5), (11, 5))), (lambda a, b: a.T @ b.T, ((5, 7), (11, 5))),
    (jnp.matmul, ((4, 6, 5), (4, 5, 3))), (jnp.matmul, ((1, 7, 6, 5), (1, 7, 5, 3))), (jnp.dot, ((5,), (5,))),
    (lambda a, b: jnp.einsum("bik,kj->bij", a, b), ((4, 6, 5), (5, 3)))])
def test_large_products_are_made_in_parts(f, shapes, monkeypatch):
    monkeypatch.setattr(array_rules, "WORTH", 0)
    monkeypatch.setattr(array_rules, "_STACKS_WORTH", 0)
    cut = []
    monkeypatch.setattr(array_rules, "together", lambda job, parts: cut.append(len(parts)) or pool.together(job, parts))
    rng = np.random.default_rng(0)
    a, b = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    np.testing.assert_allclose(run(f, a, b)[0], np.asarray(f(a.astype(np.float64), b.astype(np.float64))), rtol=1e-5, atol=1e-5)
    assert cut == ([] if shapes == ((5,), (5,)) else [3])


def test_operands_that_lie_anyhow(monkeypatch):
    """BLAS takes a step between rows alone; what has others is copied first."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((74, 10))[::2, ::-2], rng.standard_normal((22, 5)).T[:, ::2]
    np.testing.assert_allclose(array_rules._dot(a, b), a @ b, rtol=1e-12)
    np.testing.assert_allclose(array_rules._dot(np.broadcast_to(a[:1], a.shape), b), np.broadcast_to(a[:1] @ b, (37, 11)), rtol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_heads_of_attention_are_made_in_parts(causal, monkeypatch):
    rng = np.random.default_rng(0)
    q, k, v, ct = [rng.standard_normal((2, 4, 9, 5)).astype(np.float32) for _ in range(4)]
    whole = attend.Attention(q.shape, k.shape, v.shape, q.dtype, causal, scale=0.5)
    whole.many = 1
    expected = [*whole.forward(q, k, v), *whole.backward(q, k, v, ct)]
    monkeypatch.setattr(attend, "WORTH", 0)
    for x, y in zip([*whole.forward(q, k, v), *whole.backward(q, k, v, ct)], expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_no_more_threads_than_set_num_threads_leaves(monkeypatch):
    monkeypatch.setattr(pool, "threads", 4)
    sizes, before, seen = [1 << 20] * 4, torch.get_num_threads(), []
    for count in (2, 1):
        torch.set_num_threads(count)
        seen.append((len(pool.parts(8)), len(pool.shares(sizes))))
    torch.set_num_threads(before)
    assert seen == [(2, 2), (1, 1)]


@pytest.mark.parametrize("f", [
    lambda x: torch.softmax(x, -1), lambda x: torch.log_softmax(x, -1), lambda x: torch.nn.functional.layer_norm(x, (257,)),
    torch.nn.functional.silu, torch.nn.functional.gelu, lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    lambda x: torch.nn.functional.cross_entropy(x, torch.arange(len(x)) % 257, reduction="none")])
def test_what_goes_through_arrays_by_blocks_gives_the_same_in_parts(f, monkeypatch):
    monkeypatch.setattr(policy, "tier", "operators")
    torch.manual_seed(0)
    x = torch.randn(400, 257)                  # alone first, then among others
    results, cut, together = [], [], pool.together
    monkeypatch.setattr(pool, "together", lambda job, parts: cut.append(len(parts)) or together(job, parts))
    for worth, rows in ((1 << 30, 400), (1000, 1200)):
        monkeypatch.setattr(pool, "WORTH", worth)
        monkeypatch.setattr(pool, "BLOCK", 8 * 257 * 4)
        y = torch.cat([x] * (rows // 400)).requires_grad_()
        made = f(y)
        (made * made).sum().backward()
        # the gradient of layer_norm goes through rows by blocks of its own
        results.append([t.detach()[:400].tolist() for t in (made, y.grad) if t is made or "LayerNorm" not in made.grad_fn.name()])
    assert results[0] == results[1] and 3 in cut


@pytest.mark.parametrize("call", [
    lambda x: torch.nn.functional.batch_norm(x, None, None, training=True), lambda x: torch.nn.functional.group_norm(x, 4),
    torch.nn.functional.gelu], ids=["batch_norm", "group_norm", "gelu"])
def test_parts_of_layers_are_those_of_one_thread(monkeypatch, call):
    """Where an array is cut decides nothing."""
    monkeypatch.setattr(policy, "tier", "operators")
    cut, together = [], pool.together
    monkeypatch.setattr(pool, "together", lambda job, parts: cut.append(len(parts)) or together(job, parts))
    found = []
    for worth in (1, 1 << 40):
        monkeypatch.setattr(pool, "WORTH", worth)
        monkeypatch.setattr(pool, "BLOCK", 1 << 12)
        torch.manual_seed(0)
        x = torch.randn(6, 16, 20, 31, requires_grad=True)
        y = call(x)
        y.backward(torch.sin(y.detach()))
        found.append((y.tolist(), x.grad.tolist()))
    assert found[0] == found[1] and 3 in cut
