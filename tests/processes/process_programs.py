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
