"""torch.ops: operators by the names of their kernels, as libraries with `__torch_dispatch__` tables name them."""
import pytest

import torchshim as torch

aten = torch.ops.aten


def test_names():
    assert (repr(aten.add) == "<OpOverloadPacket(op='aten.add')>"
            and repr(aten.add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>")
    assert (str(aten.add.Tensor) == "aten.add.Tensor" and aten.add.Tensor.name() == "aten::add.Tensor"
            and aten.mm.default.name() == "aten::mm")
    assert (aten.add.Tensor is aten.add.Tensor and aten.add.Tensor.overloadpacket is aten.add
            and len({aten.add.Tensor, aten.add.Scalar}) == 2)
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nope'"):
        aten.nope
    with pytest.raises(AttributeError, match="'_OpNamespace' 'pyg' object has no attribute 'knn'"):
        torch.ops.pyg.knn


def test_calls():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(aten.add.Tensor(x, x, alpha=2), x * 3) and torch.equal(aten.mm(x, x.t()), x @ x.t())
    assert torch.equal(aten.slice.Tensor(x, 1, 1, 3), x[:, 1:3]) and torch.equal(aten.index.Tensor(x, [None, torch.tensor([2])]), x[:, [2]])
    assert aten.sum.dim_IntList(x, [1]).tolist() == [3, 12] and aten.linalg_vector_norm.default(x[0], 2).item() == x[0].norm().item()
    assert torch.equal(aten.gelu.default(x), torch.nn.functional.gelu(x)) and aten.fft_fft.default(x).dtype == torch.complex64
    y = aten._to_copy.default(x, dtype=torch.float64)
    assert y.dtype == torch.float64 and aten._to_copy(x) is not x and aten.alias.default(x).data_ptr() == x.data_ptr()
    aten.add_.Tensor(x, 1)
    assert x[0, 0] == 1
    with pytest.raises(NotImplementedError, match="_sparse_addmm"):
        aten._sparse_addmm.default(x, x, x)


def test_gradients_flow():
    w = torch.ones(2, 2, requires_grad=True)
    aten.mul.Tensor(w, 3.0).sum().backward()
    assert w.grad.tolist() == [[3, 3], [3, 3]]


def test_a_kernel_serves_its_device():
    """The function of another device had replaced the CPU's; one for all had been taken where device_types names another."""
    def copied(x: torch.Tensor, y: float = 2.) -> torch.Tensor:
        return x * y
    f = torch.library.custom_op("kernels::f", copied, mutates_args=())
    f.register_kernel("cuda")(lambda x, y=2.: x * 0)
    x = torch.ones(2, requires_grad=True)
    assert f(x).tolist() == [2, 2] and torch.ops.kernels.f(x, y=3.).tolist() == [3, 3]

    g = torch.library.custom_op("kernels::g", copied, mutates_args=(), device_types="cuda")
    with pytest.raises(NotImplementedError):
        g(x)
    g.register_kernel(["cpu", "cuda"], lambda x, y: x * 5)
    g.register_autograd(lambda ctx, grad: (grad * 7, None))
    g(x).sum().backward()
    assert g(x).tolist() == [5, 5] and x.grad.tolist() == [7, 7]

    library = torch.library.Library("kernels", "FRAGMENT")
    for name, first in (("h", "CPU"), ("k", "CompositeExplicitAutograd")):
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, lambda x: x + 1, first)
        library.impl(name, lambda x: x + 2, "CUDA")
    assert torch.ops.kernels.h(torch.ones(2)).tolist() == torch.ops.kernels.k(torch.ones(2)).tolist() == [2, 2]


def test_an_operator_that_could_call_triton_is_one_that_does_not():
    """spikingjelly declares its neurons so, and computes them on the CPU without Triton."""
    from torchshim._subclasses.fake_tensor import unset_fake_temporarily

    def three(x: torch.Tensor) -> torch.Tensor:
        return x * 3
    t = torch.library.triton_op("kernels::t", three, mutates_args={})
    with unset_fake_temporarily() as mode:
        assert mode is None and t(torch.ones(1)).item() == 3


def test_operators_in_place():
    """Those of activations, and what has no function of its own, are found where ATen has them; no others are."""
    x = torch.tensor([-1.0, 2.0], requires_grad=True) * 1
    assert torch.ops.aten.silu_(x) is x and x._version == 1 and type(x.grad_fn).__name__ == "SiluBackward0"
    assert not hasattr(torch.ops.aten, "sum_")


@pytest.mark.parametrize("name", ["index_put", "index_put_"])
def test_index_put_takes_none_for_a_whole_dimension(name):
    put, x, i, j = getattr(torch.ops.aten, name), torch.zeros(3, 4, 5), torch.tensor([2, 0]), torch.tensor([1, 3])
    made = put(x.clone(), [None, i, j], torch.arange(6.0).view(3, 2))
    assert made.nonzero().tolist() == [[0, 0, 3], [1, 0, 3], [1, 2, 1], [2, 0, 3], [2, 2, 1]]
    made = put(x.clone(), [i, None, j], torch.arange(8.0).view(2, 4))
    assert made[2, :, 1].tolist() == [0, 1, 2, 3] and made[0, :, 3].tolist() == [4, 5, 6, 7] and made.sum() == 28
    assert put(x.clone(), [None, i[:1].repeat(2)], torch.ones(3, 2, 5), True)[:, 2].unique().tolist() == [2]


def test_what_is_no_number_is_read_by_its_first_element():
    assert torch.ops.aten._local_scalar_dense(torch.tensor([3.0, 4.0])) == 3
    with pytest.raises(RuntimeError, match="Empty tensor not supported"):
        torch.ops.aten._local_scalar_dense(torch.ones(0))


def test_backward_operators_take_batches_of_examples():
    g, x = torch.arange(6.0).view(2, 3), torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, -0.3]])
    back = torch.ops.aten.silu_backward
    assert torch.allclose(torch.vmap(back)(g, x), back(g, x))
    assert torch.allclose(torch.vmap(back, in_dims=(None, 0))(g[1], x), back(g[1].expand(2, 3), x))


class Asked(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(str(func))
        return super().__torch_function__(func, types, args, kwargs)


def test_a_subclass_is_asked_about_the_operator_as_called():
    x = torch.ones(2).as_subclass(Asked)
    twice = torch.library.custom_op("namespaces::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    Asked.calls.clear()
    kinds = {type(aten.relu.default(x)), type(aten.add(x, 1)), type(aten.cat.default([torch.ones(2), x])), type(twice(x))}
    assert kinds == {Asked} and Asked.calls == ["aten.relu.default", "aten.add", "aten.cat.default", "namespaces.twice.default"]


def test_nobody_answers():
    class Silent(torch.Tensor):
        __torch_function__ = classmethod(lambda *args: NotImplemented)
    with pytest.raises(TypeError, match="^Multiple dispatch failed for 'torch.opsaten.add'; all __torch_function__ handlers returned"):
        aten.add.Tensor(torch.ones(2).as_subclass(Silent), 1)
