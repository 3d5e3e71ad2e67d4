"""Protects the one way to record: the unrolled forms of `apply` are what their template says."""
import pathlib

from torchshim.tensor.core import dispatch, unroll


def test_the_unrolled_forms_are_up_to_date():
    source = pathlib.Path(dispatch.__file__).read_text(encoding="utf-8")
    assert unroll.written(source) == source, "run python -m torchshim.tensor.core.unroll"
