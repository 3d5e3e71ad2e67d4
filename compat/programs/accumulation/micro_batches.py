# Four micro batches add up to the gradient of the whole batch.
import torch

data = torch.arange(32.0).reshape(8, 4) % 5
target = torch.arange(16.0).reshape(8, 2) % 3
w = torch.tensor([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0], [-2.0, 0.25]], requires_grad=True)

((data @ w - target) ** 2).sum().backward()
whole = w.grad.clone()
w.grad = None
for chunk, want in zip(data.chunk(4), target.chunk(4)):
    ((chunk @ w - want) ** 2).sum().backward()
    print(w.grad)
print(torch.allclose(w.grad, whole))
