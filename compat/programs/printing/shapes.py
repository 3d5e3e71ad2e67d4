# Nested, empty, wide, summarised.
import torch

print(torch.zeros(2, 2, 2), torch.zeros(0), torch.zeros(0, 3), torch.zeros(2, 0), torch.zeros(0, dtype=torch.int64), torch.tensor([[]]), torch.tensor(5))
print(torch.arange(30), torch.arange(100.0))
print(torch.arange(1001), torch.arange(1000)[-3:])
print(torch.zeros(40, 40))
print(torch.arange(2000).reshape(2, 1000))
print(torch.zeros(5, 5, 100), torch.zeros(1, 1, 1, 2))
print(torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1))
print([torch.ones(2), torch.zeros(1)], (torch.ones(1),), {"a": torch.ones(1)}, torch.Size([2, 3]), torch.Size([]))
print(torch.arange(3, dtype=torch.int8), torch.tensor([1, -20, 300]), torch.tensor([True, False]), torch.tensor(True), torch.ones(2, dtype=torch.uint8))
print(torch.arange(50, dtype=torch.float64).mul(1.5))
