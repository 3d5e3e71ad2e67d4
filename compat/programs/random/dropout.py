# dropout masks from the default stream, and its gradient.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.ones(8, requires_grad=True)
y = F.dropout(x, 0.5)
print(y)
y.sum().backward()
print(x.grad)
print(F.dropout(x, 0.5, training=False) is x, F.dropout(torch.ones(4), 0.0), F.dropout(torch.ones(4), 1.0))
print(F.dropout(torch.ones(2, 5), p=0.3))
print(torch.dropout(torch.ones(5), 0.5, True), torch.dropout(torch.ones(3), 0.5, False))
z = torch.ones(6)
F.dropout(z, 0.5, inplace=True)
print(z)
print(F.dropout(torch.ones(2, 3).t(), 0.5), F.dropout(torch.ones(0), 0.5))
try:
    F.dropout(x, 1.5)
except ValueError as e:
    print(e)
m = torch.nn.Dropout(0.25)
print(m(torch.ones(8)), m.eval()(torch.ones(3)), m)
