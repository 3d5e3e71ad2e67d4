# view and reshape with shapes that cannot be.
import torch

x = torch.arange(6)
for f in (lambda: x.view(4), lambda: x.view(-1, 4), lambda: x.view(-1, -1), lambda: x.reshape(5),
          lambda: x.view(2, -2), lambda: torch.zeros(0).view(-1, 0), lambda: x.expand(2, 3),
          lambda: x.transpose(0, 1), lambda: x.permute(0, 1), lambda: x.view(2, 3).permute(0, 0),
          lambda: x.unsqueeze(3), lambda: x.select(0, 6), lambda: x.narrow(0, 4, 3), lambda: x.squeeze(2),
          lambda: x.view(2, 3).t().view(6), lambda: torch.zeros(2, 2, 2).t(), lambda: x.unfold(0, 7, 1),
          lambda: x.split(-1), lambda: x.chunk(0), lambda: x.view(1, 6).diagonal(0, 0, 0)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
