"""Protects torch.func.rearrange: which axes go where, what stays a view, and which patterns are refused. The values are PyTorch's."""
import pytest
import torchshim as torch
from torchshim.func import rearrange, vmap

X = torch.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize("pattern, sizes, shape, strides, first", [
    ("a b c -> c b a", {}, (4, 3, 2), (1, 4, 12), [0, 12, 4]), ("a b c -> (a b) c", {}, (6, 4), (4, 1), [0, 1, 2]),
    ("a (b1 b2) c -> b1 a b2 c", {"b1": 3}, (3, 2, 1, 4), (4, 12, 4, 1), [0, 1, 2]),
    ("a ... -> ... a", {}, (3, 4, 2), (4, 1, 12), [0, 12, 1]),
    ("... -> (...)", {}, (24,), (1,), [0, 1, 2]), ("a b c -> () a b c", {}, (1, 2, 3, 4), (24, 12, 4, 1), [0, 1, 2]),
    ("... c b -> (... b) c", {}, (8, 3), (3, 1), [0, 4, 8]),
    ("(a b) c d -> a b c d", {"a": 2, "b": 1}, (2, 1, 3, 4), (12, 12, 4, 1), [0, 1, 2])])
def test_orders(pattern, sizes, shape, strides, first):
    y = rearrange(X, pattern, **sizes)
    assert tuple(y.shape) == shape and y.stride() == strides and y.flatten()[:3].tolist() == first
    assert (y._base is not None) == (pattern != "... c b -> (... b) c")


def test_what_is_given():
    assert tuple(rearrange([X, X], "l a b c -> a b c l").shape) == (2, 3, 4, 2)
    one = torch.ones(2, 1, 3)
    assert tuple(rearrange(one, "a 1 c -> a c").shape) == (2, 3) and rearrange(one, "a () c -> c a").stride() == (2, 1)
    assert tuple(vmap(lambda x: rearrange(x, "b c -> (c b)"))(X).shape) == (2, 12)
    assert rearrange(X.clone().requires_grad_(), "a b c -> c (b a)").requires_grad


@pytest.mark.parametrize("pattern, sizes, text", [
    ("a b -> b a", {}, r"Number of dimensions in pattern \(2\) must be equal to the number of dimensions in the tensor \(3\)"),
    ("a b c -> a b", {}, r"Identifiers only on one side of rearrange expression \(should be on both\): {'c'}"),
    ("a a c -> a c", {}, "Indexing expression contains duplicate dimension 'a'"),
    ("a b c", {}, "Pattern must contain a single '->' separator"),
    ("a b c -> (a", {}, r"Imbalanced parentheses in expression: ' \(a'"), ("a b c -> a) b c", {}, "Brackets are not balanced"),
    ("a ((b)) c -> a b c", {}, "Axis composition is one-level"),
    ("a b c -> a b c", {"z": 1}, "Identifiers not found in rearrange expression: {'z'}"),
    ("a b 2 -> a b", {}, "rearrange only supports unnamed axes of size 1"), ("a b_ c -> a b_ c", {}, "Invalid axis identifier: b_\n"),
    ("a (...) c -> a ... c", {}, "Ellipsis is parenthesis in the left side is not allowed"),
    ("a .. c -> a c", {}, "Expression may contain dots only inside ellipsis"),
    ("a b c -> ... a b c", {}, "Ellipsis found in right side, but not left side of a pattern")])
def test_refused_patterns(pattern, sizes, text):
    with pytest.raises(ValueError, match="^" + text):
        rearrange(X, pattern, **sizes)


@pytest.mark.parametrize("pattern, sizes, text", [
    ("a (b c) d -> a b c d", {}, "cannot infer the sizes of two dimensions at once d1 and d2"),
    ("a (b1 b2) c -> b1 a b2 c", {"b1": 2}, r"inferred dimension does not evenly fit into larger dimension: 3 vs \(2, '\?'\)"),
    ("a b c -> a b c", {"a": 5}, r"Dimension sizes to do not match \(2 != 5\) when matching dimension pack \(d0,\)")])
def test_refused_sizes(pattern, sizes, text):
    with pytest.raises(Exception, match="^" + text) as told:
        rearrange(X, pattern, **sizes)
    assert type(told.value).__name__ == "DimensionBindError"
