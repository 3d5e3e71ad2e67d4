"""The types of the parameters of torch.nn.functional's functions, for those who ask `inspect.signature`."""
from __future__ import annotations

import inspect
import types

from ...tensor.core.tensor import Tensor

_TYPES = {
    Tensor: """anchor bias grid in_proj_bias in_proj_weight indices input input1 input2 input_lengths key log_probs logits mat1 mat2
        mat_a mat_b negative offsets out_proj_bias out_proj_weight per_sample_weights pos_weight positive query running_mean running_var target
        target_lengths targets tensor theta value var weight x1 x2 attn_mask""",
    float: """alpha beta delta dropout_p eps k label_smoothing lambd lower margin max_norm max_val min_val momentum negative_slope norm_type
        p tau threshold upper""",
    int: "blank dim downscale_factor groups ignore_index num_classes num_groups num_heads padding_idx upscale_factor",
    bool: """align_corners antialias ceil_mode count_include_pad full hard include_last_offset inplace is_causal keepdim log_input
        log_target reduce return_indices scale_grad_by_freq size_average sparse swap training use_input_stats zero_infinity""",
    str: "mode padding_mode reduction",
    list[int]: "normalized_shape",
}
_OF = {name: kind for kind, names in _TYPES.items() for name in names.split()}
_MAYBE = {name: kind | None for name, kind in _OF.items()}


def annotate(functions):
    """Give functions of torch.nn.functional their types: what a parameter is follows from its name,
    and a default of None makes it optional."""
    for f in functions:
        said = getattr(f, "__signature__", None)               # of one that takes out=, too
        shown = f
        if type(f) is types.FunctionType:
            f = inspect.unwrap(f)
        if type(f) is types.FunctionType and not f.__annotations__:
            code, defaults = f.__code__, f.__defaults__ or ()
            names = code.co_varnames[:code.co_argcount]
            first = len(names) - len(defaults)
            made = {n: (_MAYBE if k >= first and defaults[k - first] is None else _OF)[n] for k, n in enumerate(names) if n in _OF}
            made["return"] = Tensor
            f.__annotations__ = made
            if said is not None:
                parameters = [p.replace(annotation=made.get(p.name, p.empty)) for p in said.parameters.values()]
                shown.__signature__ = said.replace(parameters=parameters, return_annotation=Tensor)
