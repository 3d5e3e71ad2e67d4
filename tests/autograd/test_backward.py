"""Protects backward: accumulation, retained graphs, hooks, partial gradients, double backward and torch's error texts.

Every expectation holds for real torch 2.13: replacing the import below by `import torch` must leave the file green.
"""
import gc
import weakref

import pytest

import torchshim as torch


def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype, requires_grad=True)


def test_accumulates_into_leaves_in_place():
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    g = x.grad
    (x * 2).sum().backward()
    assert x.grad is g and g.tolist() == [5.0, 5.0] and g._version == 1


def test_names_and_next_functions():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (x * w + 1).sum()
    add = y.grad_fn.next_functions[0][0]
    mul = add.next_functions[0][0]
    assert [type(n).__name__ for n in (y.grad_fn, add, mul)] == ["SumBackward0", "AddBackward0", "MulBackward0"]
    a, b = (n for n, _ in mul.next_functions)
    assert type(a).__name__ == "AccumulateGrad" and a.variable is x and b.variable is w
    assert mul.next_functions[0][0] is a
    assert y.grad_fn is y.grad_fn and add.name() == "AddBackward0"


def test_second_backward_needs_retain_graph():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = (x + 1).sum()                          # saves nothing: torch lets it pass
    z.backward()
    z.backward()


def test_roots():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.ones(2).sum().backward()
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\] has a "
                                           r"shape of torch.Size\(\[2\]\)"):
        (x * 2).backward(torch.ones(3))
    x.sum().backward()
    torch.autograd.backward([x.sum(), (x * 2).sum()], [None, torch.tensor(3.0)])
    assert x.grad.tolist() == [8.0, 8.0]


def test_grad():
    x, y = leaf(2.0), leaf(5.0)
    z = (x * x * y).sum()
    gx, gy = torch.autograd.grad(z, (x, y), retain_graph=True)
    assert (gx.item(), gy.item(), x.grad) == (20.0, 4.0, None)
    unused = leaf(1.0)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(z, (x, unused), retain_graph=True)
    assert torch.autograd.grad(z, (x, unused), retain_graph=True, allow_unused=True)[1] is None
    assert torch.autograd.grad(z, (x, unused), retain_graph=True, materialize_grads=True)[1].tolist() == [0.0]
    mid = x * 3
    out = (mid * mid).sum()
    assert torch.autograd.grad(out, mid, retain_graph=True)[0].item() == 12.0
    assert torch.autograd.grad(out, (mid, x))[1].item() == 36.0


def test_grad_of_a_root_and_of_a_leaf_root():
    x = leaf(2.0)
    assert torch.autograd.grad(x.sum(), x)[0].tolist() == [1.0]
    y = x * 2
    assert torch.autograd.grad(y, y, torch.ones(1))[0].tolist() == [1.0]


def test_backward_inputs():
    x, w = leaf(2.0), leaf(3.0)
    (x * w).sum().backward(inputs=[x])
    assert x.grad.item() == 3.0 and w.grad is None


def test_double_backward():
    x = leaf(2.0, 3.0)
    y = (x ** 3).sum()
    g, = torch.autograd.grad(y, x, create_graph=True)
    assert g.requires_grad and g.tolist() == [12.0, 27.0]
    h, = torch.autograd.grad(g.sum(), x, create_graph=True)
    assert h.tolist() == [12.0, 18.0]
    t, = torch.autograd.grad(h.sum(), x)
    assert t.tolist() == [6.0, 6.0]


def test_double_backward_through_saved_results():
    x = leaf(0.5)
    g, = torch.autograd.grad(x.exp().tanh().sum(), x, create_graph=True)
    h, = torch.autograd.grad(g.sum(), x)
    import math
    e = math.exp(0.5)
    s = 1 - math.tanh(e) ** 2
    assert g.item() == pytest.approx(e * s, rel=1e-5)
    assert h.item() == pytest.approx(e * s - 2 * math.tanh(e) * s * e * e, rel=1e-4)


def test_gradient_penalty_reaches_the_leaves():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    g, = torch.autograd.grad((x * w).pow(2).sum(), x, create_graph=True)
    g.pow(2).sum().backward()
    # g = 2 x w^2, so d(sum g^2)/dw = 16 x^2 w^3 and /dx = 8 x w^4
    assert w.grad.tolist() == [16 * 27.0, 16 * 4 * 64.0]
    assert x.grad.tolist() == [8 * 81.0, 8 * 2 * 256.0]


def test_retain_grad_and_hooks():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    seen = []
    h = y.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    y.sum().backward(retain_graph=True)
    assert y.grad.tolist() == [2.0, 2.0] and x.grad.tolist() == [6.0, 6.0]
    assert seen == [[1.0, 1.0], ("x", [6.0, 6.0])]
    h.remove()
    x.grad = y.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_post_accumulate_hook_and_node_hooks():
    x = leaf(1.0)
    done = []
    x.register_post_accumulate_grad_hook(lambda p: done.append(p.grad.item()))
    y = x * 2
    y.grad_fn.register_hook(lambda gi, go: done.append((gi[0].item(), go[0].item())))
    y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
    y.sum().backward()
    assert done == [(20.0, 10.0), 20.0]


def test_modes():
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad

    @torch.no_grad()
    def f():
        return torch.is_grad_enabled()
    assert f() is False and torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    with torch.set_grad_enabled(True):
        assert torch.is_grad_enabled()
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)


def test_inplace_errors():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation."):
        x[0].mul_(2)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: \[torch.FloatTensor \[2\]\], which is output 0 of Exp, "
                                           r"is at version 1; expected version 0 instead"):
        y.sum().backward()
    z = x * 1
    w = z * z
    z.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of Add, is at version 1"):
        w.sum().backward()


def test_inplace_on_views_has_torchs_gradients():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[0:2].mul_(3)
    assert type(y.grad_fn).__name__ == "CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 2.0]
    x.grad = None
    y = x * 2
    v = y.view(3, 1)
    y.mul_(x)                                  # the view follows its base
    (v * v).sum().backward()
    assert x.grad.tolist() == [16 * 1.0, 16 * 8.0, 16 * 27.0]
    base = torch.zeros(3)
    base[1] = leaf(5.0)[0]
    assert base.requires_grad and type(base.grad_fn).__name__ == "CopySlices"


def test_detach_shares_and_data_hides():
    x = leaf(1.0, 2.0)
    d = x.detach()
    d.mul_(3)
    assert x.tolist() == [3.0, 6.0] and x._version == 1
    x.data.mul_(2)
    assert x.tolist() == [6.0, 12.0] and x._version == 1


def test_wide_graph_and_long_chain():
    x = leaf(1.0)
    y = x
    for _ in range(3000):
        y = y + 1
    y.sum().backward()
    assert x.grad.item() == 1.0
    z = sum((x * k for k in range(200)), torch.zeros(1))
    x.grad = None
    z.sum().backward()
    assert x.grad.item() == sum(range(200))


def test_graph_is_freed_without_the_collector():
    x = leaf(1.0)
    y = (x * 2).exp()
    y.grad_fn.register_hook(Held())
    ref = weakref.ref(next(iter(held)))
    gc.disable()
    try:
        del y
        assert ref() is None
    finally:
        gc.enable()


held = weakref.WeakSet()


class Held:
    """A hook whose life is its node's."""

    def __init__(self):
        held.add(self)

    def __call__(self, *grads):
        pass


def test_complex_gradient():
    z = torch.tensor([1 + 2j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * scale

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * ctx.scale * g, None


def test_custom_function():
    x = leaf(3.0)
    y = Square.apply(x, 2.0)
    assert type(y.grad_fn).__name__ == "SquareBackward"
    g, = torch.autograd.grad(y, x, torch.ones(1), create_graph=True)
    assert g.item() == 12.0
    assert torch.autograd.grad(g, x)[0].item() == 4.0


def test_functional():
    from torchshim.autograd import functional as F
    x = torch.tensor([1.0, 2.0])
    assert F.jacobian(lambda t: t * t, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert F.hessian(lambda t: (t ** 3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    branch = lambda t: t * 2 if t.sum() > 0 else t
    assert F.jacobian(branch, x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    out, v = F.vjp(lambda t: t * t, x, torch.ones(2))
    assert (out.tolist(), v.tolist()) == ([1.0, 4.0], [2.0, 4.0])
    assert F.jvp(lambda t: t * t, x, torch.ones(2))[1].tolist() == [2.0, 4.0]
    assert F.hvp(lambda t: (t ** 3).sum(), x, torch.ones(2))[1].tolist() == [6.0, 12.0]
