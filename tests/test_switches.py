"""Protects the switches of torch.backends where assignments to them are forbidden, as MONAI and torch's own tests do, and names that
libraries ask for beside them."""
import pytest

import torchshim as torch
from torchshim import backends
from torchshim.backends import frozen


@pytest.fixture
def forbidden(monkeypatch):
    monkeypatch.setattr(frozen, "_allowed", True)          # and set back
    assert not backends.flags_frozen()
    backends.disable_global_flags()
    assert backends.flags_frozen() and not getattr(backends, "__allow_nonbracketed_mutation_flag")


@pytest.mark.parametrize("module, name",
    [("cudnn", "enabled"), ("cudnn", "allow_tf32"), ("mkldnn", "deterministic"), (None, "fp32_precision")])
def test_a_frozen_switch_is_set_by_contexts_alone(forbidden, module, name):
    where = getattr(backends, module) if module else backends
    text = f"not allowed to set torch.backends{'.' + module if module else ''} flags after disable_global_flags; please use flags"
    before = getattr(where, name)
    with pytest.raises(RuntimeError, match=text):
        setattr(where, name, before)
    with getattr(backends, "__allow_nonbracketed_mutation")():
        setattr(where, name, before)
    setattr(backends, "__allow_nonbracketed_mutation_flag", True)
    assert backends.flags_frozen()
    if module:
        with where.flags(**{name: not before}):
            assert getattr(where, name) is not before
    assert getattr(where, name) is before
    backends.cudnn.benchmark_limit = 10                    # torch does not guard it, nor einsum's switches
    backends.opt_einsum.enabled = True


def test_whether_torchscript_is_on(monkeypatch, capsys):
    from torchshim.jit import _state
    assert torch.jit._enabled is _state._enabled and _state._script_classes == {}
    for value, on in (("0", False), ("Yes", True), ("1v", True), ("0v", False)):
        monkeypatch.setenv("PYTORCH_JIT", value)
        assert bool(_state.EnabledProxy()) is on
    assert capsys.readouterr().out == "> Using PyTorch JIT\n> PyTorch JIT DISABLED\n"
    monkeypatch.setenv("PYTORCH_JIT", "2")
    with pytest.raises(ValueError, match="Unknown setting of PYTORCH_JIT. Try using 0 or 1."):
        _state.EnabledProxy()


def test_names_of_the_inner_parts():
    assert torch._C._show_config() == torch.__config__.show() and torch._C._parallel_info() == torch.__config__.parallel_info()
    assert torch.cuda._initialized is torch.cuda.is_available() and torch.distributed._rank_not_in_group(None) is False
    with pytest.warns(FutureWarning, match="get_global_rank` instead"):
        assert torch.distributed.distributed_c10d._get_global_rank(None, 0) == 0


@pytest.mark.parametrize("switch, text", [
    (lambda: torch.set_grad_enabled("a"), "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not str"),
    (lambda: torch.set_grad_enabled(1), "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not int"),
    (lambda: torch.autograd.set_detect_anomaly(None), "set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not NoneType")])
def test_a_switch_takes_booleans_alone(switch, text):
    with pytest.raises(TypeError) as error:
        switch()
    assert str(error.value) == text and torch.is_grad_enabled()


def test_flags_that_are_none_stay():
    with torch.backends.cudnn.flags(enabled=False, allow_tf32=None):
        assert torch.backends.cudnn.allow_tf32 is True and torch.backends.cudnn.enabled is False
    assert torch.backends.cudnn.enabled is True
