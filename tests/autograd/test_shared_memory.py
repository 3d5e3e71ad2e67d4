"""Views, other memory and inference tensors: who sees a write, and whose history a tensor has since."""
import pytest

import torchshim as torch

F = torch.nn.functional


def told(y):
    with pytest.raises(RuntimeError) as e:
        y.sum().backward()
    return str(e.value).partition("operation: ")[2].partition(" is at")[0]


def test_a_view_without_history_that_gets_a_gradient_takes_none_for_what_was_before():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        v = x.view(2)
    before = v[1:]
    v.requires_grad = True
    before.sum().backward()
    assert v.grad is None and before.grad_fn.next_functions == ((None, 0),)
    v[1:].sum().backward()
    assert v.grad.tolist() == [0.0, 1.0]


def test_a_view_of_many_whose_base_wants_no_gradient_any_more_is_lost_all_the_same():
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    part = v.unbind()[0]
    v.requires_grad_(False)
    v.zero_()
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        part.grad_fn


def test_what_coincides_may_be_assigned_to_itself():
    x = torch.arange(3.0)
    wide = x.expand(2, 3)
    wide[...] = wide
    assert x._version == 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide[...] = torch.ones(2, 3)


def test_pieces_of_an_inference_tensor_are_inference_tensors_first():
    with torch.inference_mode():
        x = torch.ones(3)
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside InferenceMode"):
        x.split(1)[-1].mul_(torch.ones(1, requires_grad=True))


def test_conjugates_of_real_numbers_are_not_written():
    x = torch.ones(3).expand(2, 3)
    assert x.conj_physical_() is x and x._version == 1


def test_a_copy_of_itself_moves_nothing():
    x = torch.ones(3, requires_grad=True)
    wide = (x * 2).expand(2, 3)
    assert wide.copy_(wide) is wide and wide._version == 1
    plain = torch.ones(3).expand(2, 3)
    plain.copy_(plain.view(2, 3))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        plain.copy_(torch.ones(2, 3))


def test_set_on_a_view_is_a_write_to_its_base():
    x = torch.arange(1., 5., requires_grad=True)
    base = x * 2
    view = base[1:]
    view.set_(torch.ones(3))
    assert base.grad_fn.name() == "torch::autograd::CopySlices" and view.grad_fn.name() == "AsStridedBackward0" and view._is_view()
    assert (base.tolist(), view.tolist(), base._version, view._version) == ([2.0, 4.0, 6.0, 8.0], [1.0] * 3, 1, 1)
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        base.sum().backward()


def test_an_elementwise_out_that_is_read_is_not_resized():
    z, wide = torch.zeros(()), torch.ones(1).expand(2, 1)
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[1\]"):
        torch.maximum(torch.ones(1), z, out=z)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.add(torch.ones(1), torch.ones(1), out=wide)


def test_a_view_turned_before_its_base_required_grad_follows_it():
    x = torch.ones(3, 2)
    view = x[1:]
    view.squeeze_()
    x.requires_grad = True
    assert view.requires_grad and view.grad_fn.name() == "AsStridedBackward0" and not view.is_leaf


def test_what_inference_tensors_alone_make_has_no_gradient():
    with torch.inference_mode():
        x = torch.ones(2, requires_grad=True)
    assert not torch.nn.functional.softplus(x).requires_grad and not x.sin().requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        x * torch.ones(2, requires_grad=True)


def test_views_of_inference_tensors_can_be_detached_in_place():
    with torch.inference_mode():
        x = torch.ones(2, 3)
        v = x[0]
    assert x[0].detach_().shape == v.detach_().shape == (3,)
    with pytest.raises(RuntimeError, match="^Can't detach views in-place"):
        torch.ones(2, 3)[0].detach_()


def test_memory_that_grows_is_seen_by_all_who_saw_it():
    a = torch.arange(4.)
    b, c, d = a[1:3], a.detach(), a.data
    torch.exp(torch.arange(6.), out=a)
    assert a.shape == (6,) and b.tolist() == a[1:3].tolist() and c.tolist() == d.tolist() == a[:4].tolist()
    assert (a._version, b._version, c._version, d._version) == (1, 1, 1, 0)
    b.resize_(8)
    b.zero_()
    assert a.tolist() == [1.] + [0.] * 5 and a._version == b._version == 3


def test_what_grows_or_shrinks_as_out_counts_one_write():
    a = torch.zeros(2, 3, 2, 3)
    torch.mul(torch.ones(3, 2, 2).transpose(0, 1), 2, out=a)
    assert a._version == 1 and a.stride() == (2, 4, 1)


def test_clipping_values_counts_both_ends():
    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    torch.nn.utils.clip_grad_value_([p], 0.5)
    assert p.grad._version == 2
    torch.nn.utils.clip_grad_value_([p], 0.5, foreach=False)
    assert p.grad._version == 3


def test_a_result_that_got_other_memory_before_is_missed_when_it_is_written():
    x = torch.ones(2, requires_grad=True) ** 3
    x.set_(x.detach().clone())
    x.relu_()
    x.sigmoid_()
    assert told(x) == "[torch.FloatTensor [2]], which is output 0 of Relu,"


def test_losses_of_inference_tensors_are_differentiated_where_torch_saves_what_it_made_of_them():
    with torch.inference_mode():
        x = torch.ones(3)
    y = torch.tensor([0.5, 2., 3.], requires_grad=True)
    F.l1_loss(x, y).backward()
    assert y.grad.tolist() == pytest.approx([-1 / 3, 1 / 3, 1 / 3])


def test_a_view_that_lost_its_history_is_compared_in_place():
    base = torch.ones(4, requires_grad=True) * 2
    part = base.chunk(2)[0]
    base.detach().mul_(3)
    assert part.logical_not_().tolist() == [0.0, 0.0]
