"""torch's operator schemas: `max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`."""
from __future__ import annotations

import functools
import inspect
import re


class Param:
    __slots__ = ("name", "type", "default", "keyword_only", "kind", "optional", "is_list", "python")

    def __init__(self, type_, name, default, keyword_only):
        self.name, self.default, self.keyword_only = name, default, keyword_only
        self.optional = type_.endswith("?")
        base = type_.rstrip("?")
        self.is_list = "[" in base
        self.type = base
        self.python = {"int": int, "SymInt": int, "bool": bool}.get(base)      # the type of a static argument, where it is that simple
        bare = base.split("[")[0].rstrip("?")
        self.kind = "tensor" if bare == "Tensor" else "number" if bare in ("Scalar", "float") and not self.is_list else "static"


REQUIRED = inspect.Parameter.empty
_BETWEEN = re.compile(r",(?![^\[]*\])")
_DEFAULTS = {"None": None, "True": True, "False": False, "[]": (), "Mean": 1, "...": ...}      # ...: not given, where None is


@functools.cache
def _param(text, keyword_only):
    """One parameter, `int dim=-1`; many operators have the same ones."""
    decl, _, default = text.partition("=")
    type_, name = decl.rsplit(None, 1)
    if not default:
        value = REQUIRED
    elif default in _DEFAULTS:
        value = _DEFAULTS[default]
    elif re.fullmatch(r"-?\d+", default):
        value = int(default)
    elif re.fullmatch(r"\[[-\d, ]*\]", default):
        value = tuple(int(x) for x in default[1:-1].split(",") if x.strip())
    elif default[0] in "'\"":
        value = default[1:-1]
    else:
        value = float(default)
    return Param(type_, name, value, keyword_only)


def parse_schema(text):
    """(name, parameters, names of the results) of a torch schema. The names are None for results that have none: of a single
    tensor, of a list, of a plain tuple."""
    declared, arrow, returns = text.rpartition("->")
    name, _, inside = declared.strip().partition("(")
    if not arrow or inside[-1:] != ")" or not name.replace(".", "_").isidentifier():
        raise ValueError(f"not a schema: {text}")
    returns, inside = returns.strip(), inside[:-1]
    params, keyword_only = [], False
    listed = "=[" in inside.replace("=[]", "")           # commas within a default are rare, and looking for them takes its time
    for part in (_BETWEEN.split(inside) if listed else inside.split(",")) if inside.strip() else ():
        part = part.strip()
        if part == "*":
            keyword_only = True
            continue
        params.append(_param(part, keyword_only))
    fields = tuple([r.split()[-1] for r in returns[1:-1].split(",")]) if returns.startswith("(") else ()
    return name, tuple(params), None if not fields or "Tensor" in fields else fields
