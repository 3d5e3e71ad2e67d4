"""What a trace keeps and writes, as PyTorch 2.13 does: names, types, wrapped functions, containers, scopes, files, messages."""
import collections
import copy
import inspect
import math
import operator
import pickle
import typing

import pytest

import torchshim as torch
from torchshim import fx, nn
from torchshim.fx.experimental.rewriter import RewritingTracer
from torchshim.fx.operator_schemas import get_signature_for_torch_op, normalize_function
from torchshim.fx.passes.infra.pass_base import PassResult
from torchshim.fx.passes.infra.pass_manager import PassManager
from torchshim.fx.passes.shape_prop import ShapeProp
from torchshim.fx.passes.split_module import split_module
from torchshim.nn import functional as F

PH = fx.PH


@fx.wrap
def wrapped(x, m):
    return m(x) if callable(m) else x + m


fx.wrap("len")


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.unused = nn.Parameter(torch.ones(2)), nn.Linear(1, 1)
        self.register_buffer("b", torch.zeros(2))

    def forward(self, x, scale=2):
        return x * self.w * scale + self.b


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.lin, self.t = Inner(), nn.Linear(2, 2), torch.ones(2)
        self.c = self.a

    def forward(self, x, flag: bool = True):
        return self.a(self.lin(x), scale=3) + self.c(x) * self.t if flag else x


def lines(f, **kwargs):
    return [line.strip() for line in fx.symbolic_trace(f, **kwargs).code.strip().splitlines()]


def test_types_and_constants_in_code():
    def f(x: torch.Tensor, n: int = 3, s: typing.Optional[typing.List[int]] = None, *, k: float = 2.):
        return x.to(memory_format=torch.channels_last) + n, torch.sum(x, dim=[0, 1]), F.linear(x, x), 2 ** abs(x), x @ x, float("inf") * x
    assert lines(f) == [
        "def forward(self, x : torch.Tensor, n : int = 3, s : typing_Union[typing_List[int],NoneType] = None, k : float = 2.0):",
        "to = x.to(memory_format = torch.channels_last)", "add = to + n;  to = n = None", "sum_1 = torch.sum(x, dim = [0, 1])",
        "linear = torch._C._nn.linear(x, x)", "abs_1 = _operator_abs(x)", "pow_1 = 2 ** abs_1;  abs_1 = None", "matmul = x @ x",
        "mul = inf * x;  x = None", "return (add, sum_1, linear, pow_1, matmul, mul)"]


def test_stars_unpacking_and_python_functions():
    def f(*args, **kw):
        a, b = args[0]
        return math.sqrt(a.size(0)) + b + kw["k"]
    assert lines(f)[:4] == ['torch.fx._symbolic_trace.wrap("math_sqrt")', "", "def forward(self, *args, **kw):", "_args = args"]
    assert "getitem_1 = getitem[0]" in lines(f) and "sqrt = math_sqrt(size);  size = None" in lines(f)


def test_wrapped_functions_stay_so_when_traced_again():
    def f(x):
        return wrapped(x, 2) + len(x)
    traced = fx.symbolic_trace(f)
    assert [n.name for n in traced.graph.nodes if n.meta.get("is_wrapped")] == ["wrapped", "len_1"]
    assert fx.symbolic_trace(traced).code == traced.code == pickle.loads(pickle.dumps(traced)).code
    assert traced(torch.ones(3)).tolist() == [6.0] * 3
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("print")


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(2)

    def forward(self, x):
        assert x.sum() > -9, "small"
        return wrapped(x, self.bn)


def test_assertions_become_steps_when_rewritten():
    module = Holder()
    traced = fx.GraphModule(module, RewritingTracer().trace(module))
    assert "_assert = torch._assert(gt, 'small');  gt = _assert = None" in traced.code and "__main__" not in traced.code
    assert "wrapped(x, bn)" in traced.code and torch.equal(traced(torch.eye(2)), module(torch.eye(2)))
    with pytest.raises(AssertionError, match="small"):
        traced(torch.full((2, 2), -9.))


Point = collections.namedtuple("Point", "x y")


def test_containers_as_arguments():
    def f(x, d):
        return {"a": d["p"] + x, "b": Point(d["q"][0], 1)}
    given = {"x": PH, "d": {"p": PH, "q": (PH, 3)}}
    traced = fx.symbolic_trace(lambda x, d: {"a": d["p"] + x, "b": d["q"][0]}, concrete_args=given)
    assert traced.code.strip().splitlines()[1] == "    x_1, d_1, d_2, d_3, = fx_pytree.tree_flatten_spec([x, d], self._in_spec)"
    one = torch.ones(1)
    assert traced(one, {"p": one, "q": (one, 3)}) == {"a": 2 * one, "b": one}
    assert fx.Interpreter(traced).run(one, {"p": one, "q": (one, 3)}) == {"a": 2 * one, "b": one}
    with pytest.raises(AssertionError, match="d has been specialized to have value 3 but got another value"):
        traced(one, {"p": one, "q": (one, 4)})
    with pytest.raises(RuntimeError, match="Keys for dictionaries used as an argument cannot contain a Node. Got key: x"):
        fx.symbolic_trace(lambda x: {x: 1})
    point = fx.symbolic_trace(lambda x: Point(x, 1))
    assert list(point.graph.nodes)[1].target is Point and point(2) == Point(2, 1)
    with pytest.raises(NotImplementedError, match="argument of type: <class 'object'>"):
        fx.symbolic_trace(lambda x: object())


def test_fixed_arguments_and_where_steps_come_from():
    traced = fx.symbolic_trace(Outer(), {"flag": True})
    assert traced.code.strip().splitlines()[1:4] == [
        "    eq = flag_1 == True;  flag_1 = None",
        "    _assert = torch._assert(eq, 'flag has been specialized to have value True but got another value');  eq = _assert = None",
        "    lin = self.lin(x)"]
    stacks = {n.name: list(n.meta.get("nn_module_stack", ())) for n in traced.graph.nodes}
    assert (stacks["x"], stacks["lin"], stacks["mul"], stacks["mul_2"]) == ([], ["lin"], ["a"], ["a@1"])
    assert list(dict(traced.named_buffers())) == ["t", "a.b"]
    x, model = torch.arange(4.).view(2, 2), Outer()
    model.load_state_dict(traced.state_dict(), strict=False)
    assert torch.equal(traced(x, True), model(x))


def test_subclasses_of_tracer_choose():
    class Chosen(fx.Tracer):
        proxy_buffer_attributes = check_mutable_operations = record_stack_traces = True

        def create_node(self, *args, **kwargs):
            node = super().create_node(*args, **kwargs)
            node.tag = "made"
            return node

        def iter(self, obj):
            return iter([obj[0], obj[1]])

        def to_bool(self, obj):
            return True

    def f(x):
        return [y for y in x] if x else x
    graph = Chosen().trace(f)
    assert [n.name for n in graph.nodes] == ["x", "getitem", "getitem_1", "output"] and all([n.tag == "made" for n in graph.nodes])
    assert "in f\n    return [y for y in x]" in list(graph.nodes)[1].stack_trace
    assert [n.target for n in Chosen().trace(Outer(), {"flag": True}).find_nodes(op="get_attr")] == ["a.w", "a.b", "t"]
    for bad in (lambda x: torch.relu_(x), lambda x: torch.add(x, x, out=x)):
        with pytest.raises(RuntimeError, match="Tried to trace mutable operation aten::"):
            Chosen().trace(bad)


def test_mistakes_have_torchs_words():
    g = fx.Graph()
    x = g.placeholder("x")
    with pytest.raises(ValueError, match=r"name = 'relu'\] target relu has type str but a Callable is expected"):
        g.call_function("relu")
    with pytest.raises(TypeError, match="'immutable_list' object does not support mutation"):
        g.call_function(torch.cat, ([x, x],)).args[0].append(x)
    with pytest.raises(TypeError, match="'Proxy' object does not support item assignment"):
        fx.symbolic_trace(lambda x: operator.setitem(x, 0, 1))
    for f, kind, text in ((lambda x: len(list(x)), fx.proxy.TraceError, "Proxy object cannot be iterated"),
                          (lambda x: 1 if x else 2, fx.proxy.TraceError, "symbolically traced variables cannot be used as inputs to "
                           "control"),
                          (lambda x: x + nn.Parameter(torch.ones(1)), NameError, "parameter is not a member of this module"),
                          (lambda x: nn.Linear(1, 1)(x), NameError, "module is not installed as a submodule")):
        with pytest.raises(kind, match=text):
            fx.symbolic_trace(f)
    module = fx.GraphModule(nn.Module(), fx.Graph())
    with pytest.warns(UserWarning, match="Attempted to insert a get_attr Node with no underlying reference"):
        module.graph.get_attr("foo")
    with pytest.raises(RuntimeError, match="Node foo target foo references nonexistent attribute foo of "):
        module.graph.lint()
    traced = fx.symbolic_trace(lambda x, y: torch.relu(x) + y)
    with pytest.raises(RuntimeError, match=r"While executing %add : \[num_users=1\] = call_function\[target=operator.add\]"):
        fx.Interpreter(traced).run(torch.ones(2), torch.ones(3))


def test_an_error_in_generated_code_is_shown(capfd):
    traced = fx.symbolic_trace(lambda x, y: torch.relu(x) + y)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        traced(torch.ones(2), torch.ones(3))
    shown = capfd.readouterr().err
    assert "Call using an FX-traced Module, line 6 of the traced Module's generated forward function:" in shown and "~ <--- HERE" in shown


def test_code_may_be_written_otherwise():
    class OfList(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, args_list: List[torch.Tensor]){maybe_return_annotation}:\n    {', '.join(free_vars)} = args_list"

        def additional_globals(self):
            return [("List", typing.List)]

        def process_inputs(self, *inputs):
            return inputs[0]
    traced = fx.symbolic_trace(lambda a, b: a - b)
    traced.graph.set_codegen(OfList())
    traced.recompile()
    for module in (traced, fx.Transformer(traced).transform(), copy.deepcopy(traced)):
        assert module([5, 3]) == 2 and fx.Interpreter(module).run([5, 3]) == 2
    with traced.graph.on_generate_code(lambda before: lambda body: ["import math\n", *body]):
        traced.recompile()
        assert "    import math\n" in traced.code
    traced.recompile()
    assert "import math" not in traced.code


def test_passes():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            y = self.a(x)
            return self.b(y) + x, y.shape[0]
    model = Model()
    traced = fx.symbolic_trace(model)
    ShapeProp(traced).propagate(torch.ones(3, 2))
    metas = {n.name: n.meta.get("tensor_meta") for n in traced.graph.nodes}
    assert metas["add"][:4] == (torch.Size([3, 2]), torch.float32, True, (2, 1)) and metas["getitem"] is None
    halves = split_module(traced, model, lambda n: int(n.name in ("b", "add")))
    assert [n.name for n in halves.graph.nodes] == ["x", "submod_0", "getitem", "getitem_1", "submod_1", "output"]
    assert torch.equal(halves(torch.ones(3, 2))[0], model(torch.ones(3, 2))[0])
    done = PassManager([lambda gm: PassResult(gm, False)])(traced)
    assert done.graph_module is traced and not done.modified


def test_signatures():
    assert [str(s) for s in get_signature_for_torch_op(torch.relu)] == ["(input: torch.Tensor) -> torch.Tensor",
                                                                        "(input: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor"]
    assert get_signature_for_torch_op(F.relu) is None is normalize_function(operator.add, (1, 2))
    assert normalize_function(F.relu, (1,), normalize_to_only_use_kwargs=True).kwargs == {"input": 1, "inplace": False}
    traced = fx.symbolic_trace(lambda x: F.max_pool2d(x, 2))
    assert list(traced.graph.nodes)[1].normalized_arguments(traced).kwargs == {
        "stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False}


def test_a_module_as_a_package(tmp_path):
    traced = fx.symbolic_trace(Outer(), {"flag": True})
    traced.to_folder(tmp_path / "made", "Made")
    text = (tmp_path / "made" / "module.py").read_text()
    assert "class Made(torch.nn.Module):" in text and "    def forward(self, x, flag_1 = True):" in text
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == ["__init__.py", "a.pt", "module.py", "state_dict.pt"]


@pytest.mark.parametrize("name, error, text", [
    ("adaptive_avg_pool2d", RuntimeError, "'len' is not supported in symbolic tracing by default"),
    ("adaptive_max_pool3d_with_indices", RuntimeError, "'len' is not supported in symbolic tracing by default"),
    *[(name, fx.proxy.TraceError, "cannot be used as inputs to control flow") for name in ("embedding", "grid_sample")],
    *[(name, fx.proxy.TraceError, "Proxy object cannot be iterated") for name in ("fold", "unfold", "lp_pool2d", "max_unpool1d",
                                                                                             "max_unpool3d")]])
def test_functions_looked_into_stop_where_torchs_do(name, error, text, monkeypatch):
    for look in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
        monkeypatch.setattr(F, look, lambda *args, **kwargs: False, raising=False)
    with pytest.raises(error, match=text):
        fx.symbolic_trace(getattr(F, name))


def test_pools_that_are_bindings_say_their_types():
    said = inspect.signature(F.avg_pool2d).parameters
    assert said["input"].annotation is torch.Tensor and said["ceil_mode"].annotation is bool


def test_a_function_with_a_dim_is_traced():
    graph = fx.symbolic_trace(F.glu).graph
    assert [(n.op, n.name) for n in graph.nodes] == [("placeholder", "input_1"), ("placeholder", "dim"), ("call_function", "glu"),
                                                     ("output", "output")]


def test_operators_of_torch_ops_are_recorded_as_called():
    aten = torch.ops.aten

    def f(x, size):
        y = aten.max_pool2d_with_indices.default(x, size, stride=[2, 2])[0]
        return aten.relu(aten.view.default(y, [y.shape[0], -1]))
    nodes = [(n.name, n.target) for n in torch.fx.symbolic_trace(f).graph.nodes if n.op == "call_function" and callable(n.target)]
    assert [n for n in nodes if "aten" in str(n[1])] == [("max_pool2d_with_indices_default", aten.max_pool2d_with_indices.default),
                                                         ("view_default", aten.view.default), ("relu", aten.relu)]
