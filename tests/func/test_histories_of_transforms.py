"""torch.func: what has a history is decided where it is computed; positions and chunks of arguments."""
import pytest

import torchshim as torch
from torchshim.func import grad, jacrev, vjp, vmap


def test_whoever_pulls_decides_whether_gradients_have_a_history():
    """Not whoever called vjp."""
    x = torch.tensor(3.0, requires_grad=True)
    out, pull = vjp(lambda x: x ** 2, x)
    with torch.no_grad():
        y, = pull(torch.tensor(1.0))
    assert out.requires_grad and not y.requires_grad and torch.autograd.grad(out, x)[0] == 6
    with torch.no_grad():
        out, pull = vjp(lambda x: x ** 2, x)
    y, = pull(torch.tensor(1.0))
    assert not out.requires_grad and y.requires_grad and torch.autograd.grad(y, x)[0] == 2


def test_positions_from_the_end_are_positions():
    """One that is named twice, once so and once so, had got no gradient."""
    with pytest.raises(RuntimeError, match=r"argnums elements must be unique, got \(0, 0\)"):
        grad(torch.mul, argnums=(0, -2))(torch.tensor(2.0), torch.tensor(3.0))


def test_rows_one_at_a_time_need_no_vmap():
    """What cannot be batched has a Jacobian in chunks of one row."""
    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            g.nonzero()
            return g
    assert torch.equal(jacrev(Looks.apply, chunk_size=1)(torch.ones(2, 2)), torch.eye(4).view(2, 2, 2, 2))
    with pytest.raises(RuntimeError, match="We do not support batching operators that can output dynamic shape"):
        jacrev(Looks.apply, chunk_size=2)(torch.ones(2, 2))


@pytest.mark.parametrize("tree, dims", [(lambda x: [x, x], [0, 0]), (lambda x: {"a": x, "b": 3}, {"a": 0, "b": None}), (lambda x: (3,), (None,))])
def test_a_functions_vmap_gets_trees_of_batches(tree, dims):
    """Tensors in lists, tuples and dicts come as whole batches, too."""
    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            raise AssertionError

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, y):
            assert in_dims == (0, dims)
            leaf = next((t for t in (y.values() if isinstance(y, dict) else y) if isinstance(t, torch.Tensor)), x)
            assert leaf.shape == (4, 2)
            return x + leaf, 0
    x = torch.ones(4, 2)
    assert torch.equal(vmap(lambda x: Seen.apply(x, tree(x)))(x), x * 2)


def test_strict_hessians_are_not_vectorized():
    """torch refuses to do both."""
    with pytest.raises(RuntimeError, match="`strict=True` and `vectorized=True` are not supported together"):
        torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.ones(2), strict=True, vectorize=True)


def test_a_function_with_a_generated_rule_is_called_as_torch_calls_what_it_makes_of_it():
    class Doubled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2
    x, vmap = torch.ones(2, 3, requires_grad=True), torch.func.vmap
    assert vmap(Doubled.apply)(x).grad_fn.name() == "VmappedDoubledBackward"
    assert vmap(vmap(Doubled.apply))(x).grad_fn.name() == "VmappedVmappedDoubledBackward"
