"""Protects the functional forms of optimizers: one step of a function is one step of its class."""
import importlib

import pytest

import torchshim as torch

FORMS = {"adadelta": ("Adadelta", ["square_avg", "acc_delta", "step"], {"rho": 0.9, "eps": 1e-6}),
         "adagrad": ("Adagrad", ["sum", "step"], {"lr_decay": 0.1, "eps": 1e-6}),
         "adam": ("Adam", ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"], {"amsgrad": True, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8}),
         "adamw": ("AdamW", ["exp_avg", "exp_avg_sq", None, "step"], {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8}),
         "adamax": ("Adamax", ["exp_avg", "exp_inf", "step"], {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8}),
         "asgd": ("ASGD", ["ax", "mu", "eta", "step"], {"lambd": 0.1, "t0": 5.0, "alpha": 0.7}),
         "nadam": ("NAdam", ["exp_avg", "exp_avg_sq", "mu_product", "step"],
                   {"beta1": 0.9, "beta2": 0.99, "momentum_decay": 0.01, "eps": 1e-8}),
         "radam": ("RAdam", ["exp_avg", "exp_avg_sq", "step"], {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8}),
         "rmsprop": ("RMSprop", ["square_avg", None, "momentum_buffer", "step"],
                     {"alpha": 0.9, "eps": 1e-6, "momentum": 0.9, "centered": False}),
         "sgd": ("SGD", ["momentum_buffer"], {"momentum": 0.9, "dampening": 0.1, "nesterov": False})}


@pytest.mark.parametrize("name", FORMS)
def test_a_step_is_that_of_the_class(name):
    cls, entries, options = FORMS[name]
    function = getattr(importlib.import_module(f"torchshim.optim.{name}"), name)
    torch.manual_seed(0)
    start, g = torch.randn(3, 2), torch.randn(3, 2)
    p = start.clone().requires_grad_()
    p.grad = g
    given = {k: v for k, v in options.items() if not k.startswith("beta")} | {"lr": 0.1, "weight_decay": 0.1}
    if "beta1" in options:
        given["betas"] = options["beta1"], options["beta2"]
    optimizer = getattr(torch.optim, cls)([p], **given)
    optimizer.step()
    q = p.detach().clone()
    states = [[] if e is None else [optimizer.state[p][e].clone()] for e in entries]
    optimizer.step()
    more = {"maximize": False} if name in ("adadelta", "adagrad", "adam", "adamw", "sgd") else {}
    function([q], [g], *states, lr=0.1, weight_decay=0.1, **options, **more)
    assert torch.equal(q, p.detach())
    assert all([torch.equal(s[0], optimizer.state[p][e]) for s, e in zip(states, entries) if e is not None])


def test_arguments():
    from torchshim.optim.sgd import sgd
    with pytest.raises(TypeError, match="^sgd\\(\\) missing a required"):
        sgd([torch.ones(1)], [torch.ones(1)], [None])
