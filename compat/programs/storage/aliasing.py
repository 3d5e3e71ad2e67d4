# Storages: identity, set_, sharing, resize through data, data_ptr arithmetic.
import torch

x = torch.arange(6.0)
y = x[2:]
print(y.data_ptr() - x.data_ptr(), y.storage_offset(), y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), x.untyped_storage().nbytes(), y.untyped_storage().nbytes())
z = torch.empty(0)
z.set_(x)
z[0] = 9
print(x, z.data_ptr() == x.data_ptr())
w = torch.empty(0).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
print(w)
w.fill_(-1)
print(x)
a = torch.ones(2)
b = a
b += 1
print(a, a is b, a._version)
c = a.data
c[0] = 7
print(a, c.data_ptr() == a.data_ptr(), a._version, c._version)
a.data = torch.zeros(3)
print(a, c)
d = torch.arange(4)
e = d.view(2, 2)
f = e.t()
f[0, 1] = 50
print(d, e._base is d, f._base is d, d._base)
g = d.clone()
g[0] = 1
print(d[0], torch.zeros(3).resize_(2).shape, d.untyped_storage().size())
