"""What compiles Python in torch gives back here what it gets; what cannot work says so when it is called."""
import pytest

import torchshim as torch
from torchshim import nn


def test_compile():
    @torch.compile(fullgraph=True, options={"max_autotune": True})
    def f(x):
        return x + 1
    assert f.__name__ == "f" and f(torch.ones(1)).item() == 2
    model = nn.Linear(2, 1)
    compiled = torch.compile(model, mode="reduce-overhead")
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"] and compiled.weight is model.weight
    compiled.scale = 3
    assert model.scale == 3 and torch.equal(compiled(torch.ones(1, 2)), model(torch.ones(1, 2)))
    assert not compiled.eval().training and isinstance(compiled, torch._dynamo.OptimizedModule)
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(model, mode="fast")
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="Invalid backend: 'mine'"):
        torch.compile(model, backend="mine")


def test_compiler_and_dynamo():
    assert torch.compiler.disable(len)("ab") == 2 and torch.compiler.disable(recursive=False)(len).__name__ == "len"
    assert not torch.compiler.is_compiling() and not torch._dynamo.is_compiling()
    with torch._dynamo.config.patch(recompile_limit=3):
        assert torch._dynamo.config.recompile_limit == 3
    assert torch._dynamo.config.recompile_limit == 8
    with pytest.raises(AttributeError, match="torch._dynamo.config.nothing does not exist"):
        torch._dynamo.config.nothing = 1


def test_what_counts_as_compiled():
    asks = torch.compiler.is_compiling
    plain = torch.compiler.disable(lambda: asks())

    class Asks(nn.Module):
        def forward(self, x):
            return asks()
    f = torch.compile(lambda x: (asks(), torch.compiler.is_dynamo_compiling(), torch.compiler.is_exporting(), plain(), asks()))
    a, b = torch.ones(2), torch.ones(3)
    assert f(a) == (True, True, False, False, True) and not asks()
    model = Asks()
    assert torch.compile(model)(a) and not model(a) and not torch.compiler.disable(model)(a)
    g = torch.compile(lambda x: asks())
    with torch.compiler.set_stance("force_eager"):
        assert not g(a)
    forced = torch.compiler.set_stance("force_eager")(lambda x: g(x))
    assert g(a) and not forced(a)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert g(a) and not g(b)
    with torch.compiler.set_stance("fail_on_recompile"):
        assert g(a)
        with pytest.raises(RuntimeError, match="^Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: "
                                               "'.*test_pass"):
            g(b)
    assert g(b)
    h = torch.compile(lambda x: asks())
    with torch.compiler.set_stance("eager_then_compile"):
        assert [h(a), h(a)] == [False, True]
    torch.compiler.set_stance("force_eager")
    assert not h(a)
    torch.compiler.set_stance("default")
    assert h(a)
    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        torch.compile(lambda: torch.compiler.set_stance("default"))()
    with pytest.raises(ZeroDivisionError):
        torch.compile(lambda: 1 / 0)()
    assert not asks()
    with pytest.raises(RuntimeError, match="invalid torch.compile stance"):
        torch.compiler.set_stance("mine")


def test_logging_has_its_inner_module():
    assert torch._logging._internal._default_formatter() is not None and torch._logging._internal._init_logs() is None
    assert torch._logging.getArtifactLogger("a", "graph").name == "a.__graph"


def test_jit():
    calls = []

    @torch.jit.script
    def f(x):
        calls.append(1)
        return x * 2
    assert torch.jit.trace(f, torch.ones(1)) is f and len(calls) == 1
    assert not torch.jit.is_scripting() and torch.jit.isinstance([1], list[int]) and not torch.jit.isinstance(["a"], list[int])

    class Old(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            return x + 1
    assert Old()(torch.ones(1)).item() == 2
    with pytest.raises(NotImplementedError, match="^torchshim: "):
        torch.onnx.export(Old(), (), "x")


def test_futures():
    a, b = torch.futures.Future(), torch.futures.Future()
    both, after = torch.futures.collect_all([a, b]), a.then(lambda f: f.value() + 1)
    a.set_result(1)
    b.set_exception(ValueError("no"))
    assert after.wait() == 2 and both.done()
    with pytest.raises(ValueError, match="no"):
        b.wait()


def test_the_default_backend():
    from torchshim._dynamo.exc import InvalidBackend
    assert torch.compiler.get_default_backend() == "inductor"
    try:
        torch.compiler.set_default_backend("nosuch")
        with pytest.raises(InvalidBackend):
            torch.compile(torch.sin)
        torch.compiler.set_default_backend(lambda graph, inputs: lambda *inputs: [torch.ones(1)])
        assert torch.compile(torch.sin)(torch.zeros(1)).tolist() == [1.0]
        torch.compiler.set_default_backend("eager")
        assert torch.compile(torch.sin)(torch.zeros(1)).tolist() == [0.0]
        with pytest.raises(TypeError, match="backend must be a string or callable, got <class 'int'>"):
            torch.compiler.set_default_backend(3)
    finally:
        torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"


def test_the_handle_of_a_hook_on_several_tensors():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    handle = torch.autograd.graph.register_multi_grad_hook((x, y), lambda gradients: None)
    assert isinstance(handle, torch.utils.hooks.RemovableHandle) and type(handle) is torch.autograd.graph._MultiHandle
    handle.remove()


def test_dynamo_warns_once():
    from torchshim._dynamo.utils import warn_once
    with pytest.warns(UserWarning, match="slow path") as seen:
        warn_once("slow path")
        warn_once("slow path")
    assert len(seen) == 1 and seen[0].filename == __file__


def test_libraries_that_ask_whether_functions_can_be_compiled_are_told_so():
    from torchshim._dynamo.eval_frame import check_if_dynamo_supported, is_dynamo_supported
    assert is_dynamo_supported() is True and check_if_dynamo_supported() is None
