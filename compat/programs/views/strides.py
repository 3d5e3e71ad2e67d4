# as_strided, contiguity, view on non-contiguous memory.
import torch

x = torch.arange(12)
print(x.as_strided((3, 3), (3, 1)), x.as_strided((2, 3), (1, 2), 1))
m = x.view(3, 4)
t = m.t()
print(t.is_contiguous(), t.stride(), t.contiguous().stride(), m[:, 1].stride(), m[:, 1].is_contiguous())
print(m.stride(0), m.stride(-1), m.storage_offset(), m[1:, 2:].storage_offset())
try:
    t.view(12)
except RuntimeError as e:
    print(e)
print(t.reshape(12), m[:, :2].reshape(-1), m[::2].view(2, 2, 2).stride())
print(torch.empty_strided((2, 3), (1, 2)).stride(), torch.zeros(2, 3).t().clone().stride(), torch.zeros_like(t).stride())
print(torch.zeros(1, 3).t().is_contiguous(), torch.zeros(3, 1).stride(), torch.zeros(0, 3).stride(), torch.zeros(()).stride())
x.as_strided((3,), (4,)).fill_(-1)
print(x)
e = torch.ones(3, 1).expand(3, 4)
print(e.stride(), e.is_contiguous(), e.contiguous().stride())
try:
    e.add_(1)
except RuntimeError as err:
    print(err)
z = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
print(z.stride(), z.is_contiguous(), z.is_contiguous(memory_format=torch.channels_last), (z + 1).stride())
