"""Steps of training a small perceptron at batch sizes that were never seen, and at those seen once: milliseconds of CPU time a step."""
import time

import torch
import torch.nn.functional as F


def cost(last=300):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = [(torch.randn(n, 20), torch.randint(0, 5, (n,))) for n in range(1, last + 1)]

    def steps(batches):
        start = time.process_time()
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            loss.item()
        return (time.process_time() - start) / len(batches) * 1e3

    steps(batches[:4])                         # what the first step of any program costs is not meant
    return {"never seen": steps(batches[4:]), "seen once": steps(batches[4:])}
