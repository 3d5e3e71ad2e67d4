"""Prints torchshim/ops/bessel_series.py: `python tests/ops/make_bessel_series.py > torchshim/ops/bessel_series.py`. Needs mpmath."""
import mpmath as mp

mp.mp.dps = 60
END = mp.mpf(12)                 # where the series in x ** 2 hand over to the ones in 1 / x
TINY = mp.mpf(10) ** -18


def chebyshev(f, low, high, tolerance=TINY, n=96):
    """Coefficients of f on [low, high] down to `tolerance`, from its values at n Chebyshev nodes."""
    angles = [mp.pi * (k + mp.mpf(1) / 2) / n for k in range(n)]
    values = [f((high + low) / mp.mpf(2) + (high - low) / mp.mpf(2) * mp.cos(a)) for a in angles]
    c = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles)) / n for j in range(n)]
    c[0] /= 2
    scale = max(abs(x) for x in c)
    while abs(c[-1]) < tolerance * scale:
        c.pop()
    return c


def squared(f):
    return lambda t: f(mp.sqrt(max(t, mp.mpf(10) ** -12)))


def phases(n, which):
    """P (0) or x Q (1) of J = sqrt(2 / (pi x)) (P cos c - Q sin c), in z = (END / x) ** 2."""
    def f(z):
        x = END / mp.sqrt(max(mp.mpf(z), mp.mpf(10) ** -10))
        c, s = x - (2 * n + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
        J, Y = mp.besselj(n, x) * s, mp.bessely(n, x) * s
        return (Y * mp.cos(c) - J * mp.sin(c)) * x if which else J * mp.cos(c) + Y * mp.sin(c)
    return f


def scaled_k(n):
    """exp(x) sqrt(x) K(x) in u = 2 / x."""
    def f(u):
        x = 2 / max(u, mp.mpf(10) ** -8)
        return mp.exp(x) * mp.sqrt(x) * mp.besselk(n, x)
    return f


def zeta(y):
    return mp.mpf(2) / 3 * y ** mp.mpf("1.5")


def airy_right(u):
    z = zeta(mp.mpf(2)) / max(mp.mpf(u), mp.mpf(10) ** -8)
    x = (z * 3 / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * mp.exp(z) * 2 * mp.sqrt(mp.pi) * x ** mp.mpf("0.25")


def airy_left(which):
    def f(w):
        z = zeta(mp.mpf(6)) / mp.sqrt(max(mp.mpf(w), mp.mpf(10) ** -10))
        y = (z * 3 / 2) ** (mp.mpf(2) / 3)
        a, b = (g(-y) * mp.sqrt(mp.pi) * y ** mp.mpf("0.25") for g in (mp.airyai, mp.airybi))
        c = z - mp.pi / 4
        return (a * mp.sin(c) + b * mp.cos(c)) * z if which else a * mp.cos(c) - b * mp.sin(c)
    return f


SERIES = {
    "J0": chebyshev(squared(lambda x: mp.besselj(0, x)), 0, END * END),
    "J1": chebyshev(squared(lambda x: mp.besselj(1, x) / x), 0, END * END),
    "Y0": chebyshev(squared(lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)), 0, END * END),
    "Y1": chebyshev(squared(lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x), 0, END * END),
    **{f"{'PQ'[which]}{n}": chebyshev(phases(n, which), 0, 1) for n in (0, 1) for which in (0, 1)},
    "K0_SMALL": chebyshev(squared(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)), 0, 4),
    "K1_SMALL": chebyshev(squared(lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))), 0, 4),
    **{f"K{n}_LARGE": chebyshev(scaled_k(n), 0, 1, 10 * TINY) for n in (0, 1)},
    "AIRY_RIGHT": chebyshev(airy_right, 0, 1, 10 * TINY),
    "AIRY_MIDDLE": chebyshev(mp.airyai, -6, 2),
    "AIRY_COS": chebyshev(airy_left(0), 0, 1),
    "AIRY_SIN": chebyshev(airy_left(1), 0, 1),
}

print('"""Chebyshev coefficients of the pieces of Bessel and Airy functions; tests/ops/make_bessel_series.py computed them with mpmath."""')
for name, coefficients in SERIES.items():
    line = f"{name} = ("
    for i, c in enumerate(coefficients):
        piece = repr(float(c)) + (", " if i < len(coefficients) - 1 else ")")
        if len(line) + len(piece.rstrip()) > 138:
            print(line.rstrip())
            line = "    "
        line += piece
    print(line)
