# Tensor hooks: order, replacing gradients, removal, on leaves and non-leaves.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
log = []
h1 = y.register_hook(lambda g: log.append(("y1", g.clone())))
h2 = y.register_hook(lambda g: g * 10)
h3 = y.register_hook(lambda g: log.append(("y3", g.clone())))
hx = x.register_hook(lambda g: g + 1)
y.sum().backward()
print(log, x.grad)
h2.remove()
hx.remove()
log.clear()
x.grad = None
(x * 2).sum().backward()
print(log, x.grad)
z = x * 3
z.register_hook(lambda g: torch.zeros_like(g))
(z + x).sum().backward()
print(x.grad)
for f in (lambda: torch.ones(1).register_hook(print), lambda: x.register_hook(3)):
    try:
        f()
        print("fine")
    except Exception as e:
        print(type(e).__name__, e)
w = x * 1
w.register_hook(lambda g: torch.ones(3))
try:
    w.sum().backward()
except RuntimeError as e:
    print(str(e).split("\n")[0])
