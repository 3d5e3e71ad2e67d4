"""The parts of a public docstring that a declaration or a signature tells: how it is called, arguments, dtypes, gradient, forms.

A body's or function's own docstring says what is special, and is the middle of the whole. Texts are put together when the
package is imported, so the pieces that many share are remembered.
"""
from __future__ import annotations

import functools
import inspect
import os
import types

from ...ops.schema import REQUIRED

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) + os.sep

#: What an argument of this name means wherever it occurs; what differs is said by the operator's own text.
ABOUT = {
    "input": "the tensor that is worked on", "other": "the second operand", "self": "this tensor",
    "dim": "the dimension to work along; a negative one counts from the end",
    "dims": "dimensions; negative ones count from the end",
    "dim0": "one of two dimensions", "dim1": "one of two dimensions", "dim2": "one of two dimensions",
    "start_dim": "the first of several dimensions", "end_dim": "the last of several dimensions",
    "keepdim": "whether a reduced dimension stays, with size 1", "axis": "NumPy's name of dim", "keepdims": "NumPy's name of keepdim",
    "dtype": "the dtype of the result (default: of the data, or torch.get_default_dtype())",
    "device": "where the result lives (default: where the operands do, or torch.get_default_device())",
    "layout": "torch.strided", "pin_memory": "accepted; memory is not pinned", "non_blocking": "accepted; nothing is waited for anyway",
    "requires_grad": "whether the result is a leaf whose gradient is wanted",
    "memory_format": "order of the result's elements in memory", "generator": "where random numbers come from (default: torch.default_generator)",
    "out": "the tensor, or tuple of tensors, that the result is written into and that is returned; without gradient",
    "inplace": "write the result into input", "size": "the shape, as one sequence or as several integers", "sizes": "the shape",
    "shape": "the shape, as one sequence or as several integers", "stride": "element steps, one or one per dimension",
    "weight": "a tensor of factors", "weights": "a tensor of factors", "bias": "a tensor that is added", "tensors": "a sequence of tensors", "tensor": "a tensor",
    "src": "a tensor with the values to write", "source": "a tensor with the values to write", "index": "a tensor of integer positions",
    "indices": "a tensor of integer positions", "mask": "a bool tensor", "condition": "a bool tensor", "value": "the number or tensor to put in",
    "values": "a tensor of values", "fill_value": "the number to fill with", "eps": "a small number that keeps divisors from 0",
    "alpha": "a number that scales the second operand, or the function's own parameter", "beta": "a number that scales input, or a threshold",
    "p": "the order of a norm, or a probability", "n": "a count or an order", "k": "how many, or which", "train": "whether anything is done at all",
    "training": "whether this is a training step", "reduction": "'none', 'mean' or 'sum' (in torch.*: 0, 1, 2): what becomes of the single losses",
    "target": "what input should be", "margin": "how far apart counts as enough", "ignore_index": "a target that does not count",
    "label_smoothing": "weight that is spread over all classes, from 0 to 1", "exponent": "the power: a tensor or a number",
    "rounding_mode": "None, 'trunc' or 'floor'", "start": "where a range begins", "end": "where a range ends", "step": "the difference of neighbours",
    "steps": "how many numbers", "length": "how many elements", "offset": "which diagonal; 0 is the main one", "diagonal": "which diagonal; 0 is the main one",
    "storage_offset": "elements before the first one", "chunks": "how many parts", "sections": "how many parts",
    "indices_or_sections": "how many parts, or where to cut", "split_size": "how large a part is", "split_sizes": "how large each part is",
    "split_size_or_sections": "how large a part is, or each of them", "descending": "largest first", "stable": "equal elements keep their order",
    "largest": "the largest instead of the smallest", "sorted": "whether the result is in order",
    "unbiased": "correction=1 if true, 0 if false", "correction": "what is taken from the number of elements in the divisor",
    "rtol": "relative tolerance", "atol": "absolute tolerance", "equal_nan": "whether nan equals nan", "bins": "how many intervals, or their edges",
    "range": "the lowest and the highest edge", "density": "scale so that the histogram's integral is 1", "min": "lower bound", "max": "upper bound",
    "lower": "lower bound", "upper": "upper bound", "low": "the smallest number", "high": "the number above the largest", "mean": "the mean", "std": "the standard deviation",
    "padding": "zeros added at both ends, one or one per dimension", "dilation": "distance of the kernel's elements", "groups": "in how many groups channels are split",
    "output_padding": "what is added to one end of the output", "pad": "widths at both ends, from the last dimension on", "mode": "which variant",
    "normalized_shape": "the last dimensions, over which statistics are taken", "num_groups": "in how many groups channels are split",
    "running_mean": "statistic that training updates", "running_var": "statistic that training updates", "momentum": "weight of the newest statistic",
    "padding_idx": "a row without gradient", "scale_grad_by_freq": "divide gradients by how often a row occurs", "sparse": "sparse gradients: only False is supported",
    "sparse_grad": "accepted; gradients are dense", "threshold": "where the function changes", "negative_slope": "the factor below 0",
    "lambd": "the bound, or the rate", "min_val": "lower bound", "max_val": "upper bound", "approximate": "'none' or 'tanh'", "decimals": "digits after the point",
    "interpolation": "'linear', 'lower', 'higher', 'nearest' or 'midpoint'", "q": "quantiles, from 0 to 1", "return_inverse": "also where each element went",
    "return_counts": "also how often each occurs", "num_samples": "how many", "replacement": "whether one may be drawn again", "repeats": "how often each occurs",
    "x": "a tensor", "y": "a tensor", "dx": "distance of neighbours", "mat1": "a matrix", "mat2": "a matrix", "mat": "a matrix", "vec": "a vector",
    "vec1": "a vector", "vec2": "a vector", "batch1": "a batch of matrices", "batch2": "a batch of matrices", "tensor1": "a tensor", "tensor2": "a tensor",
    "input1": "a tensor", "input2": "a tensor", "x1": "points, one a row", "x2": "points, one a row", "query": "what is looked for", "key": "what it is compared with",
    "data": "numbers, nested sequences, arrays or tensors", "copy": "copy even if nothing has to change", "right": "which side of equal elements",
    "cudnn_enabled": "accepted; without effect", "cudnn_enable": "accepted; without effect", "as_tuple": "one tensor per dimension instead of a matrix",
    "shifts": "how far, one or one per dimension", "scale": "the factor before softmax (default: 1 / sqrt(size))", "ord": "the order of the norm",
    "nan": "what takes the place of nan", "posinf": "what takes the place of infinity", "neginf": "what takes the place of -infinity",
    "full": "include the constant terms", "log_target": "whether target is a logarithm", "log_input": "whether input is a logarithm",
    "pos_weight": "factors of the positive targets", "delta": "where the loss becomes linear", "var": "variances", "row": "how many rows", "col": "how many columns",
    "num_classes": "how many classes", "max_norm": "longer rows are scaled down to this", "norm_type": "the order of the norm", "maxnorm": "the largest norm allowed",
    "real": "the real parts", "imag": "the imaginary parts", "abs": "the absolute values", "angle": "the angles", "prepend": "what is put before input",
    "in_features": "size of the last dimension of the input", "out_features": "size of the last dimension of the output",
    "in1_features": "size of the first input's last dimension", "in2_features": "size of the second input's last dimension",
    "in_channels": "channels of the input", "out_channels": "channels of the output", "num_channels": "channels of the input",
    "num_features": "channels of the input", "kernel_size": "the window, one size or one per dimension",
    "padding_mode": "'zeros', 'reflect', 'replicate' or 'circular'", "affine": "whether there are a weight and a bias to learn",
    "elementwise_affine": "whether there are a weight and a bias to learn", "track_running_stats": "whether statistics for evaluation are kept",
    "size_average": "deprecated, see reduction", "reduce": "deprecated, see reduction", "num_embeddings": "how many rows",
    "embedding_dim": "how long a row is", "num_parameters": "1, or one slope per channel", "init": "the value to start with",
    "include_last_offset": "whether offsets end with the number of indices", "distance_function": "what measures the distance of two tensors",
    "swap": "use the negative's nearer distance", "unflattened_size": "the shape that takes the dimension's place", "process_group": "must be None",
    "min_value": "old name of min_val", "max_value": "old name of max_val", "foreach": "accepted; all parameters go together anyway",
    "fused": "accepted; a step is one program anyway", "differentiable": "only False is supported",
    "capturable": "accepted; without effect", "maximize": "climb instead of descend", "params": "parameters, or groups of them as dicts",
    "parameters": "tensors, or one tensor", "lr": "step size", "weight_decay": "how much of the parameter itself is taken off at each step",
    "betas": "how slowly the averages of the gradient and of its square forget", "amsgrad": "divide by the largest average so far",
    "dampening": "what is taken from the momentum", "nesterov": "look ahead along the momentum", "decoupled_weight_decay": "as AdamW",
    "defaults": "options of groups that do not name theirs", "optimizer": "whose lr is changed", "last_epoch": "index of the last step; -1 to begin",
    "step_size": "steps between changes", "gamma": "factor of each change", "T_max": "steps to the minimum", "eta_min": "the smallest lr",
    "nonlinearity": "the name of the activation that follows", "gain": "a factor", "a": "the lower bound, or the slope of the activation",
    "b": "the upper bound", "val": "the number to fill with", "sparsity": "share of zeros", "clip_value": "largest absolute value allowed",
    "total_norm": "norm of all gradients", "error_if_nonfinite": "raise RuntimeError for a norm that is infinite or nan",
    "func": "a function of tensors", "argnums": "which arguments to differentiate by", "has_aux": "func also returns something that is passed on",
    "in_dims": "which dimension of each argument is mapped over", "out_dims": "where it goes in the result",
    "randomness": "'error', 'same' or 'different'", "chunk_size": "how many at a time", "strict": "raise for an input without influence",
    "outputs": "tensors to differentiate", "inputs": "tensors to differentiate by", "grad_outputs": "cotangents of the outputs",
    "retain_graph": "keep what backward needs, to go through again", "create_graph": "record the gradients' own history",
    "allow_unused": "None for what has no influence, instead of RuntimeError", "check_nan": "raise where nan appears",
    "hook": "a function that is called with the gradient and may return another", "gradient": "the cotangent; ones for a single number",
    "append": "what is put after input", "fweights": "how often each observation counts", "aweights": "how much each observation counts",
}
_TYPES = {"bool": "bool", "int": "int", "str": "str", "float": "number", "Scalar": "number", "Number": "number", "ScalarType": "dtype", "SymInt": "int",
          "Tensor": "Tensor", "Device": "device", "Layout": "layout", "MemoryFormat": "memory format", "Generator": "Generator"}
_KINDS = {"b": "bool", "i": "integer", "f": "floating", "c": "complex"}
_PROMOTED = {"arith": "the common dtype of the operands (torch.promote_types), which is the result's too",
             "float": "the common dtype of the operands, or the default floating dtype where that is no floating one",
             "compare": "operands meet in their common dtype; the result has its own"}


@functools.cache
def _argument(name, kind, is_list, optional, number, default):
    """The line about one argument of a declaration."""
    default = "" if optional and default == "None" else default
    text = _TYPES.get(kind.partition("[")[0], kind) + ("s" if is_list else "") + (" or number" if number else "") + (" or None" if optional else "")
    about = ABOUT.get(name)
    return f"    {name}: {text}{f', {default} by default' if default else ''}{f'; {about}' if about else ''}\n"


@functools.cache
def _tail(op):
    """What all forms of an operator share: shapes, dtypes, gradient, errors, source."""
    tensors = [p for p in op.params if p.kind == "tensor"]
    out = []
    if op.elementwise:
        out.append("Shapes: " + ("the tensors broadcast; the result has their common shape" if len(tensors) > 1 else "the result has input's"))
    if not callable(op.promote):
        out.append("Dtypes: " + (_PROMOTED[op.promote] if op.promote else "operands are not promoted"))
    else:
        out.append("Dtypes: how operands are promoted depends on the other arguments")
    out.append("Gradient: " + ("none" if op.grad is None else "the result has a grad_fn whose backward raises" if op.grad == "NotImplemented" else
                               "yes" if callable(op.grad) else f"yes, grad_fn is {op.grad}") +
               (f"; none for {', '.join(sorted(op.nondiff))}" if op.grad and op.nondiff else ""))
    errors = ["TypeError for arguments of another type"]
    if op.elementwise and len(tensors) > 1:
        errors.append("RuntimeError for shapes that do not broadcast")
    elif not op.elementwise or op.check:
        errors.append("RuntimeError or IndexError for shapes, dimensions and values that do not fit")
    if op.refuses:
        errors.append(f"NotImplementedError for {' and '.join([_KINDS[k] for k in op.refuses[1]])} dtypes")
    out.append("Raises: " + "; ".join(errors))
    return ".\n".join(out)


@functools.cache
def _forms(op):
    found = []
    for full in (op.public, *op.aliases):
        home, _, name = full.rpartition(".")
        home = home or op.namespace
        home, method = f"torch.{home}." if home else "torch.", op.method and not home
        found += [home + name] * op.function
        found += ["torch.nn.functional." + name] * (bool(op.functional) and op.namespace != "nn.functional")
        found += ["Tensor." + name] * method
        found += [("Tensor." if method else home) + name + "_"] * bool(op.inplace)
    return ", ".join(found)


@functools.cache
def _source(file, line):
    return f"{file.removeprefix(_ROOT)}, line {line}"


def of_operator(op, name, first, inplace, with_out, flag):
    """The docstring of one form of a declared operator."""
    heading, lines, star = [], "", False
    for p in op.params:
        pname = first if p.name == "self" else p.name
        if p.keyword_only and not star:
            heading.append("*")
            star = True
        default = "" if p.default is REQUIRED else repr(p.default)
        if pname != "self":
            heading.append(f"{pname}={default}" if default else pname)
            lines += _argument(pname, p.type, p.is_list, p.optional, p.name in op.numbers, default)
    if flag:
        heading.append("inplace=False")
        lines += f"    inplace: bool; {ABOUT['inplace']}\n"
    if with_out:
        heading += ["out=None"] if star else ["*", "out=None"]
        lines += f"    out: {ABOUT['out']}\n"
    result = op.schema.rpartition("-> ")[2].replace("Tensor ", "")
    written = "\nThe result is written into self, cast to its dtype and in its shape; a leaf that requires grad refuses.\n" if inplace else ""
    return (f"{name}({', '.join(heading)}) -> {result}\n\n{op.doc}\n{written}\n{f'Arguments:{chr(10)}{lines}' if lines else ''}{_tail(op)}.\n"
            f"Forms: {_forms(op)}.\nDeclared in {_source(op.file, op.line)}.")


def _shown(default):
    text = repr(default)
    return "..." if text.startswith("<") else text          # a mark for what is not given


def _described(code, own, first, forms, defaults, more, out, known=ABOUT):
    """A text of one's own between the signature and what is known of the arguments; the first `first` are not told."""
    names = list(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
    positional, keyword = names[:code.co_argcount], names[code.co_argcount:]
    defaults, more = defaults or (), more or {}
    required = len(positional) - len(defaults)
    heading = [a if i < required else f"{a}={_shown(defaults[i - required])}" for i, a in enumerate(positional)][first:]
    at = len(names)
    if code.co_flags & inspect.CO_VARARGS:
        heading.append("*" + code.co_varnames[at])
        at += 1
    elif keyword or out:
        heading.append("*")
    heading += [f"{a}={_shown(more[a])}" if a in more else a for a in keyword] + (["out=None"] if out else [])
    if code.co_flags & inspect.CO_VARKEYWORDS:
        heading.append("**" + code.co_varnames[at])
    lines = "".join([f"    {a}: {known[a]}\n" for a in names[first:] + (["out"] if out else []) if a in known and f"{a}:" not in own])
    own = inspect.cleandoc(own) if "\n" in own else own
    return (f"{forms[0].rpartition('.')[2]}({', '.join(heading)})\n\n{own}\n\n{f'Arguments:{chr(10)}{lines}' if lines else ''}"
            f"Forms: {', '.join(forms)}.\nDefined in {_source(code.co_filename, code.co_firstlineno)}.")


def complete(spaces):
    """Give the functions and classes of {prefix: {name: object}} that were written by hand the parts that all docstrings have."""
    found = {}
    for prefix, space in spaces.items():
        for name, f in space.items():
            if f.__class__ is types.FunctionType and name[0] != "_" and (f.__doc__ or "").find("\nForms: ") < 0:
                found.setdefault(getattr(f, "__wrapped__", f), []).append((prefix + name, f))
    for inner, uses in found.items():
        if inner.__class__ is types.FunctionType:
            own, forms = inner.__doc__ or "", [form for form, _ in uses]
            for f in dict.fromkeys([f for _, f in uses]):
                f.__doc__ = _described(inner.__code__, own, int(forms[0].startswith("Tensor.")), forms, inner.__defaults__, inner.__kwdefaults__,
                                       f is not inner and "out" in (f.__kwdefaults__ or ()))


def complete_classes(prefix, space):
    """The same for classes, whose arguments are those of their `__init__`."""
    known = {**ABOUT, "bias": "whether a bias is learned"}
    for name, cls in space.items():
        init = isinstance(cls, type) and name[0] != "_" and cls.__name__ == name and cls.__init__
        if init and init.__class__ is types.FunctionType and "\nForms: " not in (cls.__doc__ or ""):
            cls.__doc__ = _described(init.__code__, cls.__doc__ or "", 1, [prefix + name], init.__defaults__, init.__kwdefaults__, False, known)
