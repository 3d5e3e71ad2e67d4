# out= arguments: written, resized, refused.
import torch
import warnings

a = torch.tensor([1.0, 2.0])
out = torch.zeros(2)
r = torch.add(a, 1, out=out)
print(r is out, out, out._version)
e = torch.empty(0)
torch.mul(a, 3, out=e)
print(e)
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    big = torch.zeros(5)
    torch.mul(a, 3, out=big)
    print(big, len(w), w[0].category.__name__)
i = torch.zeros(2, dtype=torch.int64)
for f in (lambda: torch.add(a, 1, out=i), lambda: torch.add(a.clone().requires_grad_(), 1, out=out),
          lambda: torch.matmul(torch.eye(2), a, out=torch.zeros(2)), lambda: torch.sum(a, 0, out=torch.zeros(())),
          lambda: torch.add(torch.arange(2), 1, out=torch.zeros(2)), lambda: torch.stack([a, a], out=torch.zeros(2, 2)),
          lambda: torch.max(torch.eye(2), 1, out=(torch.zeros(2), torch.zeros(2, dtype=torch.long)))):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
