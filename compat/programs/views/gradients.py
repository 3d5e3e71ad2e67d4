# Gradients through every kind of view.
import torch

x = torch.arange(6.0).reshape(2, 3).requires_grad_()
weights = {
    "t": (x.t(), torch.arange(6.0).reshape(3, 2)),
    "view": (x.view(3, 2), torch.arange(6.0).reshape(3, 2)),
    "slice": (x[:, ::2], torch.tensor([[1.0, 2.0], [3.0, 4.0]])),
    "select": (x[1], torch.tensor([1.0, 2.0, 3.0])),
    "expand": (x.unsqueeze(0).expand(2, 2, 3), torch.arange(12.0).reshape(2, 2, 3)),
    "diagonal": (x.diagonal(1), torch.tensor([5.0, 7.0])),
    "unfold": (x.unfold(1, 2, 1), torch.arange(8.0).reshape(2, 2, 2)),
    "flip": (x.flip(0), torch.arange(6.0).reshape(2, 3)),
    "permute": (x[None].permute(2, 0, 1), torch.arange(6.0).reshape(3, 1, 2)),
    "flatten": (x.flatten(), torch.arange(6.0)),
}
for name, (y, w) in weights.items():
    x.grad = None
    (y * w).sum().backward()
    print(name, y.grad_fn.name(), x.grad)
