"""Calls whose integers change, and whose results' shapes depend on data: milliseconds of CPU time a call."""
import time

import torch

CALLS = 100

torch.manual_seed(0)
x = torch.randn(60, 60)


def grown(k):
    """What a cat that grows holds after k + 1 pieces."""
    grown.held = torch.cat([grown.held, x[:1]]) if k else x[:1]
    return grown.held


def written(k):
    """Rows written at places that move."""
    held[k % 50:k % 50 + 3] = 1.0
    return held


def added(k):
    """A column added to at places that move."""
    held[:, k % 50] += 1.0
    return held


held = x.clone()
CASES = {
    "roll": lambda k: x.roll(k % 59, 0),
    "tril": lambda k: x.tril(k % 100 - 50),
    "diagonal": lambda k: x.diagonal(k % 58).sum(),
    "topk": lambda k: x.topk(k % 50 + 1)[0],
    "kthvalue": lambda k: x.kthvalue(k % 50 + 1)[0],
    "narrow": lambda k: x.narrow(0, k % 20, k % 33 + 1) * 2,
    "slice": lambda k: x[:k % 55 + 1, k % 7:k % 50 + 9] * 2,
    "steps": lambda k: x[::k % 20 + 1].sum(),
    "write": written,
    "add": added,
    "cat": grown,
    "repeat": lambda k: x[0].repeat(k % 90 + 2, 1),
    "pad": lambda k: torch.nn.functional.pad(x, (k % 30, k % 7)),
    "arange": lambda k: torch.arange(k % 90 + 1),
    "one_hot": lambda k: torch.nn.functional.one_hot(torch.tensor([1, 2]), k % 90 + 5),
    "unfold": lambda k: x.unfold(0, k % 50 + 1, 1)[0, 0],
    "product": lambda k: x[:k % 50 + 3] @ x,
    "sort": lambda k: x[:k % 50 + 2].sort(0)[0],
    "indices": lambda k: x[torch.arange(k % 50 + 1)],
    "nonzero": lambda k: (x[:k % 50 + 5] > 1).nonzero(),
    "mask": lambda k: x[x > (k % 30) / 20],
    "masked_select": lambda k: x.masked_select(x > (k % 30) / 20),
    "unique": lambda k: (x * (k % 10)).round().unique(),
    "bincount": lambda k: torch.bincount((x.abs() * (k % 20)).long().flatten()),
    "where": lambda k: torch.where(x > (k % 30) / 20)[0],
}


def cost():
    """{case: milliseconds of CPU time a call}, each call looked at; the first call is not counted."""
    figures = {}
    for name, call in CASES.items():
        call(0).numpy()
        start = time.process_time()
        for k in range(1, CALLS + 1):
            call(k).numpy()
        figures[name] = (time.process_time() - start) / CALLS * 1e3
    return figures
