"""Protects what steps count, of which dtype the count is, and what optimizers and schedules refuse when."""
import pytest

import torchshim as torch


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad"])
def test_fused_steps_are_counted_in_single_precision(double, name):
    for fused, kind in ((True, torch.float32), (None, torch.float64)):
        p = torch.nn.Parameter(torch.ones(2))
        opt = getattr(torch.optim, name)([p], 0.1, fused=fused)
        p.grad = torch.ones(2)
        opt.step()
        assert opt.state[p]["step"].dtype == kind and opt.state[p]["step"] == 1


@pytest.mark.parametrize("name", ["Adam", "AdamW", "ASGD", "RMSprop", "NAdam", "RAdam", "Adamax"])
def test_a_step_that_sparse_gradients_refuse_does_not_count(name):
    p, q = torch.nn.Parameter(torch.arange(3.)), torch.nn.Parameter(torch.arange(3.))
    opt, other = getattr(torch.optim, name)([p], 0.02), getattr(torch.optim, name)([q], 0.02)
    p.grad = torch.ones(3).to_sparse()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        opt.step()
    assert not opt.state
    for _ in range(2):
        p.grad, q.grad = torch.ones(3), torch.ones(3)
        opt.step(), other.step()
    p.grad = torch.ones(3).to_sparse()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        opt.step()
    assert torch.equal(p, q) and opt.state[p]["step"] == 2


def test_adafactor_cannot_scale_by_an_empty_parameter():
    ps = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(0)), torch.nn.Parameter(torch.ones(2))]
    opt = torch.optim.Adafactor(ps)
    for p in ps:
        p.grad = torch.ones_like(p)
    with pytest.raises(ZeroDivisionError, match="float division by zero"):
        opt.step()
    assert (ps[0] != 1).all() and (ps[2] == 1).all()


def test_muon_refuses_gradients_of_other_than_matrices():
    opt = torch.optim.Muon([torch.nn.Parameter(torch.ones(2, 2))])
    p = torch.nn.Parameter(torch.ones(2))
    opt.add_param_group({"params": [p]})
    p.grad = torch.ones(2)
    with pytest.raises(ValueError, match="Param gradient must be a 2D matrix"):
        opt.step()


def test_one_cycle_asks_a_group_for_its_rate_before_its_momentum():
    opt = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, 6)
    opt.step(), sched.step()
    opt.add_param_group({"params": torch.nn.Parameter(torch.ones(2))})
    opt.step()
    with pytest.raises(KeyError, match="max_lr"):
        sched.step()


def test_loading_a_state_makes_the_defaults_say_differentiable():
    opt = torch.optim.Adafactor([torch.nn.Parameter(torch.ones(2))])
    assert "differentiable" not in opt.defaults
    opt.load_state_dict(opt.state_dict())
    assert opt.defaults["differentiable"] is False


def test_the_epsilon_of_a_short_parameter_is_as_short():
    q = torch.linspace(-1, 1, 5).bfloat16().requires_grad_()
    opt = torch.optim.Adadelta([q], .5)
    for k in range(3):
        q.grad = torch.tensor([.1, -.3, .7, .2, .01]).bfloat16() * (k + 1)
        opt.step()
    assert q.tolist() == [-1.0, -0.494140625, -0.00604248046875, 0.494140625, 0.99609375]
    assert opt.state[q]["acc_delta"].tolist() == [4.6193599700927734e-06, 4.649162292480469e-06, 4.6193599700927734e-06,
                                                  4.6193599700927734e-06, 4.32133674621582e-06]


def test_parameters_before_the_sparse_gradient_that_a_decay_refuses_have_made_their_steps():
    a, b, c = [torch.tensor([1., 2], requires_grad=True) for _ in range(3)]
    opt = torch.optim.Adagrad([a, b, c], .1, weight_decay=.1)
    a.grad, b.grad, c.grad = torch.ones(2), torch.ones(2).to_sparse(), torch.ones(2)
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        opt.step()
    assert a.tolist() != [1, 2] and b.tolist() == c.tolist() == [1, 2]
    assert [opt.state[p]["step"].item() for p in (a, b, c)] == [1, 1, 0]
