"""Convolutions with a filter for each channel, interpreted: XLA's results and gradients, also where something is not finite."""
import jax
import numpy as np
import pytest
from jax import lax

from torchshim.engine.interpret import build


@pytest.mark.parametrize("count, channels, sizes, kernel, stride, padding, dilation", [
    (2, 3, (5, 6), (3, 3), 1, 1, 1), (2, 3, (5, 6), (3, 2), 2, 1, 1), (1, 4, (7, 8), (3, 3), 1, 2, 2), (2, 5, (9,), (3,), 1, 0, 1),
    (2, 3, (4, 5, 6), (2, 3, 2), 1, 1, 1), (3, 2, (5, 5), (1, 1), 1, 0, 1), (2, 3, (5, 6), (3, 3), 1, 3, 1),
    (1, 40, (30, 40), (3, 3), 1, 1, 1)])
@pytest.mark.parametrize("special", [False, True])
def test_as_xla(count, channels, sizes, kernel, stride, padding, dilation, special):
    r, n = np.random.RandomState(0), len(sizes)
    x, w = [r.randn(*s).astype(np.float32) for s in ((count, channels, *sizes), (channels, 1, *kernel))]
    if special:
        x[0, 0, ..., -1] = np.inf

    def convolution(x, w):
        return lax.conv_general_dilated(x, w, (stride,) * n, [(padding, padding)] * n, rhs_dilation=(dilation,) * n,
                                        feature_group_count=channels)

    def gradients(x, w, ct):
        y, pull = jax.vjp(convolution, x, w)
        return [y, *pull(ct)]
    ct = r.randn(*convolution(x, w).shape).astype(np.float32)
    for a, b in zip(build(jax.make_jaxpr(gradients)(x, w, ct))(x, w, ct), gradients(x, w, ct)):
        assert a.shape == b.shape
        if special:                            # XLA's own product with its padding may be nan where the definition has no term
            assert (np.isfinite(np.asarray(b)) <= np.isfinite(np.asarray(a))).all()
            continue
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("x, w, features, batches", [
    ((4, 4, 14, 14), (64, 1, 12, 12), 4, 1), ((2, 3, 6, 6), (24, 1, 3, 3), 3, 1), ((3, 4, 12, 12), (8, 1, 10, 10), 4, 1),
    ((4, 3, 8, 8), (32, 3, 6, 6), 1, 4), ((2, 3, 6, 6), (9, 1, 3, 3), 3, 1)])
def test_many_filters_of_a_channel_are_matrix_products(monkeypatch, x, w, features, batches):
    """Gradients of weights for each sample and each output: a sum over hundreds of taps, each a call, took hundreds of times longer."""
    from torchshim.engine.interpret import depthwise
    few, used = w[0] // (features * batches) < 8 and w[2] < 8, []
    for name in ("correlation", "weights"):
        monkeypatch.setattr(depthwise, name, lambda *a, f=getattr(depthwise, name): used.append(1) or f(*a))
    r = np.random.RandomState(0)
    x, w = r.randn(*x).astype(np.float32), r.randn(*w).astype(np.float32)

    def convolution(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "VALID", feature_group_count=features, batch_group_count=batches)
    np.testing.assert_allclose(build(jax.make_jaxpr(convolution)(x, w))(x, w)[0], convolution(x, w), rtol=1e-4, atol=1e-4)
    assert bool(used) == few


@pytest.mark.parametrize("sizes, kernel, stride",
    [((9, 11), (3, 3), 2), ((8, 8), (5, 4), 3), ((6, 7), (2, 2), 3), ((17,), (3,), 2), ((5, 6, 7), (3, 2, 3), 2)])
def test_strides_meet_no_zeros_and_add_in_the_order_of_the_taps(sizes, kernel, stride):
    """The gradient of a strided convolution is one of inputs with zeros between them: a weight that is not finite must not meet these, and
    the others are added one after the other."""
    from torchshim.engine.interpret.depthwise import correlation
    r, n = np.random.RandomState(0), len(sizes)
    x, w = r.randn(2, 3, *sizes).astype(np.float32), r.randn(3, 1, *kernel).astype(np.float32)
    for strides, spacing in (((stride,) * n, (1,) * n), ((1,) * n, (stride,) * n)):
        spread = np.zeros((2, 3, *[(m - 1) * s + 1 + 2 for m, s in zip(sizes, spacing)]), np.float32)
        spread[(..., *[slice(1, -1, s) for s in spacing])] = x
        out = tuple((m - k) // s + 1 for m, k, s in zip(spread.shape[2:], kernel, strides))
        total = 0
        for tap in np.ndindex(kernel):
            met = spread[(..., *[slice(t, t + (o - 1) * s + 1, s) for t, o, s in zip(tap, out, strides)])]
            total = total + met * w[(slice(None), 0, *tap)].reshape(3, *(1,) * n)
        arguments = x.shape, w.shape, out, 3, strides, ((1, 1),) * n, spacing, (1,) * n, np.dtype(np.float32)
        np.testing.assert_array_equal(correlation(*arguments)(x, w), total)
    w[0, 0, ...] = np.inf
    assert not np.isnan(correlation(*arguments)(np.ones_like(x), w)).any()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_any_size_give_the_same(monkeypatch, dtype, stride):
    """What is left over of samples and channels, and where a run is that of one channel or of several, is no different: sums over the taps
    bit by bit, also of turned arrays. A weight's gradient may add its samples in another order, and is right where something is nan."""
    from torchshim.engine.interpret import depthwise
    r = np.random.RandomState(0)
    x, w = r.randn(9, 8, 7, 5).astype(dtype).transpose(2, 3, 0, 1), r.randn(5, 1, 3, 3).astype(dtype)
    out = tuple((n + 2 - 3) // stride + 1 for n in (9, 8))
    ct = r.randn(5, 7, *out).astype(dtype)
    rest = (stride,) * 2, ((1, 1),) * 2, (1, 1), (1, 1), np.dtype(dtype)
    back = (1, 1), ((1, 1),) * 2, (1, 1), (stride,) * 2, np.dtype(dtype)
    special = ct.copy()
    special[1, 2, 2, 2], given = np.nan, x.swapaxes(0, 1)
    found = []
    wide = given.copy()
    wide[3, :, :, -1] = np.inf                 # which the left taps do not see, though the zeros between rows meet it
    for room, short in ((3 << 16, 400), (3 << 16, 0), (1, 400), (1500, 0), (2500, 1000), (9000, 0)):
        monkeypatch.setattr(depthwise, "_ROOM", room)
        monkeypatch.setattr(depthwise, "_SHORT", short)
        gradient = depthwise.weights((5, 7, 9, 8), (5, 7, *out), (3, 3), *back)
        with np.errstate(invalid="ignore"):
            found.append([depthwise.correlation(x.shape, w.shape, out, 5, *rest)(x, w), gradient(given, ct), gradient(given, special),
                          gradient(wide, ct)])
    for made in found[1:]:
        np.testing.assert_array_equal(made[0], found[0][0])
        for a, b in zip(made[1:], found[0][1:]):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    assert np.isfinite(found[0][3][0, 3]).all(0).tolist() == [True, stride == 2, False]
    assert [np.isfinite(found[0][2][0, o]).all() for o in range(5)] == [True, False, True, True, True]
    bare = lax.conv_general_dilated(np.ascontiguousarray(x), w, (stride,) * 2, [(1, 1)] * 2, feature_group_count=5)
    np.testing.assert_allclose(found[0][0], bare, rtol=1e-4, atol=1e-4)
