"""torch.nn._reduction: the `reduction` of a loss as a number, and from the two flags that it replaced."""
import warnings


def get_enum(reduction):
    """0 for "none", 1 for "mean", 2 for "sum"; ValueError for others."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ("none", "mean", "sum").index(reduction)


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The `reduction` that two flags stand for, each true where it is None."""
    if reduce is not None and not reduce:
        found = "none"
    else:
        found = "mean" if size_average is None or size_average else "sum"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=2)
    return found


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The same as a number."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
