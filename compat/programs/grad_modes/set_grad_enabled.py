# set_grad_enabled as context and as a plain call.
import torch

x = torch.ones(1, requires_grad=True)
for flag in (True, False):
    with torch.set_grad_enabled(flag):
        print((x * 2).requires_grad)
torch.set_grad_enabled(False)
print((x * 2).requires_grad, torch.is_grad_enabled())
torch.set_grad_enabled(True)
print((x * 2).requires_grad)


@torch.set_grad_enabled(False)
def f():
    return (x * 3).requires_grad


print(f(), torch.is_grad_enabled())


@torch.no_grad()
def generator():
    for i in range(2):
        yield (x * i).requires_grad


print(list(generator()), torch.is_grad_enabled())
