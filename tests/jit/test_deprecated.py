"""Protects what torch.jit says of itself: torch's deprecations, hidden unless they are asked for, and refusals of what was not scripted."""
import warnings

import pytest
import torchshim as torch


def said(f):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f()
    assert all([w.category is DeprecationWarning and w.filename != __file__ for w in found])
    return [str(w.message).split("`")[1].removeprefix("torch.jit.") for w in found]


def double(x):
    return x + x


def test_deprecations():
    x, net = torch.ones(1, 2), torch.nn.Linear(2, 2)
    assert said(lambda: torch.jit.script(double)) == ["script"]
    assert said(lambda: torch.jit.trace(double, (x,))) == ["trace", "trace"]
    assert said(lambda: torch.jit.trace(net, x)) == ["trace", "trace_method", "trace_method"]
    assert said(lambda: torch.jit.trace(net, x, check_trace=False)) == ["trace", "trace_method"]
    assert said(lambda: torch.jit.trace_module(net, {"forward": x})) == ["trace_method", "trace_method"]
    assert said(lambda: torch.jit.wait(torch.jit.fork(double, x))) == ["fork", "wait"]
    scripted = torch.jit.script(net.eval())
    assert said(lambda: torch.jit.freeze(scripted)) == ["freeze"]
    assert said(lambda: torch.jit.optimize_for_inference(scripted)) == ["optimize_for_inference", "freeze"]
    with pytest.warns(UserWarning, match="^Only works in script mode$"):
        torch.jit.strict_fusion()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_was_not_scripted():
    for f in (torch.jit.freeze, torch.jit.optimize_for_inference):
        with pytest.raises(RuntimeError, match="expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script"):
            f(torch.nn.Linear(2, 2).eval())


def test_settings_are_kept():
    before = torch.jit.set_fusion_strategy([("STATIC", 3)])
    assert before == [("STATIC", 2), ("DYNAMIC", 10)] and torch.jit.set_fusion_strategy(before) == [("STATIC", 3)]
    torch.jit.enable_onednn_fusion(True)
    assert torch.jit.onednn_fusion_enabled() is True
    torch.jit.enable_onednn_fusion(False)


def test_what_script_says_of_functions_left_to_python():
    with pytest.warns(FutureWarning, match="TorchScript will now drop the function call on compilation"):
        torch.jit.ignore(drop_on_export=True)(lambda x: x)

    class Module(torch.nn.Module):
        @torch.jit.ignore
        def drawn():
            return 1

        def forward(self):
            return self.drawn()
    with pytest.raises(RuntimeError, match="does not have a self argument"):
        torch.jit.script(Module())


def test_a_script_module_takes_no_full_backward_hook():
    class Module(torch.jit.ScriptModule):
        pass
    with pytest.raises(RuntimeError, match="Could not cast attribute '_is_full_backward_hook' to type NoneType"):
        Module().register_full_backward_hook(print)
