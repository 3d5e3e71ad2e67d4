"""Orders of parameters that torch took before 1.5 still work and say so; split's size has its own name as a method; second derivatives
of quantiles. Expectations are PyTorch 2.13's."""
import warnings

import pytest

import torchshim as torch

X = torch.tensor([[1., 2.], [3., 1.]])


@pytest.mark.parametrize("f, expected", [
    (lambda: torch.add(X, 2, X), [[3, 6], [9, 3]]), (lambda: X.clone().sub_(2, X), [[-1, -2], [-3, -1]]),
    (lambda: torch.addcmul(X, 2., X, X), [[3, 10], [21, 3]]), (lambda: torch.addmm(2., X, 3., X, X), [[23, 16], [24, 23]]),
    (lambda: X.addmm(2., 3., X, X), [[23, 16], [24, 23]]), (lambda: torch.addmm(2., X, X, X), [[9, 8], [12, 9]]),
    (lambda: torch.addmv(2., X[0], 3., X, X[0], out=torch.empty(2)), [17, 19])])
def test_old_orders(f, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert f().tolist() == expected


def test_the_warning_names_the_new_form():
    torch.set_warn_always(True)
    with pytest.warns(UserWarning, match=r"This overload of addcdiv is deprecated:\n\taddcdiv\(Tensor input, Number value, Tensor tensor1, "
                                         r"Tensor tensor2, \*, Tensor out = None\)"):
        torch.addcdiv(X, 2., X, X)
    torch.set_warn_always(False)
    with pytest.raises(TypeError, match="takes 3 positional arguments but 6 were given"):
        torch.addmm(X, X, X, X, X, X)


def test_split():
    assert [p.shape for p in X.split(split_size=1, dim=1)] == [p.shape for p in torch.split(X, split_size_or_sections=1, dim=1)]
    with pytest.raises(TypeError, match="split_size_or_sections"):
        X.split(split_size_or_sections=1)


def test_second_derivatives_of_quantiles():
    x = torch.tensor([[1., 2, 3], [3, 1, 2]]).requires_grad_()
    q = torch.tensor([.3, .6]).requires_grad_()
    gx, gq = torch.autograd.grad(torch.quantile(x, q).sum(), (x, q), create_graph=True)
    assert torch.autograd.grad((gx * gx).sum() + (gq * gq).sum(), x)[0].flatten().tolist() == [0, 50, 0, 0, -50, 0]


def test_the_signature_shows_out():
    import inspect
    assert list(inspect.signature(torch.linalg.svd).parameters) == ["A", "full_matrices", "driver", "out"]
    assert "out" in inspect.signature(torch.fft.fft).parameters


def test_the_class_of_tensors_names_the_default_dtype():
    x = torch.ones(2, dtype=torch.float64)
    assert x.type(torch.Tensor).dtype == x.type("torch.Tensor").dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    assert X.type(torch.Tensor).dtype == torch.float64
    torch.set_default_dtype(torch.float32)
    assert torch.nn.Linear(2, 2).double().type(torch.Tensor).weight.dtype == torch.float32
    with pytest.raises(ValueError, match="invalid type: 'Parameter'"):
        x.type(torch.nn.Parameter)


def test_addbmm_in_place_takes_its_numbers_first():
    a, b = torch.ones(2, 2, 3), torch.ones(2, 3, 4)
    assert (torch.ones(2, 4).addbmm_(1, a, b) == 7).all() and (torch.ones(2, 4).addbmm_(1.0, 0.5, a, b) == 4).all()
    assert (torch.ones(2, 4).addbmm_(a, b, beta=2) == 8).all()
