"""Protects the names that arguments have in PyTorch 2.13, and what its parser says of calls that fit none of a function's signatures."""
import pytest
import torchshim as torch


@pytest.mark.parametrize("call", [
    lambda x: torch.is_floating_point(input=x), lambda x: torch.numel(input=x) == 4,
    lambda x: torch.split(tensor=x, split_size_or_sections=1), lambda x: x.clone().copy_(other=x),
    lambda x: torch.isin(element=1, test_elements=x), lambda x: torch.isin(elements=x, test_element=1),
    lambda x: x.new(other=x), lambda x: x.clone().resize_(size=(2, 1)),
    lambda x: torch.tensor_split(x, tensor_indices_or_sections=torch.tensor([1])),
    lambda x: torch.swapaxes(x, axis0=0, axis1=1), lambda x: x.swapaxes(axis0=0, axis1=1), lambda x: x.sum_to_size(size=(1, 2)),
    lambda x: torch.triu_indices(2, 2, pin_memory=False), lambda x: torch.normal(0., 1., (2,), pin_memory=False),
    lambda x: x.resize_as(tensor=x), lambda x: torch.randint_like(x, 3, pin_memory=False), lambda x: torch.result_type(scalar=1, tensor=x),
    lambda x: torch.dequantize(input=x), lambda x: torch.result_type(scalar1=1, scalar2=2.), lambda x: torch.no_grad(orig_func=len),
    lambda x: x.__format__(format_spec="")])
def test_arguments_have_torchs_names(call):
    assert call(torch.ones(2, 2)) is not None


def test_group_norm_takes_the_device_before_a_named_bias():
    assert torch.nn.GroupNorm(1, 2, 1e-5, True, None, torch.float64).weight.dtype is torch.float64
    assert torch.nn.GroupNorm(1, 2, bias=False).bias is None and torch.nn.SyncBatchNorm(2, bias=False).bias is None
    with pytest.raises(TypeError, match="takes from 3 to 7 positional arguments but 8 were given"):
        torch.nn.GroupNorm(1, 2, 1e-5, True, None, None, True)


_SUM = r"""sum() received an invalid combination of arguments - got (), but expected one of:
 * (Tensor input, *, torch.dtype dtype = None)
 * (Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)
"""
_VIEW = """view() received an invalid combination of arguments - got (), but expected one of:
 * (torch.dtype dtype)
 * (tuple of ints size)
"""
_FILL = """fill_() received an invalid combination of arguments - got (), but expected one of:
 * (Tensor value)
 * (Number value)
"""
_TYPES = """result_type() received an invalid combination of arguments - got (int), but expected one of:
 * (Tensor tensor, Tensor other)
 * (Number scalar, Tensor tensor)
 * (Tensor tensor, Number other)
 * (Number scalar1, Number scalar2)
"""


@pytest.mark.parametrize("call, said", [
    (lambda x: torch.sum(), _SUM), (lambda x: x.view(), _VIEW), (lambda x: x.fill_(), _FILL), (lambda x: torch.result_type(1), _TYPES),
    (lambda x: x.reshape(), 'reshape() missing 1 required positional arguments: "shape"'),
    (lambda x: x.sum_to_size(), 'sum_to_size() missing 1 required positional arguments: "size"'),
    (lambda x: torch.flip(x), 'flip() missing 1 required positional arguments: "dims"'),
    (lambda x: torch.is_complex(1), "is_complex(): argument 'input' (position 1) must be Tensor, not int"),
    (lambda x: torch.dropout("a", 0.5, True), "dropout(): argument 'input' (position 1) must be Tensor, not str"),
    (lambda x: torch.layer_norm("a", [2]), "layer_norm(): argument 'input' (position 1) must be Tensor, not str"),
    (lambda x: x.copy_(), "copy_() received an invalid combination of arguments - got (), but expected (Tensor other, bool non_blocking = "
                          "False)"),
    (lambda x: x.uniform_(foo=1), "uniform_() got an unexpected keyword argument 'foo'"),
    (lambda x: x.type(foo=1), "type() got an unexpected keyword argument 'foo'"),
    (lambda x: torch.can_cast(1, 2), "can_cast(): argument 'from_' (position 1) must be torch.dtype, not int"),
    (lambda x: torch.set_default_dtype(3), "invalid dtype object: only floating-point types are supported as the default type")])
def test_refusals_are_the_parsers(call, said):
    with pytest.raises(TypeError) as e:
        call(torch.ones(2, 2))
    assert str(e.value) == said


def test_random_takes_no_other_keyword():
    with pytest.raises(TypeError, match=r"got \(foo=int, \), but expected one of:"):
        torch.ones(2).random_(foo=1)
    assert torch.ones(2).random_(to=1).tolist() == [0, 0]


def test_div_takes_numbers_of_which_its_error_does_not_tell():
    x = torch.ones(1, 1, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x.diagonal(0).div_(3)


def test_options_of_libraries_are_accepted():
    import inspect

    from torchshim import distributed
    storage = torch.storage.TypedStorage(wrap_storage=torch.ones(2).untyped_storage(), dtype=torch.float32, _internal=True)
    assert storage.tolist() == [1.0, 1.0]
    for function, option in ((distributed.init_process_group, "_ranks"), (distributed.new_group, "sort_ranks"),
                             (distributed.barrier, "timeout")):
        assert option in inspect.signature(function).parameters
