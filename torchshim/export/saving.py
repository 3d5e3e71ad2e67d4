"""torch.export.save and load: PyTorch's .pt2 archives (`archive`), in which a program is JSON (`writing`, `reading`)."""
from __future__ import annotations

import os

from .. import serialization
from ..serialization.archive import replacing
from . import archive, reading, writing
from .program import ExportedProgram


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Write a program for `load`, here or in PyTorch 2.13.

    f: a path (the file there is replaced only once the new one is complete) or a file object. extra_files: {name: text}. opset_version and
    pickle_protocol change nothing. TypeError for anything but a program, NotImplementedError for one that holds what is no tensor.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    given = writing.program(ep), ep.state_dict, ep.constants, ep.example_inputs, extra_files or {}
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        with replacing(path) as file:
            archive.write(file, os.path.splitext(os.path.basename(path))[0] or "archive", *given)
    else:
        archive.write(f, "archive", *given)


def load(f, *, extra_files=None, expected_opset_version=None):
    """A program that `save` wrote, here or in PyTorch. Nothing that the file says is run.

    f: a path or a file object. extra_files: {name: anything}, whose values become the texts of the files of these names. RuntimeError where
    it is no such file, NotImplementedError for operators and kinds of values that torchshim lacks.
    """
    with serialization._opened(f, "rb") as file:
        found = archive.Archive(file)
        for name in extra_files or ():
            text = found.extra(name)
            if text is not None:
                extra_files[name] = text
    return reading.program(found.model, found.weights, found.constants, found.examples)
