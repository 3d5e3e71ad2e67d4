"""Which of several refusals comes, and in whose words."""
import pytest

import torchshim as torch

F = torch.nn.functional


@pytest.mark.parametrize("weight", [(3,), (4, 3)])
@pytest.mark.parametrize("bias", [None, torch.zeros(())])
def test_a_layer_of_a_stack_that_is_no_matrix_multiplies_stacks(weight, bias):
    x = torch.zeros(2, 2, 3).swapaxes(0, -1)
    with pytest.raises(RuntimeError, match=r"^Expected size for first two dimensions of batch2 tensor to be: \[3, 2\] but got: \[3, 3\]"):
        F.linear(x, torch.zeros(weight), bias)


@pytest.mark.parametrize("weight, said", [((3,), "size mismatch, got input"), ((4, 3), "mat1 and mat2 shapes cannot be multiplied")])
def test_a_layer_whose_weight_wants_a_gradient_multiplies_one_matrix(weight, said):
    x = torch.zeros(2, 2, 3).swapaxes(0, -1)
    with pytest.raises(RuntimeError, match=said):
        F.linear(x, torch.zeros(weight, requires_grad=True))
    with pytest.raises(RuntimeError, match=said):
        F.linear(x.contiguous(), torch.zeros(weight))


@pytest.mark.parametrize("a, b, kernel", [((1, 3), (1, 3), "dot"), ((3,), (1, 1, 3), "dot"), ((2, 3), (3,), "addmm_impl_cpu_")])
def test_inner_products_of_bools_name_the_kernel_that_would_make_them(a, b, kernel):
    with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented for'):
        torch.zeros(a, dtype=torch.bool).inner(torch.zeros(b, dtype=torch.bool))


def test_masked_scatter_looks_at_coinciding_elements_before_dtypes():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        torch.zeros(3, dtype=torch.bool).expand(2, 3).masked_scatter_(torch.ones(3) > 0, torch.ones(40))
    with pytest.raises(RuntimeError, match="expected self and source to have same dtypes"):
        torch.zeros(2, 3, dtype=torch.bool).masked_scatter_(torch.ones(3) > 0, torch.ones(40))


@pytest.mark.parametrize("name", ["_foreach_addcmul", "_foreach_addcdiv"])
@pytest.mark.parametrize("n", [2, 3])
def test_sums_of_products_of_lists_save_what_they_are_added_to(name, n):
    with torch.inference_mode():
        x = torch.ones(n)
    with pytest.raises(RuntimeError, match="^Inference tensors cannot be saved for backward"):
        getattr(torch, name)([x], [torch.ones(3, requires_grad=True)], [torch.ones(3)])
