# SGD with every option, printed step by step.
import torch

for kw in ({}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1}, {"momentum": 0.5, "weight_decay": 0.1, "maximize": True}, {"foreach": True}, {"foreach": False, "momentum": 0.9}):
    p = torch.tensor([1.0, -2.0], requires_grad=True)
    opt = torch.optim.SGD([p], lr=0.1, **kw)
    for _ in range(3):
        opt.zero_grad()
        (p ** 2).sum().backward()
        opt.step()
    print(kw, p, opt.state_dict()["state"])
print(opt)
for f in (lambda: torch.optim.SGD([p], lr=-1), lambda: torch.optim.SGD([p], lr=0.1, nesterov=True), lambda: torch.optim.SGD([], lr=0.1), lambda: torch.optim.SGD([p * 2], lr=0.1),
          lambda: torch.optim.SGD(p, lr=0.1), lambda: torch.optim.SGD([p, p], lr=0.1), lambda: torch.optim.SGD([p], momentum=-1, lr=0.1), lambda: torch.optim.SGD([1], lr=0.1)):
    try:
        f()
        print("fine")
    except Exception as e:
        print(type(e).__name__, e)
