"""Declaring operators that stand in for compiled ones: schemas with NumPy functions."""
from __future__ import annotations

import numpy as np

from torchshim import Tensor, from_numpy
from torchshim.library import Library

#: torch's names of types, by NumPy's.
_NAMES = {"float16": "Half", "float32": "Float", "float64": "Double", "int32": "Int", "int64": "Long", "uint8": "Byte", "bool": "Bool",
          "int8": "Char", "int16": "Short"}
_kept = []                                     # libraries live as long as the program


def declare(namespace, schema, gradient=None, where="extension", writes=()):
    """A decorator: the function of arrays, numbers and lists that computes the operator. Arrays it returns become tensors where the first
    tensor argument is. where: its name in errors; gradient: (setup_context, backward) for those whose library leaves it to the compiled
    part; writes: places of the arguments that it writes to, whose new values it returns."""
    def declared(compute):
        def kernel(*args):
            like = next((a for a in args if isinstance(a, Tensor)), None)
            given = [host(where, a) if isinstance(a, Tensor) else a for a in args]
            made = compute(*given)
            if writes:
                written = tuple([args[i].copy_(_tensor(m, like)) for i, m in zip(writes, made)])
                return written if len(written) > 1 else written[0]
            if isinstance(made, tuple):
                return tuple([_tensor(m, like) for m in made])
            return _tensor(made, like)
        lib = Library(namespace, "FRAGMENT")
        name = lib.define(schema)
        lib.impl(name, kernel, "CompositeExplicitAutograd")
        if gradient is not None:
            from torchshim.library import register_autograd
            register_autograd(f"{namespace}::{name}", gradient[1], setup_context=gradient[0])
        _kept.append(lib)
        compute.kernel = kernel
        return compute
    return declared


def _tensor(made, like):
    return from_numpy(np.ascontiguousarray(made)).to(like.device) if isinstance(made, np.ndarray) else made


def host(where, tensor):
    """A tensor's values as an array. NotImplementedError, in torch's words, for types that NumPy lacks."""
    if str(tensor.dtype) in ("torch.bfloat16", "torch.complex32"):
        raise NotImplementedError(f"\"{where}\" not implemented for '{'BFloat16' if 'b' in str(tensor.dtype) else 'ComplexHalf'}'")
    return tensor.detach().cpu().numpy()


def same_type(where, **arrays):
    """RuntimeError where two arrays differ in type, in torch's words."""
    (first, a), *rest = arrays.items()
    for i, (name, b) in enumerate(rest, 2):
        if a.dtype != b.dtype:
            raise RuntimeError(f"Expected tensor for argument #1 '{first}' to have the same type as tensor for argument #{i} '{name}'; but "
                               f"type torch.{_NAMES[a.dtype.name]}Tensor does not equal torch.{_NAMES[b.dtype.name]}Tensor (while "
                               f"checking arguments for {where})")


def floating(where, array, half=True):
    """NotImplementedError for what is not a floating type (nor, without `half`, one of at least 32 bits), in torch's words."""
    if array.dtype.kind != "f" or array.dtype.itemsize == 2 and not half:
        raise NotImplementedError(f"\"{where}\" not implemented for '{_NAMES.get(array.dtype.name, array.dtype)}'")
