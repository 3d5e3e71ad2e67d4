# register_post_accumulate_grad_hook: after .grad is there; stepping and freeing in it.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
seen = []


def step(p):
    seen.append(p.grad.clone())
    with torch.no_grad():
        p -= 0.1 * p.grad
    p.grad = None


h = x.register_post_accumulate_grad_hook(step)
for _ in range(2):
    (x ** 2).sum().backward()
    print(x, x.grad)
h.remove()
(x ** 2).sum().backward()
print(x.grad, seen)
try:
    (x * 2).register_post_accumulate_grad_hook(step)
except RuntimeError as e:
    print(e)
