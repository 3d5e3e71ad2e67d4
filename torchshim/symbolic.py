"""torch.sym_*: arithmetic that torch also does on symbolic sizes. Sizes are always plain numbers here."""
import math


def sym_int(a):
    """a as an int, towards zero."""
    return math.trunc(a)


def sym_float(a):
    """a as a float."""
    return float(a)


def sym_not(a):
    """not a."""
    return not a


def sym_max(a, b):
    """The larger number; a float if either is one."""
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a, b):
    """The smaller number; a float if either is one."""
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_ite(b, t, f):
    """t if b, else f."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError(f"expected bool and two of a kind, got {type(b)}, {type(t)}, {type(f)}")
    return t if b else f


def sym_sum(args):
    """The sum of numbers."""
    return sum(args)


def sym_sqrt(a):
    """The square root."""
    return math.sqrt(a)
