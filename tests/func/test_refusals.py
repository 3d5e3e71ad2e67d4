"""What torch.func refuses inside of functions that it transforms, and functionalize."""
import pytest

import torchshim as torch
from torchshim.func import functionalize, grad, jacfwd, jacrev, jvp, vjp, vmap

X = torch.rand(3)


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class New(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


def with_hooks(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return x.sin().sum()


@pytest.mark.parametrize("f, text", [
    (lambda: grad(lambda x: x.clone().requires_grad_().sum())(X), r"Tensor.requires_grad_\(\)"),
    (lambda: grad(lambda x: x.clone().retain_grad())(X), r"Tensor.retain_grad\(\)"),
    (lambda: grad(lambda x: torch.autograd.functional.vjp(torch.sin, x, x)[1].sum())(X), "torch.autograd.functional"),
    (lambda: grad(lambda x: Old.apply(x).sum())(X), "must override the setup_context"),
    (lambda: vmap(New.apply)(X), "does not have vmap support"),
    (lambda: vjp(with_hooks, X), "saved tensor hooks"),
    (lambda: jacrev(lambda x: x, argnums=(0, 0))(X), "must be unique"),
    (lambda: jacfwd(lambda x: x, argnums=())(X), "must be non-empty"),
    (lambda: jacrev(lambda x: ())(X), r"vjp.*non-empty output"),
    (lambda: jacfwd(lambda x: 3)(X), r"jvp.*only tensors"),
    (lambda: functionalize(torch.sin, remove="views")(X), "invalid argument for remove"),
])
def test_refusals(f, text):
    with pytest.raises(RuntimeError, match=text):
        f()


def test_functions_with_setup_context_and_fresh_leaves_are_fine():
    assert torch.equal(grad(lambda x: New.apply(x).sum())(X), torch.full((3,), 2.0))
    assert grad(lambda x: (x * torch.ones(3, requires_grad=True)).sum())(X).tolist() == [1, 1, 1]


def test_functionalize_writes_arguments():
    x = torch.zeros(4, 2)
    out = functionalize(lambda x: x.view(8)[2:].add_(1).sum())(x)
    assert out == 6 and x.sum() == 6


def test_forward_mode_takes_hooks_on_saved_tensors():
    assert torch.allclose(jvp(with_hooks, (X,), (X,))[1], (X.cos() * X).sum())
    assert torch.allclose(jacfwd(with_hooks)(X), X.cos())


def test_captured_tensors_are_not_written_with_what_the_function_was_given():
    x, captured = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(3)

    def f(x):
        captured.copy_(x)
        return (x * captured).sum()
    for run in (lambda: torch.func.grad(f)(x), lambda: torch.func.jvp(f, (x,), (x,)), lambda: torch.func.jacrev(f)(x)):
        with pytest.raises(RuntimeError, match=r"in-place operation \(aten::copy_\) that would mutate a captured Tensor"):
            run()

    def g(x):
        made, number = torch.zeros(3), torch.tensor([1.0, 2.0, 3.0])
        made.copy_(x).add_(1)
        number.mul_(x).mul_(2)
        return (made * number).sum()
    assert torch.func.grad(g)(x).tolist() == [6.0, 20.0, 42.0]

    def row(t):
        captured.add_(t)
        return t
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.vmap(row)(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        torch.vmap(lambda t: captured.__setitem__(0, t[0]) or t)(torch.ones(2, 3))
    assert captured.tolist() == [0.0, 0.0, 0.0]


def test_functionalize_sees_no_custom_functions():
    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g
    with pytest.raises(RuntimeError, match="must override the setup_context"):
        torch.func.functionalize(Sin.apply)(torch.ones(3))


def test_linearize_compares_tangents_with_primals():
    _, push = torch.func.linearize(torch.exp, torch.ones(3))
    for tangents, said in (((torch.ones(3),) * 2, "same argspec as the primals"), ((torch.ones(2),), "tangent:0 with shape"),
                           ((torch.ones(3).double(),), "tangent:0 with dtype")):
        with pytest.raises(RuntimeError, match=said):
            push(*tangents)


def test_arguments_that_are_not_differentiated_may_be_written():
    def f(x, y):
        y.copy_(x)
        return y
    for transform in (jacrev, jacfwd):
        assert transform(f)(torch.randn(2), torch.randn(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_jacobians_are_of_real_tensors():
    c, x = torch.ones(2, dtype=torch.complex64), torch.ones(2)
    for jacobian, name in ((torch.func.jacrev, "jacrev"), (torch.func.jacfwd, "jacfwd")):
        for call, text in ((lambda j: j(lambda z: z ** 2)(c), "inputs to be real but received complex tensor at flattened input idx: 0"),
                           (lambda j: j(lambda z, w: z * w.real)(x, c), "inputs to be real but .* idx: 1"),
                           (lambda j: j(lambda z: torch.complex(z, z))(x), "outputs to be real but received complex tensor")):
            with pytest.raises(RuntimeError, match=f"^{name}: Expected all {text}"):
                call(jacobian)


def test_random_numbers_in_a_forward_jacobian():
    noisy = lambda x: x * torch.rand(3)
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        torch.func.jacfwd(noisy)(x)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness are"):
        torch.func.jacfwd(noisy, randomness="sometimes")(x)
    torch.manual_seed(0)
    same = torch.func.jacfwd(noisy, randomness="same")(x)
    torch.manual_seed(0)
    assert same.diag().tolist() == torch.rand(3).tolist()
    torch.manual_seed(0)
    other = torch.func.jacfwd(noisy, randomness="different")(x)
    torch.manual_seed(0)
    assert other.diag().tolist() == torch.rand(3, 3).diag().tolist()


def test_jvp_wants_tensors():
    with pytest.raises(RuntimeError, match="Expected primals to only contain Tensors, got <class 'int'>"):
        torch.func.jvp(torch.sin, (3,), (torch.ones(3),))
    with pytest.raises(RuntimeError, match="Expected tangents to only contain Tensors, got <class 'int'>"):
        torch.func.jvp(torch.sin, (torch.ones(3),), (3,))


def test_a_checkpoint_inside_of_a_derivative_is_refused():
    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        torch.func.grad(lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False).sum())(torch.ones(3))


def test_data_of_a_batch():
    with pytest.raises(RuntimeError, match="^accessing `data` under vmap transform is not allowed"):
        torch.vmap(lambda x: x.data)(torch.ones(3))


@pytest.mark.parametrize("f, name", [(lambda a, x: torch.igamma(x, a), "igamma"), (lambda a, x: torch.igammac(a, x), "igammac"),
                                     (lambda a, x: torch.special.zeta(a + 1, x), "special_zeta")])
def test_forward_derivatives_that_torch_has_no_formula_for(f, name):
    x = torch.tensor([0.5, 1.5])
    for push in (lambda: torch.func.jvp(lambda a: f(a, x), (x,), (x,)), lambda: torch.func.jacfwd(lambda a: f(a, x))(x)):
        with pytest.raises(NotImplementedError, match=f"Trying to use forward AD with {name} that does not support it"):
            push()
    wanted = f(x.clone().requires_grad_(), x)          # in a graph outside of the function it does not matter
    assert torch.func.jvp(lambda a: a * wanted.detach(), (x,), (x,))[1].shape == (2,)


@pytest.mark.parametrize("name, error, text", [
    ("", KeyError, "t be empty string"), ("0.", KeyError, "t be empty string"),
    ("foo.bar", AttributeError, "^Sequential has no attribute `foo`$"),
    ("0.weight.bar", TypeError, r"^submodule `0\.weight`: Parameter containing:\n.* is not an instance of torch\.nn\.Module"),
    ("0", TypeError, r"^attribute `0`: Linear\(.*\) is not an instance of torch\.Tensor"),
    ("0.in_features", TypeError, "^attribute `in_features`: 1 is not an instance of torch.Tensor")])
def test_names_that_no_parameter_has(name, error, text):
    module = torch.nn.Sequential(torch.nn.Linear(1, 1))
    with pytest.raises(error, match=text):
        torch.func.functional_call(module, {name: torch.ones(1)}, torch.ones(1))


def test_one_running_statistic_is_none():
    module = torch.nn.BatchNorm1d(1)
    with pytest.raises(ValueError, match="running_mean and running_var must either both be None or neither be None"):
        torch.func.functional_call(module, {"running_mean": None}, torch.ones(2, 1))
