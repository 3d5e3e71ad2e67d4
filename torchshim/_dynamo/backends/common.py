"""torch._dynamo.backends.common: a backend of compilers of ATen's graphs."""
from __future__ import annotations

from ..._functorch.aot_autograd import aot_module_simplified
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)


class AotAutograd:
    """A backend for `torch.compile`: `aot_module_simplified` with these options."""

    def __init__(self, **kwargs):
        self.__name__ = "compiler_fn"
        self.kwargs = kwargs

    def __call__(self, gm, example_inputs, **kwargs):
        options = dict(self.kwargs)
        if "bw_compiler" not in options:
            options["bw_compiler"] = options["fw_compiler"]
        return aot_module_simplified(gm, example_inputs, **options)


def aot_autograd(**kwargs):
    """A backend whose graphs are taken to ATen's operators, forward and backward, for `fw_compiler` and `bw_compiler`."""
    return AotAutograd(**kwargs)
