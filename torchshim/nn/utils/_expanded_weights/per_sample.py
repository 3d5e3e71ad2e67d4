"""The functions that may have expanded weights: linear, convolutions, embedding, norms and what is made of them."""
from __future__ import annotations

from ....autograd.function import Function
from ....func import vjp, vmap
from ....tensor.api.bind import FUNCTIONS
from ....tensor.core.tensor import Tensor
from ... import functional as F
from .expanded_weights_impl import RECURRENT, ExpandedWeight, implements_per_sample_grads


def _checked(name, given):
    """The arguments with each expanded weight as the parameter that it stands for."""
    x, weights = given["input"], [a for a in given.values() if isinstance(a, ExpandedWeight)]
    if isinstance(x, ExpandedWeight):
        raise RuntimeError("Expanded Weights do not support inputs that are also ExpandedWeights. "
                           f"Input must be a Tensor, got {type(x).__name__} in function {name}")
    if not isinstance(x, Tensor):
        raise RuntimeError("Expanded Weights requires a Tensor as the first input to get the batch dimension, "
                           f"got {type(x).__name__} in function {name}")
    if not x.dim():
        raise RuntimeError(f"Expanded Weights requires a batch dimension but got an input of size 0 in function {name}")
    if not x.shape[0]:
        raise RuntimeError(f"0 is not a valid batch size for Expanded Weights but got input tensor of {x} in function {name}")
    for w in weights:
        size = x.shape[0 if w.batch_first else 1]
        if size > w.batch_size if w.allow_smaller_batches else size != w.batch_size:
            raise RuntimeError("Expected ExpandedWeights to have batch size matching input but got "
                               f"input batch size of {size} with ExpandedWeight of batch size {w.batch_size}")
    for w in weights:
        if w.loss_reduction != weights[0].loss_reduction:
            raise RuntimeError("Expected ExpandedWeights to all have the same loss_reduction argument but got one"
                               f"with {weights[0].loss_reduction} and one with {w.loss_reduction}")
        if w.batch_first != weights[0].batch_first:
            raise RuntimeError("Got conflicting batch_first arguments in the same layer")
    return {name: a.orig_weight if isinstance(a, ExpandedWeight) else a for name, a in given.items()}


def _keep(weight, found):
    """Add each sample's gradient to the parameter's grad_sample."""
    if weight.loss_reduction == "mean":
        found = found * weight.batch_size
    if weight.batch_size > found.shape[0]:
        found = FUNCTIONS["cat"]((found, found.new_zeros(weight.batch_size - found.shape[0], *found.shape[1:])))
    before = getattr(weight.orig_weight, "grad_sample", None)
    weight.orig_weight.grad_sample = found if before is None else before + found


def _gradient(function, given, name, cotangents):
    """The gradient of one argument."""
    return vjp(lambda t: function(**{**given, name: t}), given[name].detach())[1](cotangents)[0]


def _per_sample(class_name, functions, names, check, **differently):
    """The autograd.Function for `functions`, whose arguments have these names; its gradients are those of a call with `differently`."""

    class PerSampleGrad(Function):
        @staticmethod
        def forward(ctx, kwarg_names, function, *values):
            split = len(values) - len(kwarg_names)
            ctx.given = {**dict(zip(names, values[:split])), **dict(zip(kwarg_names, values[split:]))}
            ctx.function, ctx.order = function, [*names[:split], *kwarg_names]
            ctx.batch_first = all([w.batch_first for w in ctx.given.values() if isinstance(w, ExpandedWeight)])
            check(function, ctx.given)
            return function(**_checked(function.__name__, ctx.given))

        @staticmethod
        def backward(ctx, grad_output):
            function = ctx.function
            weights = {n: a for n, a in ctx.given.items() if isinstance(a, ExpandedWeight)}
            for n, a in ctx.given.items():
                if n != "input" and n not in weights and isinstance(a, Tensor) and a.requires_grad:
                    raise RuntimeError("ExpandedWeights currently does not support a mixture of ExpandedWeight parameters "
                                       "and normal Parameters. Please file and issue with pytorch/pytorch")
            plain = {n: a.orig_weight.detach() if isinstance(a, ExpandedWeight) else a
                     for n, a in {**ctx.given, **{n: a for n, a in differently.items() if n in ctx.given}}.items()}
            x = plain["input"].detach()
            found = _gradient(function, {**plain, "input": x}, "input", grad_output) if ctx.given["input"].requires_grad else None
            if not ctx.batch_first:
                x, grad_output = x.transpose(0, 1), grad_output.transpose(0, 1)

            def of_sample(x, ct):
                return [_gradient(function, {**plain, "input": x.unsqueeze(0)}, n, ct.unsqueeze(0)) for n in weights]

            for w, g in zip(weights.values(), vmap(of_sample)(x, grad_output)):
                _keep(w, g)
            return None, None, *[found if n == "input" else None for n in ctx.order]

    PerSampleGrad.__name__ = PerSampleGrad.__qualname__ = class_name
    for f in functions:
        implements_per_sample_grads(f)(PerSampleGrad)
    return PerSampleGrad


def _linear(function, given):
    rank = len(given["input"].shape)
    if rank <= 1:
        raise RuntimeError("Input does not have a batch dimension. Expanded Weights expected input "
                           f"of at least rank 2, got of rank {rank}")


def _convolution(function, given):
    rank, batched = given["input"].dim(), {F.conv1d: 3, F.conv2d: 4, F.conv3d: 5}[function]
    if rank != batched:
        raise RuntimeError(f"Expanded Weights only support convolution with batched input, got {function} with an"
                           f"unbatched input of dim {rank}, expected input of dim {batched}")


def _embedding(function, given):
    if given["input"].dim() == 1:
        raise RuntimeError(f"Expanded Weights needs an input with a batch size, got a 1D tensor, {given['input']}")


def _layer_norm(function, given):
    if given["input"].dim() <= len(given["normalized_shape"]):
        raise RuntimeError("Expanded Weights: Layer norm should not normalize over batch dimension for per sample gradient"
                           f"computations but got that normalized shape, {given['normalized_shape']}, matched input shape.")


def _any(function, given):
    """Nothing to check."""


LinearPerSampleGrad = _per_sample("LinearPerSampleGrad", (F.linear,), ("input", "weight", "bias"), _linear)
ConvPerSampleGrad = _per_sample("ConvPerSampleGrad", (F.conv1d, F.conv2d, F.conv3d),
                                ("input", "weight", "bias", "stride", "padding", "dilation", "groups"), _convolution)
EmbeddingPerSampleGrad = _per_sample(                # torch gives padding a gradient here, and does not average
    "EmbeddingPerSampleGrad", (F.embedding,), ("input", "weight"), _embedding, padding_idx=None, max_norm=None, scale_grad_by_freq=False,
    sparse=False)
LayerNormPerSampleGrad = _per_sample("LayerNormPerSampleGrad", (F.layer_norm,), ("input", "normalized_shape"), _layer_norm)
GroupNormPerSampleGrad = _per_sample("GroupNormPerSampleGrad", (F.group_norm,), ("input", "num_groups"), _any)
InstanceNormPerSampleGrad = _per_sample(             # of the sample's own statistics, whatever normalized it
    "InstanceNormPerSampleGrad", (F.instance_norm,), ("input",), _any, running_mean=None, running_var=None, use_input_stats=True)


from ...._decomp import recurrent                    # noqa: E402 (it computes with the functions above)
RECURRENT.update({FUNCTIONS[mode]: recurrent.either(mode) for mode in recurrent.PADDED})
