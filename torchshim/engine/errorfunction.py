"""erf in float32, for both tiers: x P(x^2) / Q(x^2), fitted to within 2e-9 of its size up to LIMIT, where erf rounds to 1.

NumPy has none, and XLA's would give other digits than the interpreter's.
"""
import numpy as np

P = (1.12837917e+00, 1.85135612e-01, 5.42439850e-02, 3.83863057e-03, 3.76757419e-04, 4.60918400e-06, -1.27995587e-08)
Q = (1.0, 4.97405570e-01, 1.13873857e-01, 1.54300581e-02, 1.30152448e-03, 6.23987087e-05)
LIMIT = 3.92
_BLOCK = 1 << 13           # elements that stay in the processor's nearest memory


def polynomial(t, coefficients, times):
    """The sum of coefficients[k] * t ** k; `times` multiplies."""
    total = times(t, np.float32(coefficients[-1])) + np.float32(coefficients[-2])
    for c in coefficients[-3::-1]:
        total = times(total, t) + np.float32(c)
    return total


def on_host(x):
    """erf of a NumPy array."""
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start:start + _BLOCK]
        t = block * block
        y = _horner(t, P)
        y *= block
        y /= _horner(t, Q)
        np.clip(y, -1, 1, y)
        np.copyto(y, np.sign(block), where=np.abs(block) > np.float32(LIMIT))
        out[start:start + _BLOCK] = y
    return out.reshape(x.shape)


def _horner(t, coefficients):
    """`polynomial`, in one array."""
    total = t * np.float32(coefficients[-1])
    total += np.float32(coefficients[-2])
    for c in coefficients[-3::-1]:
        total *= t
        total += np.float32(c)
    return total
