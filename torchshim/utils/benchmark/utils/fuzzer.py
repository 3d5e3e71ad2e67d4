"""Random sizes and tensors to measure with: the same for the same seed."""
from __future__ import annotations

import math

import numpy as np

from .... import bool as _bool, finfo, float32, iinfo, manual_seed, rand, randint

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]


class FuzzedParameter:
    """A random number `name`: from minval to maxval by a distribution ("uniform" or "loguniform"), or of {value: probability}.

    strict: drawn once, however often a set of parameters is refused. AssertionError for what is no distribution.
    """

    def __init__(self, name, minval=None, maxval=None, distribution=None, strict=False):
        self._name, self._minval, self._maxval, self._distribution, self.strict = name, minval, maxval, distribution, strict
        if not isinstance(distribution, dict):
            if distribution not in ("loguniform", "uniform"):
                raise AssertionError(f"Unknown distribution: {distribution}")
            return
        if any([p < 0 for p in distribution.values()]):
            raise AssertionError("Probabilities cannot be negative")
        if abs(sum(distribution.values()) - 1) > 1e-5:
            raise AssertionError("Distribution is not normalized")
        for what, value in (("minval", minval), ("maxval", maxval)):
            if value is not None:
                raise AssertionError(f"When passing a custom distribution, '{what}' must be None")

    name = property(lambda self: self._name, doc="What it is called.")

    def sample(self, state):
        """A value, drawn from a NumPy RandomState."""
        if isinstance(self._distribution, dict):
            at = state.choice(np.arange(len(self._distribution)), p=tuple(self._distribution.values()))
            return list(self._distribution)[at]
        if self._distribution == "uniform":
            if isinstance(self._minval, int) and isinstance(self._maxval, int):
                return int(state.randint(low=self._minval, high=self._maxval + 1, dtype=np.int64))
            return state.uniform(low=self._minval, high=self._maxval)
        value = int(2 ** state.uniform(low=np.log2(self._minval), high=np.log2(self._maxval)))
        return min(max(value, self._minval), self._maxval)


class ParameterAlias:
    """Stands for the value of another parameter."""

    def __init__(self, alias_to):
        self.alias_to = alias_to

    def __repr__(self):
        return f"ParameterAlias[alias_to: {self.alias_to}]"


def _itemsize(dtype):
    if dtype == _bool:
        return 1
    return (finfo if dtype.is_floating_point or dtype.is_complex else iinfo)(dtype).bits // 8


class FuzzedTensor:
    """A random tensor `name`, whose sizes and steps (of the slice that it is of a larger one) are numbers or names of parameters.

    probability_contiguous: how often its memory is in the order of its dimensions. min_elements, max_elements, max_allocation_bytes: what
    parameters are taken. dim_parameter: the name of the number of dimensions. tensor_constructor(size, dtype, **parameters) makes it.
    """

    def __init__(self, name, size, steps=None, probability_contiguous=0.5, min_elements=None, max_elements=None, max_allocation_bytes=None,
                 dim_parameter=None, roll_parameter=None, dtype=float32, cuda=False, tensor_constructor=None):
        self._name, self._size, self._steps, self._probability_contiguous = name, size, steps, probability_contiguous
        self._min_elements, self._max_elements, self._max_allocation_bytes = min_elements, max_elements, max_allocation_bytes
        self._dim_parameter, self._dtype, self._cuda, self._tensor_constructor = dim_parameter, dtype, cuda, tensor_constructor

    name = property(lambda self: self._name, doc="What it is called.")

    @staticmethod
    def default_tensor_constructor(size, dtype, **kwargs):
        """Numbers between 0 and 1, or of integers between 1 and 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return rand(size=size, dtype=dtype, device="cpu")
        return randint(1, 127, size=size, dtype=dtype, device="cpu")

    def _make_tensor(self, params, state):
        size, steps, whole = self._get_size_and_steps(params)
        raw = (self._tensor_constructor or self.default_tensor_constructor)(size=whole, dtype=self._dtype, **params)
        raw = raw.cuda() if self._cuda else raw
        order = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and (order == np.arange(len(size))).all():
                order = state.permutation(raw.dim())
            raw = raw.permute(tuple(order.tolist())).contiguous().permute(tuple(np.argsort(order).tolist()))
        t = raw[tuple([slice(0, n * step, step) for n, step in zip(size, steps)])]
        return t, {"numel": int(t.numel()), "order": order, "steps": steps, "is_contiguous": t.is_contiguous(), "dtype": str(self._dtype)}

    def _get_size_and_steps(self, params):
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolved(values):
            values = tuple([params.get(v, v) for v in values])[:dim]
            return values + (1,) * (dim - len(values))
        size, steps = resolved(self._size), resolved(self._steps or ())
        return size, steps, tuple([n * step for n, step in zip(size, steps)])

    def satisfies_constraints(self, params):
        """Whether it would be neither too small nor too large."""
        size, _, whole = self._get_size_and_steps(params)
        n, bytes_ = math.prod(map(int, size)), math.prod(map(int, whole)) * _itemsize(self._dtype)
        return not (self._max_elements is not None and n > self._max_elements or self._min_elements is not None and self._min_elements > n
                    or self._max_allocation_bytes is not None and bytes_ > self._max_allocation_bytes)


class Fuzzer:
    """Draws parameters and tensors until they satisfy the constraints; ValueError after a thousand attempts,
    or for a name that two have."""

    def __init__(self, parameters, tensors, constraints=None, seed=None):
        self._seed = int(np.random.RandomState().randint(0, 2 ** 32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters, self._tensors = self._unpack(parameters, FuzzedParameter), self._unpack(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        both = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if both:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")
        self._rejections = self._total_generated = 0

    @staticmethod
    def _unpack(values, cls):
        return tuple([x for v in values for x in ([v] if isinstance(v, cls) else v)])

    def take(self, n):
        """n times ({name: tensor}, {name: what it is like}, {name: parameter})."""
        state = np.random.RandomState(self._seed)
        manual_seed(int(state.randint(low=0, high=2 ** 63, dtype=np.uint64)))
        for _ in range(n):
            params = self._generate(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            yield {k: t for k, (t, _) in made.items()}, {k: p for k, (_, p) in made.items()}, params

    rejection_rate = property(lambda self: self._rejections / self._total_generated if self._total_generated else 0.0,
                              doc="Which share of the parameters was refused.")

    def _generate(self, state):
        kept = {}
        for _ in range(1000):
            drawn = {}
            for p in self._parameters:
                if p.strict and p.name not in kept:
                    kept[p.name] = p.sample(state)
                drawn[p.name] = kept[p.name] if p.strict else p.sample(state)
            drawn = self._resolve_aliases(drawn)
            self._total_generated += 1
            if all([f(drawn) for f in self._constraints]) and all([t.satisfies_constraints(drawn) for t in self._tensors]):
                return drawn
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")

    @staticmethod
    def _resolve_aliases(params):
        params = dict(params)
        left = [k for k, v in params.items() if isinstance(v, ParameterAlias)]
        while left:
            for k in left:
                params[k] = params[params[k].alias_to]
            now = [k for k in left if isinstance(params[k], ParameterAlias)]
            if len(now) == len(left):
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            left = now
        return params
