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
    assert torch.compiler.disable(len) is len and torch.compiler.disable(recursive=False)(len) is len
    assert not torch.compiler.is_compiling() and not torch._dynamo.is_compiling()
    with torch._dynamo.config.patch(recompile_limit=3):
        assert torch._dynamo.config.recompile_limit == 3
    assert torch._dynamo.config.recompile_limit == 8
    with pytest.raises(AttributeError, match="torch._dynamo.config.nothing does not exist"):
        torch._dynamo.config.nothing = 1


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
