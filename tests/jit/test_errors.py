"""Protects how errors of scripted code are told: which type, and the lines that led there. The texts are PyTorch's."""
import copy
import pickle

import pytest
import torchshim as torch
from torchshim import nn

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HEAD = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):\n"


class Mine(Exception):
    pass


space = {}
exec("def asserts(x):\n    assert x.dim() == 5, f'dims {x.dim()}'\n", space)      # pytest writes its own text into asserts that it sees
asserts = space["asserts"]


def raises(x):
    if x.dim() != 5:
        raise ValueError("a {}".format(x.dim()))
    return x


def own(x):
    raise Mine("m")


def listed(x):
    return [1, 2][x.dim() + 5]


def keyed(x):
    return {"a": 1}["b"]


def divides(x):
    return 1 // (x.dim() - x.dim())


def unpacks(x):
    a, b, c = x.shape
    return a


def multiplies(x):
    return torch.mm(x, x)


def summed(x):
    return x.sum(7)


def factored(x):
    return torch.linalg.cholesky(-torch.eye(2))


def reduced(x):
    return nn.functional.cross_entropy(x, x, reduction="bad")


@pytest.mark.parametrize("f, kind, last", [
    (asserts, torch.jit.Error, "RuntimeError: AssertionError: dims 2"), (raises, torch.jit.Error, "builtins.ValueError: a 2"),
    (own, torch.jit.Error, f"{__name__}.Mine: m"), (listed, RuntimeError, "RuntimeError: list index out of range"),
    (keyed, RuntimeError, "RuntimeError: KeyError: b"), (divides, RuntimeError, "RuntimeError: division by 0"),
    (unpacks, RuntimeError, "RuntimeError: "),
    (multiplies, RuntimeError, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    (summed, RuntimeError, "RuntimeError: Dimension out of range (expected to be in range of [-2, 1], but got 7)"),
    (factored, RuntimeError, "RuntimeError: linalg.cholesky: The factorization could not be completed"),
    (reduced, torch.jit.Error, "builtins.ValueError: bad is not a valid value for reduction")])
def test_types(f, kind, last):
    with pytest.raises(kind) as told:
        torch.jit.script(f)(torch.ones(2, 3))
    text = str(told.value)
    assert type(told.value) is kind and text.startswith(HEAD) and text.endswith("\n") and text.splitlines()[-1].startswith(last)


def test_the_lines_that_led_there():
    inner = torch.jit.script(multiplies)

    def outer(x):
        return inner(x)
    line, first = multiplies.__code__.co_firstlineno + 1, outer.__code__.co_firstlineno
    with pytest.raises(RuntimeError) as told:
        torch.jit.script(outer)(torch.ones(2, 3))
    assert str(told.value) == (
        f'{HEAD}  File "{__file__}", line {first + 1}, in outer\n    def outer(x):\n        return inner(x)\n               ~~~~~ <--- HERE\n'
        f'  File "{__file__}", line {line}, in multiplies\ndef multiplies(x):\n    return torch.mm(x, x)\n           ~~~~~~~~ <--- HERE\n'
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)\n")


def test_ignored_functions_are_python():
    @torch.jit.ignore
    def python(x):
        raise ValueError("ign")
    with pytest.raises(RuntimeError, match=r"python\(x\).*\n.*~~~~~~ <--- HERE\nRuntimeError: ValueError: ign\n\nAt:\n  .*\(\d+\): python\n"):
        torch.jit.script(lambda x: python(x))(torch.ones(1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 4)

    def forward(self, x):
        if x.dim() == 4:
            raise ValueError("four")
        return self.l(x)


def test_modules():
    net, plain = torch.jit.script(Net()), Net()
    with pytest.raises(torch.jit.Error, match='in forward\n(.*\n)*.*raise ValueError(.|\n)*\nbuiltins.ValueError: four\n$'):
        nn.Sequential(net)(torch.ones(1, 1, 1, 1))
    with pytest.raises(RuntimeError, match="^The following(.|\n)*RuntimeError: mat1 and mat2 shapes cannot be multiplied"):
        net(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"^forward\(\) is missing value for argument 'x'\."):
        net()
    hooked = Net()
    hooked.register_forward_hook(lambda *a: None)
    with pytest.raises(torch.jit.Error, match="four"):
        torch.jit.script(hooked)(torch.ones(1, 1, 1, 1))
    with pytest.raises(ValueError, match="^four$"):
        plain(torch.ones(1, 1, 1, 1))
    traced = torch.jit.trace(Net(), torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="^The following operation failed"):
        traced(torch.ones(2, 2))


def test_refused_calls():
    f = torch.jit.script(multiplies)
    for call, text in ((lambda: f(), "is missing value for argument 'x'."), (lambda: f(y=1), "is missing value for argument 'x'."),
                       (lambda: f(1, 2), "expected at most 1 argument(s) but received 2 argument(s).")):
        with pytest.raises(RuntimeError) as told:
            call()
        assert str(told.value).startswith(f"multiplies() {text}")


def test_what_is_no_error_of_the_code_stays():
    f = torch.jit.script(lambda x: torch.jit._get_trace_graph(x, _return_inputs_states=True))
    with pytest.raises(NotImplementedError, match="^torchshim: torch.jit._get_trace_graph"):
        f(torch.ones(1))
    g = torch.jit.script(lambda x: x if x.sum() else -x)
    with pytest.raises(torch.fx.proxy.TraceError):
        torch.fx.symbolic_trace(lambda x: g(x))


def test_script_functions():
    f = torch.jit.script(multiplies)
    assert isinstance(f, torch.jit.ScriptFunction) and torch.jit.script(f) is f and f.name == "multiplies" and copy.deepcopy(f) is f
    assert isinstance(torch.jit.trace(multiplies, torch.ones(2, 2)), torch.jit.ScriptFunction)
    with pytest.raises(pickle.PickleError, match="^ScriptFunction cannot be pickled$"):
        pickle.dumps(f)
    for name in ("graph", "code", "schema"):
        with pytest.raises(NotImplementedError, match=rf"^torchshim: \.{name} of a scripted or traced function"):
            getattr(f, name)
    assert not hasattr(f, "graph")
