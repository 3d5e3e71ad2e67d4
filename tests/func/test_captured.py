"""Derivatives refuse to write in place to what their function did not make itself, whether or not the write has a gradient."""
import pytest

import torchshim as torch
from torchshim.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = torch.tensor([1.0, 2.0, 3.0])
INDEX = torch.tensor([0])

DERIVATIVES = [
    lambda f: grad(f)(X), lambda f: vjp(f, X), lambda f: jvp(f, (X,), (X,)), lambda f: jacrev(f)(X), lambda f: jacfwd(f)(X),
    lambda f: hessian(f)(X), lambda f: grad(lambda y: grad(f)(y).sum())(X), lambda f: vmap(grad(f))(torch.stack([X, X])),
    lambda f: grad(lambda y: vmap(f)(y).sum())(torch.stack([X, X])), lambda f: grad(functionalize(f))(X),
]


def after(write, c):
    def f(v):
        write(c)
        return (v * 2).sum()
    return f


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives_refuse(derivative):
    for write in (lambda c: c.add_(1), lambda c: c[0].zero_(), lambda c: c.__setitem__(0, 1.0), lambda c: c.detach().mul_(2)):
        c = torch.zeros(3)
        with pytest.raises(RuntimeError, match="During a grad .* would mutate a captured Tensor"):
            derivative(after(write, c))
        assert c.tolist() == [0, 0, 0]


@pytest.mark.parametrize("write, name", [
    (lambda c: c.add_(1), "add_.Tensor"), (lambda c: c.add_(torch.ones(3)), "add_.Tensor"), (lambda c: c.fill_(1), "fill_.Scalar"),
    (lambda c: c.copy_(torch.ones(3)), "copy_"), (lambda c: c.__setitem__(0, 1.0), "copy_"), (lambda c: c.zero_(), "zero_"),
    (lambda c: c.__setitem__(0, torch.tensor(1.0)), "copy_"), (lambda c: c.__setitem__(c > 0, 1.0), "index_put_"),
    (lambda c: c.relu_(), "relu_"), (lambda c: c.pow_(2), "pow_.Scalar"), (lambda c: c.pow_(c), "pow_.Tensor"),
    (lambda c: c.masked_fill_(c > 0, 1.0), "masked_fill_.Scalar"), (lambda c: c.scatter_(0, INDEX, 1.0), "scatter_.value"),
    (lambda c: c.index_fill_(0, INDEX, 1.0), "index_fill_.int_Scalar"), (lambda c: c.lerp_(c.exp(), 0.5), "lerp_.Scalar"),
    (lambda c: c.normal_(), "normal_"), (lambda c: c.bernoulli_(), "bernoulli_.float"), (lambda c: c.log_normal_(), "log_normal_"),
    (lambda c: c.t_(), "t_"), (lambda c: c.squeeze_(0), "squeeze_.dim"), (lambda c: c.unsqueeze_(0), "unsqueeze_"),
    (lambda c: c.resize_(4), "resize_"), (lambda c: c.detach_(), "detach_"), (lambda c: c.as_strided_((2,), (1,)), "as_strided_"),
    (lambda c: c.set_(torch.ones(3)), "set_.source_Tensor"), (lambda c: torch.nn.functional.dropout(c, inplace=True), "mul_.Tensor"),
])
def test_the_refusal_names_the_operator(write, name):
    with pytest.raises(RuntimeError) as e:
        grad(after(write, torch.zeros(3)))(X)
    assert f"(aten::{name}) that would mutate a captured Tensor" in str(e.value)


def test_no_grad_does_not_help():
    def write(c):
        with torch.no_grad():
            c.add_(1)
    with pytest.raises(RuntimeError, match="captured"):
        grad(after(write, torch.zeros(3)))(X)


def test_what_is_no_inplace_operator_may_write():
    running = torch.zeros(3)
    for write in (lambda c: torch.add(c, 1, out=c), lambda c: torch._foreach_add_([c], 1)):
        c = torch.zeros(3)
        assert grad(after(write, c))(X).tolist() == [2, 2, 2]
        assert c.tolist() == [1, 1, 1]
    grad(lambda v: torch.nn.functional.batch_norm(v.expand(2, 3), running, torch.ones(3), training=True).sum())(X)
    assert running.tolist() == pytest.approx([0.1, 0.2, 0.3])
    running.zero_()
    x = X.reshape(3, 1) * torch.arange(3.0)
    grad(lambda v: torch.nn.functional.instance_norm(v.expand(2, 3, 3), running, torch.ones(3)).sum())(x)
    assert running.tolist() == pytest.approx([0.1, 0.2, 0.3])
    for normed in (torch.nn.utils.spectral_norm, torch.nn.utils.parametrizations.spectral_norm):
        layer = normed(torch.nn.Linear(3, 3))
        for b in layer.buffers():
            b.copy_(torch.tensor([1.0, 0.0, 0.0]))
        assert grad(lambda v: layer(v).sum())(X).shape == (3,)
        assert all([b.tolist() != [1, 0, 0] for b in layer.buffers()])
    out = torch.empty(0)
    assert grad(after(lambda c: torch.add(X, 1, out=c), out))(X).tolist() == [2, 2, 2] and out.tolist() == [2, 3, 4]


def test_other_transforms_and_own_memory_may_write():
    for transform in (lambda f: vmap(f)(torch.stack([X, X])), lambda f: linearize(f, X), lambda f: functionalize(f)(X)):
        c = torch.zeros(3)
        transform(after(lambda c: c.add_(1), c))
        assert c.tolist() == [1, 1, 1]

    def own(v):
        t = torch.zeros(3)
        t.add_(1).mul_(v)[0] += 1
        vmap(lambda y: t.add_(1))(v)
        return (t * v).sum()
    assert grad(own)(X).tolist() == [4, 5, 7]
    with pytest.raises(RuntimeError, match="captured"):
        grad(lambda y: (y * grad(lambda z: (z * y.mul_(2)).sum())(torch.ones(3))).sum())(X)


def test_batch_norm_does_not_write_examples_to_statistics_that_have_none():
    x, running = torch.rand(2, 4, 3), torch.zeros(3)

    def normed(v, mean, var=None):
        return torch.nn.functional.batch_norm(v, mean, torch.ones(3) if var is None else var, training=True)
    with pytest.raises(RuntimeError, match="running_var, which will be updated in place, were not batched"):
        vmap(lambda v: normed(v, running))(x)
    assert running.tolist() == [0, 0, 0]
    assert vmap(lambda v: normed(torch.ones(4, 3), running) + v)(x).shape == (2, 4, 3)
    assert running.tolist() == pytest.approx([0.1] * 3)
    assert vmap(normed)(x, torch.zeros(2, 3), torch.ones(2, 3)).shape == (2, 4, 3)


def test_what_all_examples_share_is_not_written_by_one():
    """A tensor made like an example is that example's own; one made from nothing is shared, and torch refuses to write an example to it."""
    x = torch.arange(8.).view(4, 2)

    def filled(make):
        def f(v):
            b = make(v)
            b[0] = v.sum()
            return b
        return vmap(f)(x)[:, 0].tolist()
    for make in (torch.zeros_like, lambda v: v.new_ones(3), lambda v: torch.full_like(v, 2.),
                 lambda v: v.new_empty_strided((2, 3), (3, 1))[0]):
        assert filled(make) == [1, 5, 9, 13]
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        filled(lambda v: torch.zeros(2))
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[4, 2\]"):
        vmap(lambda v: torch.zeros(2).add_(v))(x)
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[4, 2\]"):
        vmap(grad(lambda v: torch.zeros(2).add_(v).sum()))(x)
    made = vmap(torch.zeros_like)(x)
    made[0] += 1
    assert made.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]] and made.stride() == (2, 1)
    assert vmap(lambda v: torch.zeros(2))(x).stride() == (0, 1)


def test_a_tensor_from_outside_and_what_it_was_made_from_get_their_own_gradients():
    """Under vmap both are ends of the inner walk: what arrives at the first is sent on by the outer walk alone."""
    w, told = torch.tensor([1.0], requires_grad=True), []
    v = w * 2
    v.register_hook(told.append)
    torch.func.vmap(lambda x: x * v * w)(torch.ones(3, 1)).sum().backward()
    assert w.grad.tolist() == [12.0] and [g.tolist() for g in told] == [[3.0]]


def test_a_gradient_that_is_retained_outside_of_a_transform_is_told_once():
    w = torch.tensor([1.0], requires_grad=True)
    v = w.clamp(min=0)
    v.retain_grad()
    torch.func.jacrev(lambda x: x * v)(w).sum().backward()
    assert v.grad.tolist() == [1.0] and w.grad.tolist() == [1.0]


def test_a_jacobian_has_no_history_through_what_it_does_not_depend_on():
    x, c, told = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True), []
    y = x * 2
    made = torch.func.jacrev(lambda t: t * c)(y)
    y.register_hook(told.append)
    y.mul_(2)                                  # no row reads it
    made.sum().backward()
    assert x.grad is None and told == [] and c.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_batched_call_that_saved_something_is_walked_once():
    x = torch.ones(3, requires_grad=True)
    doubled, shifted = torch.func.vmap(lambda t: t * 2)(x), torch.func.vmap(lambda t: t + 1)(x)
    for made in (doubled, shifted):
        made.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        doubled.sum().backward()
    shifted.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
