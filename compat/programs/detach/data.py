# .data is a detached alias whose writes autograd does not see.
import torch

x = torch.ones(3, requires_grad=True)
y = 2 * x
x.data *= 100
y.sum().backward()
print(x, x.grad, x.data.requires_grad)
print(x.data.data_ptr() == x.data_ptr(), x._version)

w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
w.data.fill_(5.0)
loss.backward()
print(w.grad)

w.data = torch.tensor([7.0, 8.0, 9.0])
print(w, w.shape, w.is_leaf, w.requires_grad)
