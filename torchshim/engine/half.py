"""Complex numbers of half precision, which neither NumPy nor XLA has.

A Meta says COMPLEX_HALF, two float16 next to each other. Arrays hold the bits of both as one uint32 (`Meta.held`), so that memory is what
torch's would be and operators that only move elements need to know nothing. Operators that compute do so in complex64 and round once,
as torch's kernels do: their Instance stands on one with complex64 in the place of COMPLEX_HALF (`Instance.wide`), whose arguments are
unpacked from the bits and whose results are packed. Whoever meets an operator for the first time decides that; a known call costs nothing.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .record.meta import COMPLEX_HALF, HELD, Meta, meta_of

COMPLEX64, FLOAT16, FLOAT32 = np.dtype(np.complex64), np.dtype(np.float16), np.dtype(np.float32)
ROUNDED = "rounded"        # the `wide` of an Instance of complex64 that rounds between its steps, too


def announce():
    """What is to happen where numbers of this dtype are made: whoever knows which warnings come once replaces it."""


def unpack(bits):
    """The numbers, as complex64, of an array of bits."""
    if isinstance(bits, np.ndarray):
        parts = np.ascontiguousarray(bits).reshape(bits.shape).view(FLOAT16) if bits.ndim else bits.reshape(1).view(FLOAT16)
        return parts.astype(FLOAT32).view(COMPLEX64).reshape(bits.shape)
    parts = jax.lax.bitcast_convert_type(bits, FLOAT16).astype(FLOAT32)
    return jax.lax.complex(parts[..., 0], parts[..., 1])


def pack(x):
    """The bits of numbers, rounded to half precision; a double goes by way of a float, as in torch."""
    if isinstance(x, np.ndarray):
        with np.errstate(all="ignore"):
            parts = x.astype(COMPLEX64).reshape(x.shape + (1,)).view(FLOAT32).astype(FLOAT16)
        return parts.view(HELD).reshape(x.shape)
    x = x.astype(COMPLEX64)
    return jax.lax.bitcast_convert_type(jnp.stack([jnp.real(x), jnp.imag(x)], -1).astype(FLOAT16), HELD)


def rounded(x):
    """complex64 numbers as near to these as half precision comes."""
    x = x.astype(COMPLEX64)
    return jax.lax.complex(*[part.astype(FLOAT16).astype(FLOAT32) for part in (jnp.real(x), jnp.imag(x))])


def about(layout, metas):
    """Whether a call has to do with COMPLEX_HALF."""
    for m in metas or ():
        if m.dtype is COMPLEX_HALF:
            return True
    for x in layout:
        if x is COMPLEX_HALF or x.__class__ is Meta and x.dtype is COMPLEX_HALF:
            return True
    return False


def widened(x):
    """A Meta, a dtype or a tuple of such with complex64 in the place of COMPLEX_HALF."""
    if x.__class__ is tuple:
        return tuple([widened(y) for y in x])
    if x.__class__ is Meta:
        return x if x.dtype is not COMPLEX_HALF else meta_of(x.shape, COMPLEX64, x.device, x.strides)
    return COMPLEX64 if x is COMPLEX_HALF else x


NARROW = {COMPLEX64: COMPLEX_HALF, FLOAT32: FLOAT16}


def results_of(wide, layout, metas):
    """The dtypes of a call's results whose Instance with complex64 is `wide`: halves, unless something longer was given or asked for."""
    given = [m.dtype for m in metas] + [x for x in layout if isinstance(x, np.dtype)]
    asked = any([x is COMPLEX_HALF for x in layout])
    longer = not asked and [d for d in given if d is not COMPLEX_HALF and d.kind in "fcV" and d != FLOAT16]
    return [m.dtype if longer else NARROW.get(m.dtype, m.dtype) for m in wide.out_metas]


def packed(fn, given, made):
    """A function of bits from one of numbers; `given` and `made`: the dtypes of arguments and results."""
    def over(unpack, pack, *args):
        full = [unpack(a) if d is COMPLEX_HALF else a for a, d in zip(args, given)]
        full += args[len(given):]
        return [pack(r) if d is COMPLEX_HALF else r if r.dtype == d else r.astype(d) for r, d in zip(fn(*full), made)]
    return over


def narrowed(wide, layout, metas, dtypes):
    """The Instance over bits that computes what `wide` does; `dtypes` are those of its results."""
    from .compile.instance import Instance
    if metas and COMPLEX_HALF in dtypes:
        announce()
    over = packed(wide.fn, [m.dtype for m in metas], dtypes)
    inst = Instance(wide.op, layout, lambda *args: over(unpack, pack, *args), metas, wide.kinds, wide.out_metas[0].device,
                    [m.strides for m in wide.out_metas], results=[(m.shape, d) for m, d in zip(wide.out_metas, dtypes, strict=True)])
    if wide.out is wide.out_metas:
        inst.out = inst.out_metas
    inst.wide, inst.info, inst.grad_fn_name = wide, wide.info, wide.grad_fn_name
    inst.diff_ins, inst.diff_outs = wide.diff_ins, wide.diff_outs
    return inst


def interpreted(inst):
    """How NumPy runs an Instance that stands on a wide one."""
    over = packed(inst.wide.interpreted(), [m.dtype for m in inst.in_metas], [m.dtype for m in inst.out_metas])

    def run(*args):
        return over(lambda a: unpack(np.asarray(a)), lambda r: pack(np.asarray(r)), *args)
    return run


def wide_of(inst):
    """The Instance with complex64 of one that has to do with COMPLEX_HALF; of one that only moves bits it is made when it is asked for."""
    if inst.wide is None or inst.wide is ROUNDED:
        inst.wide = inst.op.widened(inst)
    return inst.wide
