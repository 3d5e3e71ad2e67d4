"""Programs written anew before they are traced: assertions become calls, so that they are steps."""
from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
import types

from ... import nn
from .._symbolic_trace import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """`rewrite(function)`: the function with `assert a, b` as `torch._assert(a, b)`, and `x: T = v` as an annotated step."""

    def rewrite(self, fn):
        """The function anew; its source must be found."""
        lines, _ = inspect.getsourcelines(fn)
        tree = ast.fix_missing_locations(self.visit(ast.parse(textwrap.dedent("".join(lines)))))
        tree.body[0].decorator_list = []
        space = dict(fn.__globals__)
        exec(compile(tree, inspect.getsourcefile(fn) or "", "exec"), space)
        if fn.__closure__:
            raise NotImplementedError("torchshim: rewriting a function with free variables")
        made = types.FunctionType(space[fn.__name__].__code__, fn.__globals__, fn.__name__, fn.__defaults__)
        functools.update_wrapper(made, fn)
        made.__kwdefaults__ = copy.copy(fn.__kwdefaults__)
        del made.__wrapped__                           # or its code would be looked at instead
        return made

    def visit_Assert(self, node):
        """`assert a, b` -> `torch._assert(a, b)`"""
        return ast.copy_location(ast.Expr(_call("torch._assert", node.test, node.msg or ast.Constant(""))), node)

    def visit_AnnAssign(self, node):
        """`x: T = v` -> `x = torch.fx.annotate.annotate(v, T)`"""
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], _call("torch.fx.annotate.annotate", node.value, node.annotation)), node)


def _call(name, *args):
    return ast.Call(ast.parse(name, mode="eval").body, list(args), [])


class RewritingTracer(Tracer):
    """A Tracer that rewrites what it traces; the modules that it is given stay as they are."""

    def trace(self, root, concrete_args=None):
        """The graph of a module or function."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn):
    if not isinstance(fn, nn.Module):
        return AST_Rewriter().rewrite(fn)

    def rewritten(m):
        shell = type("RewrittenModule", (nn.Module,), {"forward": AST_Rewriter().rewrite(type(m).forward)})
        made = nn.Module.__new__(shell)
        nn.Module.__init__(made)
        made.__dict__.update(copy.copy(m.__dict__))
        made.__dict__["_modules"] = dict([(n, c if c is None or _is_of_torch(c) else rewritten(c)) for n, c in m._modules.items()])
        return made
    return rewritten(fn)


def _is_of_torch(m):
    return type(m).__module__.startswith((f"{nn.__name__}.", "torch.nn."))
