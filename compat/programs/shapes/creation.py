# zeros, ones, full, arange, linspace, eye, *_like, tensor, as_tensor, empty: dtypes and edge cases.
import torch

print(torch.zeros(2), torch.zeros((2, 1)), torch.zeros([1]), torch.zeros(()), torch.ones(1, 2, dtype=torch.int32), torch.full((2,), 3), torch.full((2,), 3.0), torch.full((1,), True), torch.full((), 2.5), torch.empty(0).shape, torch.empty((2, 3)).shape)
print(torch.arange(3), torch.arange(1, 3), torch.arange(1, 3, 0.5), torch.arange(5, 0, -2), torch.arange(3.0), torch.arange(0), torch.arange(1, 2, 0.3, dtype=torch.float64), torch.arange(3, dtype=torch.float16), torch.arange(-1, 2), torch.arange(0.0, 0.3, 0.1))
print(torch.linspace(0, 1, 5), torch.linspace(1, 10, 1), torch.linspace(0, 5, 6, dtype=torch.int64), torch.logspace(0, 2, 3), torch.eye(2), torch.eye(2, 3), torch.eye(3, 1, dtype=torch.bool), torch.linspace(3, -3, 4))
x = torch.arange(4, dtype=torch.int16).reshape(2, 2)
print(torch.zeros_like(x), torch.ones_like(x, dtype=torch.float32), torch.full_like(x, 7), torch.empty_like(x).dtype, torch.rand_like(x, dtype=torch.float64).dtype, x.new_zeros(1), torch.zeros_like(x.t()).stride())
print(torch.tensor([[1, 2], [3, 4]]), torch.tensor(((1.0,), (2.0,))), torch.tensor([torch.tensor(1), torch.tensor(2)]), torch.tensor([1, 2], dtype=torch.float64), torch.tensor(1.0).dtype, torch.tensor([True, False]), torch.tensor(range(3)), torch.tensor([[], []]).shape, torch.tensor([2 ** 40]), torch.tensor([1.5], dtype=torch.int32))
print(torch.zeros(2, requires_grad=True), torch.ones(1, device="cpu").device, torch.tensor([1.0], requires_grad=True).is_leaf, torch.zeros(size=(2,)), torch.complex(torch.ones(1), torch.zeros(1)), torch.heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.5)))
