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
    "adadelta": ("Adadelta", dict(lr=0.5, weight_decay=0.1)),
    "adagrad": ("Adagrad", dict(lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5)),
    "adamax": ("Adamax", dict(lr=0.1, maximize=True)),
    "nadam": ("NAdam", dict(lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)),
    "radam": ("RAdam", dict(lr=0.1, betas=(0.8, 0.7), weight_decay=0.1)),
    "rmsprop": ("RMSprop", dict(lr=0.1, momentum=0.5, centered=True)),
    "rmsprop_plain": ("RMSprop", dict(lr=0.1, weight_decay=0.2)),
    "rprop": ("Rprop", dict(lr=0.1)),
    "asgd": ("ASGD", dict(lr=0.1, lambd=0.1, t0=2)),
    "adafactor": ("Adafactor", dict(lr=0.1, weight_decay=0.1)),
}
SCHEDULES = {
    "step": ("StepLR", dict(step_size=3, gamma=0.5)),
    "cosine": ("CosineAnnealingLR", dict(T_max=5, eta_min=0.01)),
    "multi_step": ("MultiStepLR", dict(milestones=[2, 5, 5, 9], gamma=0.5)),
    "constant": ("ConstantLR", dict(factor=0.5, total_iters=4)),
    "linear": ("LinearLR", dict(start_factor=0.25, total_iters=6)),
    "exponential": ("ExponentialLR", dict(gamma=0.9)),
    "polynomial": ("PolynomialLR", dict(total_iters=7, power=2.0)),
    "warm_restarts": ("CosineAnnealingWarmRestarts", dict(T_0=2, T_mult=2, eta_min=0.01)),
    "cyclic": ("CyclicLR", dict(base_lr=0.1, max_lr=0.5, step_size_up=2, step_size_down=3, mode="triangular2")),
    "cyclic_exp": ("CyclicLR", dict(base_lr=0.1, max_lr=0.5, step_size_up=3, mode="exp_range", gamma=0.9)),
    "one_cycle": ("OneCycleLR", dict(max_lr=0.5, total_steps=12)),
    "one_cycle_three": ("OneCycleLR", dict(max_lr=0.5, epochs=3, steps_per_epoch=4, anneal_strategy="linear", three_phase=True)),
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


def composed(torch, opt, name):
    """Schedulers that take functions, metrics or other schedulers."""
    s = torch.optim.lr_scheduler
    if name == "lambda":
        return s.LambdaLR(opt, lambda k: 0.9 ** k)
    if name == "multiplicative":
        return s.MultiplicativeLR(opt, [lambda k: 1 - k / 20])
    if name == "sequential":
        return s.SequentialLR(opt, [s.LinearLR(opt, 0.1, total_iters=4), s.CosineAnnealingLR(opt, 6)], [4])
    if name == "chained":
        return s.ChainedScheduler([s.ConstantLR(opt, 0.5, 3), s.ExponentialLR(opt, 0.9)])
    return torch.optim.swa_utils.SWALR(opt, 0.05, anneal_epochs=5)


COMPOSED = ["lambda", "multiplicative", "sequential", "chained", "swa"]


def schedule(torch, name):
    """Twelve learning rates, with the momentum where it changes too."""
    p = torch.zeros(1, requires_grad=True)
    opt = torch.optim.SGD([p], lr=0.2, momentum=0.9)
    if name in COMPOSED:
        s = composed(torch, opt, name)
    else:
        cls, options = SCHEDULES[name]
        s = getattr(torch.optim.lr_scheduler, cls)(opt, **options)
    out = []
    for _ in range(12):
        out.append([s.get_last_lr()[0], opt.param_groups[0]["momentum"]])
        opt.step()
        s.step()
    return out


def plateau(torch):
    """The learning rates that a metric which stops falling leads to."""
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
    s = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1, cooldown=1, factor=0.5, min_lr=0.03)
    out = []
    for metric in [3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]:
        s.step(metric)
        out.append(s.get_last_lr()[0])
    return out


def lbfgs(torch, search):
    """Three steps on Rosenbrock's function."""
    x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([x], lr=0.1 if search is None else 1, max_iter=6, history_size=3, line_search_fn=search)
    losses = []

    def closure():
        opt.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss
    for _ in range(3):
        losses.append(opt.step(closure).item())
    state = opt.state_dict()["state"][0]
    return {"x": x.tolist(), "losses": losses, "counts": [state["func_evals"], state["n_iter"]], "names": sorted(state)}


def muon(torch):
    """Three steps on a matrix in float32; the orthogonalisation is bfloat16's."""
    w = torch.tensor([[1.0, -2.0, 0.5], [0.5, 3.0, 1.0]], requires_grad=True)
    opt = torch.optim.Muon([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (w @ w.T).sum().backward()
        opt.step()
    return w.tolist()


SHORT = ["sgd_dampening", "sgd_nesterov", "adam_l2", "adam_amsgrad", "adamw", "adagrad", "adamax", "nadam", "radam", "rmsprop",
         "rprop", "asgd"]


def short(torch, name, dtype):
    """Five steps on 39 numbers, more than the 32 of a register, in a dtype of 16 bits."""
    cls, options = OPTIMIZERS[name]
    d = getattr(torch, dtype)
    p = torch.linspace(-2, 3, 39).to(d).requires_grad_()
    opt = getattr(torch.optim, cls)([p], **options)
    for k in range(5):
        p.grad = (torch.arange(39) * (k + 3) % 11 / 8 - 0.7).to(d)
        opt.step()
    return p.tolist()


if __name__ == "__main__":
    import torch
    import torch.optim.swa_utils
    print(json.dumps({"train": {n: train(torch, n) for n in OPTIMIZERS},
                      "short": {d: {n: short(torch, n, d) for n in SHORT} for d in ("bfloat16", "float16")},
                      "schedule": {n: schedule(torch, n) for n in [*SCHEDULES, *COMPOSED]},
                      "plateau": plateau(torch), "lbfgs": lbfgs(torch, None), "wolfe": lbfgs(torch, "strong_wolfe"),
                      "muon": muon(torch)}, indent=0))
