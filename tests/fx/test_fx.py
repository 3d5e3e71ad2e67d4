"""torch.fx: graphs as torch makes them, code that runs, changes, interpreters. Texts are PyTorch 2.13's."""
import copy
import operator
import pickle
import subprocess
import sys
import typing

import pytest

import torchshim as torch
from torchshim import fx, nn
from torchshim.nn import functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.seq, self.w = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.Parameter(torch.ones(3))

    def forward(self, x, scale=2.0):
        y = F.relu(self.seq(self.lin(x)) + self.w)
        return torch.cat([y[:, 1:], 1 / y], dim=-1).view(x.shape[0], -1) * scale


CODE = """


def forward(self, x, scale = 2.0):
    lin = self.lin(x)
    seq_0 = getattr(self.seq, "0")(lin);  lin = None
    seq_1 = getattr(self.seq, "1")(seq_0);  seq_0 = None
    w = self.w
    add = seq_1 + w;  seq_1 = w = None
    relu = torch.nn.functional.relu(add, inplace = False);  add = None
    getitem = relu[(slice(None, None, None), slice(1, None, None))]
    truediv = 1 / relu;  relu = None
    cat = torch.cat([getitem, truediv], dim = -1);  getitem = truediv = None
    getattr_1 = x.shape;  x = None
    getitem_1 = getattr_1[0];  getattr_1 = None
    view = cat.view(getitem_1, -1);  cat = getitem_1 = None
    mul = view * scale;  view = scale = None
    return mul
    """


def both(x, y):
    return torch.add(x, y).sigmoid()


def test_code_and_the_same_answers():
    torch.manual_seed(0)
    model, x, functions = Model(), torch.randn(4, 2), (torch.cat, F.relu)
    traced = fx.symbolic_trace(model)
    assert traced.code == CODE and type(traced).__name__ == "Model"
    for other in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), fx.Interpreter(traced).run,
                  fx.Transformer(traced).transform()):
        assert torch.equal(other(x), model(x))
    assert traced.w is model.w and list(traced.state_dict()) == list(model.state_dict())
    assert (torch.cat, F.relu) == functions and Model.forward.__globals__["F"].relu is functions[1]


def test_changes():
    traced = fx.symbolic_trace(both)
    node = next(n for n in traced.graph.nodes if n.target == "sigmoid")
    with traced.graph.inserting_after(node):
        new = traced.graph.call_function(torch.neg, (node,))
    node.replace_all_uses_with(new, lambda user: user is not new)
    with pytest.raises(RuntimeError, match="Tried to erase Node sigmoid but it still had 1 users in the graph: {neg: None}!"):
        traced.graph.erase_node(node)
    unused = traced.graph.call_function(operator.add, (node, 1))
    traced.graph.output_node().append(unused)
    assert traced.graph.eliminate_dead_code() and unused not in list(traced.graph.nodes)
    traced.recompile()
    assert traced(torch.zeros(1), torch.zeros(1)).item() == -0.5
    assert str(traced.graph).splitlines()[1] == "    %x : [num_users=1] = placeholder[target=x]"
    assert str(traced.graph).splitlines()[3] == "    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {})"


def test_interpreters_see_each_step():
    class Doubled(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            return 2 * super().call_function(target, args, kwargs)
    assert Doubled(fx.symbolic_trace(both)).run(torch.zeros(1), torch.ones(1)).item() == torch.tensor(2.).sigmoid().item()


def test_leaves_and_constants():
    class All(fx.Tracer):
        def is_leaf_module(self, m, name):
            return True
    assert [n.target for n in All().trace(Model()).nodes if n.op == "call_module"] == ["lin", "seq"]
    constant = torch.ones(2)
    traced = fx.symbolic_trace(lambda x: x + constant)
    assert "self._tensor_constant0" in traced.code and traced(constant).tolist() == [2, 2]


def test_what_a_graph_cannot_hold():
    with pytest.raises(ValueError, match="cannot be used as inputs to control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(ValueError, match="Proxy object cannot be iterated"):
        fx.symbolic_trace(lambda x: list(x))
    with pytest.raises(RuntimeError, match="'len' is not supported in symbolic tracing by default"):
        fx.symbolic_trace(lambda x: len(x))


def twice(x, y):
    return torch.relu(torch.relu(torch.relu(torch.relu(x)))) * torch.add(y, 4)


@pytest.mark.parametrize("pattern,replacement,options,steps", [
    (lambda a: torch.relu(torch.relu(a)), lambda a: torch.sigmoid(a), {}, "x y sigmoid add sigmoid_1 mul output"),
    (lambda a: torch.relu(a), lambda a: torch.tanh(torch.relu(a)), {}, "x y relu_4 tanh relu_5 tanh_1 relu_6 tanh_2 add relu_7 tanh_3 mul "
     "output"),
    (lambda a, b: torch.add(a, b), lambda a, b: torch.sub(a, b), {}, "x y relu relu_1 relu_2 relu_3 sub mul output"),
    (lambda a: torch.add(a, 3), lambda a: torch.abs(a), {}, "x y relu relu_1 relu_2 relu_3 add mul output"),
    (lambda a: torch.add(a, 3), lambda a: torch.abs(a), {"ignore_literals": True}, "x y relu relu_1 relu_2 relu_3 abs_1 mul output"),
    (lambda a, b: torch.add(a, b), lambda a, b: a, {"match_filters": [lambda m, g, p: False]}, "x y relu relu_1 relu_2 relu_3 add mul "
     "output"),
])
def test_replace_pattern(pattern, replacement, options, steps):
    gm = fx.symbolic_trace(twice)
    fx.subgraph_rewriter.replace_pattern_with_filters(gm, pattern, replacement, **options)
    assert [n.name for n in gm.graph.nodes] == steps.split()
    gm.graph.lint()
    assert gm(torch.ones(2), torch.ones(2)).shape == (2,)


def test_a_pattern_whose_inner_steps_are_used_elsewhere_stays():
    def f(x):
        a = torch.neg(x)
        return a + torch.relu(a)
    gm = fx.symbolic_trace(f)
    assert fx.replace_pattern(gm, lambda a: torch.relu(torch.neg(a)), lambda a: torch.abs(a)) == []
    match, = fx.replace_pattern(gm, lambda a: torch.relu(a), lambda a: a.abs())
    assert match.anchor.name == "relu" and "add = neg + abs_1" in gm.code
    with pytest.raises(AssertionError, match="Placeholder count mismatch: 2 vs 1"):
        fx.replace_pattern(fx.symbolic_trace(twice), lambda a, b: torch.add(a, b), lambda a: a)


def test_replacing_by_a_module_brings_its_attributes():
    class Inner(nn.Module):
        def __init__(self, **parts):
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

        def forward(self, x):
            for m in self.children():
                x = m(x)
            return x
    gm = fx.symbolic_trace(Inner(lin=nn.Linear(2, 2), act=nn.ReLU(), end=nn.Tanh()))
    fx.replace_pattern(gm, Inner(lin=nn.Linear(2, 2), act=nn.ReLU()), Inner(new=nn.Sigmoid()))
    assert [n for n, _ in gm.named_modules()] == ["", "end", "new"]


def test_a_proxy_of_ones_own_is_asked_by_the_first_function_it_meets():
    """e3nn writes its graphs so: no tracer runs, and nothing else has asked before."""
    program = """if 1:
        import torchshim as torch
        from torchshim import fx
        graph = fx.Graph()
        tracer = fx.proxy.GraphAppendingTracer(graph)
        a, b = [fx.Proxy(graph.placeholder(name, torch.Tensor), tracer=tracer) for name in "ab"]
        shape = torch.broadcast_tensors(a[..., :1], b)[0].shape[:-1]
        graph.output(torch.meshgrid(a, b, indexing="ij")[0].node)
        print([n.name for n in graph.nodes])
    """
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.stdout == ("['a', 'b', 'getitem', 'broadcast_tensors', 'getitem_1', 'getattr_1', 'getitem_2', 'meshgrid', 'getitem_3', "
                          "'output']\n"), out.stderr


def test_the_insert_point_is_set_by_the_call_itself():
    # and what comes after a step comes right after it, the latest first, as in torch
    graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
    relu = next(n for n in graph.nodes if n.name == "relu")
    names = lambda: [n.name for n in graph.nodes]                       # noqa: E731
    with graph.inserting_after(relu):
        graph.call_function(torch.sin, (relu,))
        graph.call_function(torch.cos, (relu,))
    assert names() == ["x", "relu", "cos", "sin", "add", "output"]
    with graph.inserting_before():
        graph.call_function(torch.tan, (1.,))
    with graph.inserting_after():
        graph.call_function(torch.abs, (1.,))
    assert names() == ["tan", "x", "relu", "cos", "sin", "add", "output", "abs_1"]
    point = graph.inserting_before(relu)
    graph.call_function(torch.neg, (1.,))
    assert names()[:4] == ["tan", "x", "neg", "relu"]
    with point:
        pass
    graph.call_function(torch.exp, (1.,))
    assert names()[-1] == "exp"


def test_annotations_are_written_as_torch_writes_them():
    def f(x: torch.Tensor, a: typing.List[torch.Tensor], b: list[int], c: "torch.Tensor" = None,
          d: torch.Tensor | None = None) -> typing.Tuple[torch.Tensor, int]:
        return x + a[0], 3
    traced = fx.symbolic_trace(f)
    name = torch.Tensor.__module__ + ".Tensor"
    assert str(traced.graph).splitlines()[1] == f"    %x : {name} [num_users=1] = placeholder[target=x]"
    assert "def forward(self, x : torch.Tensor, a : typing_List[torch.Tensor], b : list[int], c : _torch_Tensor_ = None, " \
           "d : torch.Tensor|NoneType = None) -> typing_Tuple[torch.Tensor,int]:" in traced.code
    assert traced(torch.ones(1), [torch.ones(1)], [])[0].item() == 2


def test_a_graph_is_printed_as_a_table(capsys):
    torch.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
    assert capsys.readouterr().out == ("""\
opcode         name    target                   args    kwargs
-------------  ------  -----------------------  ------  --------
placeholder    x       x                        ()      {}
call_function  add     <built-in function add>  (x, 1)  {}
output         output  output                   (add,)  {}
""")


def test_lines_of_the_code_are_counted_after_its_head():
    """PyTorch 2.13's numbers of steps; lines that somebody adds move the others."""
    traced = torch.fx.symbolic_trace(lambda a, b: torch.sin(a) + torch.cos(b))
    assert traced._lineno_map == {1: 2, 2: 3, 3: 4, 4: 5, 5: 5}
    traced.graph.on_generate_code(lambda _: lambda lines: ["print('hello!')\n", *lines])
    traced.recompile()
    assert traced._lineno_map == {1: None, 2: 2, 3: 3, 4: 4, 5: 5, 6: 5}
