"""Protects the single-precision normals: all 2**24 radii and angles, against a
digest recorded from PyTorch, and the arithmetic underneath against exact rationals."""

import hashlib
import json
import pathlib
from fractions import Fraction

import numpy as np

from torchshim.random import boxmuller, floats

GOLDENS = json.loads(pathlib.Path(__file__).with_name("goldens.json").read_text())


def test_every_radius_and_angle():
    pairs, total = 304, 2**24
    count = -(-total // pairs) * pairs
    out = hashlib.sha256()
    step = 100 * pairs
    for at in range(0, count, step):
        words = np.arange(at, min(at + step, count), dtype=np.uint32) % np.uint32(total)
        words = np.repeat(words.reshape(-1, 1, 8), 2, 1).reshape(-1)
        normals = np.empty(words.size, np.float32)
        boxmuller.box_muller_f32(words, normals, 0.0, 1.0)
        out.update(normals.tobytes())
    assert out.hexdigest()[:16] == GOLDENS["exhaustive"]


def hard_cases(dtype, rng):
    """Triples whose sum nearly or exactly falls between two representable values."""
    a = rng.standard_normal(300).astype(dtype) * dtype(2.0) ** rng.integers(-30, 30, 300)
    b = dtype(rng.standard_normal())
    half_unit = np.spacing(np.abs(a * b)) / 2
    for c in (dtype(1), -dtype(a[0] * b), half_unit[1], -half_unit[2], dtype(2.0**40)):
        yield a.astype(dtype), b, dtype(c)


def test_fused_multiply_adds_round_once():
    rng = np.random.default_rng(0)
    for _ in range(10):
        for a, b, c in hard_cases(np.float32, rng):
            got = floats.fma32(a.copy(), b, c)
            for x, value in zip(a, got, strict=True):
                check(Fraction(float(x)) * Fraction(float(b)) + Fraction(float(c)), value)
        for a, b, c in hard_cases(np.float64, rng):
            for few in (a[:8], a):
                for x, value in zip(few, floats.fma64(few, b, c), strict=True):
                    check(Fraction(float(x)) * Fraction(float(b)) + Fraction(float(c)), value)


def test_fused_multiply_adds_near_the_ends_of_the_range():
    tiny, huge = 2.0**-1074, np.finfo(np.float64).max
    for a, b, c in ((tiny, 0.5, tiny), (huge, 2.0, -huge), (1e-200, 1e-200, 1e-310), (3.0, 0.0, 1.5)):
        expected = float(Fraction(a) * Fraction(b) + Fraction(c))
        assert floats.fma64(np.full(3, a), b, c).tolist() == [expected] * 3
        assert floats.fma64(np.full(99, a), b, c).tolist() == [expected] * 99
    assert floats.fma64(np.full(99, huge), 2.0, huge).tolist() == [np.inf] * 99
    small = np.float32(2.0**-149)
    got = floats.fma32(np.full(3, small), np.float32(0.75), np.float32(2.0**-149))
    assert (got == np.float32(2.0**-148)).all()


def check(exact, value):
    """``value`` is the neighbour nearest to ``exact``, the even one of two."""
    error = abs(exact - Fraction(float(value)))
    for other in (np.nextafter(value, type(value)(np.inf)), np.nextafter(value, type(value)(-np.inf))):
        distance = abs(exact - Fraction(float(other)))
        assert error <= distance
        if error == distance:
            assert int(value.view(f"u{value.itemsize}")) % 2 == 0


def test_transcendentals_are_the_c_librarys():
    x = np.random.default_rng(1).random(200_000)
    for ufunc, argument, finish in (
            (np.log1p, -x, lambda y: -y), (np.tan, 3.14 * (x - 0.5), None), (np.exp, 20 * x - 10, None)):
        exact = floats.libm(ufunc, argument)
        exact = exact if finish is None else finish(exact)
        got = floats.nearly_f32(ufunc, argument, finish)
        assert (got.astype(np.float32) == exact.astype(np.float32)).all()
