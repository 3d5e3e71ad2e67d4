"""Protects the compiling in pieces: what repeats within a trace is compiled once, and the numbers are those of one program."""
import jaxlib
import numpy as np
import pytest

import torchshim as torch
from torchshim import engine
from torchshim.engine.compile import cost, options, pieces, policy
from torchshim.engine.compile.program import steps_of
from torchshim.engine.record import trie


@pytest.fixture(autouse=True)
def compiled():
    policy.pin("compiled")
    yield
    policy.pin(None)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "LONG", 100)
    monkeypatch.setattr(pieces, "LEAST", 5e3)
    monkeypatch.setattr(pieces, "FEWEST", 5)


def trained(steps=3, layers=4, width=96):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.LayerNorm(width))
                                  for _ in range(layers)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    x = torch.randn(16, width)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - x.flip(1)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.tolist() for p in model.parameters()], next(p for p in reversed(policy._lru) if p.state.n_ops > 30)


def test_layers_are_compiled_once_and_give_the_numbers_of_one_program(small_pieces, monkeypatch):
    losses, params, program = trained()
    assert f"in {len(program.pieces)} pieces, of which " in str(program.event)
    assert len(program.pieces) > 6 and len(set(map(id, program.pieces))) <= len(program.pieces) - 4
    monkeypatch.setattr(pieces, "LONG", 3000)
    engine.flush()
    trie.clear()
    whole_losses, whole_params, whole = trained()
    assert len(whole.pieces) == 1
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(whole_losses), rtol=1e-6, atol=0)
    for a, b in zip(params, whole_params):
        torch.testing.assert_close(torch.tensor(a), torch.tensor(b), rtol=1e-5, atol=1e-6)


def test_parameters_are_updated_where_they_are_in_pieces_too(small_pieces):
    _, _, program = trained(layers=6, width=160)
    assert len(program.pieces) > 1 and len(program.donate) >= 12


def test_views_are_made_where_they_are_read(small_pieces):
    """A view that passes from piece to piece would be copied."""
    def f(x, w):
        seen = []
        for _ in range(8):
            y = torch.tanh(x @ w)
            seen.append(y[:, :8].t())
            x = torch.sigmoid(y) * 2 + y.exp() - 1
        for v in seen[::-1]:
            x = torch.tanh(x * 0.5 + 1) @ w + v.sum()
        return x
    torch.manual_seed(1)
    x, w = torch.randn(64, 64), torch.randn(64, 64) * 0.1
    outcome = f(x, w)
    outcome = outcome.tolist()
    program = next(p for p in reversed(policy._lru) if p.state.n_ops > 30)
    assert len(program.pieces) >= 8
    policy.pin("operators")
    torch.testing.assert_close(torch.tensor(outcome), f(x, w), rtol=1e-4, atol=1e-5)


def test_what_comes_again_is_paid_once(small_pieces, monkeypatch):
    program = trained()[2]
    steps, live = steps_of(program.state), program.live
    saved, price = cost.of_trace(steps, live, program.state.n_inputs)
    monkeypatch.setattr(pieces, "LONG", 3000)
    more, dearer = cost.of_trace(steps, live, program.state.n_inputs)
    assert price < 0.8 * dearer and saved < more


def test_a_trace_is_cut_once(small_pieces, monkeypatch):
    """What a trace's price was told by is what it is compiled by, without a second search."""
    monkeypatch.setattr(pieces, "LONG", 30)
    pieces._starts.cache_clear()
    policy.pin(None)
    x, w = torch.randn(40, 40), torch.randn(40, 40) * 0.1
    engine.flush()
    trie.clear()

    def step():
        y = x
        for _ in range(14):
            y = torch.tanh(y @ w) + y * 0.5
        return y.sum().item()
    for _ in range(3):
        step()
    state = max([s for s in trie.states() if s.due], key=lambda s: s.n_ops)
    assert state.n_ops == 57 and not state.programs
    policy.pin("compiled")
    step()
    assert len(state.programs[0].pieces) > 2 and pieces._starts.cache_info().misses == 1


def test_repetitions_are_found_without_looking_at_every_period(monkeypatch):
    monkeypatch.setattr(pieces, "LEAST", 1)
    rng = np.random.default_rng(0)
    for period, times, more in ((1, 900, 50), (7, 30, 400), (200, 20, 0), (700, 3, 900), (128, 2, 3000)):
        word = rng.permutation(period)
        tokens = np.concatenate([np.tile(word, times), 10_000 + rng.integers(0, 20, more)])
        costs = np.full((len(tokens) + 1, 2), 50.0).cumsum(0)
        assert pieces._repetition(tokens, costs) == (0, period, times)
        assert len(pieces._periods(tokens)) < 20


def test_no_piece_is_long(monkeypatch):
    monkeypatch.setattr(pieces, "LONG", 20)
    x = torch.linspace(0.1, 0.9, 7)
    for f in (torch.exp, torch.sin, torch.sigmoid, torch.tanh, torch.cos, torch.square, torch.abs, torch.atan, torch.floor, torch.erf) * 4:
        x = f(x) + 0.5
    assert x.isfinite().all()
    program = next(p for p in reversed(policy._lru) if p.state.n_ops > 30)
    assert len(program.pieces) >= 4


def test_a_trace_without_repetitions_is_one_piece():
    x = torch.randn(50, 50)
    (torch.tanh(x) * 2 + x.exp()).sum().item()
    assert len(next(reversed(policy._lru)).pieces) == 1


@pytest.mark.parametrize("size, small", [(1 << 13, True), (1 << 14, False)])
def test_programs_of_small_arrays_are_made_without_an_mlir_context_for_each_kernel(monkeypatch, size, small):
    """Those contexts took most of a compile's memory; the kernels are better where arrays are large."""
    asked = []
    monkeypatch.setattr(pieces, "compiler_options", lambda small: asked.append(small) or options.compiler_options(small))
    x = torch.arange(size, dtype=torch.float32) / size
    torch.testing.assert_close((x.sin() * 2 + x).sum().item(), sum((np.sin(x.numpy().astype(float)) * 2 + x.numpy()).tolist()), rtol=1e-5,
                               atol=0)
    assert asked and all([a is small for a in asked])
    told = options.compiler_options(True)
    assert told.items() >= options.compiler_options().items()
    assert ("xla_cpu_use_fusion_emitters" in told) == (jaxlib.__version__ < "0.11")


def unrolled(kind):
    """Losses and gradients of two steps of a recurrent layer whose sequence is read twice, and the program of a step."""
    torch.manual_seed(0)
    layer, loss_of = getattr(torch.nn, kind)(4, 3), torch.nn.MSELoss()
    x, out = torch.randn(5, 2, 4), []
    for _ in range(2):
        layer.zero_grad()
        first, last = layer(x)
        again, _ = layer(x.flip(0), last)
        loss = loss_of(first + again, x[..., :3])
        loss.backward()
        out += [loss.item(), *[p.grad.tolist() for p in layer.parameters()]]
        del first, last, again, loss
    return out, next((p for p in reversed(policy._lru) if p.state.n_ops > 10), None)


@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
def test_a_forward_and_its_backward_share_their_loop(kind):
    """The loop that keeps what the backward reads gives the forward's results, too: XLA ran a second one for these."""
    made, program = unrolled(kind)
    loops = program.pieces[0].fn.as_text().count(" while(")
    assert loops == 4                          # twice there and back
    policy.pin("operators")
    for a, b in zip(made, unrolled(kind)[0]):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7)


def test_a_loop_that_two_backwards_come_from_is_shared_with_one():
    layer = torch.nn.GRU(4, 3)
    x = torch.randn(5, 2, 4)

    def step():
        layer.zero_grad()
        out = layer(x)[0]
        a, = torch.autograd.grad(out.sum(), [layer.weight_hh_l0], retain_graph=True)
        b, = torch.autograd.grad((out * out).sum(), [layer.weight_hh_l0])
        return [t.tolist() for t in (a, b, out)]
    compiled = step()
    policy.pin("operators")
    for a, b in zip(compiled, step()):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-7)
