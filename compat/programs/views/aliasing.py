# Writes go through views in both directions, along chains of views.
import torch

x = torch.arange(12.0).reshape(3, 4)
y = x[1:].t()
y += 100
print(x)
v = x.view(-1)[3:7]
v.zero_()
print(x, y)
x[0, 0] = -1
print(x.t()[0, 0], x.reshape(2, 6)[0, 0], x.flatten()[0])
a, b = x.chunk(2, dim=1)
a.fill_(5)
b *= 2
print(x)
x.diagonal().fill_(0.5)
print(x)
x.unsqueeze(0).squeeze(0)[2].neg_()
print(x)
x.select(1, 2).copy_(torch.tensor([7.0, 8.0, 9.0]))
print(x.narrow(1, 1, 2))
for row in x:
    row[0] = 42
print(x)
