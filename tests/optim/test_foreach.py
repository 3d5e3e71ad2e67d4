"""torch._foreach_*: what in-place forms return and refuse before they write, and the names of nodes (torch 2.13)."""
import math

import pytest

import torchshim as torch


def test_nothing_is_written_where_one_of_the_list_is_refused():
    x = torch.ones(2, requires_grad=True)
    a = x * 2
    for refused in (lambda: torch._foreach_add_([a, x], 1), lambda: torch._foreach_neg_([a, x]), lambda: torch._foreach_zero_([a, x])):
        with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
            refused()
    assert a.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name, of_one, of_many",
    [("add", "AddBackward", "ForeachAddBackward"), ("mul", "MulBackward", "ForeachMulBackward")])
def test_names_of_nodes(name, of_one, of_many):
    x = torch.ones(2, requires_grad=True)
    each, written = getattr(torch, "_foreach_" + name), getattr(torch, f"_foreach_{name}_")
    names = [each([x], given)[0].grad_fn.name() for given in (2.0, [2.0], [x])]
    assert names == [of_many + "1Scalar", of_many + "1ScalarList", of_many + "0List"]
    y = x * 2
    made = written([y], 2.0)
    assert made[0] is y and y.grad_fn.name() == of_one + "1"
    assert torch._foreach_exp([x])[0].grad_fn.name() == "ForeachExpBackward0"


def test_gradients():
    x = torch.ones(2, requires_grad=True)
    torch._foreach_mul(torch._foreach_add([x, x * 2], [1.0, 2.0]), 3.0)[1].sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("first", [0, 1])
def test_writes_to_one_memory_are_counted_before_histories_are_made(first):
    w = torch.ones(3, requires_grad=True)
    base = w * 1
    views = [base[:2], base[1:]]
    both = views[::-1] if first else views
    torch._foreach_mul_(both, [2.0, 3.0])
    assert base.tolist() == ([3, 6, 2] if first else [2, 6, 3])
    slopes = [torch.autograd.grad(v.sum(), w, retain_graph=True)[0].tolist() for v in (*both, base)]
    assert slopes == ([[0, 2, 2], [3, 6, 0], [3, 6, 2]] if first else [[2, 2, 0], [0, 6, 3], [2, 6, 3]])     # the first knows no second
    part = base[1:]
    torch._foreach_mul_([part, base], [part.detach().clone(), base.detach().clone()])
    assert torch.autograd.grad(base.sum(), w)[0].tolist() == ([9, 36, 4] if first else [4, 36, 9])           # nor the second the first


def test_a_list_of_a_tensor_and_its_view_may_be_written():
    base = torch.ones(2, 1, requires_grad=True) * 1
    torch._foreach_mul_([base, base[:, :1]], [2.0, 3.0])
    assert base.tolist() == [[6], [6]] and base.grad_fn.name() == "torch::autograd::CopySlices"


def test_names_by_the_other_operand():
    x, c = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    name = lambda f, *args: getattr(torch, "_foreach_" + f)([x, c], *args)[0].grad_fn.name()
    others = (2.0, [2.0, 3.0], [c, c], torch.tensor(2.0))
    assert [name("pow", o) for o in others] == ["ForeachPowBackward" + n for n in ("0Scalar", "1", "0", "0Scalar")]
    assert [name("maximum", o) for o in others] == ["ForeachMaximumBackward" + n for n in ("0", "1", "0List", "0")]
    assert [name("clamp_min", o) for o in others] == ["ForeachClampMinBackward" + n for n in ("0Scalar", "0ScalarList", "1List", "0Scalar")]
    assert [name("div", o) for o in others] == ["ForeachDivBackward" + n for n in ("1Scalar", "1ScalarList", "0", "0Tensor")]
    assert name("addcmul", [c, c], [c, c], 2.0) == "ForeachAddcmulBackward0Scalar"
    assert name("lerp", [c, c], [c, c]) == "ForeachLerpBackward1List" and name("log1p") == "ForeachLog1PBackward0"
    assert torch._foreach_pow(2.0, [x])[0].grad_fn.name() == "ForeachPowBackward2"


def test_where_one_of_a_list_wants_a_gradient_all_have_a_history():
    x, c = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    first, second = torch._foreach_mul([x, c], 2.0)
    assert first.requires_grad and second.requires_grad and second.grad_fn.name() == "ForeachMulBackward1Scalar"
    assert torch.equal(second, c * 2)
    assert torch.autograd.grad(second.sum(), [x], allow_unused=True) == (None,)
    torch.autograd.backward([first.sum(), second.sum()])
    assert x.grad.tolist() == [2.0] * 3 and c.grad is None
    whole = torch.arange(3)
    for refused in (lambda: torch._foreach_mul([x, whole], 2), lambda: torch._foreach_neg([whole, x]),
                    lambda: torch._foreach_add([whole, whole], [x, whole]), lambda: torch._foreach_addcmul([x, whole], [x, whole], [x, whole])):
        with pytest.raises(RuntimeError, match="^Autograd not support dtype: Long$"):
            refused()
    assert torch._foreach_mul([x, whole], 2.0)[1].requires_grad                  # floating point by then
    with torch.no_grad():
        assert [t.requires_grad for t in torch._foreach_mul([x, whole], 2)] == [False, False]
    assert [t.requires_grad for t in torch._foreach_mul_([x * 1, c], 2)] == [True, False]       # in place: a node each


@pytest.mark.parametrize("name, want", [("addcmul", [[2, 6, 6], [[9, 9], [9, 9]]]), ("addcdiv", [[2, 6, 6], [[3, 3], [3, 3]]])])
def test_numbers_that_come_in_one_tensor(name, want):
    """As optimizers give step sizes that they keep in tensors; as many as there are tensors."""
    a, b = [torch.tensor([1.0, 5, 5]), torch.ones(2, 2)], [torch.ones(3), torch.full((2, 2), 2.0)]
    f = getattr(torch, f"_foreach_{name}")
    assert [t.tolist() for t in f(a, b, b, torch.tensor([1.0, 2.0]))] == want
    for given, text in ((torch.tensor(1.0), "Expected packed scalar Tensor to be of dimension 1. Got 0 instead."),
                        (torch.ones(1), "Expected length of scalars to match input of length 2 but got 1 instead.")):
        with pytest.raises(RuntimeError) as caught:
            f(a, b, b, given)
        assert str(caught.value) == text
    getattr(torch, f"_foreach_{name}_")(a, b, b, scalars=torch.tensor([1, 2]))
    assert [t.tolist() for t in a] == want


def test_largest_elements():
    a = [torch.tensor([1.0, 5, 5], requires_grad=True), torch.ones(2, 2)]
    made = torch._foreach_max(a)
    assert [t.item() for t in made] == [5, 1] and made[0].grad_fn.name() == "ForeachMaxBackward1"
    assert torch.autograd.grad(made[0], a[0])[0].tolist() == [0, 0.5, 0.5]
    with pytest.raises(RuntimeError, match="_foreach_max cannot compute the maximum of an empty tensor"):
        torch._foreach_max([torch.empty(0)])


def test_what_lists_do_in_place_has_torchs_histories():
    """`maximum_` and `minimum_` are derived for two lists alone, `copy_` never; one tensor for all counts as a number does."""
    def lists():
        return [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)]
    others = [torch.tensor([0.5, 3.0]), torch.tensor([[4.0]])]
    leaves = lists()
    ts = [x * 1 for x in leaves]
    torch._foreach_maximum_(ts, others)
    assert [t.grad_fn.name() for t in ts] == ["MaximumBackward0"] * 2 and [t._version for t in ts] == [1, 1]
    assert [g.tolist() for g in torch.autograd.grad(sum(t.sum() for t in ts), leaves)] == [[1, 0], [[0]]]
    for f, other in ((torch._foreach_maximum_, 2.0), (torch._foreach_minimum_, torch.tensor(2.0)), (torch._foreach_copy_, others)):
        for view in (False, True):
            ts = [x * 1 for x in lists()]
            ts = [t.view(t.shape) for t in ts] if view else ts
            f(ts, other)
            assert view or ts[0].grad_fn.name() == "torch::autograd::NotImplemented"
            with pytest.raises(RuntimeError, match=f"^derivative for {f.__name__} is not implemented"):
                ts[0].sum().backward()
    for f, name in ((torch._foreach_add_, "AddBackward1"), (torch._foreach_sub_, "SubBackward1"), (torch._foreach_pow_, "PowBackward0"),
                    (torch._foreach_clamp_max_, "ClampMaxBackward0"), (torch._foreach_mul_, "MulBackward0")):
        ts = [x * 1 for x in lists()]
        f(ts, torch.tensor(2.0))
        assert ts[0].grad_fn.name() == name


def test_half_tensors_of_a_list_are_multiplied_in_place_by_a_number_as_short():
    x = torch.tensor([1., 3, 7, 11.], dtype=torch.bfloat16)
    assert torch._foreach_mul([x], .9)[0].tolist() == [0.8984375, 2.703125, 6.3125, 9.875]
    torch._foreach_mul_([x], .9)
    assert x.tolist() == [0.8984375, 2.6875, 6.28125, 9.875]


def test_norms_of_lists_refuse_integers_and_the_largest_of_nothing():
    from torchshim.nn.utils import get_total_norm
    for dtype, name in ((torch.bool, "Bool"), (torch.int32, "Int")):
        for order in (1, 2, -1, 3):
            with pytest.raises(RuntimeError, match=f"^linalg.vector_norm: Expected a floating point or complex tensor as input. Got {name}"):
                get_total_norm([torch.ones(2, dtype=dtype), torch.ones(2)], order)
    nothing = [torch.ones(2), torch.ones(0)]
    for call in (lambda: get_total_norm(nothing, math.inf), lambda: torch._foreach_norm(nothing, math.inf)):
        with pytest.raises(RuntimeError, match="^_foreach_norm cannot compute the infinity norm on an empty tensor because"):
            call()
    for order, foreach in ((-1, None), (-math.inf, None), (math.inf, False)):
        with pytest.raises(RuntimeError, match=f"^linalg.vector_norm cannot compute the {order} norm on an empty tensor because"):
            get_total_norm(nothing, order, foreach=foreach)
    assert get_total_norm(nothing, 0).item() == 1


@pytest.mark.parametrize("name, options, expected", [
    ("SGD", {"momentum": 0.9, "foreach": True}, [-1.1015625, -0.2216796875, -0.6484375, 0.3125, 0.9921875]),
    ("Adam", {"foreach": True}, [-1.1875, -0.3046875, -0.1943359375, 0.302734375, 0.80859375]),
    ("Adam", {"fused": True}, [-1.1875, -0.302734375, -0.1943359375, 0.302734375, 0.80859375]),
    ("AdamW", {"fused": True, "amsgrad": True}, [-1.1875, -0.302734375, -0.1943359375, 0.302734375, 0.80859375]),
    ("Adagrad", {"foreach": True}, [-1.171875, -0.326171875, -0.1708984375, 0.326171875, 0.83203125]),
    ("Adagrad", {"foreach": True, "weight_decay": 0.1}, [-1.1328125, -0.330078125, -0.171875, 0.33203125, 0.85546875]),
    ("RMSprop", {"foreach": True}, [-2.703125, 1.2109375, -1.71875, -1.21875, -0.71875]),
    ("NAdam", {"foreach": True}, [-1.1953125, -0.3046875, -0.19921875, 0.302734375, 0.796875]),
    ("RAdam", {"foreach": True}, [-1.0390625, -0.390625, -0.25390625, 0.42578125, 1.0]),
    ("ASGD", {"foreach": True}, [-1.0546875, -0.349609375, -0.349609375, 0.400390625, 0.99609375]),
    ("Adamax", {"foreach": True}, [-1.1484375, -0.341796875, -0.15625, 0.341796875, 0.84375]),
    ("Adadelta", {"foreach": True}, [-1.0, -0.5, -0.000885009765625, 0.5, 1.0])])
def test_short_parameters_round_as_the_chosen_kernels_do(name, options, expected):
    q = torch.linspace(-1, 1, 5).bfloat16().requires_grad_()
    opt = getattr(torch.optim, name)([q], .05, **options)
    for k in range(4):
        q.grad = torch.tensor([.1, -.3, .7, .2, .01]).bfloat16() * (k + 1)
        opt.step()
    assert q.tolist() == expected


def test_what_fused_steps_refuse_is_refused_at_the_step():
    x, z = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.complex64, requires_grad=True)
    x.grad, z.grad = torch.ones(2), torch.ones(2, dtype=torch.complex64)
    for cls, error, text in ((torch.optim.SGD, NotImplementedError, "\"fused_sgd_kernel\" not implemented for 'ComplexFloat'"),
                             (torch.optim.Adagrad, RuntimeError, "`fused` does not support sparse grad or complex param"),
                             (torch.optim.Adam, RuntimeError, "`fused=True` requires all the params to be floating point Tensors")):
        opt = cls([x, z], .1, fused=True)
        with pytest.raises(error, match="^" + text):
            opt.step()
        with pytest.raises(RuntimeError, match="^`fused=True` requires all .* 'mtia', 'privateuseone'.? but torch.complex64 and cpu"):
            cls([z], .1, fused=True).step()
    x.grad = torch.ones(2).to_sparse()
    with pytest.raises(RuntimeError, match="^`_fused_sgd` does not support sparse gradients"):
        torch.optim.SGD([x], .1, fused=True).step()
