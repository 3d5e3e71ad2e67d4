# linear, layer_norm, embedding, one_hot, normalize, group/batch norm: values and gradients.
import torch
import torch.nn.functional as F

x = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]], requires_grad=True)
w = torch.tensor([[1.0, 0.5, -1.0], [2.0, 0.0, 1.0]], requires_grad=True)
b = torch.tensor([0.1, -0.1], requires_grad=True)
y = F.linear(x, w, b)
print(y, F.linear(x, w), F.linear(x[0], w[0]), F.linear(x[None], w).shape)
(y * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
print(x.grad, w.grad, b.grad)
g, h = torch.tensor([1.0, 2.0, 0.5], requires_grad=True), torch.zeros(3, requires_grad=True)
x.grad = None
y = F.layer_norm(x, (3,), g, h)
print(y, F.layer_norm(x, (2, 3)), F.layer_norm(x, [3], eps=1.0))
(y * torch.arange(6.0).reshape(2, 3)).sum().backward()
print(x.grad, g.grad, h.grad)
e = torch.arange(8.0).reshape(4, 2).requires_grad_()
i = torch.tensor([[1, 3], [1, 0]])
y = F.embedding(i, e)
print(y, y.grad_fn.name())
(y * torch.arange(8.0).reshape(2, 2, 2)).sum().backward()
print(e.grad)
e.grad = None
F.embedding(i, e, padding_idx=1).sum().backward()
print(e.grad, F.one_hot(i), F.one_hot(torch.tensor([0, 2]), num_classes=4), F.normalize(x), F.normalize(x, p=1, dim=0))
print(F.rms_norm(x, (3,)), F.batch_norm(x, torch.zeros(3), torch.ones(3), training=True), F.batch_norm(x, torch.zeros(3), torch.ones(3)), F.group_norm(x, 3), F.bilinear(x, x, torch.ones(1, 3, 3)))
for f in (lambda: F.layer_norm(x, (2,)), lambda: F.linear(x, w.t()), lambda: F.embedding(i, e, padding_idx=9)):
    try:
        print(f())
    except Exception as err:
        print(type(err).__name__, str(err).split("\n")[0])
