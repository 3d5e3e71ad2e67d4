"""Complex numbers from their parts."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from . import promotion as P
from .common import direction, length
from .registry import op

_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half"}


def _same_real(first, second):
    """torch's checks of the two parts."""
    a, b = first.dtype, second.dtype
    if a.name not in _NAMES or b.name not in _NAMES:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {P.c_name(a)} and {P.c_name(b)}")
    if a != b:
        raise RuntimeError(f"Expected object of scalar type {_NAMES[a.name]} but got scalar type {_NAMES[b.name]} for second argument")


def _check_polar(abs, angle):
    _same_real(abs, angle)
    if abs.dtype.name == "float16":
        raise NotImplementedError("\"polar_cpu\" not implemented for 'Half'")


@op("complex(Tensor real, Tensor imag) -> Tensor", elementwise=True, grad="ComplexBackward0", method=False, numbers=(), check=_same_real,
    makes_half=True, saves="own")
def complex(real, imag):
    """real + i imag."""
    if real.dtype == jnp.float16:
        real, imag = real.astype(jnp.float32), imag.astype(jnp.float32)
    return jax.lax.complex(real, imag)


@jax.custom_jvp
def _polar(abs, angle):
    return jax.lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))


@_polar.defjvp
def _polar_jvp(primals, tangents):
    # torch's slope along the absolute value is the result's direction: 0 at 0, and turned round where the value is negative
    abs_t, angle_t = tangents
    out = _polar(*primals)
    size = length(out)
    turned = jax.lax.complex(-jnp.imag(out), jnp.real(out))
    return out, direction(out, size) * abs_t + turned * angle_t


@op("polar(Tensor abs, Tensor angle) -> Tensor", elementwise=True, grad="PolarBackward0", method=False, numbers=(), check=_check_polar,
    saves=("result",))
def polar(abs, angle):
    """The complex numbers with these absolute values and angles."""
    return _polar(abs, angle)
