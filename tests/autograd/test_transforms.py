"""Functions that are differentiated or batched: Jacobians, tangents, torch.func. Expected values are torch 2.13's."""
import collections

import pytest

import torchshim as torch
import torchshim.autograd.forward_ad as forward_ad


class Sine(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()


def test_what_a_batched_function_saved_is_not_written():
    x = torch.ones(2, 3, requires_grad=True) * 1
    made = torch.func.vmap(Sine.apply)(x)
    x.tril_()
    with pytest.raises(RuntimeError, match=r"\[2, 3\]\], which is output 0 of Tril, is at version 1; expected version 0"):
        made.sum().backward()


def test_vectorized_jacobians_of_complex_outputs():
    x = torch.ones(2, dtype=torch.complex64)
    assert torch.equal(torch.autograd.functional.jacobian(lambda z: z * 2j, x, vectorize=True), torch.eye(2) * -2j)
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        torch.autograd.functional.jacobian(lambda z: z * 2, x)


def test_tangents_of_functions_look_at_the_versions_that_their_operands_count():
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0].cos()

    x = torch.zeros(2) * 1
    x[1:] = 0
    x.data = torch.zeros(2)                    # the memory is new, the count goes on
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(Sine.apply(forward_ad.make_dual(x, torch.ones(2)))).tangent.tolist() == [1, 1]


def test_columns_of_a_jacobian_have_no_room_where_elements_coincide():
    x = torch.tensor(1.5).expand(2)
    for f in (lambda: torch.func.jacfwd(torch.sin)(x), lambda: torch.func.hessian(lambda y: y.sin().sum())(x),
              lambda: torch.autograd.functional.jacobian(torch.sin, torch.ones(2, 1).expand(2, 2), vectorize=True, strategy="forward-mode")):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            f()
    assert torch.func.linearize(torch.cos, torch.tensor(0.).expand(2))[1](torch.ones(2)).tolist() == [0, 0]
    with forward_ad.dual_level():              # nothing has no layout
        tangent = torch.ones(3, 0)
        assert forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(0).expand(3, 0), tangent)).tangent.stride() == (1, 1)


def test_gradients_of_a_dict_of_inputs_are_a_dict():
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    made = torch.autograd.grad((x * y).sum(), {"x": x, "y": y})
    assert made["x"].tolist() == [3.0, 3.0] and made["y"].item() == 3.0
    assert torch.autograd.grad((x * 2).sum(), {"x": x, "y": y}, allow_unused=True)["y"] is None
    with pytest.raises(TypeError, match="`inputs` argument to `grad\\(\\)` must be a dict, not OrderedDict. Other Mapping types are not"):
        torch.autograd.grad((x * 2).sum(), collections.OrderedDict(x=x))


def test_vmap_has_no_numbers_to_look_at_however_many():
    batch, held = torch.ones(2, 3), torch.ones(3)
    with pytest.raises(RuntimeError, match="vmap: It looks like you're calling .item\\(\\) on a Tensor"):
        torch.func.vmap(lambda x: x.item())(batch)
    with pytest.raises(RuntimeError, match="vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow"):
        torch.func.vmap(lambda x: x if x else -x)(batch)
    with pytest.raises(RuntimeError, match="a Tensor with 3 elements cannot be converted to Scalar"):
        torch.func.vmap(lambda x: held.item() * x)(batch)
    with pytest.raises(RuntimeError, match=r"stack expects each tensor to be equal size, but got \[2, 3\] at entry 0 and \[2, 2, 3\] at entry 1"):
        torch.func.vmap(lambda x, y: torch.stack([x, y]), in_dims=(0, None))(batch, batch)


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, lambda f: lambda x: torch.func.vjp(f, x)[1](torch.tensor(1.0))])
@pytest.mark.parametrize("history", [lambda x: x, lambda x: x * 1, lambda x: x.t()])
def test_the_arguments_of_a_function_that_is_differentiated_are_leaves(transform, history):
    x = history(torch.ones(2, 2, requires_grad=True))
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used"):
        transform(lambda x: x.mul_(2).sum())(x)
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used"):
        transform(lambda x: (x[0].mul_(2), x.sum())[1])(x)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    made = transform(lambda x: (x.detach().mul_(2), x.sum())[1])(x)
    made = made[0] if isinstance(made, tuple) else made
    assert made.tolist() == [[1.0, 1.0], [1.0, 1.0]] and x.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_forward_mode_does_not_write_to_leaves():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        torch.func.jvp(lambda x: x.mul_(2), (x,), (torch.ones(2),))
    assert x.tolist() == [1.0, 1.0]


def test_gradients_of_functions_have_tangents():
    forward = torch.autograd.forward_ad
    x, v = torch.tensor([0.5, 2.0], dtype=torch.float64), torch.tensor([1.0, 3.0], dtype=torch.float64)
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with forward.dual_level():
        u = forward.make_dual(x, v)
        tangent = lambda t: forward.unpack_dual(t).tangent
        assert torch.allclose(tangent(torch.func.grad(lambda x: x.sin().sum())(u)), -x.sin() * v)
        assert torch.allclose(tangent(torch.func.jacrev(torch.sin)(u)), torch.diag(-x.sin() * v))
        assert torch.allclose(tangent(torch.func.grad_and_value(lambda x: x.sin().sum())(u)[1]), (x.cos() * v).sum())
        assert torch.equal(tangent(torch.func.grad(lambda x: (x * u).sum())(x)), v)
        assert torch.equal(tangent(torch.autograd.grad((w * u).sum(), w)[0]), v)           # an operand that wants no gradient
        for f in (torch.func.jacfwd(torch.sin), torch.func.hessian(lambda x: x.sin().sum()), lambda x: torch.func.jvp(torch.sin, (x,), (x,))):
            with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
                f(x)
        with pytest.raises(NotImplementedError, match="vmap over a tensor that has a tangent"):       # torch has them
            torch.func.vmap(torch.sin)(u)


def test_a_forward_jacobian_has_the_history_of_what_its_function_reads():
    options = dict(strategy="forward-mode", vectorize=True)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    made = torch.autograd.functional.jacobian(lambda x: (x * w) ** 2, torch.tensor([1.0, 3.0]), **options)
    made.sum().backward()
    assert made.tolist() == [[2.0, 0.0], [0.0, 24.0]] and w.grad.tolist() == [4.0, 24.0]
    made = torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1 + 1j, 2]), **options)
    assert made.tolist() == [[2 + 2j, 0], [0, 4]]
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
        torch.autograd.functional.jacobian(lambda x: x, torch.arange(2), **options)


def test_gradcheck_of_bfloat16_finds_no_difference_quotient():
    x = torch.tensor([0.5, 1.5]).bfloat16().requires_grad_()
    for fast in (False, True):
        assert torch.autograd.gradcheck(lambda x: x.sin() * x, x, raise_exception=False, fast_mode=fast) is False


def test_derivatives_save_inference_tensors():
    with torch.inference_mode():
        x = torch.zeros(3)
    cubed = lambda t: (t ** 3).sum()
    assert torch.func.grad(lambda t: Sine.apply(t).sum())(x).tolist() == [1.0, 1.0, 1.0]
    twice = torch.func.grad(lambda t: torch.func.grad(cubed)(t + 1).sum())
    assert twice(x).tolist() == [6.0, 6.0, 6.0]
    with torch.inference_mode():
        one = torch.ones(2)
    assert torch.func.grad(lambda t: torch.func.grad(lambda u: torch.func.grad(cubed)(u).sum())(t).sum())(one).tolist() == [6.0, 6.0]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * torch.ones(3, requires_grad=True)
