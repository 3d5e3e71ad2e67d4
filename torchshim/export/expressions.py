"""Sizes in PyTorch's .pt2 archives: expressions of symbols as SymPy writes them, `Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(1))`."""
from __future__ import annotations

import ast
import functools
import operator

from .sizes import Expr


def written(x):
    """A number or an Expr in such words."""
    if isinstance(x, int):
        return f"Integer({x})"
    terms = []
    for powers, factor in x.terms.items():
        parts = [f"Integer({factor})"] if factor != 1 or not powers else []
        parts += [_atom(a) if p == 1 else f"Pow({_atom(a)}, Integer({p}))" for a, p in powers]
        terms.append(parts[0] if len(parts) == 1 else f"Mul({', '.join(parts)})")
    return terms[0] if len(terms) == 1 else f"Add({', '.join(terms)})" if terms else "Integer(0)"


def _atom(a):
    if isinstance(a, str):
        return f"Symbol('{a}', positive=True, integer=True)"
    return f"{'FloorDiv' if a[0] == '//' else 'Mod'}({written(a[1])}, {written(a[2])})"


_MADE = {"Add": lambda *xs: functools.reduce(operator.add, xs), "Mul": lambda *xs: functools.reduce(operator.mul, xs),
         "FloorDiv": Expr.floordiv, "CleanDiv": Expr.floordiv, "Mod": Expr.mod, "PythonMod": Expr.mod}


def read(text):
    """The Expr that is written so; NotImplementedError for functions other than sums, products, powers, quotients and remainders, ValueError
    for what is no expression. Nothing is run."""
    try:
        return _read(ast.parse(text, mode="eval").body)
    except SyntaxError:
        raise ValueError(f"{text!r} is no expression of sizes") from None


def _read(node):
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{ast.unparse(node)!r} is no expression of sizes")
    name = node.func.id
    if name in ("Symbol", "Integer"):
        value = ast.literal_eval(node.args[0])
        if type(value) is not (str if name == "Symbol" else int):
            raise ValueError(f"{ast.unparse(node)!r} is no expression of sizes")
        return Expr.atom(value) if name == "Symbol" else Expr.number(value)
    given = [_read(a) for a in node.args]
    if name in _MADE and given:
        return _MADE[name](*given)
    power = given[1].constant() if name == "Pow" and len(given) == 2 else None
    if power is None or power < 1:
        raise NotImplementedError(f"torchshim: a size that is {ast.unparse(node)} in an exported program")
    return functools.reduce(operator.mul, [given[0]] * power)
