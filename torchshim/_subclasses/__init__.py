"""torch._subclasses: names that libraries test for."""
from .fake_tensor import FakeTensor, FakeTensorMode
