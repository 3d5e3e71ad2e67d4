"""A CPU generator's stream: the numbers PyTorch draws, bit for bit.

:class:`Stream` owns a Mersenne twister and turns its words into every
distribution PyTorch fills tensors with.  Fills return one-dimensional numpy
arrays in *fill order*, the order in which elements lie in memory;
:func:`in_memory_order` puts them into a strided tensor's shape.  Dtypes are
numpy dtypes, bfloat16 being ``ml_dtypes.bfloat16``; a complex fill draws real
and imaginary parts in turn.
"""

import functools
import math
import threading

import numpy as np

from . import boxmuller, categorical, floats, integers, permute, rejection
from ..engine.quiet import quiet
from ..ops.layout import fastest_first
from ..ops.promotion import c_name, cpp_name
from .ahead import LARGE, Ahead, draw
from .dtypes import (DIGITS, LARGEST, PART, bfloat16, cast, cast_integers, float32, float64, not_implemented,
                     require_continuous, require_floating)
from .engine import DEFAULT_SEED, STATE_SIZE, Engine, entropy

__all__ = ["DEFAULT_SEED", "STATE_SIZE", "Stream", "fill_order", "in_memory_order"]

_U24 = np.float32(2.0**-24)
_WORDS = 2 * boxmuller.PAIRS  # words made and used at a time in long fills
_AHEAD = 1 << 14  # normals made in advance where many few are asked for
_TOGETHER = _WORDS - 32  # normals that are made at once with those that are made again
_SHORT = 64  # up to here scalar normals are made one by one
_FEW = 16  # up to here integers are, and exponential numbers


# ----------------------------------------------------------------- memory order
def _slowest_first(shape, strides):
    return fastest_first((strides,), shape)[::-1]


def fill_order(shape, strides):
    """For each step of a fill, the flat row-major index of the element it sets."""
    index = np.arange(math.prod(shape)).reshape(shape)
    return index.transpose(_slowest_first(shape, strides)).ravel()


def in_memory_order(values, shape, strides):
    """A fill's values as an array of the given shape (a view, usually)."""
    axes = _slowest_first(shape, strides)
    values = values.reshape([shape[d] for d in axes])
    return values.transpose(np.argsort(axes))


# ---------------------------------------------------------------------- helpers
def _locked(method):
    """Make one draw indivisible between threads, and of what comes next in the stream."""

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        ahead = self._ahead
        ahead.asked = True
        with self._lock:
            ahead.asked = False
            if ahead.row:
                ahead.settle()
            return method(self, *args, **kwargs)

    return wrapper


class Stream:
    """The random stream of one CPU generator."""

    def __init__(self, seed=DEFAULT_SEED):
        self._lock = threading.RLock()
        self._engine = Engine()
        self._ahead = Ahead(self._engine, self._lock)
        self._unit, self._used = (None, 0, None), 0  # normals made ahead: of which words, from where on; how many were wanted since
        if seed != DEFAULT_SEED:
            self.manual_seed(seed)

    def __reduce__(self):
        return _from_state, (self.get_state(),)

    # ------------------------------------------------------------ seed and state
    def manual_seed(self, seed):
        """Restart from ``seed``, an integer in [-2**63, 2**64)."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._restart(seed % 2**64)
        return self

    @_locked
    def _restart(self, seed):
        self._engine.reseed(seed)

    def seed(self):
        """Restart from a seed of the operating system's and return it."""
        seed = entropy()
        self.manual_seed(seed)
        return seed

    def initial_seed(self):
        """The seed last given, as an unsigned 64-bit number."""
        return self._engine.seed

    @_locked
    def get_state(self):
        """The state as 5,056 bytes, those of ``torch.get_rng_state()``."""
        return self._engine.state()

    @_locked
    def set_state(self, state):
        """Continue from the bytes of a state."""
        self._engine.restore(state)

    def clone(self):
        """An independent stream in the same state."""
        return _from_state(self.get_state())

    # ------------------------------------------------------------------ uniforms
    def _u24(self, n):
        """float32 uniforms in [0, 1), one word each."""
        if n <= _WORDS:
            words = self._engine.words(n)
            words &= 0xFFFFFF
            out = words.view(np.int32).astype(np.float32)
            out *= _U24
            return out
        out = np.empty(n, np.float32)
        for at in range(0, n, _WORDS):
            out[at:at + _WORDS] = self._u24(min(_WORDS, n - at))
        return out

    @_locked
    def uniform(self, n, a=0.0, b=1.0, dtype=float32):
        """``uniform_(a, b)``: values in [a, b)."""
        dtype = np.dtype(dtype)
        if dtype in PART:
            return self.uniform(2 * n, a, b, PART[dtype]).view(dtype)
        require_floating(dtype, "check_uniform_bounds")
        a, b = float(a), float(b)
        if a != 0.0 or b != 1.0:
            self._check_uniform(a, b, dtype)
        if n <= _WORDS:
            return self._uniform_part(n, a, b, dtype)
        out = np.empty(n, dtype)
        for at in range(0, n, _WORDS):
            out[at:at + _WORDS] = self._uniform_part(min(_WORDS, n - at), a, b, dtype)
        return out

    @staticmethod
    def _check_uniform(a, b, dtype):
        largest, name = LARGEST[dtype], cpp_name(dtype)
        for bound, value in (("from", a), ("to", b)):
            if not -largest <= value <= largest:
                raise RuntimeError(f"{bound} is out of bounds for {name}")
        if not a <= b:
            raise RuntimeError(
                "uniform_ expects to return a [from, to) range, but found "
                f"from={a:g} > to={b:g}")
        if not b - a <= largest:
            raise RuntimeError(
                "uniform_ expects to-from <= std::numeric_limits<Float>::max(), but found "
                f"to={b:g} and from={a:g} which result in to-from to exceed the limit")

    def _uniform_part(self, n, a, b, dtype):
        if dtype == float64:
            out = self._engine.doubles(n)
            if a == 0.0 and b == 1.0:
                return out
            out = floats.fma64(out, b - a, a)
        else:
            out = self._u24(n)
            if a != 0.0 or b != 1.0:
                low = np.float32(a)
                out = floats.fma32(out, np.float32(b) - low, low)
            elif dtype == float32:
                return out
            out = cast(out, dtype)
        top, bottom = np.array((b, a)).astype(dtype)
        reached = out == top
        if reached.any():
            out[reached] = bottom
        return out

    # ------------------------------------------------------------------- normals
    @_locked
    def normal(self, n, mean=0.0, std=1.0, dtype=float32, contiguous=True):
        """``normal_(mean, std)``; ``contiguous`` tells whether the target is
        row-major, which matters from 16 elements on."""
        dtype = np.dtype(dtype)
        mean, std = float(mean), float(std)
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if dtype in PART:
            return self.normal(2 * n, mean, std / math.sqrt(2.0), PART[dtype], contiguous).view(dtype)
        require_floating(dtype, "normal_kernel_cpu", n)
        if n < 16 or not contiguous:
            return cast(self._scalar_normals(n, mean, std), dtype)
        if dtype == float64:
            return self._normal_blocks_f64(n, mean, std)
        if dtype == float32 and n % 16 == 0 and 4 * n <= _AHEAD:
            out = self._made_ahead(n)
            if out is not None:
                return floats.fma32(out, std, mean)
        out = np.empty(n, dtype)
        full = n - n % 16
        if dtype == float32 and full < n <= _TOGETHER:      # what is done again below, in the same go
            words = self._engine.words(n + 16)
            words[full:full + 16] = words[n:].copy()
            unit = words.view(np.float32)[:full + 16]
            boxmuller.box_muller_f32(words[:full + 16], unit, mean, std)
            out[:n - 16], out[n - 16:] = unit[:n - 16], unit[full:]
            return out
        for at in range(0, full, _WORDS):
            count = min(_WORDS, full - at)
            self._normal_block(out[at:at + count], mean, std)
        if n > full:  # the last 16 places are done again with fresh numbers
            if dtype == float32:
                self._engine.words(n - full)
            self._normal_block(out[n - 16:], mean, std)
        return out

    def _made_ahead(self, n):
        """Blocks of unit normals, of those that were made ahead; or after as many as are wanted, more are: one by one they cost ten times
        as much. None where it is too early for that."""
        engine = self._engine
        words, first, unit = self._unit
        here = engine._at - first
        if words is not engine._rest or here % 16 or here + n > unit.size:
            more = min(self._used, _AHEAD - n) // n * n       # of calls like this one, which leave nothing over
            self._used = self._used + n if more < n else 0
            if more < n:
                return None
            words, first = engine.look(n + more)
            unit, here = words[first:first + n + more].copy().view(np.float32), 0
            boxmuller.box_muller_f32(unit.view(np.uint32), unit, 0.0, 1.0)
            self._unit = words, first, unit
        engine.skip(n)
        self._used += n
        return unit[here:here + n].copy()

    def _normal_block(self, out, mean, std):
        words = self._engine.words(out.size)
        if out.dtype == float32:
            boxmuller.box_muller_f32(words, out, mean, std)
        else:
            single = words.view(np.float32)
            boxmuller.box_muller_f32(words, single, mean, std)
            out[:] = cast(single, out.dtype)

    def _normal_blocks_f64(self, n, mean, std):
        out = np.empty(n)
        full = n - n % 16
        for at in range(0, full, _WORDS):
            u = self._engine.doubles(min(_WORDS, full - at))
            out[at:at + u.size] = boxmuller.box_muller_f64(u, mean, std)
        if n > full:
            self._engine.words(2 * (n - full))
            out[n - 16:] = boxmuller.box_muller_f64(self._engine.doubles(16), mean, std)
        return out

    def _scalar_normals(self, n, mean, std):
        """float64 normals in pairs; an odd one out is kept for the next call."""
        if n > _SHORT:
            return floats.fma64(self._unit_normals(n), std, mean)
        engine = self._engine
        unit = []
        if n and engine.next_normal is not None:
            unit.append(engine.next_normal)
            engine.next_normal = None
        pairs = (n - len(unit) + 1) // 2
        if pairs:
            u = engine.doubles(2 * pairs).tolist()
            for k in range(0, 2 * pairs, 2):
                r = math.sqrt(-2.0 * math.log1p(-u[k + 1]))
                t = floats.TWO_PI * u[k]
                unit.append(r * math.cos(t))
                unit.append(r * math.sin(t))
            if len(unit) > n:
                engine.next_normal = unit.pop()
        out = np.array(unit, np.float64)
        if mean == 0.0 or std == 1.0:
            out *= std
            out += mean
            return out
        return floats.fma64(out, std, mean)

    def _unit_normals(self, n):
        engine = self._engine
        out = np.empty(n)
        start = 0
        if engine.next_normal is not None:
            out[0], start = engine.next_normal, 1
            engine.next_normal = None
        for at in range(start, n, _WORDS):
            count = min(_WORDS, n - at)
            u = engine.doubles(count + count % 2)
            r = np.sqrt(-2.0 * floats.libm(np.log1p, -u[1::2]))
            u[0::2], u[1::2] = floats.polar(r, floats.TWO_PI * u[0::2])
            out[at:at + count] = u[:count]
            if count % 2:
                engine.next_normal = float(u[-1])
        return out

    @_locked
    def log_normal(self, n, mean=1.0, std=2.0, dtype=float32):
        """``log_normal_(mean, std)``."""
        dtype = np.dtype(dtype)
        if not std > 0.0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        require_floating(dtype, "log_normal_cpu", n)
        return self._transform(np.exp, self._scalar_normals(n, float(mean), float(std)), dtype)

    # ---------------------------------------------------------- other continuous
    @staticmethod
    def _transform(ufunc, x, dtype, finish=lambda y: y):
        """``finish(ufunc(x))`` in dtype, with the C library's bits."""
        if dtype == float64 or x.size <= _SHORT:
            return cast(finish(floats.libm(ufunc, x)), dtype)
        return cast(floats.nearly_f32(ufunc, x, finish), dtype)

    @_locked
    def exponential(self, n, lambd=1.0, dtype=float32):
        """``exponential_(lambd)``."""
        dtype = np.dtype(dtype)
        require_continuous(dtype, "Exponential", c_name, n)
        if not lambd > 0.0:
            raise RuntimeError(
                f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        scale = -1.0 / float(lambd)
        if n <= _FEW and dtype.itemsize > 2:
            return quiet(np.array, [scale * math.log1p(-u) for u in self._engine.few_doubles(n)], dtype)
        return quiet(self._transform, np.log1p, -self._engine.doubles(n), dtype, lambda y: scale * y)

    @_locked
    def nearly_exponential(self, n):
        """The numbers of `exponential` in float64 but for the last bits, and what they are minus the `log1p` of."""
        u = -self._engine.doubles(n)
        with np.errstate(all="ignore"):
            return -np.log1p(u), u

    @_locked
    def cauchy(self, n, median=0.0, sigma=1.0, dtype=float32):
        """``cauchy_(median, sigma)``."""
        dtype = np.dtype(dtype)
        require_continuous(dtype, "Cauchy", cpp_name)
        if not sigma > 0.0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        x = math.pi * (self._engine.doubles(n) - 0.5)
        if median == 0:
            return self._transform(np.tan, x, dtype, lambda y: y * sigma + 0.0)
        # a sum may cancel and so magnify an error of the tangent's
        return cast(floats.fma64(floats.libm(np.tan, x), sigma, median), dtype)

    @_locked
    def geometric(self, n, p, dtype=float32):
        """``geometric_(p)``: the number of trials up to the first success."""
        dtype = np.dtype(dtype)
        if not 0.0 < p < 1.0:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        if dtype not in DIGITS and dtype.kind != "i" and dtype != np.uint8:
            require_floating(dtype, "geometric_cpu", n)
        u = self._engine.doubles(n)
        scale = math.log1p(-p)
        with np.errstate(all="ignore"):
            trials = np.log(u) / scale
            close = np.abs(trials - np.rint(trials)) <= trials * 2.0**-46
            redo = np.flatnonzero(close)
            trials[redo] = floats.libm(np.log, u[redo]) / scale
            np.ceil(trials, trials)
            return cast(trials, dtype) if dtype in DIGITS else trials.astype(np.int64).astype(dtype)

    # ------------------------------------------------------------------ integers
    @_locked
    def random_from_to(self, n, low, high, dtype=np.int64):
        """``random_(low, high)`` and ``randint``: integers in [low, high)."""
        dtype = np.dtype(dtype)
        low, high = int(low), int(high)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' to be less than 'to', but got "
                f"from={low} >= to={high}")
        integers.check(low, high - 1, dtype)
        if dtype in DIGITS:
            low, high = integers.snap_low(low, dtype), integers.snap_high(high, dtype)
            if low >= high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to "
                    f"dtype, but got from={low} >= to={high}")
        return self._integers(n, low, high - low, dtype)

    @_locked
    def random_from(self, n, low, dtype=np.int64):
        """``random_(low, None)``: from ``low`` to the dtype's largest."""
        dtype = np.dtype(dtype)
        low = int(low)
        if low == -(2**63):
            name = "random_full_64_bits_range_kernel_cpu"
            if n and (dtype.kind == "i" and dtype.itemsize < 8 or dtype == np.uint8):
                raise RuntimeError(f"{name} handles only int64, double, float and bfloat16")
            if n and dtype not in (np.int64, bfloat16, float32, float64):
                raise not_implemented(name, dtype)
            return cast_integers(self._engine.words64(n).view(np.int64), dtype)
        if dtype in DIGITS:
            top = 2**DIGITS[dtype]
            low = integers.snap_low(low, dtype)
            if low > top:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than or equal to "
                    f"'to_inc' casted to dtype, but got from={low} > to_inc={top}")
        else:
            top = 1 if dtype == bool else min(int(np.iinfo(dtype).max), 2**63 - 1)
        integers.check(low, top, dtype)
        return self._integers(n, low, top - low + 1, dtype)

    @_locked
    def random_full(self, n, dtype=np.int64):
        """``random_()``: over all the non-negative numbers a dtype counts to."""
        dtype = np.dtype(dtype)
        if dtype.kind == "u" and dtype.itemsize > 1 or dtype in PART:
            raise not_implemented("random_kernel_cpu", dtype)
        if dtype == np.int64:
            return (self._engine.words64(n) & np.uint64(2**63 - 1)).view(np.int64)
        if dtype == float64:
            return integers.modulo(self._engine.words64(n), 2**53 + 1).astype(float64)
        top = 2**DIGITS[dtype] if dtype in DIGITS else 1 if dtype == bool else int(np.iinfo(dtype).max)
        return cast_integers(integers.modulo(self._engine.words(n), top + 1).astype(np.int64), dtype)

    def _integers(self, n, low, span, dtype):
        if span >= 2**28:
            draws = integers.modulo(self._engine.words64(n), span).view(np.int64)
        elif n <= _FEW:                        # NumPy's calls cost more than these
            draws = np.array([x % span for x in self._engine.words(n).tolist()], np.int64)
        else:
            draws = integers.modulo(self._engine.words(n), span).astype(np.int64)
        if low:
            draws += np.uint64(low % 2**64).view(np.int64)
        return cast_integers(draws, dtype)

    @_locked
    def randperm(self, n, dtype=np.int64):
        """``randperm(n)``: a permutation of 0..n-1."""
        if n >= permute.WIDE:
            order = permute.shuffled_wide(n, self._engine.words64)
        elif n > 1:
            order = permute.shuffled(n, self._engine.words(n - 1))
        else:
            order = np.arange(n)
        return cast_integers(order, np.dtype(dtype))

    # ----------------------------------------------------------- Bernoulli family
    def bernoulli(self, n, p, dtype=bool):
        """``bernoulli_(p)`` with a number p: 1 with probability p."""
        dtype = np.dtype(dtype)
        p = float(p)
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        # u < p in integers: u has 53 bits, and scaling p is exact
        limit, keep, ahead = np.uint64(math.ceil(math.ldexp(p, 53))), np.empty(n, bool), self._ahead
        ahead.asked = True
        with self._lock:
            ahead.asked = False
            if n >= LARGE or ahead.row:
                ahead.fill(limit, keep)
            else:
                draw(self._engine, limit, keep)
        return keep if dtype == bool else keep.astype(dtype)

    @_locked
    def bernoulli_tensor(self, p, dtype=None):
        """``torch.bernoulli(p)``: an array of probabilities in fill order."""
        p = np.ravel(p)
        require_floating(p.dtype, "bernoulli_tensor_cpu_p_", p.size)
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                "message be improved?  If so, please report an enhancement request to PyTorch.)")
        if p.dtype == float64:
            draws = self._engine.doubles(p.size)
        else:
            draws, p = self._u24(p.size), p.astype(np.float32, copy=False)
        return (draws < p).astype(dtype or bool, copy=False)

    def dropout_mask(self, n, p):
        """Which of n elements dropout of probability p keeps."""
        return self.bernoulli(n, 1.0 - p)

    def dropout_noise(self, n, p, dtype=float32):
        """Dropout's factors: the mask divided by 1-p.  ``p == 1`` draws nothing
        and gives zeros; ``p == 0`` draws nothing and gives ones."""
        dtype = np.dtype(dtype)
        if p == 0 or p == 1:
            return np.full(n, 1 - int(p), dtype)
        wide = float64 if dtype == float64 else float32
        kept = cast(1 / np.array([1.0 - p], wide), dtype)
        return np.where(self.dropout_mask(n, p), kept, np.zeros(1, dtype))

    @_locked
    def rrelu_noise(self, x, lower, upper):
        """Training-mode rrelu's slopes for x (in fill order): 1 where x > 0."""
        x = np.ravel(x)
        if x.dtype not in (float32, float64, bfloat16):
            raise not_implemented("rrelu_with_noise_out_cpu", x.dtype)
        if not lower <= upper:
            raise RuntimeError("Lower bound should be less than or equal to the upper bound")
        if x.dtype != float64:
            lower, upper = float(np.float32(lower)), float(np.float32(upper))
        slopes = np.ones(x.size, x.dtype)
        negative = np.flatnonzero(x <= 0)
        u = self._engine.doubles(negative.size)
        slopes[negative] = cast(u * (upper - lower) + lower, x.dtype)
        return slopes

    # ------------------------------------------------------ discrete, by sampling
    @_locked
    def multinomial(self, weights, n_sample, replacement=False, strides=None):
        """``torch.multinomial`` of an array with one or two dimensions; give the
        strides of a tensor whose memory is not row-major."""
        weights = np.asarray(weights)

        def arrange(values):
            if strides is None:
                return values.reshape(weights.shape)
            return in_memory_order(values, weights.shape, strides)

        return categorical.multinomial(self, weights, int(n_sample), replacement, arrange)

    @_locked
    def poisson(self, rate):
        """``torch.poisson`` of an array of rates in fill order."""
        rate = np.ravel(rate)
        require_floating(rate.dtype, "poisson_cpu")
        if not (rate >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        with rejection.Uniforms(self._engine) as uniforms:
            draw = uniforms.draw
            rates = rate.astype(float64).tolist()
            out = np.array([rejection.poisson(value, draw) for value in rates], float64)
        return cast(out, rate.dtype)

    @_locked
    def binomial(self, count, prob):
        """``torch.binomial`` of counts and probabilities in fill order."""
        if count.dtype != prob.dtype:
            raise RuntimeError(f"expected scalar type {cpp_name(count.dtype)} but found {cpp_name(prob.dtype)}")
        require_floating(count.dtype, "binomial_cpu")
        with rejection.Uniforms(self._engine) as uniforms:
            pairs = zip(count.astype(float64).tolist(), prob.astype(float64).tolist())
            out = np.array([rejection.binomial(n, p, uniforms.draw) for n, p in pairs], float64)
        return cast(out, count.dtype)

    @_locked
    def standard_gamma(self, alpha):
        """``torch._standard_gamma`` of an array of shapes in fill order."""
        alpha = np.ravel(alpha)
        if alpha.dtype not in (float32, float64):
            raise not_implemented("gamma_cpu", alpha.dtype)
        if not (alpha >= 0).all():
            raise NotImplementedError("standard_gamma of a negative or NaN shape")
        with rejection.Uniforms(self._engine) as uniforms:
            out = np.array(rejection.standard_gammas(alpha, uniforms), float64)
        return np.maximum(cast(out, alpha.dtype), np.finfo(alpha.dtype).tiny)


def _from_state(state):
    stream = Stream()
    stream.set_state(state)
    return stream
