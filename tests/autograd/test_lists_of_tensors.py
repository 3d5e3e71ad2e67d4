"""The `_foreach_*` operators: histories, what they save, what they refuse. Expected values are torch 2.13's."""
import math

import pytest

import torchshim as torch


def test_a_list_with_a_tensor_twice_gets_its_last_node():
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    torch._foreach_mul_([y, y], [2.0, 3.0])
    assert y.tolist() == [6.0, 6.0] and y._version == 2
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 3.0]
    z = x * 2
    with torch.no_grad():
        torch._foreach_add_([z], 1)
    assert z.grad_fn.name() == "MulBackward0"


def test_foreach_names_a_tensor_that_was_turned_in_place_as_any_other():
    x = torch.ones(2, requires_grad=True) * 1
    x.as_strided_((1,), (1,))
    torch._foreach_add_([x], 1)
    assert x.grad_fn.name() == "AddBackward1"


def test_lists_of_what_is_no_tensor_are_refused_before_anything_is_written():
    x = torch.ones(2)
    with pytest.raises(TypeError, match="^expected Tensor as element 1 in argument 0, but got NoneType"):
        torch._foreach_add_([x, None], 1)
    with pytest.raises(TypeError, match="^expected Tensor as element 0 in argument 1, but got NoneType"):
        torch._foreach_add_([x], [None])
    with pytest.raises(TypeError, match=r"^_foreach_zero_\(\): argument 'self' \(position 1\) must be tuple of Tensors, not int"):
        torch._foreach_zero_(3)
    with pytest.raises(RuntimeError, match="^Tensor list must have at least one tensor."):
        torch._foreach_neg([])
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("imaginary, what", [(False, "conjugate"), (True, "negation")])
@pytest.mark.parametrize("name, others", [("zero_", ()), ("add_", (1,)), ("neg_", ())])
def test_lists_of_what_is_seen_conjugated_are_not_written(name, others, imaginary, what):
    x = torch.complex(torch.ones(2), torch.ones(2)).conj()
    with pytest.raises(RuntimeError, match=f"^ fallback doesn't currently support mutable TensorLists with {what} inputs.*aten::_foreach_{name}$"):
        getattr(torch, "_foreach_" + name)([torch.ones(2), x.imag if imaginary else x], *others)
    assert x.tolist() == [1 - 1j, 1 - 1j]


def test_numbers_of_lists_of_tensors_are_no_tensors():
    """What multiplies each tensor of a list by a number has one edge, and one saved thing; a number times one tensor has two."""
    a = torch.ones(2, requires_grad=True) * 1
    torch._foreach_mul_([a, a], [2., 3.])
    assert a.grad_fn.name() == "MulBackward1" and len(a.grad_fn.next_functions) == 1 and a.grad_fn._saved_other == 3
    with pytest.raises(AttributeError):
        a.grad_fn._saved_self
    b = a * 2
    assert len(b.grad_fn.next_functions) == 2 and b.grad_fn._saved_self is None


def test_numbers_of_lists_are_saved_as_numbers():
    x = torch.ones(2, requires_grad=True) * 1
    torch._foreach_mul_([x], [2.])
    assert x.grad_fn._saved_other.__class__ is float
    with pytest.raises(AttributeError, match="'CppFunction' object has no attribute '_saved_other'"):
        torch._foreach_mul([x], 2.)[0].grad_fn._saved_other


def test_a_list_that_holds_a_leaf_twice_is_not_written():
    x = torch.ones(2, requires_grad=True)
    for write in (torch._foreach_exp_, torch._foreach_zero_):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            write([x, x])
    assert x.tolist() == [1.0, 1.0] and x._version == 0


def test_a_list_and_a_number_are_compared_in_their_common_dtype():
    whole, truth = torch.tensor([1, 2]), torch.tensor([True, False])
    assert torch._foreach_minimum([whole], 0.5)[0].tolist() == [0.5, 0.5]
    assert torch._foreach_maximum([truth], 2)[0].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type long int"):
        torch._foreach_maximum_([whole], 0.5)


@pytest.mark.parametrize("f, name", [(lambda x: torch._foreach_exp([x])[0], "ForeachExpBackward0"),
                                     (lambda x: torch._foreach_addcdiv([x], [x], [x])[0], "ForeachAddcdivBackward0Scalar")])
def test_lists_save_through_hooks(f, name):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
        y = f(x)
    assert y.grad_fn.name() == name
    assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], torch.full((2,), math.e if "Exp" in name else 1.0))


def test_lists_copied_in_place_have_no_derivative():
    x, y, base = [torch.ones(n, requires_grad=True) * 1 for n in (2, 2, 4)]
    torch._foreach_copy_([x, base[::2]], [y, y])
    assert x.grad_fn.name() == "torch::autograd::NotImplemented" and base.grad_fn.name() == "torch::autograd::CopySlices"
    for t in (x, base):
        with pytest.raises(RuntimeError, match="derivative for _foreach_copy_ is not implemented"):
            t.sum().backward(retain_graph=True)


def test_norms_of_lists_and_moments_of_nothing():
    for one, other, expected in (("float32", "float64", "float64"), ("bfloat16", "float32", "float32")):
        grads = [torch.ones(2, dtype=getattr(torch, d)) for d in (one, other)]
        assert torch.nn.utils.get_total_norm(grads).dtype is getattr(torch, expected)
    assert [tuple(t.shape) for t in torch.var_mean(torch.zeros(0, 3), 1)] == [(0,), (0,)]


@pytest.mark.parametrize("which, of_results, of_operands", [
    ("vw", [-112.0, -28.0, -8.8889, -5.0], [3.5, 7.0, 7.5, 10.0]), ("bv", [0.0273, 0.4375, -8.8889, -5.0], [1.75, 7.0, 7.5, 10.0]),
    ("vb", [-0.4375, -1.75, -8.8889, -5.0], [3.5, 7.0, 7.5, 10.0]), ("tt", [-0.2383, -0.8125, -1.9336, -3.0], [2.75, 7.0, 8.25, 12.0]),
    ("uv", [0.0273, -28.0, -8.8889, 5.0], [1.75, 7.0, 7.5, 5.0]), ("bvb", [432.0, 12.0, -2.8125, -5.0], [3.0, 7.0, 7.5, 10.0])])
def test_writes_to_views_of_one_base_save_what_was_before_and_after_all_of_them(which, of_results, of_operands):
    """And a view that retains its gradient does so where its history is read anew for the first time."""
    for f, number, expected in ((torch._foreach_reciprocal_, (), of_results), (torch._foreach_pow_, (2.0,), of_operands)):
        x = torch.tensor([[0.25, 0.5], [0.75, 1.0]], dtype=torch.float64, requires_grad=True)
        b = x * 1
        known = {"b": b, "v": b[:1], "w": b[1:], "t": b.t(), "u": b[:, :1]}
        for t in known.values():
            t.retain_grad()
        f([known[name] for name in which], *number)
        (b.sum() + 2 * known["v"].sum() + 4 * known["t"].sum()).backward()
        assert x.grad.flatten().tolist() == pytest.approx(expected, abs=1e-4)
        assert [name for name, t in known.items() if t.grad is not None] == ["b", "v", "t"]
