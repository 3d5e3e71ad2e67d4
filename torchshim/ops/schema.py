"""torch's operator schemas: `max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`."""
from __future__ import annotations

import inspect
import re


class Param:
    __slots__ = ("name", "type", "default", "keyword_only", "kind", "optional", "is_list")

    def __init__(self, type_, name, default, keyword_only):
        self.name, self.default, self.keyword_only = name, default, keyword_only
        self.optional = type_.endswith("?")
        base = type_.rstrip("?")
        self.is_list = "[" in base
        self.type = base
        bare = base.split("[")[0].rstrip("?")
        self.kind = "tensor" if bare == "Tensor" else "number" if bare in ("Scalar", "float") and not self.is_list else "static"


REQUIRED = inspect.Parameter.empty
_DEFAULTS = {"None": None, "True": True, "False": False, "[]": (), "Mean": 1}


def parse_schema(text):
    """(name, parameters, names of the results) of a torch schema. The names are None for results that have none: of a single
    tensor, of a list, of a plain tuple."""
    m = re.fullmatch(r"\s*([\w.]+)\((.*)\)\s*->\s*(.*?)\s*", text, re.S)
    if not m:
        raise ValueError(f"not a schema: {text}")
    name, inside, returns = m.groups()
    params, keyword_only = [], False
    for part in re.split(r",\s*(?![^\[\(]*[\]\)])", inside) if inside.strip() else []:
        part = part.strip()
        if part == "*":
            keyword_only = True
            continue
        decl, _, default = part.partition("=")
        type_, pname = decl.rsplit(None, 1)
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
        params.append(Param(type_, pname, value, keyword_only))
    fields = tuple([r.split()[-1] for r in returns[1:-1].split(",")]) if returns.startswith("(") else ()
    return name, tuple(params), None if not fields or "Tensor" in fields else fields
