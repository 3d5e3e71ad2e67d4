"""What one op costs in Python: `a + b` with gradient."""
import time
import torch


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
    return {"add": sorted(single)[middle] * 1e6, "chain": sorted(chain)[middle] * 1e6}
