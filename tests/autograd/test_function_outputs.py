"""autograd.Function: outputs that are no tensors, gradients of another dtype, writes into views (torch 2.13)."""
import pytest

import torchshim as torch


def test_outputs_that_are_no_tensors_get_none():
    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, None, 5

        @staticmethod
        def backward(ctx, g, *rest):
            assert rest == (None, None)
            return g
    x = torch.ones(2, requires_grad=True)
    Several.apply(x)[0].sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_gradient_gets_the_dtype_of_its_input():
    class Wider(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.double()

        @staticmethod
        def backward(ctx, g):
            assert g.dtype == torch.float64
            return g
    x = torch.ones(2, requires_grad=True)
    Wider.apply(x).sum().backward()
    assert x.grad.dtype == torch.float32


def test_a_function_may_write_into_a_view_and_counts_as_a_write():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2
    w = torch.ones(4, requires_grad=True)
    y = w * 1
    before = y._version
    Double.apply(y[:2])
    assert y._version - before == 2 and y.grad_fn.name().endswith("CopySlices")
    y.sum().backward()
    assert y.tolist() == [2, 2, 1, 1] and w.grad.tolist() == [2, 2, 1, 1]


NAMES = ("inst", "plan", "saved", "guard", "next", "nums", "seq", "extra", "n_outputs", "out_meta", "release", "places", "custom_backward",
         "_saved", "_needs", "_dirty", "_materialize", "_out_metas", "_finish", "_save", "_to_save", "_is_tensor", "_more", "value", "edge")


def test_what_a_function_notes_on_its_ctx_is_its_own_whatever_its_name():
    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            for name in NAMES:
                assert not hasattr(ctx, name), name
                setattr(ctx, name, [name])
            ctx.save_for_backward(x)
            return x * y

        @staticmethod
        def backward(ctx, g):
            assert all(getattr(ctx, name) == [name] for name in NAMES)
            x, = ctx.saved_tensors
            return g * 3, g * x

    for _ in range(3):                      # the same backward again is replayed
        x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 3.0], requires_grad=True)
        out = Noted.apply(x, y)
        assert out.grad_fn.seq == ["seq"]
        out.sum().backward()
        assert x.grad.tolist() == [3, 3] and y.grad.tolist() == [1, 2]
    vmapped = torch.func.vmap(lambda a: a * 2)(x)
    vmapped.sum().backward()
    assert x.grad.tolist() == [5, 5]


class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


class PassedTwice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x, x

    @staticmethod
    def backward(ctx, g, h):
        return g + h


class PassedMarked(Passed):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return x


def test_an_input_returned_as_it_is_is_a_view_that_may_not_be_written():
    x = torch.ones(2, requires_grad=True)
    y = Passed.apply(x)
    assert y._base is x and y._is_view() and y.grad_fn.name() == "PassedBackward" and torch.autograd.grad(y.sum(), x)[0].tolist() == [3, 3]
    for write in (lambda: y.add_(1), lambda: y.view(-1).mul_(2)):
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace. This view was created inside a custom Function"):
            write()
    a, b = PassedTwice.apply(x)
    assert a is not b and b.output_nr == 1
    with pytest.raises(RuntimeError, match="^Output 0 of PassedTwice is a view and is being modified inplace. This view is the output of "
                                           "a"):
        a.add_(1)
    z = x * 1
    y = Passed.apply(z)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="^Output 0 of Passed is a view and its base or another view of its base"):
        y + 1


def test_an_input_returned_as_it_is_without_a_gradient_is_detached():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = Passed.apply(x)
    for o in (y, PassedMarked.apply(x)):
        assert not o.requires_grad and not o._is_view() and o is not x and o.add_(0) is o
    plain = torch.ones(2)
    assert Passed.apply(plain)._base is plain


def test_a_saved_output_is_what_its_memory_holds_at_backward():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]
    x = torch.zeros(2, requires_grad=True)
    y = Exp.apply(x)
    y.data.mul_(3)                             # not noticed, as in torch
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


class _Filled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        x.add_(1)
        return x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x


def test_what_a_function_wrote_is_its_output_where_it_saved_it_and_where_its_gradient_is_retained():
    w = torch.arange(3.0, requires_grad=True)
    a = w * 2
    a.retain_grad()
    assert _Filled.apply(a) is a
    (a * a).sum().backward()
    assert a.grad.tolist() == [2, 6, 10] and w.grad.tolist() == [4, 36, 100]
    a = w * 2
    _Filled.apply(a)
    a.mul_(2)
    with pytest.raises(RuntimeError,
                       match="which is output 0 of Filled".replace("Filled", "_Filled") + ", is at version 3; expected version 2"):
        a.sum().backward()


def test_what_a_function_saved_counts_its_own_writes_where_it_got_other_memory():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x, other = torch.tensor(3.0, requires_grad=True), torch.zeros(()).add_(5)
    y = Twice.apply(x)
    x.data = other
    y.backward()
    assert x.grad == 10


class Defaults(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=2, shift=0):
        return x * factor + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.inputs = inputs

    @staticmethod
    def backward(ctx, g):
        return g * ctx.inputs[1], None, None


def test_setup_context_gets_the_defaults_of_what_was_left_out():
    x = torch.ones(2, requires_grad=True)
    for made, factor in ((Defaults.apply(x), 2), (Defaults.apply(x, 3), 3), (Defaults.apply(x, shift=1), 2)):
        assert made.grad_fn.inputs[1] == factor and len(made.grad_fn.inputs) == 3
        made.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g

    vjp = backward


class Saving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, what):
        ctx.save_for_backward(x, what)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_variables[0], None


class Marking(Saving):
    @staticmethod
    def forward(ctx, x, what):
        ctx.mark_dirty(what)
        return x * 2


def test_what_a_function_says_of_its_arguments_is_checked():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed"):
        Both.apply(x).sum().backward()
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        Saving.apply(x, 3)
    Saving.apply(x.detach(), 3)                # nobody will ask for it
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables"):
        Marking.apply(x, 3)
    with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
        Saving.apply(x, None).sum().backward()


class Adding(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_a_written_argument_is_no_more_what_its_gradient_was_of():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert Adding.apply(y) is y and y.retains_grad and y.grad is None


def test_a_view_that_a_function_wrote_and_saved_is_its_output():
    x = torch.ones(2, requires_grad=True)
    part = Adding.apply((x * 2)[:1])
    part[0] = 0
    with pytest.raises(RuntimeError, match="output 0 of Adding, is at version 3; expected version 2"):
        part.sum().backward()


def test_hooks_see_gradients_that_nobody_takes():
    """What backward gives for an argument that requires none reaches the node's hooks, and full backward hooks of modules."""
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    a, b, seen = torch.ones(2, requires_grad=True), torch.full((2,), 3.0), []
    y = Product.apply(a, b)
    y.grad_fn.register_hook(lambda made, given: seen.extend(made))
    y.sum().backward()
    assert [g.tolist() for g in seen] == [[3, 3], [1, 1]] and b.grad is None

    module, seen = torch.nn.Bilinear(2, 2, 1), []
    module.register_full_backward_hook(lambda m, made, given: seen.extend(made))
    module(a, b).sum().backward()
    assert seen[0].shape == (2,) and seen[1].tolist() == [0, 0]


def test_a_copy_to_meta_keeps_its_history():
    x = torch.ones(2, requires_grad=True)
    y = x.to("meta", torch.float64)
    assert y.requires_grad and y.grad_fn.name() == "ToCopyBackward0" and not x.detach().to("meta").requires_grad
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        y.sum().backward()
