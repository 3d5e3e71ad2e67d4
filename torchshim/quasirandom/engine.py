"""SobolEngine: low-discrepancy points in the unit cube."""
from __future__ import annotations

import numpy as np

from ..random.fills import randint
from ..random.generator import Generator
from ..tensor.api.bind import into
from ..tensor.core.dtype import get_default_dtype
from ..tensor.core.tensor import tensor_from
from .directions import BITS, DIMENSIONS, directions


class SobolEngine:
    """Sobol' sequences in up to 1111 dimensions (torch: 21201; the direction numbers of the others are not here).

    scramble: shift and mix the digits at random (Owen's linear matrix scrambling); seed: of the generator for that, else torch's own.
    """
    MAXBIT = BITS
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        if dimension > DIMENSIONS:
            raise NotImplementedError(f"torchshim: SobolEngine with more than {DIMENSIONS} dimensions")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self._directions, self._shift = directions(dimension), np.zeros(dimension, np.int64)
        if scramble:
            self._mix()
        self.reset()

    def _mix(self):
        g = None if self.seed is None else Generator().manual_seed(self.seed)
        digits = randint(2, (self.dimension, BITS), generator=g).numpy()
        self._shift = digits @ (1 << np.arange(BITS))
        matrices = np.tril(randint(2, (self.dimension, BITS, BITS), generator=g).numpy())
        matrices[:, np.arange(BITS), np.arange(BITS)] = 1
        places = np.arange(BITS - 1, -1, -1)                        # a matrix multiplies the digits, the highest first
        bits = self._directions[:, None, :] >> places[:, None] & 1
        self._directions = ((matrices @ bits % 2) << places[:, None]).sum(1)

    @property
    def sobolstate(self):
        """The direction numbers."""
        return tensor_from(self._directions.copy())

    @property
    def shift(self):
        """What each dimension is shifted by, in units of 2 ** -30."""
        return tensor_from(self._shift.copy())

    @property
    def quasi(self):
        """The last point, in units of 2 ** -30."""
        return tensor_from(self._point.copy())

    def _advance(self, n, begun):
        """The next n points after `begun`: each flips the direction of the lowest zero digit of its number (Gray code)."""
        at = np.arange(begun, begun + n)
        place = np.log2(~at & at + 1).astype(np.int64)
        points = np.bitwise_xor.accumulate(np.concatenate([self._point[None], self._directions.T[place]]), 0)[1:]
        self._point = points[-1] if n else self._point
        return points

    def draw(self, n=1, out=None, dtype=None):
        """The next n points, (n, dimension)."""
        if self.num_generated == 0:
            points = np.concatenate([self._point[None], self._advance(n - 1, 0)]) if n else self._point[None][:0]
        else:
            points = self._advance(n, self.num_generated - 1)
        self.num_generated += n
        made = tensor_from(points.astype((dtype or get_default_dtype()).np) * (dtype or get_default_dtype()).np.type(2.0 ** -BITS))
        return made if out is None else into(out, made, "_sobol_engine_draw")

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2 ** m points; their number so far must then be a power of 2, which balances them."""
        n = 2 ** m
        total = self.num_generated + n
        if total & total - 1:
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been "
                             f"previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                             "'SobolEngine.draw()' instead.")
        return self.draw(n, out=out, dtype=dtype)

    def reset(self):
        """Begin again."""
        self._point, self.num_generated = self._shift.copy(), 0
        return self

    def fast_forward(self, n):
        """Leave out n points."""
        if self.num_generated == 0:
            self._advance(n - 1, 0)
        else:
            self._advance(n, self.num_generated - 1)
        self.num_generated += n
        return self

    def __repr__(self):
        said = [f"dimension={self.dimension}"]
        if self.scramble:
            said.append("scramble=True")
        if self.seed is not None:
            said.append(f"seed={self.seed}")
        return f"SobolEngine({', '.join(said)})"
