"""Protects that what is public explains itself: how it is called, its arguments, what it gives, and where it stands."""
import inspect
import types

import pytest

import torchshim as torch
from torchshim._late import NAMES as LATE
import torchshim.nn.functional as F
from torchshim.ops.registry import OPS
from torchshim.tensor.api import bind, docs

SPACES = {"torch": torch, "Tensor": torch.Tensor, "nn.functional": F, "linalg": torch.linalg, "special": torch.special,
          "autograd": torch.autograd, "nn": torch.nn, "optim": torch.optim, "optim.lr_scheduler": torch.optim.lr_scheduler,
          "nn.utils": torch.nn.utils}


def public(space):
    for name, f in vars(space).items():
        if name[0] != "_" and isinstance(f, (types.FunctionType, type)) and (f.__module__ or "").startswith("torch"):
            yield name, f


@pytest.mark.parametrize("name", SPACES)
def test_everything_public_has_a_text_of_its_own(name):
    missing = [k for k, f in public(SPACES[name]) if len((inspect.getdoc(f) or "").split()) < 3]
    assert not missing


@pytest.mark.parametrize("space", [torch, torch.Tensor, F, torch.linalg, torch.special], ids=["torch", "Tensor", "F", "linalg", "special"])
def test_functions_tell_how_they_are_called_and_where_they_stand(space):
    wrong = []
    for name, f in public(space):
        if isinstance(f, types.FunctionType) and not (space is torch and name in LATE):      # those keep the text they were written with
            text = inspect.getdoc(f)
            heading, _, rest = text.partition("\n")
            if not (heading.partition("(")[2] and rest.strip() and "Forms: " in text and ".py, line " in text.splitlines()[-1]) \
                    or "api/signatures.py" in text:        # where the parser is asked first is not where a function is written
                wrong.append(name)
    assert not wrong


def test_operators_tell_arguments_dtypes_gradient_and_errors():
    for f in filter(inspect.isfunction, bind.FUNCTIONS.values()):
        op = f.__globals__.get("_op") if "_layout" in f.__globals__ else None
        if op is not None:
            text = f.__doc__
            assert all(f"\n    {'input' if p.name == 'self' else p.name}: " in text for p in op.params), f
            assert all(part in text for part in ("\nDtypes: ", "\nGradient: ", "\nRaises: ", "\nForms: ")), f


def test_a_declared_text_says_what_is_special():
    assert not [op.full_name for op in OPS.values() if "." not in op.full_name and not op.doc]


def test_what_the_text_explains_is_not_said_twice():
    def scaled(input, p, *, eps=1e-5, out=None):
        """input over its norm; p: the norm's order."""
    docs.complete({"torch.": {"scaled": scaled}})
    assert scaled.__doc__.startswith("scaled(input, p, *, eps=1e-05, out=None)\n\ninput over its norm; p: the norm's order.\n\n"
                                     "Arguments:\n    input: ")
    assert scaled.__doc__.count("p: ") == 1 and "\nForms: torch.scaled.\nDefined in " in scaled.__doc__


@pytest.mark.parametrize("cls", [torch.nn.Linear, torch.nn.BatchNorm1d, torch.nn.CrossEntropyLoss, torch.optim.Adam])
def test_classes_tell_their_arguments(cls):
    assert cls.__doc__.startswith(f"{cls.__name__}(") and "\nArguments:\n    " in cls.__doc__
