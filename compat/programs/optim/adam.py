# Adam and AdamW with their options.
import torch

for cls in (torch.optim.Adam, torch.optim.AdamW):
    for kw in ({}, {"betas": (0.5, 0.9)}, {"eps": 1e-2}, {"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True}, {"foreach": True}, {"lr": torch.tensor(0.05)}, {"capturable": False, "differentiable": False}, {"fused": True}):
        p = torch.tensor([1.0, -2.0], requires_grad=True)
        opt = cls([p], **{"lr": 0.1, **kw})
        for _ in range(3):
            opt.zero_grad()
            (p ** 2).sum().backward()
            opt.step()
        print(cls.__name__, kw, p.detach())
    state = opt.state[p]
    print(sorted(state), state["step"], state["exp_avg"], state["exp_avg_sq"])
    print(opt)
    print({k: v for k, v in opt.param_groups[0].items() if k != "params"})
for f in (lambda: torch.optim.Adam([p], betas=(1.0, 0.9)), lambda: torch.optim.Adam([p], eps=-1), lambda: torch.optim.AdamW([p], lr=-0.1), lambda: torch.optim.AdamW([p], weight_decay=-1)):
    try:
        f()
    except Exception as e:
        print(type(e).__name__, e)
