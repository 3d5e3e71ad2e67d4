"""Protects that torch.vmap asks the parts of `torch._functorch.vmap` that a library replaced,
so that it maps over the library's containers."""
import pytest

import torchshim as torch
import torchshim._functorch.vmap as parts
from torchshim.utils import _pytree


class Bag:
    """A container that knows how many batch dimensions its tensors have; `held` remembers what it answered for a level,
    as a library's may."""

    def __init__(self, batch, **tensors):
        self.batch, self.tensors, self.held = list(batch), tensors, {}

    def __copy__(self):
        return type(self)(self.batch, **self.tensors)

    def added(self, dim, level):
        if level not in self.held:
            self.held[level] = Bag(self.batch[:dim] + self.batch[dim + 1:], **{
                k: parts._add_batch_dim(t, dim, level) for k, t in self.tensors.items()})
        return self.held[level]

    def removed(self, name, level, size, dim):
        if level not in self.held:
            self.held[level] = Bag(self.batch[:dim] + [size] + self.batch[dim:], **{
                k: parts._maybe_remove_batch_dim(name, t, level, size, dim) for k, t in self.tensors.items()})
        return self.held[level]


def is_bag(x):
    return isinstance(x, Bag)


@pytest.fixture
def bags(monkeypatch):
    def process(in_dims, args, func):
        leaves, structure = parts.tree_flatten(args, is_leaf=is_bag)
        dims = parts._broadcast_to_and_flatten(in_dims, structure)
        return next((x.batch if is_bag(x) else x.shape)[d] for x, d in zip(leaves, dims) if d is not None), dims, leaves, structure

    def create(dims, leaves, level, structure):
        return parts.tree_unflatten([x if d is None else x.added(d, level) if is_bag(x) else parts._add_batch_dim(x, d, level)
                                     for x, d in zip(leaves, dims)], structure)

    def unwrap(outs, out_dims, level, size, func):
        leaves, structure = parts.tree_flatten(outs, is_leaf=is_bag)
        dims = parts._broadcast_to_and_flatten(out_dims, structure)
        return parts.tree_unflatten([x.removed("f", level, size, d) if is_bag(x) else parts._maybe_remove_batch_dim("f", x, level, size, d)
                                     for x, d in zip(leaves, dims)], structure)
    _pytree.register_pytree_node(Bag, lambda b: (list(b.tensors.values()), list(b.tensors)),
                                 lambda values, keys: Bag([], **dict(zip(keys, values))))
    for name, part in (("_process_batched_inputs", process), ("_create_batched_inputs", create), ("_unwrap_batched", unwrap)):
        monkeypatch.setattr(parts, name, part)
    yield
    _pytree.SUPPORTED_NODES.pop(Bag)


def test_a_container_keeps_its_batch(bags):
    x = torch.arange(12.).reshape(4, 3)
    seen = []

    def f(b):
        seen.append((b.batch, tuple(b.tensors["x"].shape)))
        return Bag(b.batch, y=b.tensors["x"] * 2)
    out = torch.vmap(f)(Bag([4], x=x))
    assert out.batch == [4] and torch.equal(out.tensors["y"], x * 2) and set(map(str, seen)) == {"([], (3,))"}
    out = torch.vmap(f, 1, 0)(Bag([4, 3], x=x))
    assert out.batch == [3, 4] and torch.equal(out.tensors["y"], x.T * 2)
    out = torch.vmap(torch.vmap(f))(Bag([4, 3], x=x))
    assert out.batch == [4, 3] and torch.equal(out.tensors["y"], x * 2)


def test_gradients_pass_through_a_container(bags):
    x, w = torch.arange(12.).reshape(4, 3).requires_grad_(), torch.tensor([1., 2., 3.], requires_grad=True)
    out = torch.vmap(lambda b, w: Bag([], y=b.tensors["x"] * w), (0, None))(Bag([4], x=x), w)
    out.tensors["y"].pow(2).sum().backward()
    want = x.detach().clone().requires_grad_(), w.detach().clone().requires_grad_()
    (want[0] * want[1]).pow(2).sum().backward()
    assert torch.equal(x.grad, want[0].grad) and torch.equal(w.grad, want[1].grad)


def test_backward_does_not_see_what_was_put_into_a_container_later(bags):
    # tensordict's results are their arguments, with entries added; torch's graph holds what it read
    x, w = torch.arange(6.).reshape(2, 3).requires_grad_(), torch.tensor([1., 2., 3.], requires_grad=True)
    mapped, whole = Bag([2], x=x), Bag([], w=w)
    out = torch.vmap(lambda b, c: b.tensors["x"] * c.tensors["w"], (0, None))(mapped, whole)
    mapped.tensors.update(early=torch.zeros(2), x=torch.zeros(2, 3))
    whole.tensors["w"] = torch.zeros(3)
    out.sum().backward()
    assert x.grad.tolist() == [[1., 2., 3.]] * 2 and w.grad.tolist() == [3., 5., 7.]


def test_plain_tensors_beside_containers(bags):
    x, y = torch.randn(4, 3), torch.randn(3, 4)
    a, b = torch.vmap(lambda p, q: (p + q, q.sum()), (0, 1), (1, 0))(x, y)
    assert torch.equal(a, (x + y.T).T) and torch.allclose(b, y.sum(0))
    assert torch.equal(torch.vmap(lambda p: p * 2, chunk_size=3)(x), x * 2)
    assert torch.equal(torch.vmap(lambda b: b.tensors["x"] + 1)(Bag([4], x=x)), x + 1)
    with pytest.raises(ValueError, match="must only return Tensors, got type <class 'int'>"):
        torch.vmap(lambda p: 3)(x)


def test_a_container_that_asks_late_is_refused(bags, monkeypatch):
    class Late(Bag):
        def added(self, dim, level):
            return Bag([], x=None)
    with pytest.raises(NotImplementedError, match="only when the mapped function asks"):
        torch.vmap(lambda b: b)(Late([4], x=torch.ones(4)))


def test_the_own_parts_do_what_vmap_does():
    x = torch.randn(4, 3)
    n, dims, leaves, structure = parts._process_batched_inputs((0, None), (x, x), len)
    assert (n, dims) == (4, [0, None]) and all(a is x for a in leaves) and parts.tree_unflatten(leaves, structure) == (x, x)
    with pytest.raises(ValueError, match="in_dims is not compatible"):
        parts._process_batched_inputs((0, 0, 0), (x, x), len)
    assert torch.equal(parts._unwrap_batched((x, x), (0, 1), 1, 2, len)[1], x.unsqueeze(1).expand(4, 2, 3))
    with pytest.raises(ValueError, match="out_dims is not compatible"):
        parts._unwrap_batched(x, (0, 0), 1, 2, len)
