"""Optimizer runs that do the same under torchshim and real torch; `python tests/optim/cases.py > tests/optim/goldens.json`
under real torch 2.13 records what they give."""
import json

OPTIMIZERS = {
    "sgd": ("SGD", dict(lr=0.1)),
    "sgd_momentum": ("SGD", dict(lr=0.1, momentum=0.9)),
    "sgd_dampening": ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1)),
    "sgd_nesterov": ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, maximize=True)),
    "adam": ("Adam", dict(lr=0.1)),
    "adam_l2": ("Adam", dict(lr=0.1, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.2)),
    "adam_amsgrad": ("Adam", dict(lr=0.1, amsgrad=True, maximize=True)),
    "adamw": ("AdamW", dict(lr=0.1)),
    "adamw_amsgrad": ("AdamW", dict(lr=0.1, amsgrad=True, weight_decay=0.3)),
}
SCHEDULES = {
    "step": ("StepLR", dict(step_size=3, gamma=0.5)),
    "cosine": ("CosineAnnealingLR", dict(T_max=5, eta_min=0.01)),
}


def train(torch, name, dtype="float64"):
    """Six steps on two parameters, one of which has no gradient in the third step; values and state afterwards."""
    cls, options = OPTIMIZERS[name]
    d = getattr(torch, dtype)
    w = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=d, requires_grad=True)
    b = torch.tensor([0.25, -0.75], dtype=d, requires_grad=True)
    opt = getattr(torch.optim, cls)([{"params": [w]}, {"params": [b], "lr": 0.05}], **options)
    for k in range(6):
        opt.zero_grad()
        loss = ((w @ w + (0 if k == 2 else b)) ** 2).mean() / 10
        loss.backward()
        opt.step()
    state = opt.state_dict()["state"]
    return {"w": w.tolist(), "b": b.tolist(),
            "state": {str(k): {n: v.tolist() for n, v in sorted(s.items())} for k, s in state.items()}}


def schedule(torch, name):
    """Twelve learning rates."""
    cls, options = SCHEDULES[name]
    p = torch.zeros(1, requires_grad=True)
    opt = torch.optim.SGD([p], lr=0.2)
    s = getattr(torch.optim.lr_scheduler, cls)(opt, **options)
    out = []
    for _ in range(12):
        out.append(s.get_last_lr()[0])
        opt.step()
        s.step()
    return out


if __name__ == "__main__":
    import torch
    print(json.dumps({"train": {n: train(torch, n) for n in OPTIMIZERS}, "schedule": {n: schedule(torch, n) for n in SCHEDULES}}, indent=0))
