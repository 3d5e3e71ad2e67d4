"""erf in float32, which NumPy lacks.

For compiled programs: x P(x^2) / Q(x^2), fitted to within 2e-9 of its size up to LIMIT, where erf rounds to 1.
"""
import numpy as np

P = (1.12837917e+00, 1.85135612e-01, 5.42439850e-02, 3.83863057e-03, 3.76757419e-04, 4.60918400e-06, -1.27995587e-08)
Q = (1.0, 4.97405570e-01, 1.13873857e-01, 1.54300581e-02, 1.30152448e-03, 6.23987087e-05)
LIMIT = 3.92


def polynomial(t, coefficients, times):
    """The sum of coefficients[k] * t ** k; `times` multiplies."""
    total = times(t, np.float32(coefficients[-1])) + np.float32(coefficients[-2])
    for c in coefficients[-3::-1]:
        total = times(total, t) + np.float32(c)
    return total


#: erf(x) = tanh(x T(x^2)), T fitted so that the two differ by at most 1e-7 of erf's size up to where it rounds to 1. NumPy's tanh is
#: vectorised: in all half the passes of P / Q, and 4 units in the last place at most where P / Q has 5.
T = (1.128379273373097, 0.10276906356667642, -0.00019184704657097904, -0.0006197716985137553, 8.7632798169256e-05, -5.667784923056121e-06,
     1.4181513032447918e-07)
_T = [np.array(c, np.float32) for c in T]
_BLOCK = 1 << 15           # elements that stay in the processor's near memory
_FEW = 1 << 13             # of arrays whose memory need not begin with a line of the processor's
_LONG = 1 << 17            # of arrays that several threads may share, which would wait for each other at shorter ones


def on_host(x):
    """erf of a NumPy array."""
    if x.size <= _FEW and x.flags.c_contiguous:
        y = np.empty_like(x)
        into(x, y, np.empty_like(x))
        return y
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty_like(flat)
    length = _BLOCK if x.size < _LONG else _LONG
    squares = np.empty(min(flat.size, length), flat.dtype)
    for start in range(0, flat.size, length):
        block = flat[start:start + length]
        into(block, out[start:start + length], squares[:block.size])
    return out.reshape(x.shape)


def into(x, y, t):
    """erf of x in y, by way of t: arrays of one shape that share no memory."""
    np.multiply(x, x, t)
    np.multiply(t, _T[-1], y)
    for c in _T[-2:0:-1]:
        y += c
        y *= t
    y += _T[0]
    y *= x
    np.tanh(y, y)
