"""torch.library.opcheck: whether an operator does what it says."""
from __future__ import annotations

from .. import Tensor, autograd
from ..utils._pytree import tree_flatten, tree_map


class OpCheckError(Exception):
    """An operator that does not do what it says."""
    __module__ = "torch.testing._internal.optests.generate_tests"


_UTILS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def _copied(x):
    return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x


def _tensors(x):
    return [t for t in tree_flatten(x)[0] if isinstance(t, Tensor)]


def _schema(op, args, kwargs):
    before, (given, named) = None, tree_map(_copied, (args, kwargs))
    schema = op._schema
    names = [a.name for a in schema.arguments]
    before = {n: v._version for n, v in [*zip(names, given), *named.items()] if isinstance(v, Tensor)}
    op(*given, **named)
    for n, v in [*zip(names, given), *named.items()]:
        if isinstance(v, Tensor) and v._version != before[n] and n not in schema.mutated:
            raise RuntimeError(f"Argument {n} is not defined as mutable but was mutated")


def _fake(op, args, kwargs):
    kernel = op._fake_kernel()
    if kernel is None:
        raise RuntimeError(f"{op._qualname}: no fake implementation is registered; register one with torch.library.register_fake")
    real = op(*tree_map(_copied, args), **tree_map(_copied, kwargs))
    there = lambda x: x.detach().to("meta") if isinstance(x, Tensor) else x
    fake = kernel(*tree_map(there, args), **tree_map(there, kwargs))
    for r, f in zip(_tensors(real), _tensors(fake), strict=True):
        for what in ("shape", "dtype", "stride"):
            a, b = [getattr(t, what)() if what == "stride" else getattr(t, what) for t in (r, f)]
            if a != b:
                raise AssertionError(f"{what}s of the real result and the fake one differ: {a} and {b}")


def _autograd(op, args, kwargs):
    op._fake_kernel()                          # tracing begins with it
    given = tree_map(_copied, (args, kwargs))
    wanted = [t for t in _tensors(given) if t.requires_grad]
    found = [t for t in _tensors(op(*given[0], **given[1])) if t.requires_grad]
    if wanted and found and not op._schema.mutated:
        autograd.grad([t.sum() for t in found], wanted, allow_unused=True)


def opcheck(op, args, kwargs=None, *, test_utils=_UTILS, raise_exception=True, atol=None, rtol=None):
    """Check an operator with some arguments; {name of the check: "SUCCESS" or the exception}. Whether it writes only to what its schema
    says, whether the function for meta tensors gives what the operator gives, whether gradients can be computed.

    OpCheckError at the first failure unless raise_exception is False; ValueError for checks that do not exist.
    """
    from . import CustomOpDef, _op
    op = op if isinstance(op, CustomOpDef) else _op(op.name().partition(".")[0] if hasattr(op, "name") else op._qualified_op_name)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = set(names) - set(_UTILS)
    if unknown:
        raise ValueError(f"Invalid test_utils {unknown}, expected to be in {set(_UTILS)}")
    checks = {"test_schema": _schema, "test_autograd_registration": lambda *a: None, "test_faketensor": _fake,
              "test_aot_dispatch_dynamic": _autograd}
    result = {}
    for name in names:
        try:
            checks[name](op, tuple(args), kwargs or {})
            result[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            result[name] = error
    return result
