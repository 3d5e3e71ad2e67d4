"""torch._subclasses: tensors without values. See `fake_tensor`."""
from .fake_tensor import (DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException,
                          UnsupportedOperatorException)

__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException", "UnsupportedOperatorException"]
