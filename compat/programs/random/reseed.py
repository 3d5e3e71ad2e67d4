# Streams restart with the seed and go on between kinds of draws.
import torch

torch.manual_seed(42)
a = torch.rand(2), torch.randn(3), torch.randint(100, (2,)), torch.randperm(4), torch.rand(1)
torch.manual_seed(42)
b = torch.rand(2), torch.randn(3), torch.randint(100, (2,)), torch.randperm(4), torch.rand(1)
print(a)
print(all(torch.equal(p, q) for p, q in zip(a, b)))
print(torch.initial_seed(), type(torch.manual_seed(5)).__name__)
state = torch.get_rng_state()
p = torch.rand(3)
torch.set_rng_state(state)
print(torch.equal(p, torch.rand(3)), state.dtype, state.shape)
torch.manual_seed(-1)
print(torch.rand(1), torch.initial_seed())
torch.manual_seed(2 ** 63 + 5)
print(torch.rand(1))
torch.manual_seed(0)
odd = [torch.randn(1) for _ in range(3)]
torch.manual_seed(0)
print(torch.stack(odd).flatten(), torch.randn(3))
