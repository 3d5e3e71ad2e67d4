"""torch._C._functorch: what libraries ask of tensors inside vmap and grad."""
import torchshim as torch
from torchshim._C._functorch import (_add_batch_dim, _remove_batch_dim, get_unwrapped, is_batchedtensor, is_gradtrackingtensor,
                                     maybe_get_bdim, maybe_get_level)


def seen(t):
    return is_batchedtensor(t), is_gradtrackingtensor(t), maybe_get_level(t), maybe_get_bdim(t)


def test_what_a_tensor_is():
    x, told = torch.arange(6.0).reshape(2, 3), []

    def f(t):
        told.append((*seen(t), tuple(get_unwrapped(t).shape)))
        return (t * t).sum()
    torch.vmap(f, in_dims=1)(x)
    torch.func.grad(f)(x)
    torch.vmap(torch.func.grad(f))(x)
    torch.vmap(torch.vmap(f))(x)
    assert told == [(True, False, 1, 1, (2, 3)), (False, True, 1, -1, (2, 3)), (False, True, 2, -1, (3,)), (True, False, 2, 0, (3,))]
    assert seen(x) == (False, False, -1, -1)


def test_batches_are_added_and_removed():
    def f(t):
        u = _add_batch_dim(torch.arange(6.0).reshape(3, 2), 1, 1)
        assert tuple(u.shape) == (3,) and _remove_batch_dim(t, 1, 2, 1).shape == (3, 2)
        return t + u
    assert torch.vmap(f)(torch.zeros(2, 3)).tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
