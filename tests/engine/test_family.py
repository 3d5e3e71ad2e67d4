"""Shapes are data: operators are traced once for a pattern of sizes, and what comes out is what tracing each shape gives."""
import gc
import math
import weakref

import jax
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.compile import family, policy
from torchshim.engine.compile.sizes import Sizes, holding, pattern_of, undecided
from torchshim.engine.record import trie
from torchshim.engine.record.meta import meta_of
from torchshim.ops.registry import OPS


@pytest.fixture
def traces(monkeypatch):
    """A list that gets an entry for each trace by JAX; every trace is interpreted."""
    made, real = [], jax.make_jaxpr
    monkeypatch.setattr(jax, "make_jaxpr", lambda *a, **k: made.append(a) or real(*a, **k))
    monkeypatch.setattr(policy, "tier", "operators")
    return made


def training(sizes):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for n in sizes:
        loss = model(torch.randn(n, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def test_a_training_step_at_a_new_shape_traces_nothing(traces):
    training([20, 21, 22])
    traces.clear()
    training(range(23, 60))
    assert not traces


PROGRAMS = {
    "softmax": lambda x, y: torch.softmax(x @ y, -1),
    "statistics": lambda x, y: x.var(0) + x.mean(0) * x.std(0),
    "cumulative": lambda x, y: torch.cumsum(x, 0) * x.logsumexp(1, keepdim=True),
    "order": lambda x, y: torch.sort(x, 1)[0] - x.flip(0),
    "joined": lambda x, y: torch.cat([x, x * 2, y.t()], 0).sum(0),
    "norm": lambda x, y: torch.nn.functional.layer_norm(x, x.shape[1:]) @ y,
    "choice": lambda x, y: torch.where(x > 0, x, y.t()[:1]).clamp(-1, 1),
    "loss": lambda x, y: torch.nn.functional.cross_entropy(x, torch.arange(x.shape[0]) % x.shape[1]),
    "gelu": lambda x, y: torch.nn.functional.gelu(x).sum(1, keepdim=True) * x,
    "half": lambda x, y: (x.bfloat16() @ y.bfloat16()).double().tanh(),
    "max": lambda x, y: x.max(1)[0] + y.argmin(0)[: x.shape[0]].sum(),
    "attention": lambda x, y: torch.nn.functional.scaled_dot_product_attention(x[None], y.t()[None], x[None] * 2),
    "places": lambda x, y: x.gather(1, torch.zeros(x.shape[0], 2, dtype=torch.long)) + x[:, :2],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_each_shape_alone(name, monkeypatch):
    def run(rows, columns):
        torch.manual_seed(rows)
        x = torch.randn(rows, columns, dtype=torch.float64, requires_grad=True)
        y = torch.randn(columns, rows, dtype=torch.float64, requires_grad=True)
        out = PROGRAMS[name](x, y)
        gradients = torch.autograd.grad(out.sin().sum(), (x, y), allow_unused=True, create_graph=True)
        second = torch.autograd.grad(gradients[0].cos().sum(), x, allow_unused=True)
        return [t.detach().numpy() for t in (out, *gradients, *second) if t is not None]
    monkeypatch.setattr(policy, "tier", "operators")
    shapes = [(5, 7), (6, 8), (11, 9), (1, 5), (2, 3), (3, 2)]
    with monkeypatch.context() as m:
        m.setattr(family, "family_of", lambda *a: (None, None))
        forget()
        alone = [run(*s) for s in shapes]
    forget()
    for (rows, columns), want in zip(shapes, alone):
        for a, b in zip(run(rows, columns), want, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
    monkeypatch.setattr(policy, "tier", "compiled")        # compiled programs come from the same families, with their sizes put in
    for a, b in zip(run(*shapes[2]), alone[2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, strict=True)


SIZED = {
    "roll": lambda x, k: x.roll((-k, k), (0, 1)),
    "tril": lambda x, k: x.tril(k) + x.triu(-k),
    "topk": lambda x, k: x.topk(k)[0],
    "topk of doubles": lambda x, k: x.double().topk(k, 1, largest=False)[0],
    "kthvalue": lambda x, k: x.kthvalue(k)[0],
    "pad": lambda x, k: torch.nn.functional.pad(x, (k, 2, -1, k)),
    "pad from zero": lambda x, k: torch.nn.functional.pad(x, (k - 5, 6 - k, 0, k)),
    "from zero": lambda x, k: x.tril(k - 5) + x.roll(k - 5, 0) + x[:, 0].diag_embed(k - 5)[:14, :14].sum(),
    "repeat": lambda x, k: x.repeat(k, 1, 2),
    "diag": lambda x, k: x.diag(k).sum() + x.diag(5 - k)[:2],
    "layer_norm": lambda x, k: torch.nn.functional.layer_norm(x[:, :k], (k,)),
    "one_hot": lambda x, k: x * torch.nn.functional.one_hot(x.detach().abs().long(), 9 + k).sum(),
}


@pytest.mark.parametrize("name", SIZED)
def test_integers_that_change_are_sizes(name, traces):
    """What an operator gives for other integers, and its gradient, is what it gives where each is traced alone."""
    def run(k):
        x = torch.randn(14, 20, generator=torch.Generator().manual_seed(k)).requires_grad_()
        out = SIZED[name](x, k)
        gradient, = torch.autograd.grad((out * torch.arange(out.numel()).view(out.shape)).sum(), x)
        return out.detach().numpy(), gradient.numpy()
    values = [5, 6, 20, 1, 11, 12]
    forget()
    with pytest.MonkeyPatch.context() as m:
        m.setattr(family, "family_of", lambda *a: (None, None))
        alone = [run(k) for k in values]
    forget()
    for k, want in zip(values, alone):
        for a, b in zip(run(k), want, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
    traces.clear()
    run(8), run(13)
    assert not traces


COMPARING = {
    "median": lambda x, y: x.repeat(30, 10).median(),          # above 8192 elements in another way
    "isin": lambda x, y: torch.isin(y, x[0]),                  # and here above 32
    "gather": lambda x, y: x.gather(1, y.long().abs() % x.shape[1]),
    "histc": lambda x, y: torch.histc(x, bins=len(y) + 1),
    "cdist": lambda x, y: torch.cdist(x, y[:, :1].expand(-1, x.shape[1])),     # above 25 rows by products
}


@pytest.mark.parametrize("name", COMPARING)
def test_an_operator_that_compares_sizes_is_traced_once_for_each_outcome(name, traces):
    def run(n, k):
        x, y = torch.arange(float(n * k)).reshape(n, k).sin(), torch.arange(12.0).reshape(3, 4)
        y = y[:, :min(k, 4)]
        return COMPARING[name](x, y).numpy()
    sizes = [(5, 6), (7, 9), (28, 9), (30, 40), (4, 50), (6, 7), (31, 45)]
    forget()
    with pytest.MonkeyPatch.context() as m:
        m.setattr(family, "family_of", lambda *a: (None, None))
        alone = [run(*s) for s in sizes]
    forget()
    for s, want in zip(sizes, alone):
        np.testing.assert_array_equal(run(*s), want, strict=True)
    traces.clear()
    run(8, 11), run(29, 47), run(9, 33)
    assert not traces


def test_where_no_element_meets_another_one_family_serves_operands_of_one_shape_of_any_rank(traces):
    def run(*shape, turned=False):
        x = torch.linspace(-2, 2, math.prod(shape), dtype=torch.float64).reshape(shape)
        x = (x.transpose(0, -1) if turned else x).detach().requires_grad_()
        y = torch.lerp(torch.where(x > 0, x * x, x.exp()), torch.nan_to_num(x) - 1, 0.25).clamp(-1, 3)
        y.backward(torch.ones_like(y))
        return y.float().double(), x.grad, x
    run(5, 7)
    run(3, 11)             # other tests may have met the first, without families
    traces.clear()
    for shape in [(40,), (2, 3, 4), (6, 1), (1, 9, 1, 2)]:
        for turned in (False, True):
            y, grad, x = run(*shape, turned=turned)
            a = x.detach().numpy()
            b = np.where(a > 0, a * a, np.exp(a))
            c = b + 0.25 * (a - 1 - b)
            assert y.shape == grad.shape == x.shape
            np.testing.assert_allclose(y.tolist(), np.clip(c, -1, 3), rtol=1e-6)
            np.testing.assert_allclose(grad.tolist(), (np.where(a > 0, 2 * a, b) * 0.75 + 0.25) * ((c >= -1) & (c <= 3)))
    assert not traces


def test_an_operator_in_place_is_the_one_that_was_traced(traces):
    torch.ones(3, 4).sinh().tolist()
    traces.clear()
    assert torch.ones(3, 4).sinh_()[0, 0].item() == torch.ones(3, 4).sinh()[0, 0].item()
    assert not traces


def test_what_jax_could_not_decide_is_told_as_it_is_for_the_sizes():
    said = "Symbolic dimension comparison '{}' is inconclusive."
    for text, sizes, known in [("d0' > '8", (9,), "d0 >= 8 + 1"), ("d0' < 'd1", (2, 3), "d1 >= d0 + 1"),
                               ("d0*d1' <= '8", (2, 3), "8 >= d0*d1"), ("d0^2' >= 'mod(d1, 3)", (1, 5), "mod(d1, 3) >= d0^2 + 1")]:
        assert undecided(said.format(text), sizes) == known and holding((known,), len(sizes))(*sizes)
    assert undecided("another error", (1,)) is None and undecided(said.format("d0' > 'what(d0)"), (1,)) is None


def forget():
    """Leave nothing of what was traced before."""
    trie.clear()
    for o in OPS.values():
        o.made.clear()
        if o.inplace_op:
            o.inplace_op.made.clear()


def test_patterns_tell_equal_small_and_open_sizes():
    def metas(*shapes):
        return [meta_of(s, np.dtype(np.float32), None) for s in shapes]
    one, sizes = pattern_of(metas((8, 5), (5, 1)))
    assert sizes == (8, 5) and pattern_of(metas((9, 70), (70, 1))) == (one, (9, 70))
    assert pattern_of(metas((5, 5), (5, 1)))[0] != one and pattern_of(metas((8, 5), (5, 0)))[0] != one
    apart, sizes = pattern_of(metas((8, 5)), (0, 8, -3), start=0, apart=True)
    assert sizes == (8, 5, 0, 8, 3) and pattern_of(metas((8, 5)), (9, 0, -8), start=0, apart=True)[0] == apart
    ((a, b), last), _ = one.open()
    placed = Sizes((4, 9))
    placed.place([(a * b - 1, "x"), {"size": (a + b) // 2, "rest": last}])
    assert placed.at((8, 5)) == ([(39, "x"), {"size": 6, "rest": (5, 1)}],)



def test_making_a_family_holds_no_callers_frame():
    """Errors that JAX keeps in cycles would hold the caller's values, and these look alive to the next trace."""
    class Local:
        pass

    def caller(n):
        local = Local()
        torch.digamma(torch.ones(n).requires_grad_()).sum().backward()
        return weakref.ref(local)
    enabled = gc.isenabled()
    gc.disable()
    try:
        assert [caller(n)() for n in (31, 32, 33)] == [None] * 3
    finally:
        if enabled:
            gc.enable()


def test_a_family_of_arrays_elsewhere_does_not_serve_those_of_the_host():
    """On the meta device an operator is traced for the dimensions that there are, and those of one dimension look like flat ones."""
    def f(x):
        return torch.special.xlog1py(x, 3 * x).neg()
    for n in (5, 6, 7):
        assert f(torch.ones(n, device="meta")).shape == (n,)
    for shape in ((3, 8), (2, 3, 4), (24,)):
        assert f(torch.ones(shape)).shape == shape and f(torch.ones(shape)).sum().item() < 0


def test_a_rule_that_refuses_the_first_size_met_leaves_flat_arrays(monkeypatch):
    """Of many numbers in double precision erf is a call that has their shape: operands of several dimensions come to it in one."""
    monkeypatch.setattr(family, "_met", type(family._met)(family._MOST))
    monkeypatch.setattr(policy, "tier", "operators")
    w = torch.ones(64, 2, dtype=torch.float64)
    y = torch.nn.functional.gelu(torch.nn.functional.linear(torch.ones(4, 17, 2, dtype=torch.float64), w))
    assert y.shape == (4, 17, 64) and abs(y.sum().item() / y.numel() - 1.9544997361036416) < 1e-15
