"""What one op costs in Python: `a + b` with gradient, and one node of its graph where backward goes node by node."""
import time
import torch


def nodes(how, repeats, links):
    """The least microseconds of CPU time that a node takes in a backward over a chain: "partial", gradients of a tensor in the middle;
    "retain", the graph is kept; "hooks", each tensor has one. "recorded": what recording a link of the chain takes."""
    a, b, least = torch.ones(8, 8, requires_grad=True), torch.full((8, 8), 1.01), float("inf")
    for _ in range(repeats):
        start, c, middle = time.process_time(), a, a
        for k in range(links):
            c = c * b
            if how == "hooks":
                c.register_hook(lambda g: None)
            middle = c if k == links // 2 else middle
        root = c.sum()
        if how != "recorded":
            start = time.process_time()
            grads = torch.autograd.grad(root, [middle, a] if how == "partial" else a, retain_graph=how == "retain")
        least = min(least, time.process_time() - start)
        (root if how == "recorded" else grads[0].sum()).item()
    return least / links * 1e6


def cost(repeats=40, ops=100):
    """Median microseconds of one `a + b` where `a` requires grad, and of one link of a chain `c = c + b`."""
    a, b = torch.ones(32, 32, requires_grad=True), torch.ones(32, 32)
    single, chain = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(ops):
            c = a + b
        single.append((time.perf_counter() - start) / ops)
        c.sum().item()
        c = a
        start = time.perf_counter()
        for _ in range(ops):
            c = c + b
        chain.append((time.perf_counter() - start) / ops)
        c.sum().item()
    middle = repeats // 2
    return {"add": sorted(single)[middle] * 1e6, "chain": sorted(chain)[middle] * 1e6,
            **{f"node {how}": nodes(how, repeats, ops) for how in ("recorded", "partial", "retain", "hooks")}}
