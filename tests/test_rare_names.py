"""Protects names of PyTorch's inner parts that libraries import: scans, TorchScript's types and refusals, checks of whole tensors."""
import pytest

import torchshim as torch
from torchshim._higher_order_ops.associative_scan import associative_scan
from torchshim._higher_order_ops.scan import scan


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", range(1, 10))
def test_an_associative_scan_is_the_loop(n, reverse):
    """A linear recurrence (a, b) of any length; gradients come through it."""
    a, b = torch.rand(2, n, requires_grad=True), torch.rand(2, n)
    decay, state = associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b), dim=1, reverse=reverse, combine_mode="generic")
    order = range(n)[::-1] if reverse else range(n)
    p, h = torch.ones(2), torch.zeros(2)
    for i in order:
        p, h = p * a[:, i], a[:, i] * h + b[:, i]
        assert torch.allclose(decay[:, i], p) and torch.allclose(state[:, i], h)
    assert torch.allclose(*[torch.autograd.grad(x.sum(), a, retain_graph=True, allow_unused=True)[0] for x in (decay[:, order[-1]], p)])


def test_a_scan_stacks_results_and_carries():
    carry, results = scan(lambda c, x: (c + x, c * x), torch.zeros(2), torch.arange(6.0).view(3, 2), reverse=True)
    assert carry.tolist() == [6, 9] and results.tolist() == [[0, 8], [8, 15], [0, 0]]


def test_types_of_torchscript_are_named_as_in_torch():
    assert str(torch.ListType.ofInts()) == "List[int]"
    assert str(torch._C.DictType(torch.StringType.get(), torch.IntType.get())) == "Dict[str, int]"
    assert torch._C.TensorType is torch.TensorType and torch.FloatType.get() == torch.FloatType.get()


def test_a_scripted_module_says_what_it_lacks():
    m = torch.jit.script(torch.nn.Linear(2, 3))
    assert not hasattr(m, "code") and not hasattr(torch.nn.Linear(2, 3), "graph")
    with pytest.raises(NotImplementedError, match="torchshim: .save of a scripted or traced module; there is no TorchScript here"):
        m.save("x.pt")
    with pytest.raises(NotImplementedError, match="_get_trace_graph"):
        torch.jit._get_trace_graph(m, torch.ones(2))


def test_checks_of_whole_tensors():
    with pytest.raises(ValueError, match="mine"):
        torch._check_tensor_all_with(ValueError, torch.tensor([True, False]), lambda: "mine")
    with pytest.raises(TypeError, match="cond tensor must have dtype torch.bool, but got torch.float32"):
        torch._check_tensor_all(torch.ones(1))


def test_tensors_inside_a_vmap_are_known():
    inside = []
    torch.func.vmap(lambda x: inside.append(torch._C._functorch.is_batchedtensor(x)) or x)(torch.ones(2))
    assert inside == [True] and not torch._C._functorch.is_batchedtensor(torch.ones(2))


def test_factory_kwargs():
    given = {"device": "cpu", "factory_kwargs": {"dtype": torch.float64}}
    assert torch.nn.factory_kwargs(given) == {"dtype": torch.float64, "device": "cpu"}
    with pytest.raises(TypeError, match="unexpected kwargs {'x'}"):
        torch.nn.factory_kwargs({"x": 1})
    with pytest.raises(TypeError, match=r"device specified twice, in \*\*kwargs and in factory_kwargs"):
        torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"device": "cpu"}})


def test_randint_like_takes_its_bound_by_name():
    """torch 2.13's numbers; a generator of one's own is taken too."""
    torch.manual_seed(0)
    assert torch.randint_like(torch.ones(3), high=2).tolist() == [0, 1, 1]
    assert torch.randint_like(torch.ones(3), 5, generator=torch.Generator().manual_seed(1)).tolist() == [0, 4, 4]
    with pytest.raises(TypeError, match="randint_like\\(\\) received an invalid combination of arguments"):
        torch.randint_like(torch.ones(3))
