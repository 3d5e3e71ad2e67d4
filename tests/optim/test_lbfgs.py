"""LBFGS: how its state lies."""
import pytest

import torchshim as torch


def test_the_state_lies_as_in_torch():
    # its names in torch's order; distances are tensors where they come of the parameters' numbers, else as they were given
    def state(**how):
        p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        o = torch.optim.LBFGS([p], **how)

        def closure():
            o.zero_grad()
            loss = ((p - 3) ** 4).sum()
            loss.backward()
            return loss
        o.step(closure)
        once = o.state_dict()["state"][0]
        first = list(once), once["t"]
        o.step(closure)
        return first, list(o.state_dict()["state"][0])
    rest = ["d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"]
    (names, t), later = state(max_iter=1)
    assert names == ["func_evals", "n_iter", *rest] and later == [*names, "al"] and isinstance(t, torch.Tensor)
    (names, t), later = state(max_iter=4, line_search_fn="strong_wolfe")
    assert names == later == ["func_evals", "n_iter", "al", *rest] and t == 1 and type(t) is int


def test_a_learning_rate_that_is_an_integer_tensor_does_not_cut_distances():
    def reached(lr):
        p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        o = torch.optim.LBFGS([p], lr=lr, max_iter=4)

        def closure():
            o.zero_grad()
            loss = ((p - 3) ** 4).sum()
            loss.backward()
            return loss
        o.step(closure)
        return p.tolist()
    assert reached(torch.tensor(1)) == reached(1)


def test_a_second_group_is_refused_at_the_step():
    x = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([x])
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    with pytest.raises(AssertionError, match="Expected exactly one param_group, but got 2"):
        optimizer.step(lambda: x.sum())


def test_gradients_that_do_not_lie_in_a_row_are_refused():
    w = torch.ones(4, 3).t().detach().requires_grad_()
    optimizer = torch.optim.LBFGS([w])
    with pytest.raises(RuntimeError, match="^view size is not compatible with input tensor's size and stride"):
        optimizer.step(lambda: (w.pow(2).sum().backward(), torch.ones(()))[1])
