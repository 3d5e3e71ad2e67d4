"""vmap: what it refuses, in torch's words; views of views; random numbers as the batch lies. All values are torch 2.13's."""
import pytest

import torchshim as torch
from torchshim import vmap


@pytest.mark.parametrize("f, text", [
    (lambda t: torch.where(t), "Attempted to vmap over aten::where"), (lambda t: torch.nonzero(t), "Attempted to vmap over aten::nonzero"),
    (lambda t: torch.unique(t), "Attempted to vmap over aten::_unique2"),
    (lambda t: t.masked_select(t > 0), "Attempted to vmap over `mask`"), (lambda t: t.tolist(), "Cannot access data pointer"),
    (lambda t: torch.allclose(t, t), "vmap over torch.allclose isn't supported yet"),
    (lambda t: torch.equal(t, t), "Batching rule not implemented for aten::equal"), (lambda t: t.sum().item(), r"calling .item\(\)"),
    (lambda t: t.sum().backward(), r"backward\(\) called inside a functorch transform"),
    (lambda t: torch.rand(3), "randomness error mode")])
def test_refusals(f, text):
    with pytest.raises(RuntimeError, match=text):
        vmap(f)(torch.ones(4, 3))


def test_out_dims():
    x = torch.ones(4, 3)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        vmap(lambda t: (t, t), out_dims=(0, None))(x)
    assert vmap(lambda t: (t, x), out_dims=(0, None))(x)[1].shape == (4, 3)
    with pytest.raises(ValueError, match="`out_dims` must be an int, None or a python collection of ints"):
        vmap(lambda t: t, out_dims="a")(x)


def test_views_of_nested_batches_are_views():
    def seen(f, x, in_dims=0):
        return vmap(f, in_dims)(x)._base is (x if x._base is None else x._base)
    z = torch.randn(5, 4, 3, dtype=torch.cfloat)
    assert seen(vmap(lambda t: t.real), z, 1) and seen(vmap(torch.view_as_real), z, 1)
    assert seen(vmap(torch.view_as_complex), torch.randn(4, 5, 2)) and seen(vmap(lambda t: t.expand(2, 3)), torch.randn(4, 5))
    x = torch.randn(2, 4, 6)
    parts = vmap(lambda t: t.tensor_split([2, 1], 0), 1)(x)
    assert [tuple(p.shape) for p in parts] == [(4, 2, 6), (4, 0, 6), (4, 1, 6)] and all(p._base is x for p in parts)
    y = torch.randn(4)
    assert vmap(lambda t: t.transpose(0, -1))(y) is y


def test_numbers_for_each_example_are_drawn_as_the_batch_lies():
    x = torch.zeros(3, 4)
    torch.manual_seed(0)
    plain = torch.rand(3, 4)
    for f in (torch.rand_like, lambda t: t.uniform_()):
        torch.manual_seed(0)
        assert torch.equal(vmap(f, 1, randomness="different")(x.clone()), plain.t())
    torch.manual_seed(0)
    alike = vmap(lambda t: t.uniform_(), randomness="same")(x.clone())
    assert torch.equal(alike, plain.flatten()[:4].expand(3, 4))
    probs = torch.full((3, 4), 0.5)
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input. Please file an issue with functorch"):
        vmap(torch.bernoulli, randomness="same")(probs)
    assert vmap(lambda t: t.clone().bernoulli_(t), randomness="different")(probs).shape == (3, 4)
    rows = vmap(torch.nn.functional.gumbel_softmax, randomness="different")(probs)
    assert not torch.equal(rows[0], rows[1])


def test_refusals_once_a_subclass_answers_functions():
    class Answering(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    torch.ones(2).as_subclass(Answering) + 1                      # from now on public functions ask for such classes
    with pytest.raises(RuntimeError, match="Attempted to vmap over aten::nonzero"):
        torch.vmap(torch.nonzero)(torch.ones(2, 3))


@pytest.mark.parametrize("f, text", [
    (lambda a, b: torch.abs(a, out=b), "abs.out; the fallback path doesn't work on out= or view ops."),
    (lambda a, b: torch.sum(a, 0, out=b), "sum.IntList_out; the fallback path doesn't work on out= or view ops."),
    (lambda a, b: torch.clamp(a, 0, out=b), "clamp.out; the fallback path doesn't work on out= or view ops."),
    (lambda a, b: torch.outer(a, a, out=b), "outer.out; the fallback path doesn't work on out= or view ops."),
    (lambda a, b: torch.sort(a, out=(b, torch.empty(4, dtype=torch.long))),
     "sort.values; the fallback path doesn't work on out= or view ops."),
    (lambda a, b: torch.cat([a, a], out=b), "cat.out. We could not generate a fallback.")])
def test_results_are_written_to_no_given_tensor_of_a_batch(f, text):
    z, y = torch.rand(3, 4), torch.rand(4)
    for g, args in ((f, (z, z.clone())), (lambda a: f(a, y), (z,)), (lambda a: f(y, a), (z,))):
        with pytest.raises(RuntimeError) as raised:
            vmap(g)(*args)
        assert str(raised.value) == "Batching rule not implemented for aten::" + text
    assert vmap(lambda a: torch.abs(y, out=torch.empty(4)) + a)(z).shape == (3, 4)         # what is no batch is written


@pytest.mark.parametrize("f, shapes, words", [
    (torch.mm, [(3, 2), (3, 2, 2)], r"Shape mismatch: Got incorrect dims for mm\(a, b\). a has dim 1and b has dim 2but expected them to have "
     "dim 2 and dim 2"),
    (torch.mv, [(3, 2), (3, 2)], r"incorrect dims for mv\(a, b\). a has dim 1and b has dim 1but expected them to have dim 2 and dim 1"),
    (torch.bmm, [(3, 2, 2), (3, 2)], r"incorrect dims for bmm\(a, b\). a has dim 2and b has dim 1but expected them to have dim 3 and dim 3"),
    (torch.dot, [(3, 2, 2), (3, 2)], "Got wrong shapes for dot"),
    (lambda x: x.squeeze(1), [(3,)], r"Dimension is out of range \(expected to be in range of \[-1, 0\], but got \[1\]"),
    (lambda x: torch.autograd.functional.jacobian(torch.sin, x, strategy="forward-mode", vectorize=True), [(3, 2)],
     "Batching rule not implemented for aten::_make_dual")])
def test_torch_has_words_of_its_own_for_batches(f, shapes, words):
    with pytest.raises(RuntimeError, match=words):
        torch.func.vmap(f)(*[torch.ones(s) for s in shapes])


def test_windows_on_the_memory_of_examples():
    """as_strided counts offsets in the memory of the batch; what lies outside of an example is refused."""
    t = torch.arange(24.0).reshape(2, 3, 4)
    y = torch.func.vmap(lambda x: x.as_strided([2], [4], 5))(t[:, 1:])
    assert y.tolist() == [[5, 9], [17, 21]] and y.stride() == (12, 4) and y.storage_offset() == 5
    y = torch.func.vmap(lambda x: x.as_strided([2, 2], [12, 1], 1) * 2, 1)(t)
    assert y.tolist() == [[[2, 4], [26, 28]], [[10, 12], [34, 36]], [[18, 20], [42, 44]]]
    with pytest.raises(RuntimeError, match=r"in range \[0, 2\], but `tensor` can only access some memory in range \[4, 12\]"):
        torch.func.vmap(lambda x: x.as_strided([2], [1], 0))(t[:, 1:])
    with pytest.raises(NotImplementedError, match="reads what lies between the elements of an example"):
        torch.func.vmap(lambda x: x.as_strided([2], [4], 1), 1)(t)
    with pytest.raises(RuntimeError, match="size and stride must have the same length"):
        torch.func.vmap(lambda x: x.as_strided([1, 1], [1]))(t)


def test_inference_tensors_are_not_saved_for_what_has_a_history_outside():
    with torch.inference_mode():
        x = torch.ones(2, 3)
    p, F = torch.ones(3, requires_grad=True), torch.func
    text = "Inference tensors cannot be saved for backward"
    for f in (lambda x: x * p, lambda x: p / x, lambda x: x.view(-1)[:3] * p, lambda x: x.detach() * p):
        for transform in (lambda: F.jacrev(f)(x), lambda: F.jacfwd(f)(x), lambda: F.grad(lambda x: f(x).sum())(x),
                          lambda: F.jvp(f, (x,), (torch.ones(2, 3),)), lambda: F.vmap(lambda x: f(x[None]))(x)):
            with pytest.raises(RuntimeError, match=text):
                transform()
        with torch.no_grad():
            assert F.jacrev(f)(x).shape[-2:] == (2, 3)
    with pytest.raises(RuntimeError, match=text):
        F.grad(lambda z: (x * z).sum())(torch.ones(2, 3) * p)
    for f in (lambda x: x.sin() * p, lambda x: x + p, lambda x: x * x):
        assert F.jacrev(f)(x).shape == (2, 3, 2, 3) and F.vmap(F.grad(lambda x: f(x).sum()))(x).shape == (2, 3)
    seen = []
    F.vmap(lambda y: seen.append([y.is_inference(), x.is_inference(), y._version]) or y * 2)(x)
    assert seen[-1] == [False, True, 0]
