"""Names without a place in torch's documentation that optimizers and layers written like torch's own take from its files."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F
from torchshim.optim import optimizer as inner


def test_numbers_of_steps():
    """They are read, put together only while a program is recorded, and of the default dtype's width."""
    assert inner._get_value(torch.tensor(3.0)) == inner._get_value(3.0) == 3.0 and inner._stack_if_compiling([1, 2]) == [1, 2]
    assert inner._get_scalar_dtype() is inner._get_scalar_dtype(is_fused=True) is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert inner._get_scalar_dtype() is torch.float64 and inner._get_scalar_dtype(True) is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_complex_parameters_and_their_states_are_seen_as_pairs():
    params, states = [torch.ones(2, dtype=torch.cfloat), torch.ones(3)], [torch.zeros(2, dtype=torch.cfloat), torch.zeros(3)]
    whole = states[0]
    inner._view_as_real(params, states)
    assert [t.shape for t in params + states] == [(2, 2), (3,), (2, 2), (3,)] and params[0].dtype is torch.float32
    states[0].add_(1)
    assert whole.tolist() == [1 + 1j] * 2


def test_parameters_that_no_fused_kernel_takes():
    inner._device_dtype_check_for_fused(torch.ones(1))
    with pytest.raises(RuntimeError, match="requires all the params to be floating point Tensors of .* but torch.int64 and cpu"):
        inner._device_dtype_check_for_fused(torch.ones(1, dtype=torch.long))


def test_functions_are_left_as_they_are():
    assert torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)._cuda_graph_capture_health_check() is None
    assert inner._disable_dynamo_if_unsupported(single_tensor_fn=len)(sum) is sum and inner._maximize_doc.startswith("maximize (bool")


def test_projections_of_attention():
    q, k, v = torch.ones(2, 4), torch.ones(3, 5), torch.ones(3, 6)
    w = [torch.full((4, n), 1.0) for n in (4, 5, 6)]
    assert [t[0, 0].item() for t in F._in_projection(q, k, v, *w, b_k=torch.ones(4))] == [4, 6, 6]
    for given, text in (((w[0], w[2], w[2]), r"expecting key weights shape of \(4, 5\), but got torch.Size\(\[4, 6\]\)"),
                        ((*w, None, None, torch.ones(3)), r"expecting value bias shape of \(4,\), but got torch.Size\(\[3\]\)")):
        with pytest.raises(AssertionError, match=text):
            F._in_projection(q, k, v, *given)
    assert F._mha_shape_check(q, q, q, None, None, 2) is False and F._Reduction.get_enum("sum") == 2


def test_the_dimension_that_very_old_code_leaves_out():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        assert [F._get_softmax_dim("softmax", n, 3) for n in range(5)] == [0, 0, 1, 0, 1]


def test_names_that_moved_or_are_files():
    import torchshim.cuda.nvtx as nvtx
    from torchshim.cuda.amp.grad_scaler import OptState
    from torchshim.nn.init import _no_grad_trunc_normal_
    from torchshim.nn.utils.clip_grad import _get_total_norm, get_total_norm
    from torchshim.utils.data._utils.collate import default_collate_err_msg_format
    with nvtx.range("step {}", 1):
        assert nvtx is torch.cuda.nvtx and nvtx.range_push("a") == nvtx.range_pop() == 0
    assert OptState.STEPPED.value == 2 and _get_total_norm is get_total_norm
    assert "found {}" in default_collate_err_msg_format and _no_grad_trunc_normal_(torch.empty(50), 0.0, 1.0, -0.5, 0.5).abs().max() <= 0.5


@pytest.mark.parametrize("file, base, names", [
    ("pooling", "_AdaptiveAvgPoolNd", "AdaptiveAvgPool"), ("padding", "_ReflectionPadNd", "ReflectionPad"),
    ("padding", "_ReplicationPadNd", "ReplicationPad"), ("padding", "_CircularPadNd", "CircularPad"),
    ("padding", "_ConstantPadNd", "ConstantPad"), ("padding", "_ConstantPadNd", "ZeroPad")])
def test_bases_by_which_libraries_tell_layers_apart(file, base, names):
    base = getattr(getattr(torch.nn.modules, file), base)
    assert all(issubclass(getattr(torch.nn, f"{names}{n}d"), base) for n in (1, 2, 3)) and not issubclass(torch.nn.Identity, base)
