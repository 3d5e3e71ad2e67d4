"""Operators that are one NumPy function where they are interpreted give what their bodies give, in blocks and with what is not finite."""
import jax
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.compile import policy
from torchshim.engine.interpret import build, fused, losses
from torchshim.engine.interpret.kept import Kept
from torchshim.ops import activation
from torchshim.ops.activation import gelu, leaky_relu
from torchshim.ops.nn.attention import attention
from torchshim.ops.nn.binary_entropy import binary_cross_entropy_with_logits
from torchshim.ops.nn.loss import OUTSIDE, cross_entropy, huber_loss, nll_loss, smooth_l1_loss
from torchshim.ops.nn.norm import batch_norm_eval, batch_norm_train, group_norm, layer_norm
from torchshim.ops.nn.pooling import max_pool, max_pool_with_indices
from torchshim.ops.nn.resize import grid_sampler
from torchshim.ops.nn.rnn import rnn_layer
from torchshim.ops.nn.softmax import log_softmax, softmax
from torchshim.ops.registry import SF, T
from torchshim.ops.scan import cumprod, logcumsumexp

F32 = np.float32


def both(op, layout, arrays, numbers=()):
    """(what the NumPy functions give, what the bodies give): results, then gradients of all floating operands."""
    metas = tuple([torch.tensor(a)._ts_meta for a in arrays])
    inst = op.resolve(layout, metas, "f" * len(numbers))
    numbers = [np.asarray(n, np.float64) for n in numbers]
    plan = inst.plan(sum([1 << i for i in inst.diff_ins]))
    back = plan.vjp.resolve((), None, None)
    cotangents = [np.asarray(np.random.RandomState(1).randn(*m.shape), m.dtype) for m in (inst.out_metas[k] for k in plan.cts)]
    made = []
    for forward, backward in ((inst.op.on_host(inst), back.op.on_host(back)), (build(inst.jaxpr), build(back.jaxpr))):
        assert forward is not None and backward is not None
        with np.errstate(all="ignore"):
            out = [np.asarray(r) for r in forward(*arrays, *numbers)]
            kept = [arrays[i] for i in plan.args] + [out[k] for k in plan.outs] + cotangents + [numbers[i] for i in plan.nums]
            made.append(out + [np.asarray(g) for g in backward(*kept)])
    return made


def same(pair, near=2e-6):
    for a, b in zip(*pair):
        assert a.dtype == b.dtype and a.shape == b.shape
        top = np.abs(np.where(np.isfinite(b), b, 0)).max(initial=1)
        np.testing.assert_allclose(a, b, rtol=4 * near, atol=near * top)


def numbers(*shape, special=False):
    x = np.asarray(np.random.RandomState(0).randn(*shape), F32)
    if special:
        x.reshape(-1)[:3] = np.inf, -np.inf, np.nan
    return x


def test_what_a_row_becomes_does_not_depend_on_the_rows_beside_it():
    """Blocks end where BLAS has no rows left over, which it would add in another order."""
    x, dtype, eps = numbers(1600, 320), np.dtype(F32), np.asarray(1e-5)
    for make in (lambda rows: fused.softmax((rows, 320), 1, dtype), lambda rows: fused.softmax((rows, 320), 1, dtype, True),
                 lambda rows: lambda x: fused.layer_norm(rows, 320, (rows, 320), dtype, False, False)(x, eps)):
        whole, eight = make(1600), make(8)
        assert np.array_equal(whole(x)[0], np.concatenate([eight(x[k:k + 8])[0] for k in range(0, 1600, 8)]))


@pytest.mark.parametrize("loss", (losses.smooth_l1, losses.huber))
@pytest.mark.parametrize("n", (5, 5000, 40000, 70000))
def test_smooth_losses_of_any_size_have_the_same_numbers(loss, n):
    x = numbers(70000, special=True)
    y = np.roll(x, 1)
    with np.errstate(all="ignore"):
        made, = loss((n,), x.dtype, "none")(x[:n], y[:n], np.asarray(0.7))
        size = np.abs(x[:n] - y[:n])
        near = np.minimum(size, F32(0.7))
        expected = (size - near * F32(0.5)) * near
        assert np.array_equal(made, expected / F32(0.7) if loss is losses.smooth_l1 else expected, equal_nan=True)
    assert not np.signbit(made[made == 0]).any()


@pytest.mark.parametrize("shape", [(4, 5), (3, 700), (2, 3, 4), (600, 33), (7,), (3, 20000)])
@pytest.mark.parametrize("special", [False, True])
def test_softmax(shape, special):
    for op in (softmax, log_softmax):
        for d in range(len(shape)):
            same(both(op, (T, d, None), [numbers(*shape, special=special)]))


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("ignored", [-100, 1])
def test_cross_entropy(reduction, ignored):
    for rows, n in ((4, 5), (600, 33), (5, 3000)):
        same(both(cross_entropy, (T, T, None, reduction, ignored, None), [numbers(rows, n), np.arange(rows) % n]))


def test_cross_entropy_without_a_class_that_counts():
    same(both(cross_entropy, (T, T, None, "mean", -100, None), [numbers(3, 4), np.full(3, -100)]))


def test_cross_entropy_of_rows_that_are_not_finite():
    x = numbers(3, 4, special=True)
    same(both(cross_entropy, (T, T, None, "none", 0, None), [x, np.array([0, 1, 3])]))
    same(both(cross_entropy, (T, T, None, "none", 1, None), [x, np.array([0, 1, 3])]))


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(), (7,), (90, 800)])
def test_losses_of_alike_operands(shape, reduction):
    x, t = np.asarray(2 * numbers(*shape)), numbers(*shape)[..., ::-1].copy() if shape else np.array(0.5, F32)
    same(both(smooth_l1_loss, (T, T, reduction, 1.0), [x, t]), 3e-6)
    for beta in (1.0, 0.25, 3.0):
        same(both(smooth_l1_loss, (T, T, reduction, SF), [x, t], [beta]), 3e-6)
        same(both(huber_loss, (T, T, None, reduction, SF, None), [x, t], [beta]), 3e-6)
    inst = binary_cross_entropy_with_logits.resolve((T, T, None, None, reduction, False), (torch.tensor(x)._ts_meta,) * 2, "")
    plan = inst.plan(1)
    back, ct = plan.vjp.resolve((), None, None), np.full(inst.out.shape, 0.7, F32)
    for given, f in (((x, t), inst), ((x, t, ct), back)):
        same([f.op.on_host(f)(*given), build(f.jaxpr)(*given)], 3e-6)


def test_losses_of_what_is_not_finite():
    x = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 1, 1, 200, -200], F32)
    t = np.array([0, 0, 0, 0, 0, np.inf, np.nan, 1, 0], F32)
    with np.errstate(all="ignore"):
        same(both(smooth_l1_loss, (T, T, "none", 1.0), [x, t]))
        same(both(huber_loss, (T, T, None, "none", SF, None), [x, t], [2.0]))


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("ignored", [-100, 1])
def test_nll(reduction, ignored):
    for rows, n in ((1, 1), (4, 5), (600, 33)):
        same(both(nll_loss, (T, T, None, reduction, ignored), [numbers(rows, n), np.arange(rows) % n]))
    same(both(nll_loss, (T, T, None, "mean", -100), [numbers(3, 4), np.full(3, -100)]))


def test_class_numbers_that_are_none():
    """The first of them is found; the one that is ignored does not count."""
    layouts = (T, 5, -100), (T, 5, 1), (T, 3, 4)
    for layout in layouts:
        for target in ([0, 1, 2], [0, -100, 2], [4, 9, -1], [2, 4, 3], [-1, 7, 0]):
            target = np.array(target, np.int64)
            inst = OUTSIDE.resolve(layout, (torch.tensor(target)._ts_meta,), "")
            (got,), classes, ignored = inst.op.on_host(inst)(target), *layout[1:]
            bad = [t for t in target if not 0 <= t < classes and t != ignored]
            assert got == (bad[0] if bad else 0) and got.dtype == np.int64 and got.shape == ()


@pytest.mark.parametrize("shape, axis", [((7,), 0), ((32, 40), 1), ((3, 5, 4), 1), ((50, 400), 0)])
@pytest.mark.parametrize("zero", [False, True])
def test_gradient_of_a_cumulative_product(shape, axis, zero):
    """The short way is taken where no factor is 0, and gives what the long one does."""
    x = np.random.RandomState(0).rand(*shape).astype(F32) + F32(0.5)
    if zero:
        x.reshape(-1)[3] = 0
    inst = cumprod.resolve((T, axis, None), (torch.tensor(x)._ts_meta,), "")
    plan = inst.plan(1)
    back, y = plan.vjp.resolve((), None, None), np.cumprod(x, axis, dtype=F32)
    ct = np.random.RandomState(1).rand(*shape).astype(F32)
    got, = back.op.on_host(back)(x, y, ct)
    want, = build(back.jaxpr)(x, y, ct)
    np.testing.assert_allclose(got, want, rtol=1e-5 * shape[axis])


@pytest.mark.parametrize("shape, axis", [((7,), 0), ((32, 40), 1), ((3, 5, 4), 1)])
@pytest.mark.parametrize("case", ["signed", "positive", "infinite"])
def test_gradient_of_a_cumulative_logsumexp(shape, axis, case):
    """By logarithms of cotangents of either sign; step by step where something is not finite."""
    x = numbers(*shape)
    ct = np.random.RandomState(1).randn(*shape).astype(F32)
    ct = np.abs(ct) if case == "positive" else ct
    if case == "infinite":
        x.reshape(-1)[3] = -np.inf
    inst = logcumsumexp.resolve((T, axis), (torch.tensor(x)._ts_meta,), "")
    back = inst.plan(1).vjp.resolve((), None, None)
    with np.errstate(all="ignore"):
        y = np.logaddexp.accumulate(x.astype(np.float64), axis).astype(F32)
        got, want = back.op.on_host(back)(x, y, ct)[0], build(back.jaxpr)(x, y, ct)[0]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert got.flags.c_contiguous and got.dtype == F32


@pytest.mark.parametrize("shape, rows", [((4, 5), (5,)), ((600, 33), (33,)), ((5, 30, 20), (30, 20)), ((2, 3000), (3000,))])
def test_layer_norm(shape, rows):
    x, w, b = 3 * numbers(*shape) + 2, numbers(*rows), numbers(*rows)[::-1].copy()
    for more, layout in (((), (None, None)), ((w,), (T, None)), ((w, b), (T, T)), ((b,), (None, T))):
        same(both(layer_norm, (T, rows, *layout, SF), [x, *more], [1e-5]), 1e-5)


GIVEN = (None, None), (T, None), (T, T), (None, T)         # weights and biases


@pytest.mark.parametrize("shape", [(3, 6, 4, 5), (1, 4, 12000), (5, 6), (200, 30, 17), (2, 2, 30, 30)])
def test_batch_norm(shape):
    x, c = 3 * numbers(*shape) + 2, shape[1]
    w, b, mean, var = [numbers(c) + k for k in range(4)]
    for layout in GIVEN:
        more = [a for a, there in zip((w, b), layout) if there]
        same(both(batch_norm_train, (T, *layout, None, None, SF, SF), [x, *more], [0.1, 1e-5]), 1e-5)
        same(both(batch_norm_train, (T, *layout, T, T, SF, SF), [x, *more, mean, var * var], [0.3, 0.1]), 1e-5)
        inst = batch_norm_eval.resolve((T, T, T, *layout, SF), tuple([torch.tensor(a)._ts_meta for a in (x, mean, var, *more)]), "f")
        same([f(x, mean, var * var, *more, np.asarray(1e-5)) for f in (inst.op.on_host(inst), build(inst.jaxpr))], 1e-5)


@pytest.mark.parametrize("shape", [(3, 6, 4, 5), (1, 4, 12000), (2, 30, 17)])
def test_group_norm(shape):
    x, w, b = 3 * numbers(*shape) + 2, numbers(shape[1]), numbers(shape[1])[::-1].copy()
    for groups in (1, 2, shape[1]):
        for layout in GIVEN:
            more = [a for a, there in zip((w, b), layout) if there]
            same(both(group_norm, (T, groups, *layout, SF), [x, *more], [1e-5]), 1e-5)


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (300, 333)])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(shape, approximate):
    x = 3 * numbers(*shape) if shape else np.array(-0.5, F32)
    same(both(gelu, (T, approximate), [x]), 4e-6)                  # 1 - tanh(x) ** 2 loses digits far out


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_where_it_ends(approximate):
    x = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 1e-30, 40, -40, 3e38, -3e38], F32)
    found, expected = both(gelu, (T, approximate), [x])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)


def test_gelu_is_differentiated_with_what_was_kept_of_it():
    x, g = 3 * numbers(300, 200), numbers(300, 200)[::-1].copy()
    again = fused.gelu_back(x, g)[0]
    held = len(fused._kept.entries)
    fused.gelu(x)
    assert len(fused._kept.entries) <= held + 1 and fused._kept.entries[-1][0][0] is x
    np.testing.assert_array_equal(fused.gelu_back(x, g)[0], again)
    assert not any(entry[0][0] is x for entry in fused._kept.entries)      # it is asked for once
    large = numbers(600, 600)
    fused.gelu(large)
    assert not any(entry[0][0] is large for entry in fused._kept.entries)


@pytest.mark.parametrize("rows, n", [(32, 32), (64, 10), (300, 90), (1100, 90)])
def test_cross_entropy_is_differentiated_with_what_was_kept_of_it(rows, n):
    """To the same bits, once; several blocks keep nothing."""
    x, target, ct = numbers(rows, n), np.arange(rows) % n, np.asarray(0.7, F32)
    loss, back = (make(rows, n, x.dtype, "mean", -100) for make in (losses.cross_entropy, losses.cross_entropy_back))
    again = back(x, target, ct)[0]
    loss(x, target)
    assert any(e[0][0] is x for e in losses._kept.entries) == (rows < 1100)
    np.testing.assert_array_equal(back(x, target, ct)[0], again)
    assert not any(e[0][0] is x for e in losses._kept.entries)


def test_what_nobody_can_ask_for_is_not_kept():
    kept, x, y = Kept(3, 100), np.zeros(3), np.zeros(4)
    kept.keep((x, True), 1)
    kept.keep((np.zeros(3), True), 2)
    kept.keep((y, False), 3)
    assert [made for _, made in kept.entries] == [1, 3]
    assert kept.taken((y, True)) is None and kept.taken((y, False)) == 3 and kept.taken((y, False)) is None
    for number in range(4, 8):
        kept.keep((x, y), number)
    assert [made for _, made in kept.entries] == [5, 6, 7] and kept.small((x, y)) and not kept.small((x, np.zeros(13)))


def test_a_written_operand_is_not_what_was_kept():
    x = torch.randn(40, 50, requires_grad=True)
    inner = x * 2
    y = torch.nn.functional.gelu(inner)
    y.sum().item()
    inner.detach().numpy()[...] = 1.0
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * 1.0833155, rtol=1e-5)


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_lstm(biases, reverse):
    for times, batch, inputs, hidden in ((1, 1, 1, 1), (4, 3, 5, 2), (7, 2, 3, 6)):
        r = np.random.RandomState(2)
        shapes = [(times, batch, inputs), (batch, hidden), (batch, hidden), (4 * hidden, inputs), (4 * hidden, hidden)]
        shapes += [(4 * hidden,)] * 2 if biases else []
        b = T if biases else None
        same(both(rnn_layer, (T, T, T, T, T, b, b, None, None, "LSTM", reverse), [r.randn(*s).astype(F32) for s in shapes]), 3e-6)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("lead, rows, columns", [((), 3, 4), ((2, 3), 5, 5), ((2,), 7, 3), ((1, 2), 600, 600), ((2,), 1, 2000)])
def test_attention(lead, rows, columns, causal):
    r = np.random.RandomState(3)
    qkv = [r.randn(*lead, n, width).astype(F32) for n, width in ((rows, 4), (columns, 4), (columns, 2))]
    same(both(attention, (T, T, T, None, None, None, causal, None, False), qkv), 5e-6)
    if not causal:
        seen = r.rand(rows, columns) > 0.4
        seen[0] = False
        same(both(attention, (T, T, T, T, None, None, causal, None, False), [*qkv, seen]), 5e-6)


@pytest.mark.parametrize("shape", [(), (7,), (3, 9000), (2, 70001)])
def test_leaky_relu(shape):
    x = 3 * np.asarray(np.random.RandomState(0).randn(*shape), F32)
    if x.ndim:
        x[..., :5] = np.inf, -np.inf, np.nan, 0.0, -0.0
    inst = leaky_relu.resolve((T, SF), (torch.tensor(x)._ts_meta,), "f")
    for slope in (0.01, 0.0, 1.0, 2.0, -1.0):
        static = leaky_relu.resolve((T, slope), (torch.tensor(x)._ts_meta,), "")       # as the default is
        with np.errstate(all="ignore"):
            a, b = [np.asarray(f(x, np.asarray(slope))[0]) for f in (inst.op.on_host(inst), build(inst.jaxpr))]
            c, = static.op.on_host(static)(x)
        for made in (a, c):
            np.testing.assert_array_equal(made, b)
            np.testing.assert_array_equal(np.signbit(made), np.signbit(b))


def test_other_dtypes_go_step_by_step():
    inst = softmax.resolve((T, 1, None), (torch.randn(4, 5).half()._ts_meta,), "")
    assert inst.op.on_host(inst) is None


POOLS = {                  # shape, kernel, stride, padding, dilation, ceil_mode
    "pairs": ((3, 4, 6, 8), (2, 2), (2, 2), (0, 0), (1, 1), False),
    "overlapping": ((2, 3, 7, 9), (3, 2), (2, 1), (1, 1), (1, 1), False),
    "spread": ((2, 9, 10), (2, 3), (1, 2), (1, 1), (2, 3), False),
    "over the edge": ((2, 5, 5), (2, 2), (2, 2), (0, 0), (1, 1), True),
    "left over": ((1, 2, 8, 8), (3, 3), (5, 5), (0, 0), (1, 1), False),
    "line": ((2, 3, 11), (3,), (2,), (1,), (1,), False),
    "volume": ((2, 4, 5, 6), (2, 1, 3), (1, 1, 2), (0, 0, 1), (1, 1, 1), False),
    "many planes": ((400, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1), False),
}


@pytest.mark.parametrize("case", POOLS)
@pytest.mark.parametrize("holds", ["numbers", "ties", "nan", "-inf"])
def test_max_pool(case, holds):
    shape, *layout = POOLS[case]
    x = numbers(*shape)
    if holds == "ties":
        x = np.round(x)
    elif holds != "numbers":
        x[..., 1:4] = float(holds)
    for op in (max_pool, max_pool_with_indices):
        inst = op.resolve((T, *layout), (torch.tensor(x)._ts_meta,), "")
        with jax.enable_x64(True):
            found, expected = inst.op.on_host(inst)(x), jax.tree.map(np.asarray, inst.fn(x))
        expected = expected if isinstance(expected, (list, tuple)) else [expected]
        for a, b, m in zip(found, expected, inst.out_metas):
            assert a.dtype == m.dtype and a.shape == m.shape
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("case", ["pairs", "over the edge", "left over"])
def test_max_pool_gradient_of_windows_apart(case):
    shape, *layout = POOLS[case]
    x = np.round(numbers(*shape))
    inst = max_pool_with_indices.resolve((T, *layout), (torch.tensor(x)._ts_meta,), "")
    plan = inst.plan(1)
    back = plan.vjp.resolve((), None, None)
    with jax.enable_x64(True):
        g = np.random.RandomState(1).randn(*inst.out_metas[0].shape).astype(F32)
        kept = [x, np.asarray(inst.fn(x)[1]), g]
        np.testing.assert_array_equal(back.op.on_host(back)(*kept)[0], np.asarray(back.fn(*kept)[0]))


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 9, 60, 70), (1, 4, 1, 1)])
@pytest.mark.parametrize("padding, align", [(0, False), (0, True), (1, False), (1, True)])
def test_samples_of_images(shape, padding, align):
    """Points inside, outside, and that are none; what is not finite counts only where it is met."""
    x, grid = numbers(*shape, special=True), np.random.RandomState(2).randn(shape[0], 6, 11, 2).astype(F32)
    grid[0, 0, :4] = [[np.nan, 0], [np.inf, 0.5], [1e30, -1e30], [-1, 1]]
    inst = grid_sampler.resolve((T, T, 0, padding, align), tuple([torch.tensor(a)._ts_meta for a in (x, grid)]), "")
    with np.errstate(all="ignore"):
        got, = inst.op.on_host(inst)(x, grid)
        want, = build(inst.jaxpr)(x, grid)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_silu_block_by_block_is_silu_step_by_step(dtype):
    """The same operations in the same order: the same bits, also of what is not finite."""
    x = np.random.RandomState(0).randn(3, 70_001).astype(str(dtype).split(".")[1])
    x.flat[:4] = np.inf, -np.inf, np.nan, -800
    g = np.random.RandomState(1).randn(*x.shape).astype(x.dtype)

    def both(x, g):
        y, pull = jax.vjp(activation._silu, x)
        return y, *pull(g)
    with jax.enable_x64(True):
        want = build(jax.make_jaxpr(both)(x, g))(x, g)
    with np.errstate(all="ignore"):
        for a, b in zip((*fused.silu(x), *fused.silu_back(x, g)), want):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("shape", [(32, 32), (3, 4, 6), (64, 100), (7, 1)])
def test_softmax_of_few_rows_has_the_bits_of_blocks(shape, log, monkeypatch):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for special in (None, np.nan, np.inf, -np.inf):
        if special is not None:
            x.flat[3] = special
        with np.errstate(all="ignore"):
            few, = fused.softmax(shape, len(shape) - 1, x.dtype, log)(x)
            with monkeypatch.context() as patch:
                patch.setattr(fused, "_FEW", 0)
                many, = fused.softmax(shape, len(shape) - 1, x.dtype, log)(x)
        assert few.shape == shape and few.tobytes() == many.tobytes()


def few_and_many(monkeypatch, module, make, *arrays):
    """What `make()` gives for few rows and what it gives in blocks."""
    few, = make()(*arrays)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_FEW", 0)
        many, = make()(*arrays)
    return few, many


@pytest.mark.parametrize("given", [(), ("weight",), ("bias",), ("weight", "bias")])
@pytest.mark.parametrize("shape", [(32, 32), (3, 4, 6), (1, 9), (7, 1)])
def test_layer_norm_of_few_rows_has_the_bits_of_blocks(shape, given, monkeypatch):
    rng, n = np.random.default_rng(0), shape[-1]
    for special in (1, np.nan, np.inf):
        x, *more = [rng.standard_normal(size).astype(np.float32) for size in (shape, *[(n,)] * len(given))]
        x.flat[3] = special
        make = lambda: fused.layer_norm(x.size // n, n, shape, x.dtype, "weight" in given, "bias" in given)
        with np.errstate(all="ignore"):
            few, many = few_and_many(monkeypatch, fused, make, x, *more, np.array(1e-5))
        assert few.shape == shape and few.tobytes() == many.tobytes()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("rows, n", [(32, 32), (12, 6), (64, 100), (7, 1)])
def test_cross_entropy_of_few_rows_has_the_bits_of_blocks(rows, n, reduction, monkeypatch):
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((rows, n)).astype(np.float32), rng.integers(0, n, rows)
    for special, ignored in ((0, -100), (np.nan, 2), (-np.inf, target[0])):
        x[0, 0] = special
        with np.errstate(all="ignore"):
            few, many = few_and_many(monkeypatch, losses, lambda: losses.cross_entropy(rows, n, x.dtype, reduction, ignored), x, target)
        assert few.shape == many.shape and few.tobytes() == many.tobytes()


def test_what_a_loss_keeps_for_its_gradient_is_of_the_class_that_does_not_count(monkeypatch):
    monkeypatch.setattr(policy, "tier", "operators")
    x, y = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], requires_grad=True), torch.tensor([2, 0])
    first, second = [torch.nn.functional.cross_entropy(x, y, ignore_index=k) for k in (0, 2)]
    (one,), (other,) = torch.autograd.grad(first, x), torch.autograd.grad(second, x)
    assert one[1].abs().sum() == 0 != one[0].abs().sum() and other[0].abs().sum() == 0 != other[1].abs().sum()
