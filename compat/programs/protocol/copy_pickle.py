# copy, deepcopy, pickle, clone.
import copy
import io
import pickle
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
c = copy.copy(x)
d = copy.deepcopy(x)
with torch.no_grad():
    x[0] = 9
print(c, d, d.is_leaf, d.requires_grad, c is x, c.data_ptr() == x.data_ptr())
p = pickle.loads(pickle.dumps(x))
print(p, p.requires_grad, p.is_leaf)
base = torch.arange(6.0)
view = base[2:5]
both = copy.deepcopy([base, view])
both[0][3] = -1
print(both, base)
again = pickle.loads(pickle.dumps((base, view)))
again[0][2] = -5
print(again)
for t in (torch.tensor(3), torch.zeros(0, 2), torch.tensor([True]), torch.tensor([1j]), torch.ones(2, dtype=torch.bfloat16), torch.arange(4).reshape(2, 2).t()):
    q = pickle.loads(pickle.dumps(t))
    print(q, q.dtype, q.stride())
x.sum().backward()
e = copy.deepcopy(x)
print(e.grad, e.grad is x.grad, x.clone().grad_fn.name(), x.clone().is_leaf, x.detach().clone())
buffer = io.BytesIO()
torch.save({"w": x, "n": 3}, buffer)
buffer.seek(0)
loaded = torch.load(buffer)
print(loaded)
m = copy.deepcopy(torch.nn.Linear(1, 1, bias=False))
print(type(m.weight).__name__, pickle.loads(pickle.dumps(m.weight)))
