"""What torch's argument parser says of a call that it refuses.

Of one signature it says what is wrong with the first parameter that is not satisfied. Of several it prints each, and for those with as
many pieces as there are arguments it compares names of types: pieces are split at commas and spaces, so that what has a default or is
written with several words fits nothing, and keywords come in the order of a hash table.
"""
from __future__ import annotations

from ...ops.registry import REQUIRED
from ..core.handle import TensorBase
from ..core.size import Size
from .parameters import OTHER_NAMES, fits_element, kind, shown_name, takes, type_name

_ABSENT = object()


def complain(overload, name, args, kwargs):
    """Raise the parser's TypeError for the only signature that could be meant."""
    params, positional = overload.params, overload.positional
    if not params and not overload.extra:      # a method of C's that has none
        raise TypeError(f"TensorBase.{name}() takes no keyword arguments" if kwargs else
                        f"TensorBase.{name}() takes no arguments ({len(args)} given)")
    least = overload.least
    if len(args) > len(positional):
        raise _too_many(name, least, len(positional), len(args))
    taken = [shown_name(p) for p in positional[:len(args)]]
    said = {OTHER_NAMES[k]: k for k in kwargs if k in OTHER_NAMES and OTHER_NAMES[k] not in kwargs and OTHER_NAMES[k] not in taken}
    left = {(OTHER_NAMES[k] if k in said.values() else k): x for k, x in kwargs.items()}
    for i, p in enumerate(params):
        if i < len(args) and p.keyword_only:
            raise _too_many(name, least, len(positional), len(args))
        x = args[i] if i < len(args) else left.pop(shown_name(p), _ABSENT)
        if x is _ABSENT:
            if p.default is REQUIRED:
                missing = [shown_name(q) for q in params[i:] if q.default is REQUIRED]
                listed = ", ".join(f'"{m}"' for m in missing)
                # torch's plural is the wrong way round
                raise TypeError(f"{name}() missing {len(missing)} required positional argument{'s' * (len(missing) == 1)}: {listed}")
        elif not takes(p, x, overload.op):
            raise misfit_of(name, p, i + 1 if i < len(args) else None, x)
    for extra in overload.extra:
        if extra in left and not overload.takes_out(left[extra]):
            if overload.op.fields is not None and isinstance(left[extra], (list, tuple)):
                raise _no_tensor(left[extra], len(params) + 1)
            said = "Tensor" if overload.op.fields is None else "tuple of Tensors"
            raise TypeError(f"{name}(): argument '{extra}' must be {said}, not {type_name(left[extra])}")
        left.pop(extra, None)
    for k in left:
        again = any([shown_name(p) == k for p in positional])
        raise TypeError(f"{name}() got multiple values for argument '{k}'" if again else
                        f"{name}() got an unexpected keyword argument '{k}'")


def _too_many(name, least, most, given):
    count = f"from {least} to {most} positional arguments but {given} were" if least != most else \
        f"{most} positional argument{'s' * (most != 1)} but {given} {'was' if given == 1 else 'were'}"
    return TypeError(f"{name}() takes {count} given")


def misfit_of(name, p, position, x):
    """torch's error for an argument that parameter `p` does not take; position: None where it was given by its name."""
    wanted, found, where = kind(p), type_name(x), f" (position {position})" if position else ""
    if p.is_list and isinstance(x, (list, tuple)):
        at = next((k for k, y in enumerate(x) if not fits_element(p, y)), None)
        if at is not None and wanted == "tuple of Tensors":
            return _no_tensor(x, position or 1)
        if at is not None:
            return TypeError(f"{name}(): argument '{shown_name(p)}'{where} must be {wanted}, but found element of type {type_name(x[at])} "
                             f"at pos {at}")
    return TypeError(f"{name}(): argument '{shown_name(p)}'{where} must be {wanted}, not {found}")


def _no_tensor(x, position):
    at = next(k for k, y in enumerate(x) if not isinstance(y, TensorBase))
    return TypeError(f"expected Tensor as element {at} in argument {position - 1}, but got {type_name(x[at])}")


def misfit(name, overloads, args, kwargs):
    """torch's error where none of several overloads takes the arguments."""
    names = hashed(kwargs)
    got = _listed([type_name(x) for x in args], [f"{k}={type_name(kwargs[k])}" for k in names])
    if len(overloads) == 1:
        option = overloads[0].pieces
        unknown = _unknown(option, names)
        if unknown:
            return TypeError(f"{name}() received an invalid combination of arguments - got unrecognized keyword arguments: "
                             f"{', '.join(unknown)}")
        if _as_many(option, args, kwargs):
            got = _compared(option, args, kwargs)
        return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected ({', '.join(option)})")
    lines = "".join([f" * ({', '.join(o.pieces)})\n{_mismatch(o.pieces, args, kwargs, names)}" for o in overloads])
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{lines}")


def _listed(args, kwargs):
    return ", ".join([*args, *kwargs]) + (", " if kwargs and not args else "")


def _as_many(pieces, args, kwargs):
    return max(len(pieces), 1) == len(args) + len(kwargs)


def _unknown(pieces, names):
    """Keywords that are the name of none of the last so many pieces."""
    known = {piece.rpartition(" ")[2] for piece in pieces[max(len(pieces) - len(names), 0):]}
    return [k for k in names if k not in known]


def _mismatch(pieces, args, kwargs, names):
    if not _as_many(pieces, args, kwargs):
        return ""
    unknown = _unknown(pieces, names)
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    return f"      didn't match because some of the arguments have invalid types: ({_compared(pieces, args, kwargs)})\n"


#: What else a piece's type may be called by an argument.
_ALSO = {"float": ("float", "int")}


def _compared(pieces, args, kwargs):
    """The arguments, with marks at those whose types have another name than the pieces'."""
    shown = []
    for k, piece in enumerate(pieces or [""]):
        declared, _, named = piece.rpartition(" ")
        x = args[k] if k < len(args) else kwargs[named]
        said = ("" if k < len(args) else f"{named}=") + described(x)
        shown.append(said if type_name(x) in _ALSO.get(declared, (declared,)) else f"!{said}!")
    return _listed(shown[:len(args)], shown[len(args):])


def described(x):
    """How a comparison of types shows an argument."""
    if type(x) not in (list, tuple, Size):
        return type_name(x)
    of = ", ".join(map(type_name, x))
    return f"list of [{of}]" if type(x) is list else f"{type_name(x)} of ({of}{',' * (len(x) == 1)})"


def hashed(names):
    """The order of keywords in torch's errors: that of a hash table of thirteen slots, whose newest comes first in its slot, and whose
    newest slot comes first."""
    order = []
    for name in names:
        slot = _hash(name.encode()) % 13
        order.insert(next((k for k, other in enumerate(order) if _hash(other.encode()) % 13 == slot), 0), name)
    return order


def _hash(text, bits=(1 << 64) - 1, factor=0xc6a4a7935bd1e995):
    """MurmurHash64A, with the seed of C++'s standard library."""
    h = 0xc70f6907 ^ (len(text) * factor & bits)
    whole = len(text) - len(text) % 8
    for k in range(0, whole, 8):
        word = int.from_bytes(text[k:k + 8], "little") * factor & bits
        h = (h ^ ((word ^ (word >> 47)) * factor & bits)) * factor & bits
    if whole < len(text):
        h = (h ^ int.from_bytes(text[whole:], "little")) * factor & bits
    h = (h ^ (h >> 47)) * factor & bits
    return h ^ (h >> 47)
