# Shape errors of everyday ops.
import torch
import torch.nn.functional as F

a, b = torch.ones(2, 3), torch.ones(4, 5)
for f in (lambda: a + b, lambda: a @ b, lambda: torch.mm(a, torch.ones(3)), lambda: torch.matmul(torch.ones(2), torch.ones(3)),
          lambda: torch.bmm(a, b), lambda: torch.dot(torch.ones(2), torch.ones(3)), lambda: torch.dot(a, a),
          lambda: torch.cat([a, b]), lambda: torch.cat([a, torch.ones(2)]), lambda: torch.stack([a, b]), lambda: torch.cat([]),
          lambda: torch.ones(2, 3, 4) @ torch.ones(5, 4, 2), lambda: torch.mv(a, torch.ones(2)), lambda: F.linear(a, b),
          lambda: torch.addmm(torch.ones(7), a, a.t()), lambda: a.repeat(2), lambda: torch.where(torch.ones(5) > 0, a, a),
          lambda: a.masked_fill(torch.ones(4) > 0, 0), lambda: torch.outer(a, a), lambda: torch.einsum("ij,jk->ik", a, b),
          lambda: a.expand_as(b), lambda: torch.ones(-1), lambda: torch.broadcast_to(a, (3, 3)), lambda: torch.tensor([[1, 2], [3]]),
          lambda: torch.tril(torch.ones(3))):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
