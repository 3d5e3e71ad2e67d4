"""The loop of the autograd tutorials: one layer, two backward calls over a kept graph, zero_, item."""
import torch
import torch.nn.functional as F


def setup(variant):
    torch.manual_seed(0)
    x, y = torch.ones(5), torch.zeros(3)
    w = torch.randn(5, 3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)

    def step():
        z = torch.matmul(x, w) + b
        loss = F.binary_cross_entropy_with_logits(z, y)
        loss.backward(retain_graph=True)
        loss.backward(retain_graph=True)
        loss.item()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.01)
            b.sub_(b.grad, alpha=0.01)
        w.grad.zero_()
        b.grad.zero_()

    def look():
        return w.detach().sum().item()

    return step, look
