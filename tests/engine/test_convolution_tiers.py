"""Convolutions: the interpreter's matrix products and the compiler's parts, against a sum over taps written out."""
import jax
import numpy as np
import pytest
from jax import lax

from torchshim.engine import interpret, pool
from torchshim.engine.compile import lowering
from torchshim.engine.interpret import builder, columns, conv_rules


def written_out(x, w, strides, padding, spacing, dilation, groups):
    n, _, *sizes = x.shape
    filters, channels, *kernel = w.shape
    wide = np.zeros((*x.shape[:2], *[(m - 1) * s + 1 for m, s in zip(sizes, spacing)]))
    wide[(..., *[slice(None, None, s) for s in spacing])] = x
    margin = 12
    wide = np.pad(wide, [(0, 0), (0, 0)] + [(margin, margin)] * len(sizes))
    out = [((m - 1) * g + 1 + a + b - d * (k - 1) - 1) // s + 1
           for m, g, (a, b), d, k, s in zip(sizes, spacing, padding, dilation, kernel, strides)]
    total = np.zeros((n, filters, *out))
    for tap in np.ndindex(*kernel):
        firsts = [margin - a + t * d for (a, _), t, d in zip(padding, tap, dilation)]
        part = wide[(..., *[slice(f, f + (m - 1) * s + 1, s) for f, m, s in zip(firsts, out, strides)])]
        weights = w[(..., *tap)].reshape(groups, filters // groups, channels)
        total += np.einsum("ngc...,goc->ngo...", part.reshape(n, groups, channels, *out), weights).reshape(total.shape)
    return total


CASES = {                  # shapes, strides, padding, spacing, dilation, groups
    "strided": ((2, 3, 9, 8), (4, 3, 3, 2), (2, 3), [(1, 1), (0, 2)], (1, 1), (1, 2), 1),
    "many channels": ((2, 70, 5, 6), (20, 70, 3, 3), (1, 1), [(1, 1), (1, 1)], (1, 1), (1, 1), 1),
    "few filters": ((2, 12, 5, 6), (3, 12, 3, 2), (1, 1), [(1, 1), (0, 1)], (1, 1), (2, 1), 1),
    "few filters, cut": ((1, 8, 6, 6), (2, 8, 3, 3), (1, 1), [(0, 0), (-1, 1)], (1, 1), (1, 1), 1),
    "groups": ((2, 6, 7, 5), (4, 3, 2, 3), (1, 2), [(0, 1), (2, 0)], (1, 1), (1, 1), 2),
    "points": ((2, 5, 4, 3), (6, 5, 1, 1), (1, 1), [(0, 0), (0, 0)], (1, 1), (1, 1), 1),
    "transposed": ((2, 3, 4, 5), (2, 3, 4, 3), (1, 1), [(3, 2), (1, 2)], (2, 3), (1, 2), 1),
    "line": ((3, 4, 20), (5, 4, 5), (3,), [(2, 2)], (1,), (2,), 1),
    "line, runs at a stride": ((3, 4, 20), (5, 4, 6), (3,), [(2, 1)], (1,), (1,), 1),
    "line, runs at a stride, cut": ((3, 2, 23), (5, 2, 4), (2,), [(-1, -2)], (1,), (1,), 1),
    "volume": ((2, 3, 5, 4, 6), (2, 3, 2, 3, 3), (2, 1, 1), [(1, 1), (1, 1), (0, 1)], (1, 1, 1), (1, 1, 2), 1),
    "mostly padding": ((2, 3, 2, 3), (4, 3, 5, 4), (1, 1), [(7, 6), (5, 7)], (1, 1), (2, 2), 1),
    "mostly padding, strided": ((2, 3, 2, 2), (4, 3, 5, 4), (2, 1), [(7, 6), (5, 7)], (1, 1), (1, 1), 1),
    "channel by channel": ((2, 5, 7, 6), (5, 1, 3, 2), (1, 1), [(1, 1), (0, 1)], (1, 1), (1, 1), 5),
    "channel by channel, strided": ((2, 3, 7, 6), (3, 1, 3, 3), (2, 2), [(1, 1), (1, 0)], (1, 1), (1, 2), 3),
    "channel by channel, more filters": ((2, 3, 5, 6), (6, 1, 2, 3), (1, 2), [(1, 0), (1, 1)], (1, 1), (1, 1), 3),
    "channel by channel, transposed": ((2, 3, 4, 5), (3, 1, 3, 3), (1, 1), [(1, 2), (1, 1)], (2, 2), (1, 1), 3),
    "channel by channel, many taps": ((1, 2, 12, 12), (2, 1, 8, 8), (1, 1), [(3, 4), (3, 4)], (1, 1), (1, 1), 2),
    "many channels, one filter": ((2, 28, 5, 6), (2, 14, 2, 3), (1, 1), [(1, 0), (1, 1)], (1, 1), (1, 1), 2),
    "small among padding": ((5, 3, 3, 3), (1, 3, 9, 9), (2, 2), [(9, 9), (9, 9)], (1, 1), (1, 1), 1),
    "small among padding, of two groups": ((5, 8, 3, 2), (2, 4, 8, 8), (1, 1), [(6, 6), (6, 6)], (1, 1), (1, 1), 2),
    "several channels, one filter": ((2, 6, 5, 6), (3, 2, 2, 3), (1, 1), [(1, 0), (1, 1)], (1, 1), (1, 1), 3),
    "cut at one side": ((1, 2, 6, 6), (3, 2, 3, 3), (1, 1), [(0, 0), (-1, 1)], (1, 1), (1, 1), 1),
}


def whole(case):
    """A function of (x, w, cotangent) that gives the convolution and its gradients; arguments; the expected results."""
    x_shape, w_shape, strides, padding, spacing, dilation, groups = CASES[case]
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(x_shape), rng.standard_normal(w_shape)

    def f(x, w):
        return lax.conv_general_dilated(x, w, strides, padding, spacing, dilation, feature_group_count=groups,
                                        precision=lax.Precision.HIGHEST)

    def both(x, w, ct):
        y, pull = jax.vjp(f, x, w)
        return y, *pull(ct)

    def reference(x, w):
        return written_out(x, w, strides, padding, spacing, dilation, groups)
    return both, reference, x, w, rng


def check(case, results, reference, x, w, ct, rng, tolerance):
    np.testing.assert_allclose(results[0], reference(x, w), rtol=tolerance, atol=tolerance)
    for k, made in ((1, results[1]), (2, results[2])):            # a linear map's transpose is told by a product
        probe = rng.standard_normal(made.shape)
        moved = reference(probe, w) if k == 1 else reference(x, probe)
        np.testing.assert_allclose((made * probe).sum(), (ct * moved).sum(), rtol=100 * tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("form", ["columns, samples first", "columns, samples last", "columns, side by side", "blocks", "blocks of rows",
                                  "parts"])
@pytest.mark.parametrize("case", CASES)
def test_interpreted(case, form, monkeypatch):
    """Every way to compute a convolution, whatever the sizes for which it is chosen."""
    def refuse(self, eqn, *rest):
        raise AssertionError(f"{eqn.primitive.name} fell back to XLA")
    monkeypatch.setattr(builder._Builder, "fallback", refuse)
    if form == "parts":
        monkeypatch.setattr(pool, "threads", 3)
        monkeypatch.setattr(conv_rules, "_WORTH", 0)
        monkeypatch.setattr(conv_rules, "_LEAST", 1)
    elif form == "columns, side by side":      # as where samples of few places are many
        monkeypatch.setattr(columns, "SMALL", 0)
        monkeypatch.setattr(columns, "FEW", 1 << 20)
        monkeypatch.setattr(columns._Columns, "beside", lambda self, samples: 2)
    elif form.startswith("columns"):
        monkeypatch.setattr(columns, "_samples_last", lambda *sizes: form == "columns, samples last")
    else:
        monkeypatch.setattr(columns, "SMALL", 0)
        monkeypatch.setattr(columns, "FEW", 0)
        monkeypatch.setattr(columns, "CHUNK", 64)
        for name in ("_DEEP", "_DEEP_VOLUME"):
            monkeypatch.setattr(conv_rules, name, 1 if form == "blocks of rows" else 64)
    both, reference, x, w, rng = whole(case)
    with jax.enable_x64(True):
        ct = rng.standard_normal(reference(x, w).shape)
        results = interpret.build(jax.make_jaxpr(both)(x, w, ct), check=True)(x, w, ct)
    check(case, results, reference, x, w, ct, rng, 1e-12)


@pytest.mark.parametrize("case", CASES)
def test_compiled(case):
    both, reference, x, w, rng = whole(case)
    ct = rng.standard_normal(reference(x, w).shape)
    operands = [a.astype(np.float32) for a in (x, w, ct)]
    jaxpr = jax.make_jaxpr(both)(*operands)
    with jax.enable_x64(True):
        results = jax.jit(lambda zero, *args: lowering.applied(jaxpr, args, lowering.Fence(zero)))(np.zeros((), np.int64), *operands)
    check(case, [np.asarray(r, np.float64) for r in results], reference, x, w, ct, rng, 1e-4)


def test_few_inputs_among_padding_are_the_kernel():
    """The second derivative of a strided convolution has thousands of taps over a handful of inputs: those are the taps, then."""
    form = conv_rules._form((3, 64, 4, 4), (2, 64, 64, 64), (128, 128), (1, 1), [(125, 125)] * 2, (1, 1), (2, 2), np.dtype("float32"))
    assert "_swapped" in form.__qualname__


def test_small_inputs_under_large_kernels_are_the_kernel():
    """A style-based generator's second derivatives: a copy for each of the 512 x 512 weights took a thousand times longer."""
    form = conv_rules._form((64, 16, 3, 3), (1, 16, 17, 17), (8, 8), (2, 2), [(14, 14), (14, 14)], (1, 1), (1, 1), np.dtype("f4"))
    assert "_swapped" in form.__qualname__


@pytest.mark.parametrize("x, w", [((2, 16, 8, 16, 16), (32, 16, 3, 3, 3)), ((4, 16, 56, 56), (32, 16, 3, 3))])
def test_products_of_some_depth_are_added_one_by_one(x, w):
    """By taps of the outer dimensions: that takes less time than columns of all taps, and loses fewer digits than one long sum."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(x, np.float32), rng.standard_normal(w, np.float32)
    padding, strides = [(1, 1)] * (x.ndim - 2), (1,) * (x.ndim - 2)
    with jax.enable_x64(True):
        program = jax.make_jaxpr(lambda x, w: lax.conv_general_dilated(x, w, strides, padding))
        near = interpret.build(program(x, w))(x, w)[0]
        exact = interpret.build(program(x.astype(np.float64), w.astype(np.float64)))(x.astype(np.float64), w.astype(np.float64))[0]
    assert np.sqrt(np.mean((near - exact) ** 2)) < (4e-6 if x.ndim == 5 else 2e-6)


@pytest.mark.parametrize("products", [1, 40, 1 << 17])
@pytest.mark.parametrize("channels, filters", [(3, 5), (6, 2), (1, 4)])
def test_gradients_of_pointwise_weights_add_samples_in_turn(products, channels, filters, monkeypatch):
    """However many samples' products are made at once, and whichever operand is turned round; also of arrays that lie anyhow, and with nan."""
    monkeypatch.setattr(conv_rules, "_PRODUCTS", products)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 3, 7, channels)).transpose(3, 1, 0, 2), rng.standard_normal((7, filters, 4, 3)).transpose(1, 3, 2, 0)
    x[0, 1, 2, 3] = np.nan
    made = conv_rules._outer_of_points(x, w)
    expected = sum([x[:, n].reshape(channels, -1) @ w[:, n].reshape(filters, -1).T for n in range(3)])
    np.testing.assert_allclose(made, expected[..., None, None], rtol=1e-12)
    assert np.isnan(made[0]).all() and np.isfinite(made[1:]).all()
