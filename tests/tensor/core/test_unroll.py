"""Protects the one way to record: the unrolled forms are what their template says."""
import pathlib

import pytest

from torchshim.tensor.core import unroll


@pytest.mark.parametrize("name", unroll.FILES)
def test_the_unrolled_forms_are_up_to_date(name):
    source = pathlib.Path(unroll.__file__).with_name(name).read_text(encoding="utf-8")
    assert unroll.written(name, source) == source, "run python -m torchshim.tensor.core.unroll"
