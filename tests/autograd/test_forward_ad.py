"""torch.autograd.forward_ad: tangents go through operators, views, writes in place, Functions and backward passes."""
import pytest

import torchshim as torch
from torchshim.autograd import forward_ad as fw

X, V = torch.tensor([0.5, 0.8, 0.1]), torch.tensor([0.1, 0.3, 0.6])


def tangent(t):
    return fw.unpack_dual(t).tangent


def close(a, b):
    return torch.allclose(a, torch.as_tensor(b, dtype=a.dtype), atol=1e-6)


def test_a_dual_tensor_has_a_tangent_and_no_gradient():
    with fw.dual_level() as level:
        d = fw.make_dual(X, V)
        assert level == 0 and not d.requires_grad and d.grad_fn is None and d.is_leaf and tangent(d) is V
        out = d.sin() * 2
        assert close(tangent(out), 2 * X.cos() * V) and not out.requires_grad
        assert "tangent=tensor(" in repr(d)
        with pytest.raises(RuntimeError, match="does not require grad"):
            out.sum().backward()
        with torch.no_grad():
            assert not torch.is_grad_enabled() and close(tangent(d * 2), 2 * V)
    assert tangent(out) is None and (out + 1).grad_fn is None


def test_writes_in_place_and_views_carry_tangents():
    with fw.dual_level():
        d = fw.make_dual(X, V)
        y = torch.zeros(4)
        y[1:] = d
        assert close(tangent(y), [0, *V.tolist()])
        z = d.clone()
        z[:2].mul_(d[1:])
        expected = V.clone()
        expected[:2] = V[:2] * X[1:] + X[:2] * V[1:]
        assert close(tangent(z), expected)
        z.zero_()
        assert close(tangent(z), [0, 0, 0])
        assert [tangent(p).item() for p in d.unbind()] == V.tolist()


def test_forward_over_reverse_and_reverse_over_forward():
    w = X.clone().requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(w, V)
        out = (d ** 3).sum()
        g, = torch.autograd.grad(out, w, retain_graph=True)
        assert close(tangent(g), 6 * X * V)
        h, = torch.autograd.grad(tangent(out), w)
        assert close(h, 6 * X * V)


def test_complex_tangents_follow_torch():
    with fw.dual_level():
        c = fw.make_dual(torch.tensor([1 + 2j, 3j]), torch.tensor([0.5 + 1j, 2 - 1j]))
        assert close(tangent(c.abs()), [1.1180340, -1.0])
        assert close(tangent(c * c), [-3 + 4j, 6 + 12j])


def test_functions_of_the_user():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_forward(x, y)
            return x * y

        @staticmethod
        def jvp(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y + b * x

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, a):
            return a * 2
    with fw.dual_level():
        assert close(tangent(Product.apply(fw.make_dual(X, V), X)), V * X)
        with pytest.raises(RuntimeError, match="must modify the corresponding gradient inplace"):
            Doubled.apply(fw.make_dual(X.clone(), V))


def test_refusals():
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(X, V)
    with fw.dual_level():
        d = fw.make_dual(X, V)
        for args, error, text in (((X, V[:2]), RuntimeError, "different size"), ((X.int(), V), ValueError, "Expected primal"),
                                  ((d, V), RuntimeError, "already has a forward gradient")):
            with pytest.raises(error, match=text):
                fw.make_dual(*args)
        with pytest.raises(RuntimeError, match="Nested forward mode AD"):
            fw.enter_dual_level()
        with pytest.raises(NotImplementedError, match="add_out"):
            torch.add(d, X, out=torch.empty(3))


def test_a_users_forward_is_not_looked_into():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, a):
            return a.mul_(2)
    t = V.clone()
    with fw.dual_level():
        d = fw.make_dual(X.clone().requires_grad_().clone(), t)
        assert tangent(Doubled.apply(d)) is t and close(t, 2 * V)


def test_after_a_level_everything_is_as_before():
    """The hook on nodes stays; a view's history that is made anew under no_grad does too."""
    with fw.dual_level():
        pass
    x = torch.ones(2, 2, requires_grad=True)
    y = x * 2
    v = y.view(4)
    y.mul_(3)
    with torch.no_grad():
        assert v.requires_grad and not v.is_leaf and v.grad_fn is not None
    v.sum().backward()
    assert x.grad.tolist() == [[6, 6], [6, 6]]


def test_operators_without_a_forward_formula_refuse():
    with fw.dual_level():
        x = fw.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="forward AD with igamma that does not support it"):
            torch.igamma(x, x)


@pytest.mark.parametrize("see, strides, offset, values", [
    (lambda x: x[1:], (2, 1), 2, [[2., 3.], [4., 5.]]), (lambda x: x.t()[0], (2,), 0, [0., 2., 4.]),
    (lambda x: x.diagonal(), (3,), 0, [0., 3.]), (lambda x: x.unbind()[1], (1,), 2, [2., 3.]),
    (lambda x: x.chunk(2)[1], (2, 1), 4, [[4., 5.]]), (lambda x: x.view(-1)[::2], (2,), 0, [0., 2., 4.]),
    (lambda x: x.expand(2, 3, 2)[1], (2, 1), 0, [[0., 1.], [2., 3.], [4., 5.]])])
def test_the_tangent_of_a_view_is_a_view_of_the_tangent(see, strides, offset, values):
    tangent = torch.arange(6.).reshape(3, 2)
    with fw.dual_level():
        y = see(fw.make_dual(torch.ones(3, 2), tangent))
        seen, copied = fw.unpack_dual(y).tangent, fw.unpack_dual(y.clone()).tangent
    assert seen._is_view() and seen.stride() == strides and seen.storage_offset() == offset and seen.tolist() == values
    assert not copied._is_view() and copied.tolist() == values
    tangent.zero_()
    assert not seen.any() and copied.tolist() == values


def test_the_tangent_of_a_view_wants_a_gradient_where_its_base_does():
    tangent = torch.ones(3, 2, requires_grad=True)
    with fw.dual_level():
        x = fw.make_dual(torch.ones(3, 2), tangent)
        with torch.no_grad():
            seen = fw.unpack_dual(x[1:]).tangent
        fw.unpack_dual(x[1:].t() * 3).tangent.sum().backward()
    assert seen.requires_grad and tangent.grad.tolist() == [[0., 0.], [3., 3.], [3., 3.]]


@pytest.mark.parametrize("f, tangent_of", [
    (torch.nn.functional.hardsigmoid, [0.0, 1 / 3, 0.5, 0.0]), (lambda x: torch.logcumsumexp(x, 0), [1.0, 1.9525741, 2.8012149, 3.9306004])])
def test_formulas_for_gradients_that_have_none_themselves_do_not_stop_tangents(f, tangent_of):
    """hardsigmoid_backward has no derivative, and the gradient of logcumsumexp is not linear where it is computed."""
    x, v = torch.tensor([-4.0, -1.0, 0.5, 3.5]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    with fw.dual_level():
        assert close(tangent(f(fw.make_dual(x, v))), tangent_of)
    assert close(torch.func.jvp(f, (x,), (v,))[1], tangent_of)


@pytest.mark.parametrize("f, told", [
    (lambda x: x // 2, "aten::floor_divide that does not support it."), (lambda x: x.heaviside(x), "aten::heaviside that does"),
    (lambda x: torch.cdist(x[:, None], x[:, None]), "_cdist_forward that does not support it because it has not been implemented yet."),
    (lambda x: torch.pdist(x[:, None]), "_pdist_forward that"),
    (lambda x: torch.nn.functional.embedding_bag(torch.tensor([[0]]), x[:, None]), "_embedding_bag that"),
    (lambda x: torch.nn.functional.grid_sample(x[:1, None, None, None], torch.zeros(1, 1, 1, 2), align_corners=False), "grid_sampler_2d that"),
    (lambda x: x.index_reduce(0, torch.tensor([0]), x[:1], "prod"), "index_reduce that"),
    (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255), "fake_quantize_per_tensor_affine_cachemask that"),
    (lambda x: torch.nn.functional.ctc_loss(x[:2, None, None].expand(2, 1, 2), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1])),
     "_ctc_loss that")])
def test_what_torch_cannot_push_is_refused_in_its_words(f, told):
    with pytest.raises(NotImplementedError, match=f"^Trying to use forward AD with {told}"):
        torch.func.jvp(f, (X,), (V,))
    with fw.dual_level(), pytest.raises(NotImplementedError, match=f"^Trying to use forward AD with {told}"):
        f(fw.make_dual(X, V))


@pytest.mark.parametrize("f, shift", [(torch.xlogy, 0), (torch.special.xlog1py, 1)])
def test_a_tangent_is_made_of_partial_derivatives_where_the_gradient_is_not(f, shift):
    """The gradient is a product that is 0 where the cotangent is, whatever the logarithm."""
    x, y, one = torch.tensor([0.0, 1.0, 2.0, 2.0]), torch.tensor([0.0, 0.0, 2.0, -1.0]) - shift, torch.ones(4)
    made = [torch.func.jvp(lambda x: f(x, y), (x,), (one,))[1], torch.func.jvp(lambda y: f(x, y), (y,), (one,))[1]]
    assert torch.allclose(made[0], torch.tensor([0.0, -torch.inf, 0.6931472, torch.nan]), equal_nan=True)
    assert torch.allclose(made[1], torch.tensor([torch.nan, torch.inf, 1.0, -2.0]), equal_nan=True)


@pytest.mark.parametrize("write, told", [
    (lambda d: d.mul_(2), [2.0, 6.0]), (lambda d: d.exp_(), [1.0, 3.0]), (lambda d: d.zero_(), [0.0, 0.0]),
    (lambda d: d.copy_(d * 3), [3.0, 9.0]), (lambda d: d[:1].mul_(5), [5.0, 3.0]), (lambda d: d.view(2, 1).mul_(2), [2.0, 6.0]),
    (lambda d: d.masked_fill_(torch.tensor([True, False]), 0), [0.0, 3.0]), (lambda d: d.__setitem__(0, 5.0), [0.0, 3.0])])
def test_a_write_to_a_dual_writes_its_tangent_too(write, told):
    """In place: who gave the tangent, or asked for it, sees that; and what is written to it is the dual's."""
    given = torch.tensor([1.0, 3.0])
    with fw.dual_level():
        d = fw.make_dual(torch.zeros(2), given)
        write(d)
        assert tangent(d) is given and given.tolist() == told and given._version == 1
        given.mul_(2)
        assert tangent(d * 1).tolist() == [2 * x for x in told]


def test_tangents_that_a_write_changes_keep_their_history():
    """What the formula of the new one reads is what there was before."""
    a, given = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(torch.tensor([1.0, 2.0]), given * 1).mul_(a * 2)
        assert tangent(d).tolist() == [2.0, 12.0]
        by_a, by_given = torch.autograd.grad(tangent(d).sum(), (a, given))
    assert by_a.tolist() == [2.0, 6.0] and by_given.tolist() == [2.0, 4.0]


def test_a_dual_may_be_turned_in_place():
    """Where only its tangent has a history there is no name to be numbered on."""
    with fw.dual_level():
        d = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])).unsqueeze_(0)
        assert tangent(d).tolist() == [[1.0, 3.0]]


def test_a_dual_is_no_tangent():
    """There is one level."""
    with fw.dual_level():
        for t in (fw.make_dual(X, V), fw.make_dual(X, V) * 2):
            with pytest.raises(RuntimeError, match="Setting a forward grad that itself has a forward gradient at the same level0 is not supp"):
                fw.make_dual(X, t)


def test_renorming_an_embedding_leaves_tangents_alone():
    """torch scales rows down behind the back of both gradients."""
    with fw.dual_level():
        w = fw.make_dual(torch.arange(16.0).reshape(4, 4), torch.ones(4, 4))
        out = torch.nn.functional.embedding(torch.tensor([[0, 1], [2, 2]]), w, max_norm=1.0)
        assert tangent(out).eq(1).all() and tangent(w).eq(1).all() and w[2].norm() < 1.01


@pytest.mark.parametrize("primal, given", [
    (torch.zeros(5)[1:], torch.arange(4.0)), (torch.zeros(5)[:4], torch.arange(4.0)), (torch.zeros(2, 3).t(), torch.arange(6.0).view(3, 2)),
    (torch.zeros(2, dtype=torch.complex64).conj(), torch.tensor([1j, 2 + 1j])), (torch.zeros(2)._neg_view(), torch.arange(2.0)),
    (torch.zeros(2), torch.arange(2.0)._neg_view()), (torch.zeros(3), torch.ones(1).expand(3))])
def test_a_tangent_is_kept_as_its_primal_lies(primal, given):
    """In a copy, where it sees another memory, or sees it otherwise."""
    with fw.dual_level():
        t = tangent(fw.make_dual(primal, given))
        assert t is not given and torch.equal(t, given) and t.stride() == primal.stride() and t.storage_offset() == primal.storage_offset()
        assert t.is_conj() == primal.is_conj() and t.is_neg() == primal.is_neg()
        assert t.untyped_storage().nbytes() == primal.untyped_storage().nbytes()


@pytest.mark.parametrize("primal, given", [
    (torch.zeros(2, 3), torch.arange(6.0).view(2, 3)), (torch.zeros(1, 3), torch.arange(3.0).as_strided((1, 3), (7, 1))),
    (torch.tensor([1.0]).as_strided((0,), (1,), 1), torch.tensor([1.0]).as_strided((0,), (1,), 2))])
def test_a_tangent_that_lies_alike_is_kept_itself(primal, given):
    """Dimensions of one element have any stride, and what has no elements lies anywhere, even behind its memory."""
    with fw.dual_level():
        assert tangent(fw.make_dual(primal, given)) is given


@pytest.mark.parametrize("wants", [False, True])
@pytest.mark.parametrize("push", [lambda t: t, lambda t: t * 2])
def test_an_input_returned_as_it_is_wants_a_view_of_its_tangent(wants, push):
    """Whether the Function has a history or not."""
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def jvp(ctx, t):
            return push(t)
    with fw.dual_level():
        with pytest.raises(RuntimeError, match=r"returning a view \(or an input as-is\) but the jvp is not returning a view"):
            Same.apply(fw.make_dual(torch.ones(2, requires_grad=wants), torch.ones(2)))


@pytest.mark.parametrize("f, expected", [(lambda x: x.clone().mul_(x), 4.0), (lambda x: (x + 1).mul_(x), 4.0), (lambda x: x.clone().mul_(2), 0.0)])
def test_the_tangent_of_a_copy_is_a_copy(f, expected):
    """What is written in place has a tangent of its own: nobody else's changes, and backward through it goes."""
    x = torch.tensor([1.0, 1.5], dtype=torch.float64, requires_grad=True)
    v = torch.ones(2, dtype=torch.float64)
    with fw.dual_level():
        made = fw.unpack_dual(f(fw.make_dual(x * 2, v))).tangent
        assert v.tolist() == [1.0, 1.0]
    if expected:
        made.sum().backward()
        assert x.grad.tolist() == [expected] * 2


def test_a_dual_becomes_a_leaf_and_none_again():
    """requires_grad_() of a dual: its tangent stays, and gradients have tangents themselves."""
    x = torch.tensor([1.0, 2.0])
    with fw.dual_level():
        d = fw.make_dual(x, torch.ones(2)).requires_grad_()
        assert d.requires_grad and d.is_leaf and d.grad is None
        g, = torch.autograd.grad((d * d).sum(), d, create_graph=True)
        assert g.tolist() == [2, 4] and fw.unpack_dual(g).tangent.tolist() == [2, 2]
        (d * d).sum().backward()
        assert d.grad.tolist() == [2, 4]
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
            d.add_(1)
        assert not d.requires_grad_(False).requires_grad and fw.unpack_dual(d * 2).tangent.tolist() == [2, 2]


def test_tangents_of_products_with_constants_have_a_history():
    """torch's formulas multiply the zero tangent of the constant with the other operand, which has one."""
    x, c = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    with fw.dual_level():
        d = fw.make_dual(x, torch.ones(2))
        for made in (d * c, d * 2, d / 2, d @ c, torch.addcmul(c, d, c), torch.nn.functional.linear(d, c[None]), d.clone().mul_(c)):
            t = fw.unpack_dual(made).tangent
            assert t.requires_grad and torch.autograd.grad(t.sum(), x, retain_graph=True)[0].tolist() == [0, 0]
        for made in (d + c, -d, torch.lerp(d, c, 0.5), torch.maximum(d, c), torch.addcmul(d, c, c), torch.where(c > 3, d, c)):
            assert not fw.unpack_dual(made).tangent.requires_grad


def test_forward_gradients_are_switched_off_inside_of_jvp_too():
    x, t = torch.tensor(0.7), torch.tensor(1.0)

    def f(x):
        with fw._set_fwd_grad_enabled(False):
            assert not fw._is_fwd_grad_enabled()
            shift = x ** 2
        return x ** 2 - shift

    value, tangent = torch.func.jvp(f, (x,), (t,))
    assert value == 0 and tangent == 2 * x and fw._is_fwd_grad_enabled() and torch.is_grad_enabled()
    assert torch.func.jvp(lambda x: torch.func.jvp(f, (x,), (t,))[1], (x,), (t,))[1] == 2
    with pytest.raises(NotImplementedError, match="where others are wanted"):
        torch.func.jvp(f, (x.clone().requires_grad_(),), (t,))
    assert fw._is_fwd_grad_enabled()


@pytest.mark.parametrize("write, tangent", [
    (lambda y, d: y.clamp_min_(0), [1, 0, 4]), (lambda y, d: y.mul_(d), [4, 2, 22]), (lambda y, d: y.zero_(), [0, 0, 0]),
    (lambda y, d: y.__setitem__(0, 5.0), [0, 2, 4]), (lambda y, d: y[:2].mul_(3), [3, 6, 4]), (lambda y, d: y.__setitem__(0, d[0]), [1, 2, 4])])
@pytest.mark.parametrize("dual", [True, False])
def test_a_write_under_no_grad_changes_the_tangent_and_no_history(write, tangent, dual):
    """In place, too: whoever holds the tangent sees it."""
    with fw.dual_level():
        x, d = torch.tensor([1.0, -2.0, 3.0], requires_grad=True), fw.make_dual(torch.tensor([2.0, 3.0, 4.0]), torch.ones(3))
        y = (fw.make_dual(x, torch.tensor([0.5, 1.0, 2.0])) if dual else x) * 2
        before = fw.unpack_dual(y).tangent
        with torch.no_grad():
            write(y, d)
        after = fw.unpack_dual(y).tangent
        assert after is before if dual else after is None or not after.requires_grad
        if dual:
            assert after.tolist() == tangent and after._version == 1
        assert y.grad_fn.name() == "MulBackward0" and torch.autograd.grad(y.sum(), x)[0].tolist() == [2, 2, 2]


def test_a_cosine_of_duals_with_histories():
    x, y = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True), torch.tensor([3.0, 4.0], dtype=torch.float64)
    with fw.dual_level():
        a, b = fw.make_dual(x, torch.tensor([1.0, 0.0], dtype=torch.float64)), fw.make_dual(y, torch.tensor([0.0, 1.0], dtype=torch.float64))
        made = fw.unpack_dual(torch.nn.functional.cosine_similarity(a, b, -1))
    assert made.primal.item() == pytest.approx(0.98387, abs=1e-5) and made.tangent.item() == pytest.approx(0.09302, abs=1e-5)
    assert made.tangent.requires_grad
