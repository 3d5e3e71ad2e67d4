"""torch.export.dynamic_shapes: which sizes of inputs may differ."""
from __future__ import annotations

import inspect
import re

from .. import Tensor
from ..utils import _pytree as pytree

__all__ = ["AdditionalInputs", "Constraint", "Dim", "ShapesCollection", "dims", "refine_dynamic_shapes_from_suggested_fixes"]


class Dim:
    """A named size with bounds. AssertionError for bounds that leave nothing."""

    def __init__(self, name, *, min=None, max=None):
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        if max is not None and not self.max > self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")

    def __repr__(self):
        bounds = ([] if self.min == 2 else [f"min={self.min}"]) + ([] if self.max is None else [f"max={self.max}"])
        return f"Dim({', '.join([repr(self.__name__), *bounds])})"

    def __add__(self, n):
        return _Derived(self, f"{self.__name__} + {n}", lambda v: v + n)

    __radd__ = __add__

    def __sub__(self, n):
        return _Derived(self, f"{self.__name__} - {n}", lambda v: v - n)

    def __mul__(self, n):
        return _Derived(self, f"{n}*{self.__name__}", lambda v: v * n)

    __rmul__ = __mul__


class _Derived(Dim):
    """A size that another one determines."""

    def __init__(self, root, name, of):
        self.root, self.__name__, self.of = root, name, of
        self.min, self.max = of(root.min), None if root.max is None else of(root.max)

    def __repr__(self):
        return self.__name__


class _DimHint:
    """How a size may change, without a name."""

    def __init__(self, name, min=None, max=None):
        self.name, self.min, self.max = name, min, max

    def __call__(self, min=None, max=None):
        return _DimHint(self.name, min, max)

    def __repr__(self):
        return f"DimHint({self.name})"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = _DimHint("AUTO"), _DimHint("DYNAMIC"), _DimHint("STATIC")


def dims(*names, min=None, max=None):
    """Several sizes at once."""
    return tuple([Dim(n, min=min, max=max) for n in names])


class Constraint:
    """A bound on a size; made by torch's older functions only."""


class ShapesCollection:
    """{tensor: which of its sizes may differ}, for inputs that are nested: `dynamic_shapes(mod, args, kwargs)` gives what export takes."""

    def __init__(self):
        self._shapes = {}

    def __setitem__(self, t, shape):
        if not isinstance(t, Tensor) and not isinstance(t, int):
            raise AssertionError(f"Cannot assign shape to non-tensor or non-integer type {type(t)}")
        self._shapes[id(t)] = t, shape

    def __getitem__(self, t):
        if id(t) not in self._shapes:
            self._shapes[id(t)] = t, {}
        return self._shapes[id(t)][1]

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args, kwargs=None):
        """What `dynamic_shapes` of export is for these arguments. ValueError for tensors that are not among them."""
        seen = set()

        def of(x):
            seen.add(id(x))
            return self._shapes[id(x)][1] if id(x) in self._shapes else None
        bound = inspect.signature(m.forward if hasattr(m, "forward") else m).bind(*args, **(kwargs or {}))
        made = {name: pytree.tree_map(of, value) for name, value in bound.arguments.items()}
        missing = set(self._shapes) - seen
        if missing:
            raise ValueError(f"Some tensors that were assigned shapes were not found in args: {[self._shapes[k][0] for k in missing]}.")
        return made


class AdditionalInputs:
    """Other inputs of a program, from which `dynamic_shapes(mod, args, kwargs)` tells which sizes differ."""

    def __init__(self):
        self._examples = []

    def add(self, args, kwargs=None):
        """One more call's arguments."""
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m, args, kwargs=None):
        """What `dynamic_shapes` of export is for these and the given arguments."""
        calls = [inspect.signature(m.forward).bind(*a, **(k or {})).arguments for a, k in [(args, kwargs), *self._examples]]

        def of(*xs):
            if isinstance(xs[0], Tensor):
                return tuple([Dim.DYNAMIC if len(set(ns)) > 1 else None for ns in zip(*[x.shape for x in xs])])
            return Dim.DYNAMIC if type(xs[0]) is int and len(set(xs)) > 1 else None
        return {name: pytree.tree_map(of, calls[0][name], *[c[name] for c in calls[1:]]) for name in calls[0]}

    def verify(self, ep):
        """Run a program on each. Its errors."""
        made = ep.module()
        for args, kwargs in self._examples:
            made(*args, **(kwargs or {}))


def refine_dynamic_shapes_from_suggested_fixes(msg, dynamic_shapes):
    """`dynamic_shapes` after the `name = …` lines of an error's suggested fixes. NotImplementedError for others than numbers and Dims."""
    fixes = {}
    for line in msg.partition("Suggested fixes:")[2].splitlines():
        match = re.match(r"\s*(\w+) = (.+)$", line)
        if not match:
            continue
        name, value = match.groups()
        bounds = re.match(r"Dim\('(\w+)'(?:, min=(\d+))?(?:, max=(\d+))?\)$", value)
        if bounds:
            fixes[name] = Dim(bounds[1], min=bounds[2] and int(bounds[2]), max=bounds[3] and int(bounds[3]))
        elif value.isdigit():
            fixes[name] = int(value)
        else:
            raise NotImplementedError(f"torchshim: the suggested fix {value!r}")
    return pytree.tree_map(lambda d: fixes.get(getattr(d, "__name__", None), d), dynamic_shapes, is_leaf=lambda d: isinstance(d, Dim))


def paths_of(signature, args, kwargs):
    """(parameter, path) of each input of a program: the parameter's name, and the keys to what is nested in it."""
    found = []
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        of_many = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        for n, v in value.items() if of_many else [(name, value)]:
            found += [(n, path) for path, _ in pytree.tree_leaves_with_path(v)]
    return found


def names_of(signature, args, kwargs):
    """The names of a program's inputs: the parameter's, with the path to what is nested in it."""
    return ["_".join([n, *[re.sub(r"[^a-zA-Z0-9]+", "_", str(p)).strip("_") for p in path]]).lower()
            for n, path in paths_of(signature, args, kwargs)]


def bounds_of(dynamic, signature, bound, args, kwargs):
    """{number of an input: {dimension: (least, greatest)}} of what `dynamic_shapes` says. torch's UserError for names that are not the
    arguments'."""
    if dynamic is None:
        return {}
    from .._dynamo.exc import UserError
    if isinstance(dynamic, (ShapesCollection, AdditionalInputs)):
        raise NotImplementedError(f"torchshim: dynamic_shapes as a {type(dynamic).__name__}: give its dynamic_shapes(mod, args, kwargs)")
    top = list(bound.arguments)
    if isinstance(dynamic, dict) and set(dynamic) != set(top):
        raise UserError(None, f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {top} of `inputs`, "
                              f"but here they are {list(dynamic)}.")
    by_name = dynamic if isinstance(dynamic, dict) else dict(zip(top, dynamic))
    found, at = {}, 0
    for name in top:
        leaves, spec = pytree.tree_flatten(bound.arguments[name])
        given = by_name[name]
        shapes = [None] * len(leaves) if given is None else [given] if spec.is_leaf() else spec.flatten_up_to(given)
        for x, shape in zip(leaves, shapes):
            if isinstance(x, Tensor) and shape is not None:
                each = {}
                for k, d in shape.items() if isinstance(shape, dict) else enumerate(shape):
                    if d is None or isinstance(d, int) or d.__class__ is _DimHint and d.name == "STATIC":
                        continue
                    each[k] = d
                if each:
                    found[at] = each
            at += 1
    return found


def symbols_of(free, leaves, sources):
    """({symbol's name: Symbol}, {(number of an input, dimension): the size as an Expr}). ValueError for sizes of 0 or 1 that are said to
    differ."""
    from .sizes import Expr, Symbol, name_of
    symbols, sizes, by_dim = {}, {}, {}
    for k, dims_ in free.items():
        for d, dim in dims_.items():
            n, source = leaves[k].shape[d], f"L['{sources[k]}'].size()[{d}]"
            d = d % leaves[k].ndim
            if isinstance(dim, _DimHint):
                if n < 2:
                    if dim.name == "DYNAMIC":
                        raise ValueError("Found the following conflicts between user-specified ranges and inferred ranges from model "
                                         f"tracing:\n- Received user-specified dim hint Dim.DYNAMIC(min={dim.min}, max={dim.max}), but "
                                         f"export 0/1 specialized due to hint of {n} for dimension inputs['{sources[k]}'].shape[{d}].")
                    continue
                name = name_of(source, symbols)
                symbols[name] = Symbol(name, n, 2 if dim.min is None else dim.min, dim.max, None, dim.name == "DYNAMIC", source)
                sizes[k, d] = Expr.atom(name)
                continue
            root = dim.root if isinstance(dim, _Derived) else dim
            hint = n
            if isinstance(dim, _Derived):
                base, slope = dim.of(0), dim.of(1) - dim.of(0)
                if slope <= 0 or (n - base) % slope:
                    raise ValueError(f"torchshim: {source} = {n} is not {dim}")
                hint = (n - base) // slope
            name = name_of(source, symbols)
            kept = by_dim.get(root.__name__)
            if kept is not None:               # the symbol of the last place where the name stands
                old = symbols.pop(kept)
                if old.hint != hint:
                    from .._dynamo.exc import UserError
                    raise UserError(None, f"Constraints violated ({root.__name__})! For more information, run with "
                                          f"TORCH_LOGS=\"+dynamic\".\n  - The values of {root.__name__} = {old.source} and {root.__name__} "
                                          f"= {source} must always be equal.")
                sizes = {place: size.replaced(kept, name) for place, size in sizes.items()}
            by_dim[root.__name__] = name
            symbols[name] = Symbol(name, hint, root.min, root.max, root.__name__, True, source)
            atom = Expr.atom(name)
            sizes[k, d] = atom.scaled(slope) + Expr.number(base) if isinstance(dim, _Derived) else atom
    return symbols, sizes
