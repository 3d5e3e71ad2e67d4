"""Protects where generated functions stand: inspection and tracebacks lead to the operator's declaration."""
import inspect
import linecache

import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.ops.registry import OPS
from torchshim.tensor.api import bind


def generated():
    for space in (bind.FUNCTIONS, *bind.NAMESPACES.values(), vars(torch.Tensor)):
        for name, f in space.items():
            if inspect.isfunction(f) and "_layout" in f.__globals__:
                yield name, f


@pytest.mark.parametrize("f", [torch.sum, torch.Tensor.sum, F.gelu, torch.matmul, torch.mul, torch.Tensor.mul_])
def test_the_source_is_the_declaration(f):
    assert inspect.getsource(f).startswith("@op(") and f"def {f.__name__.rstrip('_')}" in inspect.getsource(f)
    assert "/ops/" in inspect.getsourcefile(f).replace("\\", "/")


def test_every_generated_function_stands_at_a_declaration():
    n = 0
    for name, f in generated():
        op, line = f.__globals__["_op"], linecache.getline(f.__code__.co_filename, f.__code__.co_firstlineno)
        assert (f.__code__.co_filename, f.__code__.co_firstlineno) == (op.file, op.line), name
        assert {n for *_, n in f.__code__.co_lines() if n} == {op.line}, name
        assert line.startswith("@op(") or op.name in line or line.startswith((" ", "for ")), (name, line)
        assert f.__name__ == f.__code__.co_name and f.__module__.startswith(("torch", "torchshim"))
        n += 1
    assert n > len(OPS)


def test_a_declaring_helper_is_not_the_declaration():
    assert linecache.getline(torch.exp.__code__.co_filename, torch.exp.__code__.co_firstlineno).startswith("exp = declare(")


def test_signatures_are_torchs():
    assert list(inspect.signature(torch.atan2).parameters) == ["input", "other", "out"]
    assert list(inspect.signature(torch.Tensor.atan2).parameters) == ["self", "other"]
    assert inspect.signature(F.gelu).parameters["approximate"].default == "none"
