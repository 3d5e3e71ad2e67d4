"""Values, dtypes and layouts of gradients of unusual operands: of nothing, of coinciding memory, of what is not finite."""
import math

import pytest

import torchshim as torch

F = torch.nn.functional
NAN = math.nan


@pytest.mark.parametrize("shape, strides, diagonal, expected", [
    ((2, 3), (0, 1), 0, [[1, 0, 0], [1, 0, 0]]), ((2, 3), (1, 0), 1, [[0, 0, 0], [2, 2, 2]]), ((2, 2), (1, 1), 0, [[1, 0], [0, 3]]),
    ((3, 3), (2, 1), 0, [[1, 0, 0], [0, 4, 0], [0, 6, 7]])])
def test_triangles_of_memory_that_coincides(shape, strides, diagonal, expected):
    memory = torch.arange(1.0, 19.0)
    made = memory.as_strided(shape, strides)
    assert made.tril_(diagonal) is made and made.tolist() == expected and memory._version == 1


def test_gradients_of_nothing_are_followed():
    x, one = torch.zeros(0, requires_grad=True), torch.ones((), requires_grad=True)
    g, = torch.autograd.grad(one.xlogy(x + 2).sum(), one, create_graph=True)
    g.backward()
    assert x.grad.shape == (0,)


@pytest.mark.parametrize("wants, words", [((True, False), "Found dtype Float but expected Double"),
                                          ((False, True), "Found dtype Double but expected Float"),
                                          ((True, True), "Found dtype Float but expected Double")])
def test_the_gradients_of_huber_loss_are_of_one_dtype(wants, words):
    x, y = torch.zeros(3, dtype=torch.float64, requires_grad=wants[0]), torch.ones(3, requires_grad=wants[1])
    loss = torch.nn.functional.huber_loss(x, y)
    assert loss.item() == 0.5
    with pytest.raises(RuntimeError, match=words):
        loss.backward()


def test_the_gradient_of_a_slice_is_written_into_zeros_also_where_it_is_the_whole():
    x = torch.ones(2, 3, requires_grad=True)
    for view in (x[:], x.narrow(0, 0, 2), x[::1]):
        assert torch.autograd.grad(view.sum(), x)[0].stride() == (3, 1)
    assert torch.autograd.grad(x[None].sum(), x)[0].stride() == (0, 0)


@pytest.mark.parametrize("how, want", [((1,), [[-0.25, 1, -0.5], [-0.125, -1.5, 0.75]]),
                                       ((), [[0.09375, -0.375, 0.1875], [0.125, 1.5, -0.75]])])
def test_the_gradient_of_a_product_divides_the_result_that_was_saved(how, want):
    x = torch.tensor([[0.5, -1, 2], [3, 0.25, -0.5]], dtype=torch.float64, requires_grad=True)
    y = x * 1
    made = y.prod(*how)
    y.data[0, 0] = 4                           # counts no write: backward reads what is there now
    made.sum().backward()
    assert x.grad.tolist() == want


@pytest.mark.filterwarnings("ignore:Use of")
def test_writes_to_picked_elements_that_coincide_go_one_after_the_other():
    def written(base, view, write):
        v = view(base)
        write(v)
        return base.tolist(), v.tolist(), base._version
    rows, ones, twice = (lambda x: x.expand(2, 3)), torch.ones(3), (torch.tensor([0, 0]),)
    x = lambda: torch.tensor([1., 2, 3])
    assert written(x(), rows, lambda v: v.index_put_(twice, ones, accumulate=True)) == ([3, 4, 5], [[3, 4, 5]] * 2, 1)
    assert written(x(), rows, lambda v: v.index_put_(twice, v[0], accumulate=True)) == ([4, 8, 12], [[4, 8, 12]] * 2, 1)
    assert written(x(), rows, lambda v: v.__setitem__(torch.tensor([1]), 7)) == ([7, 7, 7], [[7, 7, 7]] * 2, 1)
    assert written(x(), rows, lambda v: v.__setitem__((torch.tensor([0]), torch.tensor([2, 0])), torch.zeros(2)))[0] == [0, 2, 0]
    mask = torch.tensor([[True, False, False], [False, False, True]])
    for fill in (lambda v: v.__setitem__(mask, 0), lambda v: v.masked_fill_(mask, 0), lambda v: v.masked_fill_(mask, torch.zeros(()))):
        assert written(x(), rows, fill) == ([0, 2, 0], [[0, 2, 0]] * 2, 1)
    # what is read is what was written before, where torch doesn't see that it is the same memory
    stacked = lambda x: x.reshape(3, 2).t()
    assert written(torch.arange(1., 7), stacked, lambda v: v.index_put_(twice, v[0], accumulate=True))[0] == [4, 2, 12, 4, 20, 6]
    w = torch.ones(3, requires_grad=True)
    base = torch.ones(3, requires_grad=True) * 2
    v = base.expand(2, 3)
    v.index_put_(twice, w, accumulate=True)
    assert base.tolist() == [4, 4, 4] and base.grad_fn.name() == "torch::autograd::CopySlices"
    with pytest.raises(RuntimeError, match="^unsupported operation: more than one element of the written-to tensor"):
        v.sum().backward()


def test_sums_of_repeated_gradients_have_memory_of_their_own():
    for n in (0, 1):
        x = torch.ones(n, requires_grad=True)
        assert torch.autograd.grad([x.sum(), x.sum()], [x])[0].stride() == (1,)
        assert torch.autograd.grad([x.sum(), x.sum()], [x], create_graph=True)[0].stride() == (1,)
        x.sum().backward()
        assert x.grad.stride() == (1,)
    y = torch.ones(2, 0, requires_grad=True)
    assert torch.autograd.grad([y.sum(), y.sum()], [y])[0].stride() == (1, 1)


def test_a_product_of_two_zeros_has_no_gradient_whatever_comes_to_it():
    x = torch.tensor([0.0, 0.0, 2.0], requires_grad=True)
    nan = torch.tensor(float("nan"))
    assert torch.autograd.grad(x.prod(), x, nan)[0].tolist() == [0, 0, 0]
    assert torch.autograd.grad(x.prod(0), x, nan)[0].isnan().all() and torch.autograd.grad(x[1:].prod(), x, nan)[0][1:].isnan().all()


def test_the_slope_of_copysign_is_a_quotient_with_a_hole():
    x = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
    for other in (torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64), x, -1.0):
        g, = torch.autograd.grad(torch.copysign(x, other).sum(), x, create_graph=True)
        again, = torch.autograd.grad(g.sum(), x)
        assert g[0] == 0 and repr(again.tolist()) == "[nan, 0.0, 0.0]"


def test_renorm_of_nothing_is_differentiated_twice():
    x = torch.zeros(2, 0, requires_grad=True) * 1
    assert torch.autograd.grad(x.renorm(2, 0, 1.), x, torch.zeros(2, 0), create_graph=True)[0].requires_grad


@pytest.mark.parametrize("f, expected", [
    (lambda x: torch.copysign(torch.ones(3), x), [0., 0., 0.]), (lambda x: torch.nextafter(torch.ones(3), x), [0., 0., 0.]),
    (lambda x: x.sinc()[:1], [0., 0., 0.]), (lambda x: F.softshrink(x), [0., 0., float("inf")]),
    (lambda x: x ** torch.tensor([0., 0., 1.]), [0., 0., float("inf")])])
def test_infinite_gradients_do_not_pass_where_torch_has_zeros(f, expected):
    x = torch.tensor([0., 0.25, 2.], requires_grad=True)
    y = f(x)
    assert torch.autograd.grad(y, x, torch.full_like(y, float("inf")))[0].tolist() == expected


@pytest.mark.filterwarnings("ignore:Use of index_put_")
@pytest.mark.parametrize("create_graph", [False, True])
def test_the_gradient_before_a_write_through_a_view_is_made_where_it_is_asked_for(create_graph):
    """An expanded view cannot take it, which does not matter to who asks for the gradient of what was written."""
    before, written = torch.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    seen = (before * 1).expand(2, 4)
    seen.index_put_((torch.tensor([0]),), written)
    g, = torch.autograd.grad(seen, [written], torch.ones_like(seen), retain_graph=True, create_graph=create_graph)
    assert g.tolist() == [2, 2, 2, 2]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.autograd.grad(seen, [before], torch.ones_like(seen), create_graph=create_graph)


def test_what_a_function_leaves_undefined_in_a_view_leaves_the_base_undefined():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return None, g

    before, other = torch.arange(4.).requires_grad_(), torch.ones(2, requires_grad=True)
    base = before * 1
    Doubled.apply(base[:2], other)
    base.sum().backward()
    assert before.grad is None and other.grad.tolist() == [1, 1]


@pytest.mark.parametrize("extreme", [torch.cummax, torch.cummin])
def test_an_empty_operand_is_its_own_gradient(extreme):
    x, seen = torch.ones(0, requires_grad=True), []
    x.register_hook(lambda g: seen.append(g is x))
    for f in (lambda x: x, lambda x: x.conj_physical()):
        extreme(f(x), 0)[0].sum().backward()
    assert seen == [True, True] and x.grad is not x and not x.grad.requires_grad
    y = x * 2
    assert torch.autograd.grad(extreme(y, 0)[0].sum(), y)[0].requires_grad
    y.retain_grad()
    extreme(y, 0)[0].exp().sum().backward()
    assert not y.grad.requires_grad
    z = torch.tensor([1., 3., 2.], requires_grad=True)
    extreme(z, 0)[0].sum().backward()          # others are what they were
    assert z.grad.tolist() == ([1, 2, 0] if extreme is torch.cummax else [3, 0, 0])


def test_a_number_is_not_divided_by_integers_in_addcdivs_gradient():
    x, y, n = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), torch.tensor([1, 2])
    z = torch.addcdiv(x, y, n)
    assert torch.autograd.grad(z.sum(), x, retain_graph=True)[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        z.sum().backward()


def test_a_running_product_of_single_elements_hands_its_cotangent_on():
    x = torch.tensor([[1.5, 2.0, 1.75]], dtype=torch.float64, requires_grad=True)
    y = x.cumprod(0)
    x.data[0] = 1                              # what it saved is not read
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [[1.0, 1.0, 1.0]] and not g.requires_grad
    z = torch.tensor([2.0, 3.0], requires_grad=True)
    assert torch.autograd.grad(z.cumprod(0).sum(), z)[0].tolist() == [4.0, 2.0]


@pytest.mark.parametrize("f", [lambda x: x.amin(0), lambda x: x.amax(), lambda x: x.aminmax()[0]])
def test_an_extreme_of_one_number_is_shared_by_what_equals_it(f):
    x = torch.tensor(1.5, requires_grad=True)
    y = f(x)
    assert torch.autograd.grad(y, x, retain_graph=True)[0].item() == 1.0
    x.data.mul_(2)
    assert torch.autograd.grad(y, x)[0].isnan().item()


def test_losses_by_a_margin_hand_nan_on_but_for_that_of_classes():
    x = torch.tensor([[NAN, 1.0, -3.0]], dtype=torch.float64)
    zero, one = torch.zeros(1, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)
    assert str(F.margin_ranking_loss(x, zero, one, reduction="none").tolist()) == "[[nan, 0.0, 3.0]]"
    assert str(F.hinge_embedding_loss(x, -one, reduction="none").tolist()) == "[[nan, 0.0, 4.0]]"
    assert F.multi_margin_loss(x, torch.zeros(1, dtype=torch.int64)).item() == 0.0


def test_losses_of_two_parameters_round_each_step_in_half_precision():
    x = torch.tensor([0.66, 0.27, 0.06], dtype=torch.bfloat16, requires_grad=True)
    y, v = torch.tensor([0.56, 0.43, 0.64], dtype=torch.bfloat16), torch.tensor([0.52, 0.71, 0.9], dtype=torch.bfloat16)
    made = F.poisson_nll_loss(x, y, reduction="none")
    assert made.tolist() == [1.5703125, 1.1953125, 1.0234375]
    assert torch.autograd.grad(made.sum(), x)[0].tolist() == [1.375, 0.8828125, 0.421875]
    made = F.gaussian_nll_loss(x, y, v, reduction="none")
    assert made.tolist() == [-0.318359375, -0.15234375, 0.134765625]
    assert torch.autograd.grad(made.sum(), x)[0].tolist() == [0.1953125, -0.2255859375, -0.64453125]


def test_a_triangle_is_solved_in_its_own_dtype():
    made = torch.linalg.solve_triangular(torch.eye(2), torch.ones(2, 1, dtype=torch.float64), upper=True)
    assert made.dtype is torch.float32 and made.tolist() == [[1.0], [1.0]]
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B"):
        torch.linalg.solve_triangular(torch.eye(2), torch.ones(3, 4, dtype=torch.float64), upper=True)


def test_slices_of_bools_and_complex_numbers_are_reduced_by_whole_operators():
    x, index = torch.tensor([[True, False], [True, True]]), torch.zeros(2, dtype=torch.int64)
    assert x.index_reduce(1, index, x, "prod").tolist() == [[False, False], [True, True]]
    assert x.index_reduce(1, index, x, "amax").tolist() == [[True, False], [True, True]]
    assert (x * (1 + 1j)).index_reduce(0, index, x * 2j, "prod").tolist() == [[-4 - 4j, 0], [1 + 1j, 1 + 1j]]
    for t, how, kernel in ((x, "mean", "div_floor_cpu"), (x * 1j, "amin", "minimum_cpu"), (x[0], "prod", "index_func_")):
        with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented'):
            t.index_reduce(0, index, t, how)
