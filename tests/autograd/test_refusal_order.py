"""Protects what the differential fuzzer found (compat/fuzz.py): which refusal comes first, and what in-place forms keep."""
import copy

import pytest

import torchshim as torch
from compat import fuzz


def test_a_leaf_is_refused_before_the_arguments_are_looked_at():
    x = torch.ones(3, 3, requires_grad=True)
    for write in (lambda: x.__setitem__(torch.tensor([0]), torch.ones(2, 2)), lambda: x.index_fill_(0, torch.tensor([7]), 2.0),
                  lambda: x.__setitem__(torch.ones(2, dtype=torch.bool), 0)):
        with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
            write()
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable"):
        x.fill_diagonal_(1)
    y = torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor and the written-to tensor"):
        y[torch.tensor([0])] = y


def test_under_no_grad_a_tensor_that_changes_its_shape_keeps_its_history():
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        y.t_()
        x.unsqueeze_(0)
    assert y.grad_fn.name() == "MulBackward0" and y.shape == (3, 2) and x.is_leaf and x.requires_grad and x.shape == (1, 2, 3)


def test_fill_diagonal_is_a_write_through_a_view():
    x = torch.zeros(5, 2, requires_grad=True) * 1
    x.fill_diagonal_(3.0, wrap=True)
    assert x.grad_fn.name() == "torch::autograd::CopySlices" and x.tolist() == [[3, 0], [0, 3], [0, 0], [3, 0], [0, 3]]


def test_a_gradient_by_comparisons_has_none_itself():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    for f, has in ((lambda t: t.clamp(-1, 1), False), (lambda t: t.max(), False), (torch.relu, True), (lambda t: t * t, True)):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        assert g.requires_grad is has


def test_flags_and_zeros():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="^you can only change requires_grad flags of leaf variables.$"):
        (x * 2).requires_grad = True
    (z,) = torch.autograd.grad((x * 2).sum(), torch.ones(2, requires_grad=True), create_graph=True, materialize_grads=True)
    assert z.requires_grad and z.is_leaf and z._version == 0


def test_a_program_of_the_fuzzer_is_made_from_its_seed_and_runs():
    assert fuzz.program_of(5).text() == fuzz.program_of(5).text() != fuzz.program_of(6).text()
    for seed in [*range(5), *range(fuzz.WIDER, fuzz.WIDER + 5)]:
        lines = fuzz.say(torch, seed)
        assert lines and fuzz.same(lines, fuzz.say(torch, seed))
    two = "select() cannot be applied to a 0-dim tensor.", "index -1 is out of bounds for dimension 0 with size 0"
    assert {fuzz.text_of(IndexError(said), "v1 = v0[-1]") for said in two} == {"an index of a 0-d tensor"}
    assert fuzz.text_of(IndexError(two[0]), "v0.select(0, 0)") == two[0]
    assert fuzz.same([1.0, "a"], [1.0 + 1e-12, "a"]) and not fuzz.same([1.0], [1.001])


def test_a_view_that_may_not_be_written_says_so_before_its_lost_history_does():
    x = torch.ones(2, requires_grad=True) * 1
    v = x.unbind()[0]
    x.mul_(2)
    for write in (lambda: v.floor_(), lambda: v.add_(v), lambda: v.mul_(2)):
        with pytest.raises(RuntimeError, match="^Output 0 of Unbind is a view and is being modified inplace"):
            write()


def test_a_view_whose_history_is_lost_can_be_shown_and_is_no_leaf():
    x = torch.ones(2, requires_grad=True) * 1
    v = x.unbind()[0]
    x.mul_(2)
    assert repr(v) == "tensor(2., grad_fn=<Invalid>)" and repr(v.data) == "tensor(2.)"
    with pytest.raises(RuntimeError, match="^you can only change requires_grad flags of leaf variables"):
        v.requires_grad_(False)


def test_inference_tensors_are_refused_before_shapes():
    with torch.inference_mode():
        i3, i23 = torch.ones(3), torch.ones(2, 3)
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    for f in (lambda: x * i3, lambda: i3 / x, lambda: torch.dot(x, i3), lambda: y @ i3, lambda: y @ i3.detach(),
              lambda: torch.dist(x, i3.data), lambda: i23 @ torch.ones(2, 3, requires_grad=True),
              lambda: torch.bmm(torch.ones(1, 2, 2, requires_grad=True), i23), lambda: (x * 1).mul_(i3),
              lambda: torch.addcmul(x, i3, torch.ones(5, requires_grad=True)), lambda: torch.maximum(x, i3),
              lambda: torch.mv(y, i23), lambda: x @ torch.inference_mode()(lambda: torch.ones(3, 3, dtype=torch.int64))()):
        with pytest.raises(RuntimeError, match="^Inference tensors cannot be saved for backward"):
            f()
    for f in (lambda: x + i3, lambda: torch.hypot(x, i3), lambda: torch.addcmul(x, i3, torch.ones(5)), lambda: torch.lerp(x, i3, 0.5),
              lambda: torch.cosine_similarity(x, i3, dim=0), lambda: x.detach() * i3):
        with pytest.raises(RuntimeError, match="^The size of tensor a"):
            f()
    with pytest.raises(RuntimeError, match="^Inference tensors cannot be saved for backward"):
        x * torch.inference_mode()(lambda: torch.ones(2))().detach()
    for f, told in ((lambda: x[0] @ i3, "both arguments to matmul"), (lambda: torch.nn.functional.linear(x[0], i3), "both arguments to linear"),
                    (lambda: torch.nn.functional.linear(x, i23[None]), r"t\(\) expects"), (lambda: x.inner(i3), r"inner\(\) the last")):
        with pytest.raises(RuntimeError, match="^" + told):        # known before anything is saved
            f()
    assert torch.func.grad(lambda x: (x * x).sum())(i3).tolist() == [2, 2, 2]
    assert torch.func.linearize(torch.sin, i3.detach())[1](torch.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("lost", [lambda b: b.split(2)[0], lambda b: torch.no_grad()(lambda: b[:2])()])
def test_what_has_no_history_does_not_ask_for_a_lost_one(lost):
    base = torch.ones(4, requires_grad=True) * 1.5
    v = lost(base)
    base.mul_(2)
    one = torch.ones(2)
    assert (v > 0).tolist() == (one < v).tolist() == torch.eq(v, 3).tolist() == v.isnan().logical_not().tolist() == [True, True]
    assert v.argmax().item() == 0 and v.long().tolist() == [3, 3] and one.masked_fill(v > 0, 2.).tolist() == [2, 2] and v.any()
    for f in (lambda: v.exp(), lambda: v.floor(), lambda: torch.isfinite(v), lambda: v.argsort(), lambda: v * 2, lambda: one.copysign(v)):
        with pytest.raises(RuntimeError, match="is a view|A view was created"):
            f()
    assert torch.is_grad_enabled()


def test_a_leaf_that_is_a_view_is_named_so_when_it_is_turned_in_place():
    v = torch.ones(3, 3)[1:]
    v.requires_grad = True
    for turn in (lambda: v.unsqueeze_(0), lambda: v.t_(), lambda: v.squeeze_(), lambda: v.as_strided_((2,), (1,))):
        with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used in an in-place operation.$"):
            turn()
    w = torch.ones(3, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="^a leaf Variable"):
        w.t_()


def test_a_base_that_was_turned_through_a_view_is_told_by_its_own_name():
    a = torch.ones(1, 3, requires_grad=True)
    x = 1 / (a + 5)
    y = x.atan()
    x.unflatten(0, (1, -1)).unsqueeze_(0)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[1, 3\]\], which is output 0 of Mul(Backward0)?, is at version 1"):
        y.sum().backward()


def test_a_tuple_of_one_index_has_too_many_for_a_number():
    for key in ((-1,), (0,), (1,)):
        with pytest.raises(IndexError, match="^too many indices for tensor of dimension 0$"):
            torch.tensor(5.0)[key]


def _lost(shape):
    """A view that lost its history: no_grad made it, and its base was written since."""
    base = torch.ones(shape, requires_grad=True) * 1
    with torch.no_grad():
        v = base.view_as(base)
    base.mul_(1)
    return v


def test_a_view_that_lost_its_history_says_so_before_its_arguments_are_looked_at():
    for f in ("v.unbind()", "v.select(0, 0)", "v[1:]", "v.transpose(0, 1)", "v.unsqueeze(5)", "v.squeeze(5)", "v.expand(2, -1)",
             "v.view(3)", "v.split(1)",
              "v.permute(0, 1)", "v.diagonal()", "v.unfold(5, 1, 1)", "v.index_select(0, torch.tensor([9]))"):
        with pytest.raises(RuntimeError, match="^A view was created in no_grad mode and its base"):
            eval(f, {"v": _lost(()), "torch": torch})
    for f, text in (("v @ v", "both arguments to matmul need to be at least 1D"),
                    ("torch.outer(v, v)", "outer: Expected 1-D argument self"),
                    ("v.any(5)", "Dimension out of range")):
        with pytest.raises((RuntimeError, IndexError), match="^" + text):
            eval(f, {"v": _lost(()), "torch": torch})
    v = _lost(())
    v.retain_grad()                            # what began as a leaf is asked for nothing


def test_what_can_have_no_gradient_is_written_whatever_view_it_is():
    with torch.no_grad():
        v = (torch.zeros(2, 3) > 0).unbind()[0]
    v.copy_(torch.ones(3, requires_grad=True))
    assert v.all() and not v.requires_grad
    with pytest.raises(RuntimeError, match="^A view was created in no_grad mode and is being modified"):
        v[torch.tensor([0])] = torch.ones(9, 9, requires_grad=True)


def test_a_write_through_memory_seen_several_times_has_no_gradient():
    x = torch.ones(3, requires_grad=True)
    for write in (lambda y: y.fill_(1.0), lambda y: y.tril_(), lambda y: y.__setitem__(y > 0, 0)):
        z = x * 1
        y = z.expand(2, 3)
        write(y)
        with pytest.raises(RuntimeError, match="^unsupported operation: more than one element of the written-to tensor"):
            torch.autograd.grad(y.sum(), x)
    z = torch.ones(3)
    assert z.expand(2, 3).triu_()[0].tolist() == [0, 1, 1]


def test_a_product_of_stacks_is_refused_as_the_product_that_torch_makes_of_it():
    a, b, t = torch.ones(2, 2, 3), torch.ones(1, 2, 3), torch.ones(2, 2, 3).transpose(0, 1).contiguous().transpose(0, 1)
    for x, y, text in ((a, b, "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 2]."),
                       (a, b.clone().requires_grad_(), "mat1 and mat2 shapes cannot be multiplied (4x3 and 2x3)"),
                       (b.clone().requires_grad_(), a, "mat1 and mat2 shapes cannot be multiplied (6x2 and 3x2)"),
                       (a, b[0], "mat1 and mat2 shapes cannot be multiplied (4x3 and 2x3)"),
                       (t, b[0], "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 2].")):
        with pytest.raises(RuntimeError) as e:
            x @ y
        assert str(e.value) == text


def test_operators_without_elements_save_what_they_save_with_some():
    w = torch.ones(2, 1)
    x = torch.zeros(0, requires_grad=True) * 1
    for make in (lambda z: torch.dist(w, z) * x.sum(), lambda z: torch.addcmul(x, x, z), lambda z: x * z):
        z = torch.ones(0)
        y = make(z)
        z.mul_(2)
        if make(z).numel() == 0:
            with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[0\]\] is at version 1; expected version 0"):
                y.sum().backward()
    y = (x.abs() + 1) ** w
    w.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2, 1\]\] is at version 1"):
        y.sum().backward()


def test_of_what_was_saved_without_a_history_errors_tell_the_present_shape():
    a, b = torch.ones(3, requires_grad=True), torch.ones(2, 2).select(0, 0)
    y = torch.outer(a, b)
    b.unsqueeze_(0)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[1, 2\]\] is at version 1"):
        y.sum().backward()


def test_logit_has_no_gradient_outside_its_bounds_whatever_comes():
    x = torch.tensor([-1.25, 1.25, 0.3], requires_grad=True)
    g = torch.autograd.grad(x.logit(0.1), x, torch.full((3,), float("nan")))[0]
    assert g[:2].tolist() == [0, 0] and g[2].isnan()


class _Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:2]

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize("write", [
    lambda v, s: v.index_add_(0, torch.tensor([0]), s[:1]), lambda v, s: v.put_(torch.tensor([0]), s[:1]),
    lambda v, s: v.scatter_(0, torch.tensor([0]), s), lambda v, s: v.masked_scatter_(v > 0, s), lambda v, s: v.__setitem__(v > 0, s)])
def test_a_view_of_a_function_is_refused_before_dtypes_that_do_not_fit(write):
    """The target of whole numbers wants no gradient, what is written does."""
    with pytest.raises(RuntimeError, match="^A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        write(_Part.apply(torch.ones(3).long()), torch.ones(2, requires_grad=True) * 1)


@pytest.mark.parametrize("key", [torch.tensor([0]), Ellipsis])
def test_a_leaf_is_refused_before_the_history_of_what_is_written_is_asked_for(key):
    base = torch.ones(4, requires_grad=True) * 2
    with torch.no_grad():
        view, part = base.unbind(0)[-1], base[1:2]
    base.mul_(2)
    with pytest.raises(RuntimeError, match="^a leaf Variable"):
        torch.ones(2, requires_grad=True)[key] = view
    with pytest.raises(RuntimeError, match="^A view was created in no_grad mode"):
        torch.ones(2, requires_grad=True)[key] = part          # expanded first


def test_inference_tensors_alone_are_refused_as_such():
    with torch.inference_mode():
        x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside InferenceMode"):
        x[...] = x
    with pytest.raises(RuntimeError, match="^a leaf Variable"):
        x.add_(torch.ones(()))


def test_a_write_that_was_refused_leaves_no_check_behind():
    x, source = torch.ones(2, requires_grad=True), torch.ones(1) * 1
    with pytest.raises(RuntimeError, match="^a leaf Variable"):
        x.masked_scatter_(x.detach() * 1 > 0, source)
    assert (x * 2).tolist() == [2.0, 2.0]


def test_of_inference_tensors_alone_nothing_is_saved():
    with torch.inference_mode():
        x = torch.ones(2, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    with pytest.raises(IndexError, match="^Dimension out of range"):
        x.logcumsumexp(5)
    with pytest.raises(RuntimeError, match="^Inference tensors cannot be saved"):
        x * y


@pytest.mark.parametrize("write, holds", [
    ("fill_(7.)", 7.0), ("clamp_(-1, 0)", 0.0), ("clamp_min_(2)", 2.0), ("pow_(2)", 1.0), ("fmod_(2)", 1.0), ("nan_to_num_(1.)", 1.0),
    ("exp_()", 2.718281828459045), ("uniform_(5, 5)", 5.0), ("add_(1)", None), ("mul_(2)", None), ("floor_divide_(2)", None),
    ("fill_(torch.tensor(2.))", None)])
def test_numbers_that_torch_makes_no_tensors_of_do_not_bring_the_graph_in(write, holds):
    """An inference tensor alone is written and refused then; a leaf among other tensors, if only a number as one, before."""
    with torch.inference_mode():
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="^a leaf Variable" if holds is None else "^Inplace update to inference tensor outside"):
        eval("x." + write)
    assert x.tolist() == [1.0 if holds is None else holds] * 2


@pytest.mark.parametrize("turn", ["squeeze_()", "unsqueeze_(0)", "t_()", "transpose_(0, 1)", "detach_()", "mul_(2)"])
def test_who_allows_saved_tensors_to_be_written_asks_for_versions_first(turn):
    with torch.inference_mode():
        x = torch.ones(1, 3)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="^Inference tensors do not track version counter"):
            eval("x." + turn)
    assert x.tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize("f, made", [
    ("x * 2", "MulBackward0"), ("x + 1", "AddBackward0"), ("x / 2", "DivBackward0"), ("x // 2", "torch::autograd::NotImplemented"),
    ("x ** 2", None), ("torch.add(x, x, alpha=2)", None), ("x.clamp(0, 1)", None), ("x == 1", None), ("x.unbind()[0]", None),
    ("x.chunk(2)[0]", None), ("x[0]", None), ("x.copysign(2.)", RuntimeError)])
@pytest.mark.parametrize("copied", [False, True])
def test_a_number_beside_an_inference_tensor_is_a_tensor_that_brings_the_graph_in(f, made, copied):
    with torch.inference_mode():
        x = copy.deepcopy(torch.ones(2, requires_grad=True)) if copied else torch.ones(2, requires_grad=True)
    if made is RuntimeError:
        with pytest.raises(RuntimeError, match="^Inference tensors cannot be saved"):
            eval(f)
        return
    y = eval(f)
    assert y.requires_grad is (made is not None) and (y.grad_fn and y.grad_fn.name()) == made
    if made == "MulBackward0":
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]


def test_an_inference_tensor_given_as_out_is_written_before_it_is_refused():
    with torch.inference_mode():
        out = torch.zeros(0)
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside"):
        torch.mul(torch.ones(2, 1), 2, out=out)
    assert out.tolist() == [[2.0], [2.0]]


def test_too_few_elements_for_a_mask_are_told_at_the_call():
    """After what there is was written, in the order of the elements; the count of writes and the history know nothing of that."""
    leaf = torch.zeros(2, 3, requires_grad=True)
    x = leaf * 1
    mask = (x.detach() + torch.tensor([1., 0., 1.])) > 0              # not computed yet
    for write in (lambda: torch.masked_scatter(x, mask, torch.ones(3)), lambda: x.masked_scatter_(mask, torch.tensor([5., 6., 7.]))):
        with pytest.raises(RuntimeError, match="^Number of elements of source < number of ones in mask$"):
            write()
    assert x.tolist() == [[5, 0, 6], [7, 0, 0]] and x._version == 0 and x.grad_fn.name() == "MulBackward0"
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."):
        leaf.masked_scatter_(mask, torch.ones(3))
    assert leaf.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_view_written_with_itself_is_first_reshaped_as_a_value():
    """Its lost history is told as one of what is read, where its first dimension is 1."""
    for n, said in ((1, "its base or another view of its base has been modified"), (2, "is being modified")):
        base = torch.zeros(3, requires_grad=True)
        with torch.inference_mode():
            view = base.narrow(0, 0, n)
        with torch.no_grad():
            base.add_(1)
        with pytest.raises(RuntimeError, match=f"^A view was created in inference mode and {said} inplace in normal mode."):
            view[torch.arange(n)] = view
