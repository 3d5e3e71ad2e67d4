"""Selective checkpointing: a policy says of each operator in a checkpointed function whether its result is kept or computed again.

PyTorch's policies see the kernels below autograd. Here the graph's nodes are seen as they are made: what a policy keeps is held from the
first run on, and takes the place of the second run's record, which is then never computed. So operators whose operands need no gradient,
which have no nodes, are computed again without asking, as views are. Operators are called by the names of PyTorch's kernels on the CPU.
"""
from __future__ import annotations

import collections

from ..engine import context, replace_last
from ..library.namespaces import OpOverload, OpOverloadPacket
from ..ops.registry import T
from ..ops.views import LazyOp
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import around_nodes
from ..tensor.core.handle import read
from .checkpoint import CheckpointPolicy, SelectiveCheckpointContext, _again, _gradient

#: PyTorch's kernels for operators that are called otherwise here.
_KERNELS = {"softmax": "_softmax.default", "log_softmax": "_log_softmax.default", "layer_norm": "native_layer_norm.default",
            "batch_norm_train": "native_batch_norm.default", "batch_norm_eval": "native_batch_norm.default",
            "group_norm": "native_group_norm.default", "dropout_with": "mul.Tensor",
            "scaled_dot_product_attention": "_scaled_dot_product_flash_attention_for_cpu.default",
            "cross_entropy_loss": "nll_loss_forward.default", "nll_loss": "nll_loss_forward.default", "true_divide": "div.Tensor",
            "max_pool_with_indices": "max_pool2d_with_indices.default", "avg_pool": "avg_pool2d.default", "where": "where.self",
            "to": "_to_copy.default", "std": "std.correction", "var": "var.correction", "unsafe_view": "_unsafe_view.default",
            "index": "index.Tensor"}
#: Overloads by whether the second operand is a tensor.
_PAIRS = {**dict.fromkeys("add sub mul div rsub remainder maximum minimum add_ sub_ mul_ div_".split(), ("Tensor", "Tensor")),
          **dict.fromkeys("eq ne lt le gt ge masked_fill masked_fill_".split(), ("Tensor", "Scalar")),
          "pow": ("Tensor_Tensor", "Tensor_Scalar")}
_ALONG = {"sum": "dim_IntList", "mean": "dim", "max": "dim", "min": "dim", "prod": "dim_int"}
_VIEWS = {"Select": "select.int", "Slice": "slice.Tensor", "Split": "split.Tensor", "Transpose": "transpose.int", "Unbind": "unbind.int",
          "Squeeze": "squeeze.dim"}


_KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


def kernel(inst):
    """torch.ops.aten's overload for the operator of an Instance."""
    from .. import ops as torch_ops
    name, _, overload = _kernel_name(inst, inst.op.name.partition(".")[0]).partition(".")
    return getattr(getattr(torch_ops.aten, name), overload or "default")


def _kernel_name(inst, name):
    layout = inst.layout
    if isinstance(inst.op, LazyOp):
        kind = inst.grad_fn_name.partition("Backward")[0]
        return _VIEWS.get(kind) or "".join(["_" * (k > 0 and c.isupper()) + c.lower() for k, c in enumerate(kind)])
    if name in ("linear", "matmul"):
        return _product(inst, name)
    if name in _PAIRS:
        return f"{name}.{_PAIRS[name][len(layout) > 1 and layout[1] is not T]}"
    if name in _ALONG and len(layout) > 1 and layout[1] is not None:
        return f"{name}.{_ALONG[name]}"
    return _KERNELS.get(name, name)


def _product(inst, name):
    a, b = inst.in_metas[:2]
    if name == "linear":
        return "addmm" if len(inst.in_metas) == 3 and (a.ndim <= 2 or a.contiguous) else "mm"
    if a.ndim < 2 or b.ndim < 2:
        return "dot" if a.ndim == b.ndim else "mv"
    folded = a.ndim > 2 == b.ndim and all([a.strides[i] == a.strides[i + 1] * a.shape[i + 1] for i in range(a.ndim - 2)])
    return "mm" if folded or a.ndim == b.ndim == 2 else "bmm"


def _arguments(inst, vals):
    """What a policy is shown: the operands, without histories, and the other arguments that are known when the operator is recorded."""
    left, args = iter(vals), []
    for x in inst.layout:
        if x is T:
            args.append(wrap(next(left)))
        elif x.__class__ is tuple and T in x:
            args.append([wrap(next(left)) for y in x if y is T])
        elif x is None or isinstance(x, (bool, int, float, str, tuple)):
            args.append(x)
    return args + [wrap(v) for v in left if v is not None]


_TAKEN = object()


class _First:
    """The context of the first run: asks the policy at each node, and keeps what it says to."""

    def __init__(self, policy, kept):
        self.policy, self.kept = policy, kept

    def __enter__(self):
        self.thread, self.inside, self.met = context.thread, False, collections.Counter()
        around_nodes(id(self), self._meeting)

    def __exit__(self, *exc):
        around_nodes(id(self), None)

    def _meeting(self, make_node):
        def make(inst, needs, edges, vals, tensors, outs, nums):
            if context.thread == self.thread and not self.inside:
                self.inside = True             # what a policy computes is not asked about
                try:
                    self.meet(kernel(inst), inst, vals, outs)
                finally:
                    self.inside = False
            return make_node(inst, needs, edges, vals, tensors, outs, nums)
        return make

    def meet(self, op, inst, vals, outs):
        if isinstance(inst.op, LazyOp):
            return
        made = tuple([wrap(v) for v in outs])
        told = SelectiveCheckpointContext(is_recompute=False, op_output=made[0] if len(made) == 1 else made)
        said = self.policy(told, op, *_arguments(inst, vals))
        self.kept[op].append(list(outs) if said is True or said in _KEPT else None)


class _Second(_First):
    """The context of the second run: what was kept stands for what it records."""

    def meet(self, op, inst, vals, outs):
        at, known = self.met[op], self.kept[op]
        self.met[op] += 1
        if isinstance(inst.op, LazyOp) or at >= len(known) or known[at] is None:
            return
        if known[at] is _TAKEN:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                               "selective activation checkpoint.")
        values, known[at] = known[at], _TAKEN
        gradient = _gradient()
        replace_last(context.trace, outs, lambda: [read(_again(wrap(v), gradient)) for v in values])


def contexts(policy, allow_cache_entry_mutation):
    """See `checkpoint.create_selective_checkpoint_contexts`."""
    if isinstance(policy, list):
        chosen = policy
        for op in chosen:
            if not isinstance(op, OpOverload):
                hint = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change "
                        "it to `torch.ops.aten.mm.default`.") if isinstance(op, OpOverloadPacket) else ""
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}")
        policy = lambda ctx, op, *args, **kwargs: op in chosen
    elif not callable(policy):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept = collections.defaultdict(list)
    return _First(policy, kept), _Second(policy, kept)
