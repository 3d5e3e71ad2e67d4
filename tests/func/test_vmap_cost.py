"""A function under vmap runs anew at each call, but what its operators do is not traced anew: each is recorded for the batch."""
import jax.numpy as jnp
import pytest
import torchshim as torch
from torchshim.engine import counters
from torchshim.func import grad, jvp, vmap


def _loss(w, x, y):
    return torch.nn.functional.cross_entropy(torch.tanh(x[None] @ w), y[None])


def _data(n):
    torch.manual_seed(0)
    return torch.randn(3, 4), torch.randn(n, 3), torch.arange(n) % 4


def test_operators_are_traced_once():
    w, x, y = _data(5)
    per_example = vmap(grad(_loss), (None, 0, 0))
    first = per_example(w, x, y)
    before = counters["traces"]
    again = vmap(grad(lambda w, x, y: _loss(w, x, y)), (None, 0, 0))(w, x, y)
    assert counters["traces"] == before
    assert torch.equal(first, again)
    torch.testing.assert_close(first, torch.stack([grad(_loss)(w, x[k], y[k]) for k in range(5)]))


def test_other_batches_and_dimensions():
    w, x, y = _data(6)
    want = torch.stack([grad(_loss)(w, x[k], y[k]) for k in range(6)])
    torch.testing.assert_close(vmap(grad(_loss), (None, 1, 0))(w, x.T.contiguous(), y), want)
    torch.testing.assert_close(vmap(grad(_loss), (None, 0, 0))(w, x[:4], y[:4]), want[:4])


def test_vmap_in_vmap_and_derivatives():
    w, x, y = _data(6)
    grid = vmap(lambda x, y: vmap(grad(_loss), (0, None, None))(torch.stack([w, 2 * w]), x, y))(x, y)
    want = torch.stack([torch.stack([grad(_loss)(v, x[k], y[k]) for v in (w, 2 * w)]) for k in range(6)])
    torch.testing.assert_close(grid, want)
    pushed = vmap(lambda x: jvp(lambda x: torch.tanh(x @ w).sum(), (x,), (torch.ones(3),))[1])(x)
    torch.testing.assert_close(pushed, torch.stack([(grad(lambda x: torch.tanh(x @ w).sum())(v)).sum() for v in x]))


def test_one_example_is_not_batched_where_nothing_is():
    w, x, y = _data(3)
    scale = torch.tensor(2.0)
    torch.testing.assert_close(vmap(lambda v: v * (scale * 3).exp())(x), x * torch.tensor(6.0).exp())


def test_many_parts_of_an_example_are_not_traced_one_by_one():
    x = torch.arange(3 * 700 * 2.).reshape(3, 700, 2)
    before = counters["traces"]
    parts = vmap(lambda x: x.unbind(0))(x)
    assert torch.equal(parts[699], x[:, 699])
    assert torch.equal(vmap(lambda x: torch.stack(x.unbind(0)[::-1]))(x), x.flip(1))
    assert torch.equal(vmap(lambda x: [2 * x[k] for k in range(700)])(x)[3], 2 * x[:, 3])
    assert counters["traces"] - before < 20
    x[1, 5] = -1                               # they are views of the batch
    assert parts[5].tolist() == x[:, 5].tolist()


def test_a_part_is_read_once_and_again_after_a_write():
    def f(x):
        first, second = x.unbind(0)
        doubled = first * second
        x.mul_(3)
        return doubled, first * 1, first + second
    x = torch.arange(8.).reshape(4, 2)
    want = x[:, 0] * x[:, 1], 3 * x[:, 0], 3 * (x[:, 0] + x[:, 1])
    made = vmap(lambda x: f(x.clone()))(x)
    assert all(map(torch.equal, made, want))


def test_functions_of_jax_inside_see_tracers():
    x = torch.arange(6.).reshape(2, 3)
    doubled = lambda x: torch.from_jax(jnp.sin(torch.to_jax(x * 2))) + 1
    want = (2 * x).sin() + 1
    torch.testing.assert_close(vmap(doubled)(x), want)
    torch.testing.assert_close(vmap(lambda x: vmap(doubled)(x[:, None])[:, 0])(x), want)
    seen = []
    vmap(lambda x: (seen.append(x), doubled(x))[1])(x)
    assert len(seen) == 2                      # it ran again


def test_what_escapes_is_refused_and_shown_as_a_batch():
    kept = []
    vmap(lambda x: kept.append(x * 2) or x)(torch.ones(2, 3))
    for use in (lambda t: t + 1, torch.sum, lambda t: torch.ones(3) + t):
        with pytest.raises(RuntimeError, match="Either your tensor may have escaped from inside a function being vmapped"):
            use(kept[0])
    for ask in (lambda t: t.tolist(), lambda t: t.numpy()):
        with pytest.raises(RuntimeError, match="Cannot access data pointer of Tensor that doesn't have storage"):
            ask(kept[0])
    assert repr(kept[0]) == "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[2., 2., 2.],\n            [2., 2., 2.]])\n)"
