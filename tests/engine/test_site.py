"""Protects whose line it is: warnings and errors name the user's code, however deep in the package they begin."""
import traceback
import warnings

import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.engine import site, user_site


def here():
    return user_site()


def test_the_users_site_is_the_innermost_frame_outside_the_package():
    assert here()[0] == __file__ and here()[2] == "here"


def _files(error):
    return {f.filename for f in traceback.extract_tb(error.__traceback__)}


def caught(call):
    with pytest.raises(Exception) as info:
        call()
    return info.value


WRONG = {
    "generated": lambda: torch.atan2(torch.zeros(2), torch.zeros(3)),
    "method": lambda: torch.zeros(2).atan2(torch.zeros(3)),
    "in-place": lambda: torch.zeros(2).mul_(torch.zeros(3)),
    "operator": lambda: torch.zeros(2) + torch.zeros(3),
    "in the body": lambda: torch.mm(torch.zeros(2, 3), torch.zeros(4, 5)),
    "an argument": lambda: torch.exp(1),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_errors_leave_without_the_frames_within(call):
    error = caught(call)
    ours = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(site._PACKAGE)]
    # the one that stands at the operator's declaration; and that which asks for __torch_function__, once a test has used it
    assert len([f for f in ours if not f.filename.endswith("overrides.py")]) <= 1, ours
    assert not any("/jax/" in f for f in _files(error))
    assert error.__cause__ is None and error.__context__ is None
    assert not any("JAX" in note for note in getattr(error, "__notes__", ()))


def test_the_users_own_context_stays():
    try:
        try:
            raise KeyError("mine")
        except KeyError:
            torch.mm(torch.zeros(2, 3), torch.zeros(4, 5))
    except RuntimeError as error:
        assert isinstance(error.__context__, KeyError) and not error.__suppress_context__


def test_frames_of_callbacks_stay():
    def hook(grad):
        raise ValueError("mine")
    x = torch.ones(3, requires_grad=True)
    x.register_hook(hook)
    error = caught(lambda: x.sum().backward())
    frames = traceback.extract_tb(site.users_frames(error.__traceback__))
    assert frames[-1].name == "hook" and {f.filename for f in frames} <= {__file__, pytest.__file__, *[
        f.filename for f in frames if "_pytest" in f.filename]}


WARNED = {
    "functional": lambda: F.softmax(torch.ones(2)),
    "module": lambda: torch.nn.Softmax()(torch.ones(2)),
    "loss": lambda: F.mse_loss(torch.ones(3), torch.ones(1)),
    "method": lambda: torch.ones(1).std(),
    "out": lambda: torch.add(torch.ones(2), 1, out=torch.ones(3)),
    "within JAX": lambda: torch.cov(torch.ones(1, 1)),
}


@pytest.mark.parametrize("call", WARNED.values(), ids=WARNED)
def test_warnings_name_the_users_line(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    assert seen and all(w.filename == __file__ and w.lineno == call.__code__.co_firstlineno for w in seen)


def test_a_compile_names_the_users_line(capsys, free_compiles):
    x = torch.randn(8, 8)
    for _ in range(3):
        torch.matmul(x, x).softmax(1).cumsum(0).sum().item()
    torch.explain()
    assert __file__ in capsys.readouterr().out
