"""ATen's operators: the schemas of their overloads, as torch.ops prints them, and what torch says of each.

`aten.json` has [flags, schema] of each: letters of `_TAGS`, and C for what torch makes of other operators before anything is dispatched
(`matmul`, `reshape`; what these are is in `decomposed`). Overloads stand in the order in which a call is compared with them.
"""
from __future__ import annotations

import enum
import functools
import json
import pathlib

from ..library.schema import parse


class Tag(enum.IntEnum):
    """What is said of an operator."""
    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    def __repr__(self):
        return f"<Tag.{self.name}: {self.value}>"

    def __str__(self):
        return f"Tag.{self.name}"


_TAGS = {"p": Tag.pointwise, "c": Tag.core, "n": Tag.nondeterministic_seeded, "i": Tag.inplace, "v": Tag.view_copy, "r": Tag.reduction,
         "d": Tag.dynamic_output_shape, "w": Tag.inplace_view, "m": Tag.maybe_aliasing_or_mutating, "e": Tag.needs_exact_strides,
         "o": Tag.data_dependent_output, "f": Tag.needs_fixed_stride_order}


@functools.cache
def _entries():
    """{name: {overload: (flags, the schema's text)}}; "default" is the overload without a name."""
    found = {}
    for flags, text in json.loads(pathlib.Path(__file__).with_name("aten.json").read_text(encoding="utf-8")):
        name, _, overload = text.partition("(")[0].partition(".")
        found.setdefault(name, {})[overload or "default"] = flags, text
    return found


@functools.cache
def table():
    """{name: {overload: its schema's text}} of what is dispatched."""
    found = {}
    for name, overloads in _entries().items():
        kept = {o: text for o, (flags, text) in overloads.items() if "C" not in flags}
        if kept:
            found[name] = kept
    return found


@functools.cache
def whole_table():
    """The same of all, with what is made of others."""
    return {name: {o: text for o, (_, text) in overloads.items()} for name, overloads in _entries().items()}


def composite(name, overload):
    """Whether `aten::name.overload` is made of other operators before anything is dispatched."""
    return "C" in _entries().get(name, {}).get(overload, ("", ""))[0]


def tags(name, overload):
    """What torch says of `aten::name.overload`."""
    entry = _entries().get(name, {}).get(overload)
    if entry is None:
        return []
    found = {Tag.pt2_compliant_tag, *[_TAGS[c] for c in entry[0] if c in _TAGS]}
    if writes_out(name, overload):
        found.add(Tag.out)
    return sorted(found)


def writes_out(name, overload):
    """Whether an overload writes its results where it is told to."""
    known = schema(name, overload)
    return known is not None and any([a.mutated and a.kwarg_only for a in known.arguments])


@functools.cache
def schema(name, overload):
    """The parsed schema of `aten::name.overload`; None for what is not among them."""
    entry = _entries().get(name, {}).get(overload)
    if entry is None:
        return None
    made = parse(entry[1].replace("SymInt", "int"))
    made.name, made.text = "aten::" + made.name, "aten::" + entry[1]
    return made
