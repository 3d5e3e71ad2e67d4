"""Protects optimizers and schedules: torch's updates to the last digits of float64, state dicts, and one record a step."""
import copy
import json
import math
import pathlib
import warnings

import numpy as np
import pytest

import torchshim as torch
from tests.optim import cases

GOLDENS = json.loads((pathlib.Path(__file__).parent / "goldens.json").read_text())


def close(got, want):
    np.testing.assert_allclose(np.array(got, float), np.array(want, float), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", cases.OPTIMIZERS)
def test_updates_are_torchs(name):
    got, want = cases.train(torch, name), GOLDENS["train"][name]
    close(got["w"], want["w"])
    close(got["b"], want["b"])
    assert got["state"].keys() == want["state"].keys()
    for k, s in want["state"].items():
        assert got["state"][k].keys() == s.keys()
        for n, v in s.items():
            close(got["state"][k][n], v)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", cases.SHORT)
def test_short_dtypes_are_rounded_where_torch_rounds(name, dtype):
    assert cases.short(torch, name, dtype) == GOLDENS["short"][dtype][name]


@pytest.mark.parametrize("name", [*cases.SCHEDULES, *cases.COMPOSED])
def test_schedules_are_torchs(name):
    close(cases.schedule(torch, name), GOLDENS["schedule"][name])


def test_plateau_is_torchs():
    close(cases.plateau(torch), GOLDENS["plateau"])


@pytest.mark.parametrize("name, search", [("lbfgs", None), ("wolfe", "strong_wolfe")])
def test_lbfgs_is_torchs(name, search):
    got, want = cases.lbfgs(torch, search), GOLDENS[name]
    assert got["counts"] == want["counts"] and got["names"] == want["names"]
    np.testing.assert_allclose(got["x"] + got["losses"], want["x"] + want["losses"], rtol=1e-8)


def test_lbfgs_records_nothing_that_grows_with_its_history():
    """The two loops over the history are computed at once: recorded, each length of the history would be a trace of its own."""
    torch.manual_seed(0)
    x = torch.randn(50, dtype=torch.float64, requires_grad=True)
    scale = torch.linspace(1, 30, 50, dtype=torch.float64)
    opt = torch.optim.LBFGS([x], max_iter=4)

    def closure():
        opt.zero_grad()
        loss = (scale * x ** 4).sum()
        loss.backward()
        return loss
    opt.step(closure)
    opt.step(closure)
    before = torch.stats()
    opt.step(closure)
    opt.step(closure)
    after = torch.stats()
    assert len(opt.state[x]["old_dirs"]) > 8
    assert after["states"] == before["states"] and after["ops"] - before["ops"] < 150
    again = torch.optim.LBFGS([x], max_iter=4)
    again.load_state_dict(opt.state_dict())            # its lists are tensors
    assert torch.equal(again.state[x]["old_dirs"][3], opt.state[x]["old_dirs"][3])
    again.step(closure)


def test_muon_is_torchs_to_bfloat16():
    np.testing.assert_allclose(cases.muon(torch), GOLDENS["muon"], rtol=2e-2)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "NAdam"])
def test_gradients_flow_through_a_differentiable_step(name):
    """The derivative of the loss after one step by the start and by lr agrees with differences."""
    def after(x, lr, options):
        w = x.clone()
        opt = getattr(torch.optim, name)([w], lr=lr, differentiable=True, **options)
        w.grad = 2 * w.detach()
        opt.step()
        return (w ** 3).sum()
    options = {"momentum": 0.5} if name == "SGD" else {}
    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    gx, glr = torch.autograd.grad(after(x, lr, options), (x, lr))
    with torch.no_grad():
        by_lr = (after(x, lr + 1e-6, options) - after(x, lr - 1e-6, options)) / 2e-6
    assert abs(by_lr - glr) < 1e-5 and gx.isfinite().all()


def quadratic(cls, **options):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    return w, getattr(torch.optim, cls)([w], **options)


def test_a_step_is_one_operator():
    ps = [torch.ones(3, requires_grad=True) for _ in range(7)]
    opt = torch.optim.AdamW(ps, lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        sum(p.sum() for p in ps).backward()
        opt.step()
    for p in ps:
        p.grad = torch.ones(3)
    before = torch.stats()["ops"]
    opt.step()
    assert torch.stats()["ops"] - before <= 1 + 7      # the update, and the seven `ones` above


def test_state_dict_round_trip():
    w, opt = quadratic("Adam", lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (w * w).sum().backward()
        opt.step()
    saved = copy.deepcopy(opt.state_dict())
    assert set(saved) == {"state", "param_groups"} and saved["state"][0]["step"].item() == 3.0
    v, other = quadratic("Adam", lr=0.5)
    with torch.no_grad():
        v.copy_(w)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.1
    for p, o in ((w, opt), (v, other)):
        o.zero_grad()
        (p * p).sum().backward()
        o.step()
    assert v.tolist() == w.tolist()


def test_versions_and_hooks():
    w, opt = quadratic("SGD", lr=0.1, momentum=0.9)
    seen = []
    opt.register_step_pre_hook(lambda o, a, k: seen.append("before"))
    opt.register_step_post_hook(lambda o, a, k: seen.append("after"))
    w.grad = torch.ones(2)
    before = w._version
    opt.step()
    assert w._version > before and w.is_leaf and w.requires_grad and seen == ["before", "after"]
    opt.zero_grad()
    assert w.grad is None
    w.grad = torch.ones(2)
    opt.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0, 0.0]


def test_closure():
    w, opt = quadratic("SGD", lr=0.1)

    def closure():
        opt.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss
    with torch.no_grad():
        assert opt.step(closure).item() == 5.0
    assert w.tolist() == pytest.approx([0.8, -1.6])


def test_errors():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
        torch.optim.SGD([], lr=0.1)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        torch.optim.Adam([w], lr=-1)
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        torch.optim.SGD([w * 2], lr=0.1)
    with pytest.raises(ValueError, match="Nesterov momentum requires a momentum and zero dampening"):
        torch.optim.SGD([w], lr=0.1, nesterov=True)
    opt = torch.optim.SGD([w], lr=0.1)
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        opt.add_param_group({"params": [w]})
    with pytest.raises(TypeError, match="is not an Optimizer"):
        torch.optim.lr_scheduler.StepLR(w, 3)


def test_wrong_order_warns():
    w, opt = quadratic("SGD", lr=0.1)
    s = torch.optim.lr_scheduler.StepLR(opt, 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step"):
        s.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt.step()
        s.step()


def test_repr():
    assert repr(quadratic("SGD", lr=0.1)[1]) == ("SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: "
                                                 "None\n    fused: None\n    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: "
                                                 "False\n    weight_decay: 0\n)")


def test_adam_takes_the_parts_of_complex_parameters_as_numbers():
    """As torch 2.13: the second moment holds the squares of the parts."""
    p = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
    o = torch.optim.Adam([p], lr=0.1)
    for _ in range(2):
        o.zero_grad()
        (p * p.conj()).real.sum().backward()
        o.step()
    assert p.tolist() == pytest.approx([0.8004122376441956 + 1.8001664876937866j, 0.3011874258518219 - 0.8004122376441956j])
    assert o.state[p]["exp_avg_sq"].tolist() == pytest.approx([0.007236000616103411 + 0.030424000695347786j,
                                                               0.001639000023715198 + 0.007236000616103411j])


def test_parameters_have_names_or_not():
    p, q = (torch.ones(2, requires_grad=True) for _ in "pq")
    optimizer = torch.optim.SGD([("p", p)], lr=0.1)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["p"]
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        optimizer.add_param_group({"params": [q]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        torch.optim.SGD([("p", p), q], lr=0.1)


def test_lbfgs_takes_sparse_gradients():
    p = torch.ones(3, 2, requires_grad=True)
    optimizer = torch.optim.LBFGS([p], lr=0.1, max_iter=2, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (p[0] ** 2).sum()
        loss.backward()
        p.grad = p.grad.to_sparse()
        return loss
    optimizer.step(closure)
    assert (p[0] < 1).all() and (p[1:] == 1).all() and type(optimizer.state[p]["t"]) is torch.Tensor


def test_a_cyclic_schedulers_scale_function_is_not_saved_its_attributes_are():
    class Scale:
        factor = None

        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return self.factor

    def scheduler(scale):
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        return torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, step_size_up=2, scale_fn=scale)
    assert scheduler(lambda x: 1.0).state_dict()["_scale_fn_custom"] is None
    state = scheduler(Scale(0.5)).state_dict()
    other = scheduler(Scale(1.0))
    other.load_state_dict(state)
    other.optimizer.step()
    other.step()
    assert state["_scale_fn_custom"] == {"factor": 0.5} and other.get_last_lr() == [pytest.approx(0.2)]


@pytest.mark.parametrize("dtype, product, tolerance", [("float64", 0.20259919790342001, 1e-12), ("bfloat16", 0.2021484375, 0)])
def test_a_scalar_of_a_loaded_state_has_the_parameters_dtype(dtype, product, tolerance):
    """torch casts all of a loaded state but the step, NAdam's product of momenta too; a value of another dtype must not get in."""
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0]).to(getattr(torch, dtype)))
    state = None
    for _ in range(2):
        o = torch.optim.NAdam([p], lr=0.1)
        if state is not None:
            o.load_state_dict(state)
        p.grad = p.detach() * 2
        o.step()
        state = o.state_dict()
    made = o.state[p]["mu_product"]
    assert made.dtype == getattr(torch, dtype) and abs(made.item() - product) <= tolerance
    assert made.numpy().dtype == made.dtype.np if dtype == "float64" else made.float().item() == product


def test_a_learning_rate_that_is_a_tensor_is_a_number_in_double_precision():
    w = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    o = torch.optim.AdamW([w], lr=torch.tensor(0.01), fused=True)
    for _ in range(3):
        w.grad = w.detach() ** 2
        o.step()
    close(w.tolist(), [0.9697243855741301, -2.0294059434993312])


def test_step_hooks_see_the_optimizer_among_the_arguments():
    o, seen = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1), []
    o.register_step_pre_hook(lambda opt, args, kwargs: seen.append((args, kwargs)))
    o.register_step_post_hook(lambda opt, args, kwargs: seen.append((args, kwargs)))
    o.step()
    o.step(closure=None)
    assert [(a == (o,), k) for a, k in seen] == [(True, {}), (True, {}), (True, {"closure": None}), (True, {"closure": None})]


def test_composed_schedulers_state_dicts_name_what_they_hold_last():
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    S = torch.optim.lr_scheduler
    assert list(S.ChainedScheduler([S.StepLR(o, 1)]).state_dict()) == ["_last_lr", "_schedulers"]
    assert list(S.CyclicLR(o, 0.1, 0.2, cycle_momentum=False).state_dict())[-1] == "_scale_fn_custom"


SHAPES = [(7, 3), (7,), (), (5000,), (3, 0), (2, 2, 2), (4,)]


@pytest.mark.parametrize("make", [lambda p: torch.optim.Adam(p, weight_decay=0.1, amsgrad=True),
                                  lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
                                  lambda p: torch.optim.RMSprop(p, centered=True, momentum=0.5),
                                  torch.optim.Rprop, torch.optim.NAdam, torch.optim.RAdam,
                                  torch.optim.Adadelta, torch.optim.Adamax, torch.optim.ASGD, torch.optim.Adagrad, torch.optim.Adafactor])
def test_small_parameters_are_computed_end_to_end_to_the_same_bits(make, monkeypatch):
    """Where it is interpreted: what is computed for several small parameters at once is what each alone gives."""
    def run():
        torch.manual_seed(3)
        shapes = [s for s in SHAPES if 0 not in s or make is not torch.optim.Adafactor]        # which cannot scale by none
        params = [torch.nn.Parameter(torch.randn(s).to(d)) for s in shapes for d in (torch.float32, torch.float64)]
        params.append(torch.nn.Parameter(torch.randn(3).bfloat16()))
        optimizer = make(params)
        optimizer.update.made.clear()
        for _ in range(4):
            for p in params:
                p.grad = torch.randn(p.shape).to(p.dtype)
            optimizer.step()
        return [p.detach().to(torch.float64).numpy().tobytes() for p in params]
    together = run()
    monkeypatch.setattr(make([torch.nn.Parameter(torch.ones(2))]).update, "each", False)
    assert together == run()


def test_small_parameters_that_were_written_between_steps_are_seen():
    """They are laid end to end anew where one is not what the last step made."""
    def run(several):
        params = [torch.nn.Parameter(torch.full((2, 3), float(k + 1))) for k in range(4)]
        optimizers = [torch.optim.SGD(g, 0.1, momentum=0.5) for g in ([params] if several else [[p] for p in params])]
        for step in range(8):
            for p in params:
                p.grad = p.detach() * step
            for o in optimizers:
                o.step()
            if step % 3 == 1:
                with torch.no_grad():
                    params[1][0] += 1
                params[2].detach().numpy()[1] = step
        return [p.tolist() for p in params]
    assert run(True) == run(False)


def test_parameters_are_grouped_by_size_and_dtype():
    from torchshim.engine import meta_of
    from torchshim.optim._update import _small
    def metas(*shapes, dtype=np.float32):
        return [meta_of(s, np.dtype(dtype), None) for s in shapes]
    small, large = (10, 10), (100, 100)
    lists = metas(small, large, small, small) + metas(small, dtype=np.float64) + metas(small)
    assert _small(6, 2, lists * 2) == [[0, 2, 3, 5]]
    assert _small(2, 2, metas(small, small, small, (1, 100))) == []
    many = _small(20, 1, metas(*[(4000,)] * 20))
    assert [len(g) for g in many] == [8, 8, 4]


def test_the_line_search_stands_alone_under_torchs_names():
    """Libraries of minimisers (pytorch-minimize) import both, and pass tensors where LBFGS has numbers."""
    from torchshim.optim.lbfgs import _cubic_interpolate, _strong_wolfe
    t = torch.tensor
    assert f"{_cubic_interpolate(0, t(1.), t(-1.), 2., t(1.5), t(2.))} {_cubic_interpolate(2., t(1.5), t(2.), 0, t(1.), t(-1.))}" == (
        "0.9148541688919067 0.9148541688919067")
    assert _cubic_interpolate(0., 1., t(-1.), 2., 1.5, t(2.), bounds=(0.1, 0.3)) == 0.3
    assert torch.is_tensor(_cubic_interpolate(0., 1., t(1.), 2., 1.5, t(2.), (1., 4.)))

    def at(x, distance, d):
        y = (x + distance * d).requires_grad_()
        f = (100 * (y[1:] - y[:-1]**2)**2 + (1 - y[:-1])**2).sum()
        f.backward()
        return f.item(), y.grad
    x = t([-1.2, 1., .5], dtype=torch.float64)
    f, g = at(x, 0, torch.zeros(3).double())
    value, gradient, distance, calls = _strong_wolfe(at, x, 1., -g, f, g, -g.dot(g), c2=0.1)
    np.testing.assert_allclose(float(value), 4.133937005095695, rtol=1e-9)
    close(gradient.tolist(), at(x, distance, -g)[1].tolist())
    assert calls == 8 and torch.is_tensor(distance)
    assert _strong_wolfe(at, x, 10., -g, f, g, -g.dot(g), max_ls=3)[2:] == (0, 4)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_takes_a_learning_rate_that_is_a_tensor(search):
    """The state keeps the distance as a tensor then, and the next step computes with it."""
    ends = []
    for lr in (0.5, torch.tensor(0.5)):
        p = torch.tensor([1.5, -2.0], requires_grad=True)
        optimizer = torch.optim.LBFGS([p], lr=lr, max_iter=5, line_search_fn=search)

        def closure():
            optimizer.zero_grad()
            loss = ((p - 1) ** 4).sum() + p.prod()
            loss.backward()
            return loss
        for _ in range(2):
            optimizer.step(closure)
        ends.append((p.tolist(), float(optimizer.state[p]["t"]), type(optimizer.state[p]["t"])))
    assert ends[0][:2] == ends[1][:2] and ends[0][2] is float and ends[1][2] is torch.Tensor


def test_an_optimizer_around_another_patches_its_own_step():
    """Wrappers that do not call Optimizer.__init__ set the hooks up by hand and call what torch's constructor calls."""
    class Around(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.param_groups = inner, inner.param_groups
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
            self._patch_step_function()

        def step(self, closure=None):
            return self.inner.step(closure)

    p = torch.nn.Parameter(torch.ones(2))
    around, seen = Around(torch.optim.SGD([p], lr=0.5)), []
    around._optimizer_step_post_hooks[0] = lambda *args: seen.append(len(args))
    p.sum().backward()
    around.step()
    assert p.tolist() == [0.5, 0.5] and seen == [3] and Around.step.hooked


def test_a_differentiable_nadam_goes_through_its_product_of_momenta():
    """mu_product is a tensor that the step multiplies; gradients go through it, too."""
    p = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True) * 1
    p.grad = torch.tensor([0.3, 0.4], dtype=torch.float64)
    mu = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)
    opt = torch.optim.NAdam([p], lr=0.1, differentiable=True)
    opt.state[p].update(step=torch.tensor(3.0, dtype=torch.float64), exp_avg=torch.tensor([0.1, 0.2], dtype=torch.float64),
                        exp_avg_sq=torch.tensor([0.1, 0.2], dtype=torch.float64), mu_product=mu.clone())
    opt.step()
    assert p.tolist() == [0.993136878079851, 1.9930618957001112] and opt.state[p]["mu_product"].item() == 0.4052644401552938
    assert abs(torch.autograd.grad(p.sum(), mu)[0].item() + 0.00890476591321675) < 1e-15 and opt.state[p]["step"] == 4


def test_loaded_state_is_shared():
    """What needs no other dtype or device is not copied: one optimizer's steps are seen by the other that loaded its state."""
    p, q = (torch.ones(2, requires_grad=True) for _ in range(2))
    a, b = (torch.optim.SGD([t], lr=1.0, momentum=0.5) for t in (p, q))
    p.grad, q.grad = torch.ones(2), torch.ones(2)
    a.step()
    b.load_state_dict(a.state_dict())
    assert b.state[q]["momentum_buffer"] is a.state[p]["momentum_buffer"]
    a.step()
    b.step()
    assert b.state[q]["momentum_buffer"].tolist() == [1.75, 1.75] and q.tolist() == [-0.75, -0.75]


@pytest.mark.parametrize("make, text", [
    (lambda p: torch.optim.Adam([p], lr="a"), "'<=' not supported between instances of 'float' and 'str'"),
    (lambda p: torch.optim.SGD([p], lr=None), "'<' not supported between instances of 'NoneType' and 'float'"),
    (lambda p: torch.optim.SparseAdam([p], lr=None), "'<' not supported between instances of 'float' and 'NoneType'")])
def test_a_learning_rate_that_is_no_number(make, text):
    with pytest.raises(TypeError) as refusal:
        make(torch.ones(2, requires_grad=True))
    assert str(refusal.value) == text
    assert math.isnan(torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=math.nan).defaults["lr"])
