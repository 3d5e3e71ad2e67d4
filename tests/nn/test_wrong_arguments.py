"""Functionals refuse what does not fit with the errors of torch's argument parser (texts from torch 2.13)."""
import numpy as np
import pytest

import torchshim as torch
import torchshim.nn.functional as F

x = torch.ones(2, 3, 4, 4)


@pytest.mark.parametrize("call, text", [
    (lambda: F.linear(x, None), "linear(): argument 'weight' (position 2) must be Tensor, not NoneType"),
    (lambda: F.max_pool2d(x, 2.5), "max_pool2d(): argument 'kernel_size' (position 2) must be tuple of ints, not float"),
    (lambda: F.avg_pool2d(x, kernel_size="a"), "avg_pool2d(): argument 'kernel_size' must be tuple of ints, not str"),
    (lambda: F.avg_pool2d(x, [1.0, 2.0]), "avg_pool2d(): argument 'kernel_size' (position 2) must be tuple of ints, but found element of "
                                          "type float at pos 0"),
    (lambda: F.batch_norm(x, None, 3), "batch_norm(): argument 'running_var' (position 5) must be Tensor, not int"),
    (lambda: F.layer_norm(x, 4), "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"),
    (lambda: F.cross_entropy(x, None), "cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not NoneType"),
    (lambda: F.cosine_similarity(x, x2=3), "cosine_similarity(): argument 'x2' must be Tensor, not int"),
    (lambda: F.scaled_dot_product_attention(x, x, None), "scaled_dot_product_attention(): argument 'value' (position 3) must be Tensor, "
                                                         "not NoneType"),
    (lambda: F.logsigmoid(None), "log_sigmoid(): argument 'input' (position 1) must be Tensor, not NoneType"),
    (lambda: F.avg_pool2d(), 'avg_pool2d() missing 2 required positional argument: "input", "kernel_size"'),
    (lambda: F.conv2d(x, x, None, "a"),
     "conv2d() received an invalid combination of arguments - got (Tensor, Tensor, NoneType, str), but expected one of:\n"
     " * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, tuple of ints padding = 0, tuple of ints dilation = "
     "1, int groups = 1)\n"
     " * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, str padding = \"valid\", tuple of ints dilation = 1, "
     "int groups = 1)\n"),
])
def test_type_errors(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("wide, text", [((15, 8), "key weights shape of (32, 15), but got torch.Size([32, 16])"),
                                        ((16, 9), "value weights shape of (32, 9), but got torch.Size([32, 8])")])
def test_keys_of_another_width_than_attention_was_made_for(wide, text):
    attention = torch.nn.MultiheadAttention(32, 4, kdim=16, vdim=8)
    with pytest.raises(AssertionError) as caught:
        attention(torch.zeros(5, 2, 32), *[torch.zeros(6, 2, n) for n in wide])
    assert str(caught.value) == "expecting " + text


@pytest.mark.parametrize("bias, text", [
    (torch.ones(4), "Input type (long int) and bias type (float) should be the same"),
    (None, "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [4, 4]")])
def test_the_bias_is_looked_at_before_dimensions_are_counted(bias, text):
    with pytest.raises(RuntimeError) as caught:
        F.conv2d(x[0, 0].long(), torch.ones(4, 3, 2, 2), bias)
    assert str(caught.value) == text


def test_what_the_function_asks_first():
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'size'"):
        F.mse_loss(x, None)
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        F.cross_entropy(x, None, reduction="middle")


@pytest.mark.parametrize("call, name", [(lambda: torch.nn.Conv2d(3, 4), "Conv2d"), (lambda: torch.nn.Softmax(1, 2, 3), "Softmax"),
                                        (lambda: torch.nn.ReLU(1, 2, 3), "ReLU")])
def test_modules_refuse_wrong_arguments_in_their_own_name(call, name):
    with pytest.raises(TypeError, match=rf"^{name}\.__init__\(\) "):
        call()


def test_offsets_and_weights_of_bags_are_refused_in_torchs_words():
    weight = torch.ones(5, 3)
    with pytest.raises(ValueError, match=r"per_sample_weights \(torch.Size\(\[1\]\)\) is not None"):
        F.embedding_bag(torch.tensor([1, 2]), weight, torch.tensor([0]), per_sample_weights=torch.tensor([.5]), mode="sum")
    with pytest.raises(RuntimeError, match=r"However, got 1\n\[ torch.LongTensor\{\} \]"):
        F.embedding_bag(torch.tensor([1, 2]), weight, torch.tensor([1]))


@pytest.mark.parametrize("pad, place, dim", [((5, 0, 0, 0, 0, 0), 4, 4), ((1, 0, 4, 1, 0, 0), 6, 3), ((1, 0, 0, 0, 0, 3), 8, 2)])
def test_reflections_that_are_too_wide_name_their_argument(pad, place, dim):
    with pytest.raises(RuntimeError, match=rf"Argument #{place}: Padding size should be less .* at dimension {dim} of input \[1, 2, 3, 4, "
                                           rf"5\]"):
        F.pad(torch.ones(1, 2, 3, 4, 5), pad, mode="reflect")


@pytest.mark.parametrize("call, error, text", [
    (lambda: F.conv2d(torch.ones(1, 1, 5, 5).int(), torch.ones(1, 1, 2, 2).int(), dilation=2), NotImplementedError,
     "\"slow_conv_dilated<>\" not implemented for 'Int'"),
    (lambda: F.embedding(torch.tensor([7, 1]), torch.ones(5, 5), max_norm=1.), IndexError,
     "select(): index 7 out of range for tensor of size [5, 5] at dimension 0"),
    (lambda: F.embedding(torch.tensor([4, 1]), torch.ones(5, 5).long(), max_norm=1.), RuntimeError,
     "norm(): input dtype should be either floating point or complex. Got Long instead."),
    (lambda: F.embedding(torch.tensor([7, 1], dtype=torch.int16), torch.ones(5, 5), max_norm=1.), RuntimeError,
     "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got torch.ShortTensor instead (while "
     "checking arguments for embedding_renorm_)")])
def test_what_is_refused_leaves_no_check_behind(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text
    assert torch.ones(2).sum().item() == 2
    assert F.conv2d(torch.ones(1, 1, 2, 2).int(), torch.ones(1, 1, 2, 2).int()).item() == 4


@pytest.mark.parametrize("call, error, text", [
    (lambda x, a: F.mse_loss(x, a), TypeError, "'int' object is not callable"),
    (lambda x, a: F.l1_loss(a, x), TypeError, "'int' object is not callable"),
    (lambda x, a: F.binary_cross_entropy_with_logits(x, a), TypeError, "'int' object is not callable"),
    (lambda x, a: F.instance_norm(a), TypeError, "'int' object is not callable"),
    (lambda x, a: F.instance_norm([1.0]), AttributeError, "'list' object has no attribute 'size'"),
    (lambda x, a: F.max_pool2d(a, 2), TypeError, "max_pool2d(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    (lambda x, a: F.multilabel_soft_margin_loss(a, x), TypeError, "log_sigmoid(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    (lambda x, a: torch.nn.Softmax(1)(a), AttributeError, "'numpy.ndarray' object has no attribute 'softmax'"),
    (lambda x, a: torch.nn.GroupNorm(1, 3)(a), AttributeError, "'numpy.ndarray' object has no attribute 'dim'"),
    (lambda x, a: torch.nn.Sigmoid()(a), TypeError, "sigmoid(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    (lambda x, a: torch.from_numpy(a[0, 0]), TypeError, "expected np.ndarray (got numpy.float64)"),
    (lambda x, a: x[0:1:1.5], TypeError, "slice indices must be integers or None or have an __index__ method")])
def test_what_is_not_a_tensor(call, error, text):
    """What a beginner hands on by mistake is refused in torch's words."""
    with pytest.raises(error) as refusal:
        call(torch.ones(2, 3), np.ones((2, 3)))
    assert str(refusal.value) == text


def test_arrays_are_no_parameters():
    a = np.ones(2)
    with pytest.raises(AttributeError, match="'numpy.ndarray' object has no attribute 'detach'"):
        torch.nn.Parameter(a)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got numpy.ndarray"):
        torch.autograd.Variable(a)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got numpy.ndarray"):
        torch.ones(2).data = a
