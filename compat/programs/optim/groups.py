# Parameter groups, zero_grad(set_to_none), add_param_group, missing gradients, closures.
import torch

a, b, c = (torch.tensor([v], requires_grad=True) for v in (1.0, 2.0, 3.0))
opt = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.01, "momentum": 0.9}], lr=0.1)
((a + b) ** 2).backward()
opt.step()
print(a, b, c, a.grad)
opt.zero_grad(set_to_none=False)
print(a.grad, b.grad)
opt.zero_grad()
print(a.grad)
opt.add_param_group({"params": c, "lr": 1.0})
(a * b * c).backward()
opt.step()
print(a, b, c, len(opt.param_groups), [g["lr"] for g in opt.param_groups])
opt.zero_grad()
(a * 2).backward()
opt.step()
print(a, b, c)


def closure():
    opt.zero_grad()
    loss = (a ** 2 + b ** 2).sum()
    loss.backward()
    return loss


print(opt.step(closure), a, b)
sd = opt.state_dict()
print(sd)
other = torch.optim.SGD([{"params": [a]}, {"params": [b]}, {"params": [c]}], lr=5.0)
other.load_state_dict(sd)
print(other.param_groups[2]["lr"], other.state_dict()["state"])
before = a.clone()
opt.param_groups[0]["lr"] = 0.0
opt.step(closure)
print(torch.equal(before, a))
