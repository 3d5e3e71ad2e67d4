"""Protects swap_in_optimizer_params_and_state: a step on other parameters leaves the optimizer's own as they were."""
import copy

import torchshim as torch


def test_a_step_on_other_parameters():
    m = torch.nn.Linear(3, 2)
    o = torch.optim.Adam(m.parameters())
    m(torch.ones(1, 3)).sum().backward()
    o.step()
    before, state = m.weight.detach().clone(), copy.deepcopy(o.state_dict())
    others = [torch.zeros_like(p, requires_grad=True) for p in m.parameters()]
    for p in others:
        p.grad = torch.ones_like(p)
    with torch.optim.swap_in_optimizer_params_and_state(o, others, state):
        assert o.param_groups[0]["params"][0] is others[0]
        o.step()
    assert torch.equal(m.weight, before) and (others[0] != 0).all()
    assert state["state"][0]["step"] == 2 and o.state[m.weight]["step"] == 1 and o.param_groups[0]["params"][0] is m.weight
