"""`assert_close`: nested results compared leaf by leaf, with a report of how far they are apart.

Two passes, as in torch: the first one finds the leaves and what cannot be compared at all, the second compares values.
"""
from __future__ import annotations

import cmath
import collections.abc
import contextlib
import warnings

import numpy as np

from .. import (Tensor, as_tensor, bfloat16, complex32, complex64, complex128, dtype as torch_dtype, float16, float32, float64, int64,
                isclose, promote_types, qint8, qint32, quint2x4, quint4x2, quint8, strided)

_PRECISION = {float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5), float64: (1e-7, 1e-7),
              **dict.fromkeys((quint8, quint2x4, quint4x2, qint8, qint32), (1.3e-6, 1e-5)),
              complex32: (1e-3, 1e-5), complex64: (1.3e-6, 1e-5), complex128: (1e-7, 1e-7)}
_OF_NUMBER = {int: int64, float: float64, complex: complex128}


class _Different(Exception):
    """A finding: the exception's type, its text, and the path of keys to the leaf."""

    def __init__(self, type, text, path):
        super().__init__(text)
        self.type, self.text, self.path = type, text, path

    def error(self, msg):
        """The exception to raise; `msg` replaces the text, or makes another one of it."""
        text = self.text
        if self.path:
            text += f"\n\nThe failure occurred for item {''.join([f'[{k!r}]' for k in self.path])}"
        return self.type(msg if isinstance(msg, str) else msg(text) if callable(msg) else text)


def default_tolerances(*inputs, dtype_precisions=None):
    """(rtol, atol) for the coarsest of some tensors or dtypes; 0 for those that are exact. TypeError for anything else."""
    known, found = dtype_precisions or _PRECISION, []
    for x in inputs:
        if not isinstance(x, (Tensor, torch_dtype)):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(x)} instead.")
        found.append(known.get(x.dtype if isinstance(x, Tensor) else x, (0.0, 0.0)))
    return max([r for r, _ in found]), max([a for _, a in found])


def _shown(title, details, absolute, relative, rtol, atol, at=("", "")):
    word = "equal" if rtol == atol == 0 else "close"
    up_to = [f" (up to {t} allowed)" if word == "close" else "" for t in (atol, rtol)]
    start = "Greatest a" if at[0] else "A"
    rest = "Greatest r" if at[0] else "R"
    return (f"{title} are not {word}!\n\n{details}\n{start}bsolute difference: {absolute}{at[0]}{up_to[0]}\n"
            f"{rest}elative difference: {relative}{at[1]}{up_to[1]}")


def _scalars_apart(a, b, title, rtol, atol):
    gap = abs(a - b)
    return _shown(title, f"Expected {b} but got {a}.", gap, float("inf") if b == 0 else gap / abs(b), rtol, atol)


def _tensors_apart(a, b, matches, title, rtol, atol):
    n, wrong = matches.numel(), int((~matches).sum())
    details = f"Mismatched elements: {wrong} / {n} ({wrong / n:.1%})"
    if a.dtype.is_floating_point and a.dtype.itemsize == 1:
        first = tuple((~matches).nonzero()[0].tolist())
        return f"{title} are not 'equal'!\n\n{details}\nThe first mismatched element is at index {first}."
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        a, b = a.to(int64), b.to(int64)
    gap = (a - b).abs()
    found = []
    for distance in (gap, gap / b.abs()):
        worst, k = distance.masked_fill(matches, 0).flatten().max(0)
        place = tuple([int(i) for i in np.unravel_index(int(k), tuple(matches.shape))])
        found.append((worst.item(), f" at index {place}"))
    (absolute, at), (relative, there) = found
    return _shown(title, details, absolute, relative, rtol, atol, (at, there))


class _Leaf:
    """One pair of leaves with the options; `compare` raises _Different."""

    def __init__(self, actual, expected, path, options):
        self.actual, self.expected, self.path, self.options = actual, expected, path, options

    def fail(self, text, type=AssertionError):
        raise _Different(type, text, self.path)

    def tolerances(self, *kinds):
        rtol, atol = self.options["rtol"], self.options["atol"]
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            self.fail(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", ValueError)
        return (rtol, atol) if rtol is not None else default_tolerances(*kinds)


class _Nones(_Leaf):
    def compare(self):
        if self.actual is not None or self.expected is not None:
            self.fail(f"None mismatch: {self.actual} is not {self.expected}")


class _Booleans(_Leaf):
    def compare(self):
        a, b = bool(self.actual), bool(self.expected)
        if a is not b:
            self.fail(f"Booleans mismatch: {a} is not {b}")


class _Numbers(_Leaf):
    def __init__(self, actual, expected, path, options):
        actual, expected = [x.item() if isinstance(x, np.generic) else x for x in (actual, expected)]
        super().__init__(actual, expected, path, options)
        self.rtol, self.atol = self.tolerances(_OF_NUMBER[type(actual)], _OF_NUMBER[type(expected)])

    def compare(self):
        a, b = self.actual, self.expected
        if self.options["check_dtype"] and type(a) is not type(b):
            self.fail(f"The (d)types do not match: {type(a)} != {type(b)}.")
        if a == b or self.options["equal_nan"] and cmath.isnan(a) and cmath.isnan(b):
            return
        gap = abs(a - b)
        if not (cmath.isfinite(gap) and gap <= self.atol + self.rtol * abs(b)):
            self.fail(_scalars_apart(a, b, "Scalars", self.rtol, self.atol))


class TensorLikePair(_Leaf):
    """A pair of tensors; torch's name, as tests put something in its place."""

    def __init__(self, actual, expected, path, options):
        super().__init__(actual, expected, path, options)
        self.rtol, self.atol = self.tolerances(self.actual, self.expected)

    def compare(self):
        a, b, options = self.actual, self.expected, self.options
        checks = [("shape", lambda t: t.shape, True), ("is_quantized", lambda t: t.is_quantized, True),
                  ("qscheme()", lambda t: t.qscheme(), a.is_quantized and b.is_quantized), ("layout", lambda t: t.layout, options["check_layout"]),
                  ("device", lambda t: t.device, options["check_device"]), ("dtype", lambda t: t.dtype, options["check_dtype"]),
                  ("stride()", lambda t: t.stride(), options["check_stride"] and a.layout is b.layout is strided)]
        for name, of, asked in checks:
            if asked and of(a) != of(b):
                self.fail(f"The values for attribute '{name}' do not match: {of(a)} != {of(b)}.")
        if a.is_meta or b.is_meta:
            if a.is_meta and b.is_meta:
                return
            self.fail("Comparing meta tensors is currently only supported if all other tensors are also meta tensors.", NotImplementedError)
        a, b = a.detach(), b.detach()
        if a.device != b.device:
            a, b = a.cpu(), b.cpu()
        if a.dtype != b.dtype:
            common = promote_types(a.dtype, b.dtype)
            a, b = a.to(common), b.to(common)
        if a.layout is not b.layout:
            a, b = [t if t.layout is strided else t.to_dense() for t in (a, b)]
        if a.is_quantized:
            self.values(a.dequantize(), b.dequantize(), "Quantized tensor-likes")
        elif a.layout is strided:
            self.values(a, b)
        else:
            self.sparse(a, b)

    def values(self, a, b, title="Tensor-likes", exact=False):
        rtol, atol = (0, 0) if exact else (self.rtol, self.atol)
        matches = isclose(a, b, rtol=rtol, atol=atol, equal_nan=self.options["equal_nan"])
        if bool(matches.all()):
            return
        if a.dim():
            self.fail(_tensors_apart(a, b, matches, title, rtol, atol))
        titles = {"Tensor-likes": "Scalars", "Quantized tensor-likes": "Quantized scalars"}
        self.fail(_scalars_apart(a.item(), b.item(), titles.get(title, title), rtol, atol))

    def sparse(self, a, b):
        """Sparse tensors of one layout: as many values, in the same places, that are close."""
        coo, kind = a.is_sparse, a.layout.name[7:].upper()
        if coo and a.sparse_dim() != b.sparse_dim():
            self.fail(f"The number of sparse dimensions in sparse COO tensors does not match: {a.sparse_dim()} != {b.sparse_dim()}")
        if a._nnz() != b._nnz():
            self.fail(f"The number of specified values in sparse {kind} tensors does not match: {a._nnz()} != {b._nnz()}")
        names = ("_indices",) if coo else ("crow_indices", "col_indices") if kind.endswith("R") else ("ccol_indices", "row_indices")
        for name in names:
            mine, theirs = [getattr(t, name)().to(int64) for t in (a, b)]
            self.values(mine, theirs, f"Sparse {kind} {name.lstrip('_')}", True)
        self.values(*[x._values() if coo else x.values() for x in (a, b)], f"Sparse {kind} values")


def _leaves(a, b, path, options, out):
    """Collect the pairs of leaves of two nested results; _Different where their structures differ."""
    if all([isinstance(x, collections.abc.Sequence) and not isinstance(x, str) for x in (a, b)]):
        if len(a) != len(b):
            raise _Different(AssertionError, f"The length of the sequences mismatch: {len(a)} != {len(b)}", path)
        keys = range(len(a))
    elif all([isinstance(x, collections.abc.Mapping) for x in (a, b)]):
        mine, theirs = set(a), set(b)
        if mine != theirs:
            raise _Different(AssertionError, "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                             f"{sorted(theirs - mine)}\nAdditional keys in the actual mapping: {sorted(mine - theirs)}", path)
        keys = list(a)
        with contextlib.suppress(TypeError):   # keys that have no order keep the one they have
            keys = sorted(keys)
    else:
        out.append(_leaf(a, b, path, options))
        return
    for k in keys:
        _leaves(a[k], b[k], (*path, k), options, out)


_REPORT = ("resulted in the unexpected exception above. If you are a user and see this message during normal operation please file an issue at "
           "https://github.com/pytorch/pytorch/issues. If you are a developer and working on the comparison functions, please except the "
           "previous error and raise an expressive `ErrorMeta` instead.")


def _unexpected(kind, a, b, path):
    """What torch says where something else than a comparison failed while a pair was made."""
    return RuntimeError(f"Originating a {kind}() at item {''.join([f'[{k!r}]' for k in path])} with\n\n{type(a).__name__}(): {a}\n\n"
                        f"and\n\n{type(b).__name__}(): {b}\n\n{_REPORT}")


def _leaf(a, b, path, options):
    if a is None or b is None:
        return _Nones(a, b, path, options)
    if all([isinstance(x, (bool, np.bool_)) for x in (a, b)]):
        return _Booleans(a, b, path, options)
    if all([isinstance(x, (int, float, complex, np.number)) for x in (a, b)]):
        if bool in (type(a), type(b)):         # and not both: torch's table of numbers has none
            raise _unexpected("NumberPair", a, b, path)
        return _Numbers(a, b, path, options)
    related = isinstance(a, type(b)) or isinstance(b, type(a))
    if related and (options["allow_subclasses"] or type(a) is type(b)):
        tensors = None
        with contextlib.suppress(TypeError, ValueError, RuntimeError):      # no tensor can be made of these
            tensors = [x if isinstance(x, Tensor) else as_tensor(x) for x in (a, b)]
        if tensors is not None:
            try:
                return TensorLikePair(*tensors, path, options)
            except _Different:
                raise
            except Exception as error:
                raise _unexpected("TensorLikePair", a, b, path) from error
    raise _Different(TypeError, f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}.", path)


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):
    """Raise AssertionError unless `actual` and `expected` are close: |actual - expected| <= atol + rtol * |expected|, all finite.

    They are numbers, tensors, what a tensor can be made of, or sequences and mappings of these, nested. rtol and atol are given both or
    neither; then the dtypes decide. `msg` replaces the text, or is called with it. TypeError for what cannot be compared.
    """
    __tracebackhide__ = True
    options = dict(allow_subclasses=allow_subclasses, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device,
                   check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride)
    pairs, finding = [], None
    try:
        _leaves(actual, expected, (), options, pairs)
    except _Different as d:
        finding, msg = d, None                 # what cannot be compared is told in torch's words in any case
    for p in pairs if finding is None else ():
        try:
            p.compare()
        except _Different as d:
            finding = d
            break
        except Exception as error:
            raise RuntimeError(f"Comparing\n\n{type(p).__name__}(id={p.path}, actual={p.actual}, expected={p.expected})\n\n{_REPORT}") from error
    if finding is not None:
        raise finding.error(msg)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The old form of `assert_close`: anything that a tensor can be made of, compared without regard to dtype and device."""
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
                  "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
                  "https://github.com/pytorch/pytorch/issues/61844.", FutureWarning, stacklevel=2)
    a = actual if isinstance(actual, Tensor) else as_tensor(actual)
    b = expected if isinstance(expected, Tensor) else as_tensor(expected, dtype=a.dtype)
    if rtol is None and atol is None:
        coarse = {float16: (1e-3, 1e-3), float32: (1e-4, 1e-5), float64: (1e-5, 1e-8)}
        rtol, atol = default_tolerances(a, b, dtype_precisions=coarse)
    assert_close(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False, msg=msg or None)
