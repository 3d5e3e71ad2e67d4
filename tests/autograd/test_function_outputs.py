"""autograd.Function: outputs that are no tensors, gradients of another dtype, writes into views (torch 2.13)."""
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
