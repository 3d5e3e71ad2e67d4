# rand, uniform_, rand_like.
import torch

torch.manual_seed(0)
print(torch.rand(5), torch.rand(2, 2), torch.rand(()), torch.rand(0, 3))
torch.manual_seed(1)
print(torch.rand(3, dtype=torch.float64), torch.empty(4).uniform_(-1, 1), torch.rand_like(torch.zeros(2, 2)))
print(torch.empty(3, dtype=torch.float64).uniform_(5, 6), torch.rand(20).sort().values)
torch.manual_seed(2)
print(torch.rand(3, dtype=torch.float16), torch.rand(3, dtype=torch.bfloat16))
x = torch.zeros(4, 4)
x[1:3].uniform_()
x[:, 0].uniform_(2, 3)
print(x)
try:
    torch.empty(2).uniform_(2, 1)
except RuntimeError as e:
    print(e)
