# bfloat16 and float16: arithmetic, reductions, matmul, gradients.
import torch

for d in (torch.bfloat16, torch.float16):
    x = torch.tensor([0.1, 1.0, 3.0, 100.0], dtype=d)
    print(x, x + 0.001, x * x, x.sum(), x.mean(), (x / 3), x.exp()[:2], x.sqrt())
    print((x + torch.ones(4)).dtype, (x + torch.tensor(1.0)).dtype, (x + 1.5).dtype, (x + torch.tensor(1.0, dtype=torch.float64)).dtype)
    m = torch.ones(2, 4, dtype=d)
    print(m @ x, (m @ x).dtype, torch.nn.functional.softmax(x, 0), x.max(), x.float())
    p = torch.tensor([1.0, 2.0], dtype=d, requires_grad=True)
    (p * p).sum().backward()
    print(p.grad)
    print(torch.zeros(2, dtype=d), torch.arange(3, dtype=d), torch.full((2,), 1 / 3, dtype=d), x.tolist(), x[1].item())
print(torch.tensor([65504.0], dtype=torch.float16) * 2, torch.tensor([1e-8], dtype=torch.float16))
