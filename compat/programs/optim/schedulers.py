# StepLR and CosineAnnealingLR beside SGD and AdamW; others built from functions.
import torch

p = torch.tensor([1.0], requires_grad=True)
for make in (lambda o: torch.optim.lr_scheduler.StepLR(o, step_size=2, gamma=0.1), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=4, eta_min=0.01)):
    opt = torch.optim.SGD([p], lr=1.0)
    sched = make(opt)
    lrs = []
    for _ in range(6):
        opt.zero_grad()
        (p * 0.01).sum().backward()
        opt.step()
        lrs.append(round(sched.get_last_lr()[0], 6))
        sched.step()
    print(type(sched).__name__, lrs, round(opt.param_groups[0]["lr"], 6), sched.last_epoch, p)
    sd = sched.state_dict()
    print({k: v for k, v in sd.items() if isinstance(v, (int, float))})
opt = torch.optim.AdamW([{"params": [p], "lr": 0.5}], lr=0.1)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 3)
for _ in range(4):
    p.grad = torch.ones(1)
    opt.step()
    sched.step()
    print(sched.get_last_lr(), p)
again = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 3)
again.load_state_dict(sched.state_dict())
print(again.last_epoch)
