"""What each operator computes, by family. Importing this package declares the everyday ones.

An operator is added in one place: its declaration, with its body below, in the file of its family. Everything else follows
from the two: the function, the method, `f_` and `out=`, namespaces and aliases, shapes and dtypes, gradients of any order,
`vmap`, named results, the text of `help()`. `registry` tells what a declaration can say.

An elementwise operator:

    @op("cube(Tensor self) -> Tensor", promote="float", grad="CubeBackward0", inplace=True, aliases=("third_power",))
    def cube(self):
        \"\"\"The third power.\"\"\"
        return self * self * self

gives `torch.cube`, `Tensor.cube`, `cube_`, `torch.cube(x, out=y)`, `torch.third_power`, integers promoted to the default
floating dtype. JAX differentiates the body; where torch's gradient is another one, a rule stands beside it:
`rule=(lambda out, x: 3 * x * x,)`.

A reduction that also says where, with an overload without dimension:

    @op("largest(Tensor self) -> Tensor", grad="LargestBackward0")
    def largest(self):
        \"\"\"The largest element; its gradient is shared by all that equal it.\"\"\"
        return evenly(self, jnp.max(jax.lax.stop_gradient(self)))

    @op("largest.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", grad="LargestBackward1")
    def largest_dim(self, dim, keepdim):
        \"\"\"The largest elements along a dimension and where they are.\"\"\"
        d, x = along("largest", self, dim)
        return picked(x, place(x, d, True), d, self.ndim, keepdim)

gives `torch.largest(x)` and `torch.largest(x, dim)`, which returns a torch.return_types.largest with `values` and `indices`
(largest_out where it was given `out=`), torch's errors when no overload takes the arguments, and `axis=` for `dim=`.

A functional with its module: the operator lives in torch.nn.functional, with an `inplace` flag there,

    @op("soft_clip(Tensor self, Scalar limit=1.0) -> Tensor", promote="float", grad="SoftClipBackward0",
        namespace="nn.functional", functional="inplace", inplace=True, method=False)
    def soft_clip(self, limit):
        \"\"\"limit * tanh(x / limit): x, bent so that it stays between -limit and limit.\"\"\"
        return limit * jnp.tanh(self / limit)

and its module's class stands in its file of nn/modules:

    class SoftClip(Module):
        \"\"\"F.soft_clip as a module.\"\"\"
        __constants__ = ["limit", "inplace"]

        def __init__(self, limit=1.0, inplace=False):
            super().__init__()
            self.limit, self.inplace = limit, inplace

        def forward(self, input):
            return F.soft_clip(input, self.limit, self.inplace)

A function in terms of others that is no operator of its own (it has no grad_fn's name) stands in tensor/api, in the file
that is named as that of its family, under `@function`.
"""
import pathlib as _pathlib

from ..dropin import extensions as _extensions

loaded_libraries = set()
refused_libraries: set = set()                 # the folders on the ways to compiled extensions that were asked for


def load_library(path):
    """Make a compiled extension's operators known. OSError where none of ours stand in for them: it is made for PyTorch's own binary.
    Libraries that can do without theirs catch it."""
    if _extensions.stands_in(path):
        loaded_libraries.add(str(path))
        return
    refused_libraries.update(_pathlib.PurePath(path).parts)
    raise OSError(f"Could not load this library: {path}; it is compiled for PyTorch's own binary, which torchshim is not")
