"""Protects `__torch_function__`: who is asked with what, what subclasses get back, modes, and that nobody pays who does not use it."""
import copy
import pathlib
import subprocess
import sys

import pytest

import torchshim as torch
from torchshim import overrides
from torchshim.nn import functional as F

ROOT = pathlib.Path(__file__).parents[1]


class Logged(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append((overrides.resolve_name(func), tuple(t.__name__ for t in types), sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs)


class Foreign:
    """No tensor, but it says what functions make of it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return overrides.resolve_name(func), len(args), kwargs


def seen(f):
    Logged.seen.clear()
    result = f()
    return result, [name for name, _, _ in Logged.seen]


# What PyTorch 2.13 hands to __torch_function__ in each case.
CASES = [
    (lambda a, p: a + p, "torch.Tensor.add"), (lambda a, p: p + a, "torch.Tensor.add"), (lambda a, p: 2 - a, "torch.Tensor.__rsub__"),
    (lambda a, p: a / 2, "torch.Tensor.div"), (lambda a, p: a == p, "torch.Tensor.__eq__"), (lambda a, p: p < a, "torch.Tensor.gt"),
    (lambda a, p: p @ a, "torch.Tensor.matmul"), (lambda a, p: -a, "torch.Tensor.neg"), (lambda a, p: a[0], "torch.Tensor.__getitem__"),
    (lambda a, p: torch.add(p, a), "torch.add"), (lambda a, p: torch.cat([p, a], dim=1), "torch.cat"),
    (lambda a, p: a.T, "torch.Tensor.T.__get__"),
    (lambda a, p: a.real, "torch.Tensor.real.__get__"), (lambda a, p: F.relu(a), "torch.nn.functional.relu"),
    (lambda a, p: F.linear(p, a), "torch.nn.functional.linear"), (lambda a, p: torch.where(p > 0, a, p), "torch.where"),
    (lambda a, p: a.mul_(2), "torch.Tensor.mul_"), (lambda a, p: torch.linalg.det(a), "torch.linalg.det"),
    (lambda a, p: torch.einsum("ij,jk", p, a), "torch.functional.einsum"),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_what_is_handed_on_and_what_comes_back(case):
    call, name = CASES[case]
    result, names = seen(lambda: call(torch.ones(2, 2).as_subclass(Logged), torch.ones(2, 2)))
    assert names == [name] and type(result) is Logged


def test_options_of_python_functions_are_handed_on_by_name():
    a = torch.ones(2, 2).as_subclass(Logged)
    seen(lambda: F.dropout(a, 0.5))
    assert Logged.seen[0][2] == ["inplace", "p", "training"]
    seen(lambda: torch.sum(a, dim=1))
    assert Logged.seen[0][2] == ["dim"]


def test_subclasses_keep_their_class_history_and_gradients():
    a = torch.ones(3, requires_grad=True).as_subclass(Logged)
    y = a * 2
    assert type(y) is Logged and type(y.grad_fn).__name__ == "AliasBackward0"
    leaf = torch.Tensor._make_subclass(Logged, torch.ones(3), True)
    (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3, 3] and type(leaf.grad) is torch.Tensor
    assert type(torch.max(leaf.detach().view(1, 3), 1)) is torch.return_types.max
    assert repr(leaf) == "Logged([1., 1., 1.], requires_grad=True)"
    with torch._C.DisableTorchFunctionSubclass():
        assert type(leaf + 1) is torch.Tensor


def test_a_subclass_goes_before_its_base_and_all_may_decline():
    class More(Logged):
        pass

    class Declines(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented
    assert type(torch.ones(2).as_subclass(Logged) + torch.ones(2).as_subclass(More)) is More
    with pytest.raises(TypeError, match="^unsupported operand type"):
        torch.ones(2).as_subclass(Declines) + 1
    with pytest.raises(TypeError, match="^Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned "
                                        "NotImplemented"):
        torch.add(torch.ones(2).as_subclass(Declines), 1)


def test_a_class_that_is_disabled_is_not_asked():
    class Quiet(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl
    assert type(torch.ones(2).as_subclass(Quiet) + 1) is torch.Tensor
    assert not overrides.has_torch_function((torch.ones(2).as_subclass(Quiet), torch.nn.Parameter(torch.ones(1))))


def test_what_cannot_be_is_refused():
    with pytest.raises(TypeError, match="^Creating a Tensor subclass from a class that does not inherit"):
        torch.ones(2).as_subclass(int)


def test_foreign_objects_are_asked_at_once():
    """In a fresh process: nothing was defined before that would have made the functions look."""
    program = """
import torchshim as torch
class Foreign:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args), kwargs
{}
print({})
"""
    for call, said in (("torch.add(Foreign(), 1)", ("add", 2, None)),
                       ("torch.stack([torch.ones(1), Foreign()], dim=1)", ("stack", 1, {"dim": 1})),
                       ("torch.ones(1) + Foreign()", ("add", 2, None)), ("torch.max(Foreign(), dim=1)", ("max", 1, {"dim": 1}))):
        done = subprocess.run([sys.executable, "-c", program.format("", call)], capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == repr(said), (call, done.stdout, done.stderr)


def test_modes_see_every_call_and_nest():
    calls = []

    class Noting(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append((self.name, overrides.resolve_name(func)))
            return func(*args, **(kwargs or {}))
    x = torch.ones(2)
    with Noting("outer"), Noting("inner"):
        torch.zeros(2)
        F.softmax(x, 0)
        with torch._C.DisableTorchFunctionSubclass():
            x + 1
        with torch._C.DisableTorchFunction():
            x + 1
    x + 1
    assert calls == [(who, name) for name in ("torch.zeros", "torch.nn.functional.softmax", "torch.Tensor.add")
                     for who in ("inner", "outer")]


def test_names_and_tables():
    assert overrides.resolve_name(torch.add) == "torch.add" and overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__" and overrides.resolve_name(len) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.mean) and not overrides.is_tensor_method_or_property(torch.mean)
    table = overrides.get_overridable_functions()
    assert torch.add in table[torch] and torch.Tensor.add in table[torch.Tensor] and torch.tensor in overrides.get_ignored_functions()
    assert overrides.get_testing_overrides()[torch.add](1, 2) == -1 and overrides.is_tensor_like(Foreign())


def test_functions_of_ones_own():
    def api(x):
        return overrides.handle_torch_function(api, (x,), x) if overrides.has_torch_function_unary(x) else "plain"

    class Mine:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args
    mine = Mine()
    assert api(mine) == ("api", (mine,)) and api(torch.ones(1)) == "plain"


def test_a_program_without_subclasses_keeps_its_functions():
    program = ("import torchshim as torch; code = torch.add.__code__; from torchshim import nn; nn.Linear(2, "
               "2)(torch.ones(2)).sum().backward();import sys; assert torch.add.__code__ is code and 'torchshim.overrides' not in "
               "sys.modules")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_what_a_program_puts_into_tensor_does_not_ask():
    """fastai keeps Tensor's own as torch.as_subclass and puts methods of its own into Tensor, before anyone asks."""
    code = """
import torchshim as torch
torch.as_subclass = own = torch.Tensor.as_subclass
torch.Tensor.as_subclass = lambda self, cls: own(self, cls)
torch.Tensor.mark = lambda self, other: setattr(self, "marked", other) or self
class Asks(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(2).as_subclass(Asks)
assert type(x + 1) is Asks and type(torch.as_subclass(x, torch.Tensor)) is torch.Tensor and type(x.as_subclass(torch.Tensor)) is torch.Tensor
class Refuses(torch.Tensor):
    __torch_function__ = classmethod(lambda cls, *a, **k: NotImplemented)
y = torch.Tensor.as_subclass(x, Refuses)
assert y.mark(x) is y
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_subclasses_are_asked_under_the_drop_in_too(tmp_path):
    """There the package's modules are called torch; what a program puts into Tensor is still its own, and nothing else is."""
    script = tmp_path / "script.py"
    script.write_text("""
import torch
torch.Tensor.named = lambda self: (setattr(self, "name_", 1), self)[1]
class Mine(torch.Tensor): pass
t = torch.ones(2).as_subclass(Mine)
assert type(t + 1) is Mine and t.named() is t and type(torch.relu(t)) is Mine
s = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1., 2.], (2, 2), check_invariants=True)
assert not s.is_coalesced() and (s - s).to_dense().tolist() == [[0., 0.], [0., 0.]]
""")
    subprocess.run([sys.executable, "-m", "torchshim", str(script)], check=True, cwd=ROOT)


def test_a_mode_sees_a_layer_being_made():
    """What asks of a new parameter's layout is not seen; the initialisation asks as torch's does."""
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(torch.overrides.resolve_name(func).removeprefix("torch."))
            return func(*args, **(kwargs or {}))
    with Mode():
        torch.nn.Linear(2, 1)
    assert seen == ["empty", "Tensor.grad_fn.__get__", "empty", "Tensor.grad_fn.__get__", "nn.init.kaiming_uniform_", "Tensor.dim",
                    "Tensor.size", "Tensor.size", "Tensor.dim", "nn.init.uniform_"]


def test_deepcopy_of_a_plain_subclass():
    """It is made by `new_empty`, which gives a plain tensor unless the subclass says more: torch refuses the first."""
    class Plain(torch.Tensor):
        pass

    class Made(torch.Tensor):
        def new_empty(self, *args, **kwargs):
            return super().new_empty(*args, **kwargs).as_subclass(Made)
    with pytest.raises(RuntimeError, match=r"^The default implementation of __deepcopy__\(\) for non-wrapper subclasses only works"):
        copy.deepcopy(torch.ones(2).as_subclass(Plain))
    assert type(copy.deepcopy(torch.ones(2).as_subclass(Made))) is Made
    assert type(copy.copy(torch.ones(2).as_subclass(Plain))) is Plain


def test_other_names_of_parameters_that_were_not_given_are_not_handed_on():
    """glu's `axis` came as a second argument: it could not be exported."""
    import torchshim.nn.functional as F
    from torchshim.overrides import TorchFunctionMode
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((args, {k: x for k, x in (kwargs or {}).items() if k != "out"}))
            return func(*args, **(kwargs or {}))
    x = torch.arange(4.0)
    with Mode():
        made = F.glu(x, -1)
    assert made.shape == (2,) and len(seen[0][0]) == 1 and seen[0][0][0] is x and seen[0][1] == {"dim": -1}

    class M(torch.nn.Module):
        def forward(self, x):
            return F.glu(x) + F.glu(x, dim=-1)
    x = torch.arange(8.0).reshape(2, 4)
    assert torch.equal(torch.export.export(M(), (x,)).module()(x), 2 * F.glu(x, 1))


def test_who_is_asked_can_be_looked_for_by_another_function(monkeypatch):
    """Tests put another has_torch_function in torch.nn.functional to see what stands in its functions."""
    F, trace = torch.nn.functional, torch.fx.symbolic_trace
    for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        monkeypatch.setattr(F, name, lambda *args: False, raising=False)
    for f in (F.elu, F.relu, F.dropout, F.mse_loss, F.cross_entropy, F.batch_norm, F.hardtanh, F.gumbel_softmax):
        with pytest.raises(torch.fx.proxy.TraceError, match="symbolically traced variables cannot be used as inputs to control flow"):
            trace(f)
    monkeypatch.undo()
    assert [n.op for n in trace(F.elu).graph.nodes] == ["placeholder"] * 3 + ["call_function", "output"]


def test_functions_of_pythons_hand_on_every_option_by_name():
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args), sorted(kwargs or {})
    x = torch.ones(2, 2).as_subclass(Asked)
    options = ["dim", "return_counts", "return_inverse", "sorted"]
    assert torch.split(x, 1) == x.split(1) == ("split", 2, ["dim"]) and torch.unique(x) == x.unique() == ("unique", 1, options)
    assert torch.norm(x) == ("norm", 1, ["dim", "dtype", "keepdim", "out", "p"]) and x.norm() == ("norm", 1, ["dim", "dtype", "keepdim", "p"])
    assert torch.cdist(x, x) == ("cdist", 2, ["compute_mode", "p"]) and torch.meshgrid(x, x) == ("meshgrid", 2, ["indexing"])
    assert torch.tensordot(x, x, 1) == ("tensordot", 2, ["dims", "out"]) and torch.lu(x) == ("lu", 1, ["get_infos", "out", "pivot"])
