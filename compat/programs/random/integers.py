# randint, random_, randperm.
import torch

torch.manual_seed(0)
print(torch.randint(10, (8,)), torch.randint(-5, 5, (2, 3)), torch.randint(2 ** 40, (3,)))
print(torch.randint(0, 256, (4,), dtype=torch.uint8))
print(torch.randint(3, 5, (3,), dtype=torch.float32), torch.randint_like(torch.zeros(3), 100))
torch.manual_seed(1)
print(torch.randperm(10), torch.randperm(0), torch.randperm(1), torch.randperm(5, dtype=torch.int32))
print(torch.empty(3, dtype=torch.int64).random_(), torch.empty(3).random_(), torch.empty(3, dtype=torch.int8).random_(10))
print(torch.randperm(200).sum(), torch.randperm(40)[:12])
for f in (lambda: torch.randint(5, 5, (2,)), lambda: torch.randint(300, (2,), dtype=torch.uint8), lambda: torch.randperm(-1)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
