"""functorch: torch.func under its older names, and modules as functions of tuples of tensors."""
import warnings

import pytest

import torchshim as torch
from torchshim import functorch, nn


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def test_a_module_as_a_function_of_its_state():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval(), torch.randn(5, 3)
    f, params, buffers = functorch.make_functional_with_buffers(model)
    assert torch.equal(f(params, buffers, x), model(x)) and len(params) == 6 and len(buffers) == 3
    assert all(p.is_meta for p in f.parameters()) and params[0] is not model[0].weight and params[0].requires_grad
    with pytest.raises(RuntimeError, match="has buffers. Please use make_functional_with_buffers"):
        functorch.make_functional(model)


def test_gradients_of_each_example():
    model, x = nn.Linear(3, 1), torch.randn(5, 3)
    f, params = functorch.make_functional(model, disable_autograd_tracking=True)
    weight, bias = functorch.vmap(functorch.grad(lambda p, x: f(p, x).sum()), in_dims=(None, 0))(params, x)
    assert torch.equal(weight[:, 0], x) and bias.tolist() == [[1.0]] * 5 and not params[0].requires_grad


def test_tied_parameters_are_one():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    f, params = functorch.make_functional(model)
    x = torch.randn(2, 3)
    assert f.param_names == ("0.weight", "0.bias", "1.bias") and torch.equal(f(params, x), model(x))


def test_an_ensemble_is_stacked():
    models, x = [nn.Linear(3, 2) for _ in range(3)], torch.randn(4, 3)
    f, params, buffers = functorch.combine_state_for_ensemble(models)
    out = functorch.vmap(f, (0, 0, None))(params, buffers, x)
    assert torch.allclose(out, torch.stack([m(x) for m in models]), atol=1e-6) and not params[0].requires_grad
    for wrong, text in (([], "at least one model, got 0"), ([models[0], nn.Linear(3, 2).eval()], "same training/eval mode"),
                        ([models[0], nn.Identity()], "of the same class")):
        with pytest.raises(RuntimeError, match=text):
            functorch.combine_state_for_ensemble(wrong)


def test_older_names_warn():
    with pytest.warns(FutureWarning, match="`functorch.vmap` is deprecated as of PyTorch 2.0.*Please use `torch.vmap`"):
        functorch.vmap(torch.sin)


def test_batch_norms_without_running_statistics():
    model = functorch.experimental.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))
    assert model[0].running_mean is None and not model[0].track_running_stats and "num_batches_tracked" not in model.state_dict()
