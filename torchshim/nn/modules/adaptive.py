"""AdaptiveLogSoftmaxWithLoss."""
from __future__ import annotations

import itertools
from collections import namedtuple

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over many classes in clusters by frequency (https://arxiv.org/abs/1609.04309).

    cutoffs: where the clusters of rarer classes begin; each is projected to div_value times fewer features than the one before. The
    forward looks at the targets' values. Returns (log probability of each target, their negative mean).
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                             "between 1 and n_classes-1")
        where = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, **where), Linear(hidden, high - low, bias=False, **where)))

    def reset_parameters(self):
        """As Linear's, for all layers."""
        for layer in (self.head, *itertools.chain.from_iterable(self.tail)):
            layer.reset_parameters()

    def forward(self, input_, target_):
        batched = self._check(input_, target_)
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if target.numel() and not bool(((target >= 0) & (target < self.n_classes)).all()):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                               f"{target.max().item()}] were found. ")
        output, at_head = input.new_zeros(target.size(0)), target
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            at_head = at_head.masked_fill(mask, self.shortlist_size + i)
            if rows.numel():
                scores = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
                output = output.index_copy(0, rows, scores.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1))
        output = output + F.log_softmax(self.head(input), dim=1).gather(1, at_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    @staticmethod
    def _check(input, target):
        n = target.dim()
        if n > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if n and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != n + 1:
            raise RuntimeError(f"{n}D target tensor expects {n + 1}D input tensors, but found inputs with size {input.size()}")
        return bool(n)

    def _all_scores(self, input, head):
        scores = F.log_softmax(head, dim=1)
        out = input.new_empty((head.size(0), self.n_classes))
        out[:, :self.shortlist_size] = scores[:, :self.shortlist_size]
        for i, (tail, (low, high)) in enumerate(zip(self.tail, itertools.pairwise(self.cutoffs))):
            out[:, low:high] = F.log_softmax(tail(input), dim=1) + scores[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def log_prob(self, input):
        """The log probabilities of all classes: (N, n_classes)."""
        return self._all_scores(input, self.head(input))

    def predict(self, input):
        """The most likely class of each row; looks whether it is in a cluster."""
        head = self.head(input)
        best = head.argmax(dim=1)
        rare = best >= self.shortlist_size
        if not bool(rare.any()):
            return best
        rows = rare.nonzero().squeeze(1)
        return best.index_copy(0, rows, self._all_scores(input[rows], head[rows]).argmax(dim=1))
