# Branches on values, early exits, loops whose length depends on data.
import torch

for start in (1.0, 3.0, 1.0, 50.0):
    x = torch.tensor(start, requires_grad=True)
    y, n = x * 1, 0
    while y < 100:
        y = y * y if y > 5 else y + 2
        n += 1
    y.backward()
    print(start, n, y.item(), x.grad)
for n in (1, 2, 3, 2, 4):
    t = torch.arange(float(n), requires_grad=True)
    s = sum(t[i] * i for i in range(n))
    if n > 1:
        s.backward()
    print(n, t.grad, torch.stack([t.sum(), t.max()]).detach())
collatz = torch.tensor(7)
seen = []
while collatz != 1:
    collatz = collatz // 2 if collatz % 2 == 0 else 3 * collatz + 1
    seen.append(int(collatz))
print(seen)
