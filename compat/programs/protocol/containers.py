# len, iteration, in, unpacking, bool, hash, equality.
import torch

x = torch.arange(6).reshape(3, 2)
print(len(x), [r.tolist() for r in x], list(torch.arange(3)), 4 in x, 9 in x, torch.tensor(3) in x)
a, b, c = x
print(a, c, [t.item() for t in torch.tensor([1.5, 2.5])], list(reversed(torch.arange(3))), sum(torch.arange(4)), max(torch.tensor([3, 1, 2])))
print(bool(torch.tensor(0)), bool(torch.tensor([0.1])), bool(torch.tensor([[True]])), not torch.tensor(0), torch.tensor(1) and 5)
d = {x: 1, a: 2}
print(d[x], x in d, torch.arange(6).reshape(3, 2) in d, hash(x) == id(x), x == x, (x == x).all(), x is x, x != 3, (x == None), x.eq(3).any())
print([1, 2] + torch.tensor([3, 4]).tolist(), torch.tensor([1, 2]) + torch.tensor([3]), x.tolist(), torch.tensor(1.5).tolist(), torch.zeros(0).tolist(), torch.zeros(2, 0).tolist())
print(isinstance(x, torch.Tensor), type(x), isinstance(x, torch.LongTensor), isinstance(x.float(), torch.FloatTensor), type(x).__name__, callable(x), x.__class__ is torch.Tensor)
for k, row in enumerate(x):
    row += k
print(x, dict(zip("ab", torch.tensor([1, 2]))), torch.Size([1, 2]) == (1, 2), x.shape[0], x.shape[-1], tuple(x.shape), x.size(0), x.size(-1), x.shape.numel(), [*x.shape], torch.Size([2]) + (3,), x.shape[:1])
if torch.tensor([3.0]) > 2:
    print("yes")
x.label = "mine"
print(x.label, x.__dict__)
