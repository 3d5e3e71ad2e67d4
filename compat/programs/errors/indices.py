# Indices out of range and of wrong kinds.
import torch
import torch.nn.functional as F

x = torch.arange(6).reshape(2, 3)
for f in (lambda: x[2], lambda: x[-3], lambda: x[0, 3], lambda: x[0, 0, 0], lambda: x[[0, 2]], lambda: x[torch.tensor([5])],
          lambda: x[torch.tensor([-3])], lambda: x[::-1], lambda: x[::0], lambda: x["a"], lambda: x[1.0], lambda: x[torch.ones(3) > 0],
          lambda: x[torch.tensor([True, False, True])], lambda: x[[0, 1], [0, 1, 2]], lambda: x[..., ...], lambda: x[[]],
          lambda: torch.tensor(3)[0], lambda: x.gather(1, torch.tensor([[3]])), lambda: x.index_select(0, torch.tensor([2])),
          lambda: x.take(torch.tensor([6])), lambda: F.embedding(torch.tensor([2]), torch.ones(2, 3)),
          lambda: F.nll_loss(torch.ones(2, 3), torch.tensor([0, 3])), lambda: F.one_hot(torch.tensor([3]), 3),
          lambda: torch.zeros(3).scatter_(0, torch.tensor([3]), 1.0), lambda: torch.zeros(3).index_add_(0, torch.tensor([4]), torch.ones(1)),
          lambda: x.sum(2), lambda: x.sum(-3), lambda: x.max(5), lambda: x.sum((0, 0)), lambda: torch.cat([x, x], 2),
          lambda: x.argmax(3), lambda: torch.zeros(0).max(), lambda: torch.zeros(0, 2).argmax(0), lambda: x.topk(4)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
