# In-place results must fit the tensor's dtype and shape.
import torch

x = torch.ones(2, dtype=torch.int64)
for f in (lambda: x.add_(1.5), lambda: x.div_(2), lambda: x.mul_(torch.tensor([1.5, 2.0])), lambda: x.add_(torch.ones(2, 2)),
          lambda: torch.ones(2, dtype=torch.bool).add_(1), lambda: torch.ones(2).add_(1j), lambda: torch.ones(1).add_(torch.ones(2)),
          lambda: torch.ones(2, dtype=torch.float16).add_(torch.ones(2, dtype=torch.float64)), lambda: x.mul_(True),
          lambda: x.copy_(torch.tensor([1.9, -1.9])), lambda: x.fill_(2.7), lambda: x.sqrt_(), lambda: x.floor_divide_(2),
          lambda: torch.ones(2).copy_(torch.ones(3)), lambda: torch.ones(2, dtype=torch.bool).fill_(3)):
    try:
        r = f()
        print(r, r.dtype)
    except Exception as e:
        print(type(e).__name__, e)
