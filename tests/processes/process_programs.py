"""What the tests of torch.multiprocessing run in other processes."""
import os

import torchshim as torch


def add(rank, t, view):
    t += 1
    view[rank] += 10


def fail(rank):
    if rank == 1:
        raise ValueError("on purpose")


def leave(rank):
    os._exit(3)


def answer(questions, answers):
    t = questions.get()
    t.mul_(2)
    answers.put("done")


def train(rank, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(4, 2)
    for _ in range(20):
        optimizer.zero_grad()
        (model(x) - 3).square().mean().backward()
        optimizer.step()


def count(rank, together, model, numbers, trained):
    """100 steps uphill by one, with a momentum that adds nothing, and 100 each of other ways to add one; then `train`."""
    optimizers = [torch.optim.SGD([model.weight], lr=1.0), torch.optim.SGD([model.bias], lr=1.0, momentum=1e-9)]
    part = numbers[1].view(2, 2).t()
    together.wait()                            # all of them begin at once
    for _ in range(100):
        for optimizer in optimizers:
            optimizer.zero_grad()
        (-model(torch.ones(4, 3)).mean(0).sum()).backward()
        for optimizer in optimizers:
            optimizer.step()
        numbers[0].data.add_(1.0)
        part.add_(1)
        numbers[2].index_add_(0, torch.arange(4), torch.ones(4))
        numbers[3][:].addcdiv_(torch.ones(4), torch.ones(4))
        torch._foreach_add_(list(numbers[4:]), 1.0)
    train(rank, trained)
