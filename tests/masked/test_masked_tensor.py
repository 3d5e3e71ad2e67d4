"""Protects MaskedTensor: elementwise functions keep the mask, reductions leave out what is not there, gradients are masked, printing
is torch's, and what torch's prototype refuses is refused."""
import pytest

import torchshim as torch
from torchshim.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

D = torch.arange(6.0).reshape(2, 3)
M = torch.tensor([[True, False, True], [False, False, True]])


def made(**options):
    return masked_tensor(D, M, **options)


def shown(x):
    return "".join(repr(x).split())


def test_printing():
    assert repr(made()) == "MaskedTensor(\n  [\n    [  0.0000,       --,   2.0000],\n    [      --,       --,   5.0000]\n  ]\n)"
    assert repr(masked_tensor(torch.tensor(3.0), torch.tensor(True))) == "MaskedTensor(  3.0000, True)"
    assert repr(masked_tensor(torch.tensor(3.0), torch.tensor(False))) == "MaskedTensor(--, False)"
    assert f"{masked_tensor(torch.arange(3), M[0])}" == "MaskedTensor(\n  [0,       --, 2]\n)"


def test_what_it_is_made_of():
    a = made()
    assert is_masked_tensor(a) and not is_masked_tensor(D) and isinstance(a, torch.Tensor)
    assert torch.equal(a.get_data(), D) and torch.equal(a.get_mask(), M) and a.to_tensor(7.0).tolist() == [[0, 7, 2], [7, 7, 5]]
    assert type(a.get_data()) is torch.Tensor and as_masked_tensor(D, M).get_data().data_ptr() == D.data_ptr()
    for wrong, error, text in ((lambda: masked_tensor(D, M.float()), TypeError, "mask must have dtype bool"), (lambda: masked_tensor([1],
        M), TypeError, "data"),
                               (lambda: masked_tensor(D, M[0]), ValueError, r"data.dim\(\) must equal mask.dim\(\)"),
                               (lambda: masked_tensor(D[:1], M), ValueError, r"data.size\(\) must equal mask.size\(\)"),
                               (lambda: as_masked_tensor(D.clone().requires_grad_(), M), NotImplementedError, "requires a gradient")):
        with pytest.raises(error, match=text):
            wrong()


def test_elementwise():
    a, b = made(), masked_tensor(D * 2, M)
    assert shown(a + b) == "MaskedTensor([[0.0000,--,6.0000],[--,--,15.0000]])" == shown(b + a) and shown(1 + a) == shown(a + 1)
    assert shown(a ** 2) == "MaskedTensor([[0.0000,--,4.0000],[--,--,25.0000]])" == shown(a * D)
    assert shown(a == b) == "MaskedTensor([[True,--,False],[--,--,False]])" and (a == b).dtype == torch.bool
    assert shown(-a) == "MaskedTensor([[-0.0000,--,-2.0000],[--,--,-5.0000]])"
    assert shown(10 - a) == "MaskedTensor([[10.0000,--,8.0000],[--,--,5.0000]])"
    c = made()
    assert c.add_(b) is c and shown(c) == shown(a + b) and a.double().dtype == torch.float64
    with pytest.raises(ValueError, match="Input masks must match"):
        a + masked_tensor(D, ~M)


def test_reductions():
    a = made()
    assert a.sum().item() == 7
    assert shown(a.sum(0)) == "MaskedTensor([0.0000,--,7.0000])" and shown(a.mean(1)) == "MaskedTensor([1.0000,5.0000])"
    assert a.amax().item() == 5 and a.amin().item() == 0 and a.argmax().item() == 5 and a.argmax().dtype == torch.float32
    assert shown(a.prod(0,
                        keepdim=True)) == "MaskedTensor([[0.0000,--,10.0000]])" and shown((a > 0).all(0)) == "MaskedTensor([False,--,True])"
    assert shown(a.var(1)) == "MaskedTensor([2.0000,nan])" and shown(torch.softmax(a,
        1)) == "MaskedTensor([[0.1192,--,0.8808],[--,--,1.0000]])"


def test_views_and_joins():
    a = made()
    assert shown(a[0]) == "MaskedTensor([0.0000,--,2.0000])" and shown(a.t()) == "MaskedTensor([[0.0000,--],[--,--],[2.0000,5.0000]])"
    assert shown(a.view(-1)) == "MaskedTensor([0.0000,--,2.0000,--,--,5.0000])" and a.unsqueeze(0).expand(2, 2, 3).shape == (2, 2, 3)
    assert torch.cat([a, a]).shape == (4, 3) and torch.stack([a, a]).get_mask().shape == (2, 2, 3) and len(a.split(1)) == 2
    assert torch.where(M, a, masked_tensor(-D, ~M)).get_mask().all()


def test_gradients_are_masked():
    a = made(requires_grad=True)
    (a * a).sum().backward()
    assert isinstance(a.grad, MaskedTensor) and shown(a.grad) == "MaskedTensor([[0.0000,--,4.0000],[--,--,10.0000]])"
    x = torch.tensor([-10.0, -5, 0, 50, 100], requires_grad=True)
    below = x < 0
    with pytest.warns(UserWarning, match="not recommended"):
        MaskedTensor(x, below, requires_grad=True)
    kept = masked_tensor(x, below, requires_grad=True)
    ones = masked_tensor(torch.ones_like(x), ~below, requires_grad=True)
    torch.where(below, torch.exp(kept), ones).sum().backward()
    assert shown(kept.grad) == "MaskedTensor([0.0000,0.0067,--,--,--])"


@pytest.mark.parametrize("call", [torch.relu, lambda a: a.max(), lambda a: a @ D.t(), lambda a: torch.equal(a, a), lambda a: a.sort(),
                                  lambda a: a.permute(1, 0), lambda a: a.T, lambda a: a.masked_fill(M, 0.0), lambda a: list(a),
                                  lambda a: a.__setitem__(0, 1.0), lambda a: torch.nn.functional.linear(a, D)])
def test_what_is_refused(call):
    with pytest.raises(TypeError):
        call(made())


def test_values_leave_only_as_plain_tensors():
    for call in (lambda a: a.numpy(), lambda a: a.tolist()):
        with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
            call(made())


I = torch.tensor([[0, 0, 1], [0, 2, 2]])


def test_sparse_data():
    dense = made()
    for name, layout in (("to_sparse_coo", torch.sparse_coo), ("to_sparse_csr", torch.sparse_csr), ("to_sparse", torch.sparse_coo)):
        s = getattr(dense, name)()
        assert s.layout is layout and s.is_sparse and s.is_sparse_coo() == (layout is torch.sparse_coo) and s.shape == (2, 3)
        assert repr(s) == repr(dense) == repr(s.to_dense()) and not s.to_dense().is_sparse and getattr(s, name)() is s
        assert s.get_data().values().tolist() == [0, 2, 5] and is_masked_tensor(s) and s.dim() == 2
        assert shown(s.sin()) == shown(dense.sin()) and shown(s + 1) == shown(dense + 1) and (s * s).layout is layout
        assert shown(s.sum()) == "MaskedTensor(7.0000,True)" and shown(s.amin()) == "MaskedTensor(0.0000,True)"
        with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.Tensor.sum'"):
            s.sum(dim=1)
        with pytest.raises(ValueError, match="do not have is_contiguous"):
            s.is_contiguous()
    coo = masked_tensor(torch.sparse_coo_tensor(I, torch.arange(3.), (2, 3)),
                        torch.sparse_coo_tensor(I, torch.tensor([True, False, True]), (2, 3)))
    assert (shown(coo) == "MaskedTensor([[0.0000,--,--],[--,--,2.0000]])"
            and coo.argmax().get_data().item() == dense.argmax().get_data().item())
    fewer = masked_tensor(D.to_sparse(), M.to_sparse())
    assert fewer.get_data().values().tolist() == [0, 2, 5] and shown(fewer) == shown(dense)
    with pytest.raises(ValueError, match="Input masks must match|same layout"):
        dense.to_sparse_csr() * coo
    with pytest.raises(TypeError, match="must have the same layout"):
        masked_tensor(D.to_sparse(), M)
    x = made(requires_grad=True)
    (x.to_sparse_coo() * 3).sum().backward()
    assert shown(x.grad) == shown(masked_tensor(torch.full((2, 3), 3.), M))


def test_gradients_have_the_mask_of_what_they_come_from():
    a, c = masked_tensor(torch.tensor(2.), torch.tensor(True), requires_grad=True), torch.ones(())
    y = torch.where(torch.tensor(False), a / 0, c)
    assert repr(y) == "MaskedTensor(  1.0000, True)" and repr(torch.autograd.grad(y, a)) == "(MaskedTensor(--, False),)"
    x, b = torch.tensor([1., 2., float("nan")]), torch.tensor(1., requires_grad=True)
    mt = masked_tensor(x, ~x.isnan())
    g, = torch.autograd.grad((mt * b).sum(), b)
    assert repr(g) == "MaskedTensor(  3.0000, True)"
    w = torch.ones(3, requires_grad=True)
    g, = torch.autograd.grad((mt * w).exp().sum(), w)
    assert g.get_mask().tolist() == [True, True, False] and not g.get_data().isnan().any()
    p, q = made(requires_grad=True), masked_tensor(D, ~M, requires_grad=True)
    gp, gq = torch.autograd.grad(torch.where(M, p * 2, q).sum(), (p, q))
    assert torch.equal(gp.get_mask(), M) and torch.equal(gq.get_mask(), ~M) and gp.get_data().max() == 2


def test_it_is_a_prototype():
    with pytest.warns(UserWarning, match="^The PyTorch API of MaskedTensors is in prototype stage"):
        masked_tensor(torch.ones(2), torch.ones(2).bool())
