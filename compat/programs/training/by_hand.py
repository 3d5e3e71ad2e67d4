# Linear regression with hand-written updates: no_grad, .data, grad.zero_, lr schedule.
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 20).unsqueeze(1)
y = 3 * x + 0.5
w, b = torch.zeros(1, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
for i in range(20):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        lr = 0.5 / (1 + 0.1 * i)
        w -= lr * w.grad
        b -= lr * b.grad
        w.grad.zero_()
        b.grad.zero_()
    if i % 5 == 0:
        print(i, f"{loss.item():.4f}", w, b)
print(w, b, w._version)
w2 = torch.zeros(1, 1, requires_grad=True)
for i in range(5):
    loss = ((x @ w2 - y) ** 2).mean()
    (g,) = torch.autograd.grad(loss, w2)
    w2.data.add_(g, alpha=-0.5)
    print(w2.item() > 0, w2.grad)
