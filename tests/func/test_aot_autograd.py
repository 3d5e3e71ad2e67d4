"""Functions and their gradients as two graphs, for compilers of the program's own: torch 2.13's graphs, values and gradients."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim._dynamo.backends.common import aot_autograd
from torchshim._functorch.aot_autograd import aot_module_simplified
from torchshim.functorch.compile import aot_function, aot_module, make_boxed_func, memory_efficient_fusion


class Compiler:
    """Keeps the graphs that it gets, and runs them as they are."""

    def __init__(self):
        self.lines, self.inputs = [], []

    def __call__(self, gm, example_inputs):
        self.lines.append([line.strip().partition(";  ")[0] for line in gm.code.strip().splitlines()])
        self.inputs.append(example_inputs)
        return make_boxed_func(gm.forward)


def f(a, b, c):
    x = a + b + c
    return x.cos().cos()


def test_forward_and_backward_are_torch_s_graphs():
    forward, backward = Compiler(), Compiler()
    compiled = aot_function(f, fw_compiler=forward, bw_compiler=backward)
    a, b, c = [torch.full((2,), float(k), requires_grad=True) for k in range(3)]
    made = compiled(a, b, c)
    assert type(made.grad_fn).__name__ == "CompiledFunctionBackward" and not backward.lines
    assert forward.lines == [[
        "def forward(self, primals_1, primals_2, primals_3):", "add = torch.ops.aten.add.Tensor(primals_1, primals_2)",
        "add_1 = torch.ops.aten.add.Tensor(add, primals_3)", "cos = torch.ops.aten.cos.default(add_1)",
        "cos_1 = torch.ops.aten.cos.default(cos)", "return (cos_1, add_1, cos)"]]
    made.sum().backward()
    assert backward.lines == [[
        "def forward(self, add_1, cos, tangents_1):", "sin = torch.ops.aten.sin.default(cos)", "neg = torch.ops.aten.neg.default(sin)",
        "mul = torch.ops.aten.mul.Tensor(tangents_1, neg)", "sin_1 = torch.ops.aten.sin.default(add_1)",
        "neg_1 = torch.ops.aten.neg.default(sin_1)", "mul_1 = torch.ops.aten.mul.Tensor(mul, neg_1)", "return (mul_1, mul_1, mul_1)"]]
    assert torch._subclasses.fake_tensor.is_fake(forward.inputs[0][0])
    got, a.grad = a.grad, None
    f(a, b, c).sum().backward()
    assert torch.equal(got, a.grad)
    compiled(a, b, c).sum().backward()
    assert len(forward.lines) == len(backward.lines) == 1
    with pytest.raises(RuntimeError, match="compiled with non-empty donated buffers which requires create_graph=False"):
        torch.autograd.grad(compiled(a, b, c).sum(), a, create_graph=True)[0]
    plain = Compiler()
    with torch.no_grad():
        aot_function(f, fw_compiler=plain)(a, b, c)
    assert plain.lines[0][0] == "def forward(self, arg0_1, arg1_1, arg2_1):" and plain.lines[0][-1] == "return (cos_1,)"


def test_modules_and_the_state_that_they_write():
    torch.manual_seed(0)
    net, like = [nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5)) for _ in range(2)]
    like.load_state_dict(net.state_dict())
    compiled, x = aot_module(net, fw_compiler=Compiler()), torch.rand(5, 3)
    assert [n for n, _ in compiled.named_parameters()][0] == "orig_module.0.weight"
    for _ in range(2):
        torch.manual_seed(1)
        y = compiled(x)
        torch.manual_seed(1)
        z = like(x)
        assert torch.equal(y, z)
    y.sum().backward()
    z.sum().backward()
    assert torch.allclose(net[0].weight.grad, like[0].weight.grad) and net[1].num_batches_tracked == 2
    assert torch.equal(net[1].running_mean, like[1].running_mean)
    assert torch.equal(memory_efficient_fusion(f)(x, x, x), f(x, x, x))


def test_backends_of_such_compilers():
    net, forward, backward = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), Compiler(), Compiler()
    compiled = torch.compile(net, backend=aot_autograd(fw_compiler=forward, bw_compiler=backward))
    y = compiled(torch.ones(2, 3))
    y.sum().backward()
    assert forward.lines[0][1:] == [
        "t = torch.ops.aten.t.default(primals_1)", "addmm = torch.ops.aten.addmm.default(primals_2, primals_3, t)",
        "relu = torch.ops.aten.relu.default(addmm)", "detach = torch.ops.aten.detach.default(relu)",
        "t_1 = torch.ops.aten.t.default(primals_4)", "addmm_1 = torch.ops.aten.addmm.default(primals_5, relu, t_1)",
        "return (addmm_1, primals_3, relu, detach, t_1)"]
    assert backward.lines[0][0] == "def forward(self, primals_3, relu, detach, t_1, tangents_1):"
    assert backward.lines[0][-1] == "return (t_8, view_1, None, t_5, view)"
    assert torch.equal(y, net(torch.ones(2, 3)))
    with pytest.raises(RuntimeError, match=r"^Graph output must be a \(\). This is so that we can avoid pytree"):
        aot_module_simplified(net, [torch.ones(2, 3)], fw_compiler=forward)
    assert aot_function(f, fw_compiler=lambda gm, inputs: gm.forward)(*[torch.ones(1)] * 3).shape == (1,)
