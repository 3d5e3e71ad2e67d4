# Complex and bool tensors, summarised too.
import torch

print(torch.tensor([1 + 2j, -0.5 - 1e-3j]), torch.tensor([[1j]]), torch.zeros(3, dtype=torch.complex128), torch.tensor([complex("nan")]), torch.tensor([1e6 + 1j, 1]))
print(torch.ones(2, 3, dtype=torch.bool), torch.zeros(0, dtype=torch.bool), torch.arange(1200) > 600, torch.tensor([1j, 2.5]) * 1e5)
print(torch.tensor([1 + 1j], requires_grad=True) * 2, torch.tensor(3 - 1j))
