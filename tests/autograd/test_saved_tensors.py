"""What backward says of saved tensors that became something else since: shapes, producers and refusals as torch's."""
import pytest

import torchshim as torch


def error(f):
    with pytest.raises(RuntimeError) as e:
        f()
    return str(e.value)


def test_a_version_error_tells_the_tensor_as_it_is_now():
    x = torch.rand(2, 3, requires_grad=True)
    z = 2 - x
    w = z * z
    z.unsqueeze_(0)
    assert "[torch.FloatTensor [1, 2, 3]], which is output 0 of Unsqueeze1, is at version 1" in error(lambda: w.sum().backward())
    z = 2 - x
    w = z * z
    z.unsqueeze_(0)
    z.add_(1)
    assert "which is output 0 of Add, is at version 2" in error(lambda: w.sum().backward())
    z = 2 - x
    w = z[0] ** 2
    z.mul_(2)
    assert "[torch.FloatTensor [3]], which is output 0 of AsStrided, is at version 1" in error(lambda: w.sum().backward())


def test_detached_in_place():
    x = torch.rand(2, 3, requires_grad=True)
    z = 2 - x
    w = z ** 2
    z.detach_()
    assert "has been detached in-place" in error(lambda: w.sum().backward())


def test_a_custom_function_names_the_writer():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g
    z = 2 - torch.rand(2, 3, requires_grad=True)
    w = Twice.apply(z)
    z.tanh_()
    assert "which is output 0 of Tanh, is at version 1" in error(lambda: w.sum().backward())


def test_gradients_must_fit_the_shape_that_the_history_knows():
    x = torch.rand(2, 3, requires_grad=True)
    z = 2 - x
    z.data = torch.rand(3, 2)
    assert "ExpBackward0 returned an invalid gradient at index 0 - got [3, 2] but expected shape compatible with [2, 3]" in error(
        lambda: z.exp().sum().backward())
    z = 2 - x
    z.data = torch.rand(5, 2, 3)               # expands: summed
    z.sum().backward()
    assert x.grad.tolist() == [[-5.0] * 3] * 2


def test_views_of_a_base_that_was_turned_in_place():
    x = torch.arange(1.0, 7).reshape(3, 2).requires_grad_()
    base = x * 2
    view = base.permute(1, 0)
    base.t_()
    (view * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
    x.grad = None
    base = x * 2
    row = base[1:]
    base.t_()
    row.mul_(3)
    base.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [6.0, 6.0], [6.0, 6.0]]


def test_what_has_no_derivative_fails_before_anything_is_accumulated():
    a, b = torch.rand(3, requires_grad=True), torch.ones(3, requires_grad=True)
    s = b.heaviside(b) + a.exp()
    with pytest.raises(RuntimeError, match="is not implemented"):
        s.sum().backward()
    assert a.grad is None


def test_an_in_place_operator_refuses_its_target_before_it_looks_at_others():
    leaf = torch.rand(2, 1, requires_grad=True)
    other = -leaf
    part = other.split(1)[-1]
    with torch.no_grad():
        other.mul_(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.addcmul_(part, part)


def test_a_leaf_of_another_shape_keeps_a_gradient_that_lies_as_it_does():
    x = torch.rand(1, 3, requires_grad=True)
    y = x * 2
    x.data = torch.rand(2, 1)
    y.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0, 2.0]]
    x = torch.rand(3, 2, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        x.transpose_(0, 1)
    assert "must match the size of tensor b" in error(lambda: y.sum().backward())


def test_saved_outputs_that_are_not_differentiable_stay_so():
    # they came back with the history of the node that saved them, so that what its backward computed had a history that was none
    class Largest(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            at = x.argmax().to(torch.int32).reshape(1)
            ctx.save_for_backward(at)
            ctx.mark_non_differentiable(at)
            return x * 2, at

        @staticmethod
        def backward(ctx, grad, _):
            at, = ctx.saved_tensors
            assert not at.requires_grad and at.grad_fn is None and at.is_leaf
            return grad * 2
    x = torch.ones(3, requires_grad=True)
    y, at = Largest.apply(x)
    assert not at.requires_grad
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert not g.requires_grad


def test_the_private_name_of_grad():
    p = torch.nn.Parameter(torch.ones(2))
    assert p._grad is None
    p.sum().backward()
    assert p._grad is p.grad
    p._grad = None
    assert p.grad is None


INDEX = torch.tensor([[0, 1, 0]])
ROW = torch.tensor([0])
SAVED_UNREAD = [                               # (call of x and y, which of both torch saves although the gradient is not made of it)
    (lambda x, y: x.gather(0, INDEX), "x"), (lambda x, y: torch.take_along_dim(x, INDEX, 0), "x"), (lambda x, y: x.take(ROW), "x"),
    (lambda x, y: x.index_add(0, ROW, y[:1]), "y"), (lambda x, y: x.index_copy(0, ROW, y[:1]), "y"),
    (lambda x, y: x.put(ROW, y[0, :1]), "y"), (lambda x, y: x.scatter_reduce(0, INDEX, y, "sum"), "xy"),
    (lambda x, y: torch.addcdiv(x, y.detach(), y, value=2), "y"),
    (lambda x, y: torch.nn.functional.avg_pool2d(x[None], 2), "x"), (lambda x, y: torch.nn.functional.max_pool2d(x[None], 2), "x"),
    (lambda x, y: torch.nn.functional.adaptive_max_pool2d(x[None], 1), "x"),
    (lambda x, y: torch.nn.functional.pad(x[None], (1, 1), mode="replicate"), "x"),
    (lambda x, y: torch.nn.functional.conv1d(x[None], y[None, :, :1]), "xy")]


@pytest.mark.parametrize("call, saved", SAVED_UNREAD)
def test_what_is_saved_must_not_be_written_whether_it_is_read_or_not(call, saved):
    for written in "xy":
        x, y = torch.ones(2, 3, requires_grad=True) * 1, torch.ones(2, 3, requires_grad=True) * 2
        out = call(x, y)
        with torch.no_grad():
            (x if written == "x" else y).mul_(2)
        if written in saved:
            assert "modified by an inplace operation" in error(lambda: out.sum().backward())
        else:
            out.sum().backward()


def test_a_gradient_has_no_history_through_what_was_saved_and_not_read():
    x = torch.ones(2, 3, requires_grad=True)
    given = torch.ones(1, 3, requires_grad=True)
    g, = torch.autograd.grad(x.gather(0, INDEX), x, given, create_graph=True)
    assert torch.autograd.grad(g.sum(), (x, given), allow_unused=True)[0] is None


def test_a_reduction_by_index_reads_its_result():
    x, y = torch.full((2, 3), 2.0, requires_grad=True), torch.full((1, 3), 3.0, requires_grad=True)
    out = x.scatter_reduce(0, INDEX, y, "amax")
    out.data.mul_(2)                           # it is the largest element no more
    assert torch.autograd.grad(out.sum(), y)[0].isnan().all()


def test_what_was_saved_as_a_view_stays_where_it_was():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    out = x.inner(y).sum()
    before = torch.autograd.grad(out, y, retain_graph=True)[0]
    x.data = torch.full((2, 2), 7.0)
    assert torch.equal(torch.autograd.grad(out, y)[0], before)


def test_polar_and_erfinv_read_what_torch_saved():
    x, a = torch.tensor([0.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    out = torch.polar(y, a)
    with torch.no_grad():
        y.add_(1)                              # the result is all that is read
    g = torch.autograd.grad(torch.view_as_real(out).sum(), (x, a))[0]
    assert g[0] == 0 and abs(g[1] - (torch.cos(a[1]) + torch.sin(a[1]))) < 1e-6
    y = x * 0.25
    out = y.erfinv()
    with torch.no_grad():
        out.add_(1)                            # the operand is
    out.sum().backward()
    out = y.erfinv()
    with torch.no_grad():
        y.add_(1)
    assert "modified by an inplace operation" in error(lambda: out.sum().backward())


def test_tensors_of_inference_alone_have_no_history():
    with torch.inference_mode():
        x = torch.ones(3).requires_grad_()
    assert x.requires_grad and not x.sum().requires_grad and not (x * x).requires_grad
    assert (x + torch.ones(3, requires_grad=True)).requires_grad
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach(), torch.ones(3))
        assert torch.autograd.forward_ad.unpack_dual(dual * 2).tangent.tolist() == [2, 2, 2]


def test_a_walk_to_a_view_without_history_releases_nothing():
    base = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        v = base.t()
    x = torch.ones(3, 2, requires_grad=True)
    out = x * v
    with pytest.raises(RuntimeError):
        torch.autograd.grad(out.sum(), v)
    out.sum().backward(inputs=[v])
    out.sum().backward()
    assert torch.equal(x.grad, torch.ones(3, 2))


def test_a_nodes_directory_lists_what_it_saved():
    """As those who draw graphs look for it: the tensors by torch's names, and nothing that is torchshim's own."""
    x, w = torch.rand(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    F = torch.nn.functional
    for made, saved in ((x * x, ["other", "self"]), (x * 2, ["other", "self"]), (x.exp(), ["result"]), (x.sin(), ["self"]), (x.sum(), []),
                        (x ** x, ["exponent", "result", "self"]), (F.batch_norm(x, None, None, w, w, True), ["input", "weight"])):
        listed = dir(made.grad_fn)
        assert [n[7:] for n in listed if n.startswith("_saved_") and isinstance(getattr(made.grad_fn, n), (torch.Tensor, type(None)))] == saved
        assert made.grad_fn.name() == "MulBackward0" or [n[11:] for n in listed if n.startswith("_raw_saved_")] == saved
        assert {"name", "metadata", "next_functions", "register_hook"} < set(listed) and not any([n.startswith("_ts_") for n in listed])
    y = x.exp()
    y.sum().backward()
    assert "_saved_result" in dir(y.grad_fn)


def test_hooks_are_asked_before_shapes_are_refused():
    """torch notes what it saves before its kernels look; what it makes of other operators is looked at first."""
    x, y, seen = torch.ones(2, 3, requires_grad=True), torch.ones(4, requires_grad=True), []

    def pack(t):
        seen.append(tuple(t.shape))
        return t
    for f, packed in ((lambda: x * y, [(4,), (2, 3)]), (lambda: x @ x, [(2, 3), (2, 3)]), (lambda: torch.where(x > 0, x, y), [(2, 3)]),
                      (lambda: torch.cat([x, y]), []), (lambda: torch.nn.functional.prelu(x, y), [])):
        seen.clear()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), pytest.raises(RuntimeError):
            f()
        assert seen == packed


def test_hooked_nodes_know_undefined_cotangents_too():
    x = torch.ones(1, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        mean = torch.var_mean(x, 0)[1]
    assert torch.autograd.grad(mean, x)[0].tolist() == [1]


@pytest.mark.parametrize("back, expected", [
    (lambda t: t.t(), [[2.625] * 3]), (lambda t: t.unsqueeze(0), [[0.1875, 0.75, 1.6875]]), (lambda t: t.squeeze(0), [[0.1875, 0.75, 1.6875]]),
    (lambda t: torch.cat([t, t]), [[0.375, 1.5, 3.375]]), (lambda t: t[:, :1], [[0.1875] * 3])])
def test_what_comes_back_in_another_shape_is_broadcast_in_formulas_of_elements(back, expected):
    x = torch.tensor([[0.25, 0.5, 0.75]], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, back):
        y, z = x ** 3, x * x
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == expected
    assert torch.autograd.grad(z.sum(), x)[0].shape == (1, 3)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.new_ones(1, 1, 7)):
        y = x ** 3
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        y.sum().backward()


def test_a_mask_that_comes_back_as_integers_is_refused():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = x.masked_select(x > 0)
    with pytest.raises(RuntimeError, match="masked_scatter_ only supports boolean masks, but got mask with dtype Long"):
        y.sum().backward()


def test_a_gradient_that_nobody_takes_may_have_any_shape():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return g.expand(2, 7)
    x = torch.ones(3, requires_grad=True) * 2
    with torch.inference_mode():
        view = x.view(3)
    Wrong.apply(view).backward()
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        Wrong.apply(x).backward()


def test_hooks_that_are_left_once_more_than_entered():
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    with hooks:
        pass
    hooks.__exit__()
    assert torch._C._autograd._saved_tensors_hooks_is_enabled()
    x = torch.tensor(2.0, requires_grad=True)
    y = x ** 2
    x.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):        # nothing packs what is saved any more
        y.backward()
    with torch.autograd.graph.disable_saved_tensors_hooks("no"):
        assert not torch._C._autograd._saved_tensors_hooks_is_enabled()
