# A hand-written recurrent cell unrolled, updated under no_grad.
import torch

torch.manual_seed(0)
wx, wh, wo = (torch.randn(*s) * 0.3 for s in ((3, 5), (5, 5), (5, 2)))
params = [p.requires_grad_() for p in (wx, wh, wo)]
xs = torch.randn(6, 4, 3)
target = torch.tensor([0, 1, 1, 0])
for step in range(5):
    h = torch.zeros(4, 5)
    for x in xs:
        h = torch.tanh(x @ wx + h @ wh)
    loss = torch.nn.functional.cross_entropy(h @ wo, target)
    loss.backward()
    with torch.no_grad():
        for p in params:
            p.sub_(p.grad, alpha=0.3)
            p.grad = None
    print(f"{loss.item():.4f}")
print(wo)
