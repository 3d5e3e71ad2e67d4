"""The tier without a compiler: jaxprs run with NumPy, one rule for each primitive."""
from .builder import OpenProgram, build, function_of
from .values import to_numpy
