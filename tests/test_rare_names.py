"""Protects names of PyTorch's inner parts that libraries import: scans, TorchScript's types and refusals, checks of whole tensors."""
import copy
import sys

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
    with pytest.raises(NotImplementedError, match="torchshim: .graph of a scripted or traced module; there is no TorchScript here"):
        m.graph


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


def test_a_context_of_a_programs_own_decorates_functions_and_generators():
    from torchshim.utils._contextlib import _DecoratorContextManager, context_decorator
    entered = []

    class noted(_DecoratorContextManager):
        def __enter__(self):
            entered.append(self)

        def __exit__(self, *exc):
            pass

    @noted()
    def steps():
        yield 1
        yield 2
    assert list(steps()) == [1, 2] and len(entered) == 4
    assert context_decorator(lambda: noted(), lambda x: x + 1)(1) == 2 and len(entered) == 5
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        context_decorator(lambda: noted(), int)


def test_names_that_libraries_import():
    """Of tensordict, opacus, torchopt, fairscale, torchbnn, ptflops and torchmin."""
    from torchshim._functorch import vmap
    from torchshim._ops import HigherOrderOperator, OpOverload
    from torchshim.nn import _reduction
    from torchshim.nn.utils._named_member_accessor import swap_tensor
    assert [_reduction.get_enum(r) for r in ("none", "mean", "sum")] == [0, 1, 2] and _reduction.legacy_get_enum(False, None, False) == 2
    assert isinstance(torch.ops.aten.add.Tensor, OpOverload) and str(HigherOrderOperator("a")) == "a"
    assert vmap._get_name(torch.relu) == "relu"
    m, new = torch.nn.Linear(2, 2), torch.ones(2, 2)
    old = m.weight
    assert swap_tensor(m, "weight", new) is old and m.weight is new
    with pytest.raises(AttributeError, match="Linear has no attribute `w`"):
        swap_tensor(m, "w", new)
    x = torch.ones(3)
    assert (torch._C._is_alias_of(x, x[1:]) and not torch._C._is_alias_of(x, x.clone())
            and isinstance(x.untyped_storage(), torch.StorageBase))
    x, w = torch.rand(1, 2, 4, 4), torch.rand(3, 2, 3, 3)
    made = torch.ops.aten._convolution(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)
    assert torch.equal(made, torch.nn.functional.conv2d(x, w))
    assert copy.deepcopy({torch.ops.aten.mm: torch.ops.aten.mm.default}) == {torch.ops.aten.mm: torch.ops.aten.mm.default}
    assert sys.getsizeof(torch.ones(1000).untyped_storage()) > 4000


def test_vmap_by_its_older_name_lets_none_pass():
    from torchshim._vmap_internals import _vmap
    found = _vmap(lambda x: (x + 1, None), allow_none_pass_through=True)(torch.zeros(2))
    assert found[0].tolist() == [1, 1] and found[1] is None


def test_quantization_has_its_names_by_the_older_one_too():
    from torchshim.quantization.observer import MinMaxObserver
    from torchshim.quantization.qconfig import QConfig
    config = QConfig(activation=MinMaxObserver.with_args(dtype=torch.qint8), weight=MinMaxObserver)
    assert isinstance(torch.quantization.QuantStub()(torch.ones(2)), torch.Tensor) and config.weight is torch.ao.quantization.MinMaxObserver
    assert config.activation().dtype is torch.qint8


def test_parts_of_functional_derivatives():
    from torchshim.autograd.functional import _as_tuple, _construct_standard_basis_for, _tuple_postprocess
    a, b = _construct_standard_basis_for((torch.ones(2), torch.ones(1)), (2, 1))
    assert a.tolist() == [[1, 0], [0, 1], [0, 0]] and b.tolist() == [[0], [0], [1]]
    assert (_as_tuple(1) == (False, (1,)) and _tuple_postprocess(((1,), (2,)), (True, False)) == (1, 2)
            and _tuple_postprocess((1,), False) == 1)


def test_pinning_asks_what_is_in_containers():
    from torchshim.utils.data._utils.pin_memory import pin_memory

    class batch:
        def pin_memory(self):
            return "pinned"
    assert pin_memory({"a": [batch(), "text"], "b": (1, batch())}) == {"a": ["pinned", "text"], "b": [1, "pinned"]}


def test_old_names_that_programs_ask():
    with pytest.warns(UserWarning, match=r"^'has_mps' is deprecated, please use 'torch.backends.mps.is_built\(\)'$"):
        assert torch.has_mps is False
    with pytest.warns(UserWarning, match="'has_mkldnn' is deprecated"):
        assert torch.has_mkldnn == torch.backends.mkldnn.is_available()
    assert torch.autograd.variable.Variable is torch.autograd.Variable and torch._C._LinAlgError is torch.linalg.LinAlgError


def test_quantiles_may_be_a_range_that_is_not_computed_yet():
    """`known` looks at what is recorded: the range's numbers reach its body as arrays, as in any trace."""
    x = torch.arange(11.0)
    assert torch.quantile(x, torch.linspace(0.0, 1.0, 6)).tolist() == [0, 2, 4, 6, 8, 10]
    with pytest.raises(RuntimeError, match="quantile"):
        torch.quantile(x, torch.linspace(0.0, 2.0, 6))


def test_the_instructions_of_the_processor(monkeypatch):
    # torchvision asks for them to know whether an image of bytes is resized as it is or as floats
    from torchshim.backends import cpu
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.setattr(cpu.platform, "machine", lambda: "x86_64")
    some = {"avx2", "fma"}
    for flags, found in ((set(), "DEFAULT"), ({"avx2"}, "DEFAULT"), (some, "AVX2"), (some | {"avx512f"}, "AVX2"),
                         (some | {"avx512f", "avx512vl", "avx512bw", "avx512dq"}, "AVX512")):
        monkeypatch.setattr(cpu, "_flags", lambda: flags)
        assert cpu.get_cpu_capability() == found
    for wanted, found in (("default", "DEFAULT"), ("avx2", "AVX2"), ("avx512", "AVX512"), ("nonsense", "AVX512")):
        monkeypatch.setenv("ATEN_CPU_CAPABILITY", wanted)
        assert cpu.get_cpu_capability() == found
    monkeypatch.setattr(cpu.platform, "machine", lambda: "aarch64")
    assert cpu.get_cpu_capability() == "DEFAULT"
