# randn and normal_: small and large sizes take different paths on the CPU.
import torch

torch.manual_seed(0)
print(torch.randn(3), torch.randn(()), torch.randn(0))
torch.manual_seed(1)
print(torch.randn(15), torch.randn(16), torch.randn(17))
torch.manual_seed(2)
print(torch.randn(3, dtype=torch.float64), torch.randn(16, dtype=torch.float64))
torch.manual_seed(3)
print(torch.normal(5.0, 2.0, (4,)), torch.normal(torch.arange(3.0), torch.ones(3)), torch.normal(0.0, torch.tensor([1.0, 10.0])))
x = torch.empty(2, 3).normal_(1.0, 0.5)
print(x, torch.randn_like(x), torch.randn(2, 2).t())
print(torch.randn(100, 100).sum().round(), torch.randn(2, 3, generator=torch.Generator().manual_seed(7)))
torch.manual_seed(4)
print(torch.randn(4, dtype=torch.bfloat16), torch.randn(20, dtype=torch.float16))
