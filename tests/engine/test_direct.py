"""Protects calls that are computed when they are made (engine/direct.py): they give what recorded ones give, bit for bit, and a loop that
comes often enough is compiled all the same."""
import numpy as np
import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.engine import context, direct
from torchshim.engine.compile import report
from torchshim.ops.registry import OPS, T, op
from torchshim.tensor.api.bind import call
from torchshim.tensor.core.handle import read


@pytest.fixture(autouse=True)
def auto(monkeypatch):
    monkeypatch.setattr(direct.policy, "tier", "auto")


def calm():
    """Let a thread compute small calls at once."""
    torch._engine.flush()
    context.record_all()
    for k in range(direct.CALM):
        assert context.trace.direct is None
        (torch.tensor([1.0, 2.0]) + k).sum().item()
    assert context.trace.direct is not None


CALLS = [
    lambda x, y, m, k: x + y, lambda x, y, m, k: x * 2, lambda x, y, m, k: 2 - x, lambda x, y, m, k: x / 0,
    lambda x, y, m, k: x.exp().log(), lambda x, y, m, k: x.softmax(-1), lambda x, y, m, k: x @ m, lambda x, y, m, k: m.t() @ x.t(),
    lambda x, y, m, k: torch.cat([x, y]), lambda x, y, m, k: torch.stack([x, y, x]), lambda x, y, m, k: x.sum(0),
    lambda x, y, m, k: x.argmax(), lambda x, y, m, k: x[1:, ::2] + 1, lambda x, y, m, k: x.t()[1] * y.t()[0], lambda x, y, m, k: x.max(),
    lambda x, y, m, k: torch.where(x > y, x, y), lambda x, y, m, k: x.to(torch.bfloat16) * 3, lambda x, y, m, k: k // 3,
    lambda x, y, m, k: k.float().mean(), lambda x, y, m, k: x[k[0]], lambda x, y, m, k: x.clone().add_(y),
    lambda x, y, m, k: x.reshape(-1)[3], lambda x, y, m, k: torch.addmm(y[:, :1].expand(3, 5), x, m),
    lambda x, y, m, k: x * 0.0 / -0.0, lambda x, y, m, k: x.abs() * -0.0, lambda x, y, m, k: k * True + k * 1,
    lambda x, y, m, k: x * 1.0 - 1, lambda x, y, m, k: x * (1 + 2j), lambda x, y, m, k: x[2].softmax(0).sum(),
    lambda x, y, m, k: x[:, 1].log_softmax(0), lambda x, y, m, k: x.sqrt() * 0, lambda x, y, m, k: x.topk(2).values,
    lambda x, y, m, k: x.unsqueeze(1).mT, lambda x, y, m, k: x.max(1).indices,
    lambda x, y, m, k: torch.stack([*x.sort(1, descending=True)][:1]), lambda x, y, m, k: y.cummin(0)[1],
    lambda x, y, m, k: x.median(1).values, lambda x, y, m, k: torch.nn.functional.batch_norm(y, None, None, training=True),
    lambda x, y, m, k: torch.linalg.qr(y).R, lambda x, y, m, k: torch.frexp(y).exponent, lambda x, y, m, k: x.aminmax(dim=1).max,
    lambda x, y, m, k: F.group_norm(y.repeat(1, 12)[None], 3) + 1, lambda x, y, m, k: F.instance_norm(y.repeat(1, 12)[None]),
    lambda x, y, m, k: F.batch_norm(y[..., None].repeat(1, 1, 24), y[0], y[1].abs()),
    lambda x, y, m, k: F.layer_norm(y.repeat(1, 12), (48,)), lambda x, y, m, k: F.cross_entropy(y, k.remainder(4)),
    lambda x, y, m, k: F.nll_loss(y, k.abs().clamp(0, 3)), lambda x, y, m, k: F.gelu(y),
    lambda x, y, m, k: F.unfold(y.repeat(1, 2)[None, None], 2), lambda x, y, m, k: torch.histc(y, 4), lambda x, y, m, k: y.roll(1, 0),
    lambda x, y, m, k: torch.linalg.lstsq(m, m[:, :2]).solution, lambda x, y, m, k: y.kthvalue(2).values,
    lambda x, y, m, k: y.remainder(0.7), lambda x, y, m, k: x.scatter(0, k[None] % 3, y), lambda x, y, m, k: F.interpolate(y[None], 7),
    lambda x, y, m, k: F.rms_norm(y, (4,)), lambda x, y, m, k: F.scaled_dot_product_attention(y[None], y[None], y[None]),
    lambda x, y, m, k: F.embedding(k % 3, y), lambda x, y, m, k: F.conv1d(y[None], y.repeat(2, 1)[:, :3, None]),
    lambda x, y, m, k: F.max_pool1d(y[None], 2), lambda x, y, m, k: F.avg_pool1d(y[None], 2),
    lambda x, y, m, k: x.index_add(0, k[:2] % 3, y[:2]), lambda x, y, m, k: x.masked_fill(y > 0, 2.0),
    lambda x, y, m, k: y.clamp(-1, 1), lambda x, y, m, k: y.clamp(-1.0, 1), lambda x, y, m, k: k.clamp(1, 2),
    lambda x, y, m, k: k.clamp(0.5, 2),
    lambda x, y, m, k: y.clamp(min=0), lambda x, y, m, k: y.clamp(max=-0.0), lambda x, y, m, k: k.clamp(True, 3),
    lambda x, y, m, k: F.layer_norm(y, (4,), eps=0.5), lambda x, y, m, k: F.layer_norm(y, [4], y[0], y[1], 1),
    lambda x, y, m, k: F.avg_pool1d(y[None], [2], 1, 0, True), lambda x, y, m, k: F.avg_pool1d(y[None], 2, 1, 0, False),
    lambda x, y, m, k: torch.addcmul(y, y, x[:, :4], value=1), lambda x, y, m, k: torch.addcmul(y, y, x[:, :4], value=1.5),
    lambda x, y, m, k: y.var(1), lambda x, y, m, k: y.var(dim=1, correction=0), lambda x, y, m, k: y.norm(dim=1),
    lambda x, y, m, k: y.max(0).values, lambda x, y, m, k: y.min(1, True).indices, lambda x, y, m, k: k.max(0).values,
    lambda x, y, m, k: x[None, 0].squeeze(0), lambda x, y, m, k: x.new_zeros(2) + 1, lambda x, y, m, k: torch.tensor(3.0) * x.sum(),
]


def operands():
    generator = torch.Generator().manual_seed(3)
    x, y, m = [torch.randn(*shape, generator=generator) for shape in ((3, 4), (3, 4), (4, 5))]
    x[0, 0], x[1, 1] = float("nan"), float("inf")
    return x, y, m, torch.tensor([2, 0, -7])


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_results_are_those_of_recorded_calls(number):
    f, made = CALLS[number], []
    for at_once in (False, True):
        x, y, m, k = operands()
        x.sum().item()
        if at_once:
            calm()
        results = [f(x, y, m, k) for _ in range(3)]
        made.append([(r.dtype, r.shape, r.stride(), r.storage_offset(), r._version, r.requires_grad, r.is_contiguous(),
                      np.asarray(r.clone().reshape(-1).view(torch.uint8)).tobytes())
                     for r in results])
    assert made[0] == made[1]


def test_small_calls_are_neither_recorded_nor_flushed():
    x = torch.arange(12.0).reshape(3, 4)
    calm()
    before = torch.stats()
    with torch.no_grad():
        for k in range(20):
            assert (x @ x.t() * k).sum().item() == 1134.0 * k
            values, at = x.max(1)
            assert values.tolist() == [3.0, 7.0, 11.0] and at.tolist() == [3, 3, 3]
    after = torch.stats()
    assert after["flushes"] == before["flushes"] and after["states"] == before["states"]
    assert after["ops"] - before["ops"] >= 60


def test_what_wants_a_gradient_is_recorded():
    w = torch.ones(3, requires_grad=True)
    calm()
    loss = (w * torch.tensor([1.0, 2.0, 3.0])).sum()
    assert loss.grad_fn.name() == "SumBackward0"
    loss.backward()
    assert w.grad.tolist() == [1.0, 2.0, 3.0]
    assert context.calm == 0 and context.trace.direct is None


def test_views_see_writes_and_count_versions():
    x = torch.zeros(4)
    x.sum().item()
    calm()
    v = x[1:3]
    x += 1
    assert v.tolist() == [1.0, 1.0] and v._version == 1 and v._base is x
    v.mul_(3)
    assert x.tolist() == [1.0, 3.0, 3.0, 1.0] and x._version == 2
    y = x.t() if x.ndim == 2 else x.view(2, 2).t()
    x[1] = 7
    assert y.tolist() == [[1.0, 3.0], [7.0, 1.0]]


def test_errors_are_those_of_recorded_calls():
    x = torch.ones(2, 3)
    calm()
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        x @ x
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(2\)"):
        x + torch.ones(2)
    with pytest.raises(IndexError):
        x[torch.tensor([5])].sum().item()
    with np.errstate(all="raise"):
        assert (x / 0).sum().item() == float("inf")


def test_a_loop_that_pays_is_compiled():
    x = torch.linspace(0, 1, 4096)

    def turn():
        y = x
        for _ in range(12):
            y = torch.tanh(y * 0.5 + 0.1)
        return y.sum().item()

    torch._engine.flush()
    first, start, turns = turn(), torch.stats()["compiles"], 0
    flushes = torch.stats()["flushes"]
    while torch.stats()["compiles"] == start:
        last = turn()
        turns += 1
        assert last == first or torch.stats()["compiles"] > start and abs(last - first) < 1e-3
        assert turns < 20_000
    assert torch.stats()["flushes"] - flushes < 0.5 * turns
    compiled = report._events[-1]
    assert 0.7 * compiled.price < turns * compiled.saves < 1.5 * compiled.price
    assert context.trace.direct is None


def test_one_result_in_a_tuple_is_one_array():
    """A tuple of one array became the result itself, of a dimension too many."""
    made = op("in_a_tuple(Tensor self) -> Tensor", host=lambda inst: lambda x: (x + 1,))(lambda self: self + 1)
    del OPS[None, "in_a_tuple"]                # which other tests look through
    x = torch.ones(2, 3)
    x.sum().item()
    calm()
    states = torch.stats()["states"]
    y = call(made, (x,))
    assert torch.stats()["states"] == states and y.shape == (2, 3) and y.tolist() == [[2.0] * 3] * 2


def test_watchers_see_every_call():
    from torchshim.utils.flop_counter import FlopCounterMode
    a, b = torch.ones(2, 3), torch.ones(3, 4)
    calm()
    with FlopCounterMode(display=False) as counter:
        a @ b
    assert counter.get_total_flops() == 2 * 2 * 3 * 4
    assert context.trace.direct is None


def test_a_view_of_small_memory_reads_it_once_until_it_is_written():
    x = torch.arange(6.0).reshape(2, 3).clone()
    x.sum().item()
    calm()
    v = x.t()
    first = read(v)
    assert read(v) is first and (v + 0).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    x.add_(1)
    assert read(v) is not first and v.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]


def test_views_without_a_history_are_computed_at_once_in_grad_mode_too():
    x, w = torch.arange(4.0), torch.ones(2, requires_grad=True)
    x.sum().item()
    calm()
    states = torch.stats()["states"]
    assert torch.stack([x.view(2, 2).t(), x.view(2, 2), x.view(2, 2)]).sum().item() == 18.0
    assert torch.stats()["states"] == states
    assert (torch.stack([w.view(1, 2).t(), w.view(2, 1), w.view(2, 1)]) * 2).requires_grad


def test_what_is_one_step_to_numpy_is_called_itself():
    x = torch.ones(2, 3)
    m = read(x).meta
    step = OPS[None, "add"].resolve(OPS[None, "add"].layout, (m, m), "").interpreted()
    assert step.bare is np.add and step(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))[0][0, 0] == 2
    calm()
    assert (x + x).tolist() == [[2.0] * 3] * 2
    assert not hasattr(OPS["nn.functional", "logsigmoid"].resolve((T,), (m,), "").interpreted(), "bare")


def test_arguments_are_looked_up_by_value_and_class():
    """What was made of one call's arguments is not taken for others that equal them, or are of their class."""
    calm()
    y, k = torch.tensor([[-2.0, 0.5, 3.0]]), torch.tensor([1, 4])
    for _ in range(2):
        assert y.clamp(-1, 1).tolist() == [[-1.0, 0.5, 1.0]] and y.clamp(-2, 2).tolist() == [[-2.0, 0.5, 2.0]]
        assert k.clamp(0, 2).dtype is torch.int64 and k.clamp(0, 2.0).dtype is torch.float32
        assert F.avg_pool1d(y, 2, 1).shape == F.avg_pool1d(y, 2, 1, 0, True).shape == (1, 2) and F.avg_pool1d(y, 3).shape == (1, 1)
        assert F.layer_norm(y, (3,), eps=1e9).abs().max() < 1e-3 < F.layer_norm(y, (3,), eps=0.0).abs().max()
    assert torch.max(y, 1).indices.tolist() == [2] and torch.max(y, y + 1).tolist() == (y + 1).tolist()


def test_autocast_casts_what_is_looked_up_by_arguments():
    calm()
    x = torch.ones(1, 4, 4).bfloat16()
    for _ in range(3):
        assert F.grid_sample(x[None], torch.zeros(1, 2, 2, 2).bfloat16(), align_corners=False).dtype is torch.bfloat16
        assert F.layer_norm(x, (4,)).dtype is F.huber_loss(x, x).dtype is torch.bfloat16
        with torch.autocast("cpu"):
            assert F.grid_sample(x[None], torch.zeros(1, 2, 2, 2).bfloat16(), align_corners=False).dtype is torch.float32
            assert F.huber_loss(x, x).dtype is F.mse_loss(x, x).dtype is torch.float32


def test_views_of_large_memory_and_checked_indices_are_small_calls():
    """They were recorded for ever, for the size of what a view is part of, or because an index was to be checked."""
    large, x, i = torch.rand(direct.SMALL * 8) > 0.5, torch.randn(10), torch.arange(10)
    for step in (lambda: torch.where(large[:10], x, -x), lambda: x.gather(0, i % 7), lambda: x[i % 7]):
        torch._engine.flush()
        context.record_all()
        for k in range(direct.CALM + 2):
            made = step()
            torch._engine.flush()
        assert context.trace.direct is not None
        assert torch.equal(made, step())
    with pytest.raises((IndexError, RuntimeError)):
        x.gather(0, i * 7)


def decode(words, weight, cache):
    """A model's words one by one: a trace each, longer than `LONG` and with matrices that are no small ones, of a shape of its own."""
    said = []
    for _ in range(words):
        h = cache[-1:]
        for _ in range(24):
            h = torch.tanh(h @ weight + cache.mean(0))
        cache = torch.cat([cache, h])
        said.append(h.sum().item())
    return said


def test_traces_of_which_no_two_are_the_same_are_not_recorded_for_long(monkeypatch):
    """However long they are; and what is computed has the same bits."""
    monkeypatch.setattr(direct, "CALLS", 4096)
    torch._engine.flush()
    context.record_all()
    weight = torch.linspace(-1, 1, 128 * 128).reshape(128, 128) / 8
    before = torch.stats()["flushes"]
    said = decode(40, weight, torch.linspace(-1, 1, 3 * 128).reshape(3, 128))
    assert context.trace.direct is not None and context.trace.direct.large
    assert torch.stats()["flushes"] - before <= direct.CALM + 2
    monkeypatch.setattr(direct, "CALM", 1 << 30)
    torch._engine.flush()
    context.record_all()
    assert decode(40, weight, torch.linspace(-1, 1, 3 * 128).reshape(3, 128)) == said
    assert context.trace.direct is None


def test_long_traces_that_come_again_are_recorded():
    """They are worth compiling some time."""
    torch._engine.flush()
    context.record_all()
    weight = torch.linspace(-1, 1, 128 * 128).reshape(128, 128) / 8
    for _ in range(3 * direct.CALM):
        decode(1, weight, torch.linspace(-1, 1, 3 * 128).reshape(3, 128))
    assert context.trace.direct is None


def test_what_large_calls_make_is_limited(monkeypatch):
    """After so many elements traces are recorded again, in which a loop would be known."""
    monkeypatch.setattr(direct, "BUDGET", 1 << 17)
    torch._engine.flush()
    x = torch.from_numpy(np.ones(1 << 15, np.float32)) + 0
    x.numpy()
    context.trace.direct = made = direct.Direct(context, context.trace.state, True)
    x.neg()                                    # looks whether NumPy changed x
    for _ in range(3):
        x.neg()
        assert context.trace.direct is made
    x.neg()
    assert context.trace.direct is None and context.calm < direct.CALM
    context.record_all()
