"""torch.compile with a backend of the program's own: it gets torch 2.13's graphs, and what it makes of them computes the function."""
import copy

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F

W = torch.ones(3)


class Backend:
    """Keeps the graphs that it gets."""

    def __init__(self):
        self.graphs, self.inputs = [], []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        self.inputs.append(example_inputs)
        return gm.forward

    def code(self, k=0):
        """The lines of a graph's code, without what frees values."""
        return [line.strip().partition(";  ")[0] for line in self.graphs[k].code.strip().splitlines()[1:] if line.strip()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.t = nn.Linear(3, 4), torch.ones(2)
        self.seq = nn.Sequential(nn.ReLU(), nn.Linear(4, 2), nn.BatchNorm1d(2))
        self.register_buffer("b", torch.ones(2))

    def forward(self, x, k=3):
        x = self.l1(x) * k
        x = self.seq(x) + self.b - self.t
        return x, {"a": x.sum()}


def test_a_module_s_graph_has_torch_s_names_and_its_gradients_flow():
    net, backend = Net(), Backend()
    compiled, x = torch.compile(net, backend=backend), torch.rand(5, 3)
    y, d = compiled(x, 2)
    y.sum().backward()
    got = net.l1.weight.grad
    net.l1.weight.grad = None
    net.seq[2].reset_running_stats()
    assert torch.equal(y, net(x, 2)[0]) and torch.equal(d["a"], y.sum()) and net.seq[2].num_batches_tracked == 1
    net(x, 2)[0].sum().backward()
    assert torch.equal(net.l1.weight.grad, got)
    assert [n.name for n in backend.graphs[0].graph.nodes][:3] == [
        "l_self_modules_l1_parameters_weight_", "l_self_modules_l1_parameters_bias_", "l_x_"]
    assert [n.name for n in backend.graphs[0].graph.nodes if n.op.startswith("call")] == [
        "linear", "x", "input_1", "input_2", "add_", "input_3", "add", "x_1", "sum_1"]
    assert backend.code()[-8] == "input_1 = torch.nn.functional.relu(x, inplace = False)"
    assert type(backend.inputs[0][0]) is nn.Parameter and len(backend.graphs) == 1
    compiled(x, 2)
    assert len(backend.graphs) == 1
    compiled(x, 4)                             # what the graph holds is another number
    compiled(x[:3], 4)                         # other shapes
    assert len(backend.graphs) == 3


def test_operators_properties_modes_and_parts_are_written_as_torch_writes_them():
    backend, w2 = Backend(), torch.ones(3)

    def f(x, ys, d):
        y = x + W + w2
        y += 1
        y = y @ ys[0].T
        z = -y / d["k"] ** 2
        if z.shape[0] > 1:
            z = z.relu()
        with torch.no_grad():
            q = z.sigmoid()
        a, b = torch.split(x, 2, dim=1)
        x.mul_(2)
        x[0] = 1
        c = x[:, None].mean(dim=(0,), keepdim=True).max(dim=2).values
        return z, q, a, c, abs(z), 2 - x, x.size(0) * 2.5
    x = torch.ones(2, 3)
    made = torch.compile(f, backend=backend)(x, [torch.ones(3, 3)], {"k": torch.tensor(2.)})
    assert made[-1] == 5.0 and x.tolist() == [[1] * 3, [2] * 3] and made[2].tolist() == [[1, 1], [2, 2]]
    assert [n.target for n in backend.graphs[0].graph.nodes if n.op == "placeholder"] == ["L_x_", "G_W_", "L_w2_", "L_ys_0_", "L_d_k_"]
    assert backend.code()[5:] == [
        "add = l_x_ + g_w_", "y = add + l_w2_", "y += 1", "getattr_1 = l_ys_0_.T", "y_2 = y_1 @ getattr_1", "neg = -y_2",
        "pow_1 = l_d_k_ ** 2", "z = neg / pow_1", "z_1 = z.relu()", "_set_grad_enabled = torch._C._set_grad_enabled(False)",
        "q = z_1.sigmoid()", "_set_grad_enabled_1 = torch._C._set_grad_enabled(True)", "split = torch.functional.split(l_x_, 2, dim = 1)",
        "a = split[0]", "mul_ = l_x_.mul_(2)", "l_x_[0] = 1", "getitem_2 = l_x_[(slice(None, None, None), None)]",
        "mean = getitem_2.mean(dim = (0,), keepdim = True)", "max_1 = mean.max(dim = 2)", "c = max_1[0]", "abs_1 = _operator_abs(z_1)",
        "sub = 2 - l_x_", "return (z_1, q, a, c, abs_1, sub)"]


def test_graph_breaks(capsys):
    backend = Backend()

    def f(x):
        y = x * 2
        if y.sum() > 0:
            z = y + 1
        else:
            z = y - 1
        print("hi")
        return z * x
    compiled = torch.compile(f, backend=backend)
    assert compiled(torch.ones(3)).tolist() == [3] * 3 and capsys.readouterr().out == "hi\n"
    assert [[n.name for n in g.graph.nodes] for g in backend.graphs] == [
        ["l_x_", "y", "sum_1", "gt", "output"], ["l_y_", "z", "output"], ["l_z_", "l_x_", "mul", "output"]]
    assert compiled(-torch.ones(3)).tolist() == [3] * 3          # the other branch
    assert len(backend.graphs) == 4
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="^Data-dependent branching\n  Explanation: Detected data-dependent branching"):
        torch.compile(f, backend=backend, fullgraph=True)(torch.ones(3))
    f = torch.compile(lambda x: (x[x > 0] + 1, x.sum().item(), x.tolist()), backend=backend)
    assert f(torch.tensor([1., -1.]))[0].tolist() == [2] and f(torch.tensor([1., 1.]))[1:] == (2.0, [1, 1])
    with pytest.raises(torch._dynamo.exc.Unsupported, match="User-inserted graph break. Message: None"):
        torch.compile(lambda x: (x + 1, torch._dynamo.graph_break()), backend=backend, fullgraph=True)(torch.ones(1))


def test_what_no_graph_holds_is_called_as_it_is():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 7
    seen = []

    def f(x):
        y = Twice.apply(x * 3)
        y.register_hook(seen.append)
        g = torch.func.grad(lambda t: (t * t).sum())(y * 1)
        v = torch.vmap(lambda r: r.sum() * r)(y[None])
        w = torch.ones(2, requires_grad=True)
        (w * 3).sum().backward()
        torch.manual_seed(0)
        r = torch.rand(1)
        torch.manual_seed(0)
        return y + 1, g, v, w.grad, r == torch.rand(1), torch.ops.aten.sin(x * 0)
    x = torch.ones(2, requires_grad=True)
    y, g, v, grad, same, sin = torch.compile(f, backend=Backend())(x)
    assert (y.tolist(), g.tolist(), v.tolist(), grad.tolist(), same.item(), sin.tolist()) == (
        [7, 7], [12, 12], [[72, 72]], [3, 3], True, [0, 0])
    y.sum().backward()
    assert x.grad.tolist() == [21, 21] and len(seen) == 1


def test_state_that_the_function_writes_and_tensors_that_it_keeps():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.n, self.kept, self.l = 0, [], nn.Linear(2, 2)
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x):
            self.n += 1
            self.calls += 1
            y = self.l(x)
            self.kept.append(y.detach())
            return y + self.kept[0] if self.n > 1 else y
    net, backend = Counts(), Backend()
    compiled, x = torch.compile(net, backend=backend), torch.ones(1, 2)
    a, b = compiled(x), compiled(x)
    assert torch.equal(a * 2, b) and net.calls.item() == net.n == 2 and torch.equal(net.kept[1], a) and len(backend.graphs) == 2
    assert type(a) is type(net.kept[0]) is torch.Tensor and torch.compile(lambda t: type(t * 2), backend=backend)(x) is torch.Tensor

    def fails(x):
        x.add_(1)
        raise ValueError
    with pytest.raises(ValueError):
        torch.compile(fails, backend=backend)(x)
    assert x.tolist() == [[2, 2]]


def test_autocast_and_loops_over_tensors():
    backend = Backend()

    def f(x):
        s = 0
        for r in x:
            s = s + r
        a, b = x
        with torch.autocast("cpu", torch.bfloat16):
            return s, a, b, x @ x
    made = torch.compile(f, backend=backend)(torch.ones(2, 2))
    assert made[3].dtype is torch.bfloat16 and made[0].tolist() == [2, 2] and not torch.is_autocast_enabled("cpu")
    assert [n.name for n in backend.graphs[0].graph.nodes] == ["l_x_", "r", "r_1", "s", "s_1", "a", "b", "_enter_autocast", "matmul",
                                                               "_exit_autocast", "output"]


def test_errors_of_backends_and_of_the_function():
    def bad(gm, example_inputs):
        raise ValueError("oh")
    failed = torch._dynamo.exc.BackendCompilerFailed
    with pytest.raises(failed, match="^backend='bad' raised:\nValueError: oh\n\nSet TORCHDYNAMO_VERBOSE=1"):
        torch.compile(torch.sin, backend=bad)(W)
    with pytest.raises(failed, match="^backend='<lambda>' raised:\nAssertionError: compiler_fn did not return callable"):
        torch.compile(torch.sin, backend=lambda g, e: 3)(W)
    with torch._dynamo.config.patch(suppress_errors=True):
        assert torch.equal(torch.compile(torch.sin, backend=bad)(W), W.sin())
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        torch.compile(lambda x: x @ torch.ones(7), backend=Backend())(W)


def test_a_backend_can_change_the_graph():
    def to_cos(gm, example_inputs):
        for node in gm.graph.nodes:
            if node.target == "sin":
                node.target = "cos"
        gm.recompile()
        return gm
    assert torch.equal(torch.compile(lambda x: x.sin() + 1, backend=to_cos)(W), W.cos() + 1)


def test_registered_backends_counters_and_explain():
    from torchshim._dynamo.testing import CompileCounter
    from torchshim._dynamo.utils import counters
    counters.clear()
    backend = Backend()
    torch._dynamo.register_backend(backend, name="kept for a test")
    assert "kept for a test" in torch._dynamo.list_backends() and torch._dynamo.lookup_backend("kept for a test") is backend
    torch.compile(lambda x: x + 1, backend="kept for a test")(W)
    assert len(backend.graphs) == 1 and counters["stats"] == {"calls_captured": 1, "unique_graphs": 1}
    counter = CompileCounter()
    f = torch.compile(lambda x, n: x * n + 1, backend=counter)
    with pytest.warns(UserWarning, match="hit config.recompile_limit .8."):
        assert [f(W, n).tolist()[0] for n in range(12)] == list(range(1, 13))
    assert (counter.frame_count, counter.op_count) == (8, 16)

    def toy_example(a, b):
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b
    made = torch._dynamo.explain(toy_example)(torch.ones(3), torch.ones(3))
    assert (made.graph_count, made.graph_break_count, made.op_count, len(made.break_reasons)) == (2, 1, 5, 1)
    assert str(made).startswith("Graph Count: 2\nGraph Break Count: 1\nOp Count: 5\nBreak Reasons:\n  Break Reason 1:\n    Reason: ")


def test_modules_compile_themselves_and_copies_share_graphs():
    backend = Backend()

    class Own(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(2, 2)

        def forward(s, x):
            return s.l(x).relu()
    net, x = Own(), torch.ones(1, 2)
    plain = net(x)
    net.compile(backend=backend)
    assert torch.equal(net(x), plain) and len(backend.graphs) == 1
    assert [n.name for n in backend.graphs[0].graph.nodes][0] == "l_s_modules_l_parameters_weight_"
    again = copy.deepcopy(net)
    assert torch.equal(again(x), plain) and "forward" not in again.__dict__
    compiled = torch.compile(Own(), backend=backend)
    compiled(x)
    copy.deepcopy(compiled)(x)
    assert len(backend.graphs) == 1            # of the same code, whoever compiles it
    text = backend.graphs[0].print_readable(print_output=False)
    assert 'def forward(self, L_s_modules_l_parameters_weight_: "f32[2, 2]",' in text and 'relu: "f32[1, 2]" = linear.relu()' in text
    assert "test_capture.py" in text and "code: return s.l(x).relu()" in text


def test_functions_of_nn_functional_are_noted_as_they_were_called():
    backend = Backend()
    torch.compile(lambda x: F.gelu(F.softmax(x, dim=0)), backend=backend)(W)
    assert backend.code()[1:] == ["softmax = torch.nn.functional.softmax(l_x_, dim = 0)", "gelu = torch._C._nn.gelu(softmax)",
                                  "return (gelu,)"]
