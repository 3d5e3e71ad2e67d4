"""Protects Module: registration, names, text, state dicts, hooks, copies."""
import copy
import gc
import pickle

import numpy as np
import pytest

import torchshim as torch
from torchshim import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("steps", torch.zeros(1))
        self.register_buffer("scratch", torch.ones(2), persistent=False)
        self.inner = nn.Sequential(nn.ReLU(), nn.Dropout(0.5), nn.ReLU(), nn.ReLU())
        self.blocks = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3), nn.GELU()])

    def forward(self, x):
        return self.inner(self.first(x)) * self.scale


def test_names_and_text():
    m = Net()
    assert [n for n, _ in m.named_parameters()] == ["scale", "first.weight", "first.bias", "blocks.0.weight", "blocks.0.bias",
                                                    "blocks.1.weight", "blocks.1.bias"]
    assert [n for n, _ in m.named_buffers()] == ["steps", "scratch"]
    assert list(m.state_dict())[:3] == ["scale", "steps", "first.weight"] and "scratch" not in m.state_dict()
    assert repr(m) == ("Net(\n  (first): Linear(in_features=2, out_features=3, bias=True)\n  (inner): Sequential(\n    (0): ReLU()\n"
                       "    (1): Dropout(p=0.5, inplace=False)\n    (2): ReLU()\n    (3): ReLU()\n  )\n  (blocks): ModuleList(\n"
                       "    (0-1): 2 x Linear(in_features=3, out_features=3, bias=True)\n    (2): GELU(approximate='none')\n  )\n)")
    assert repr(nn.Parameter(torch.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert torch.Tensor.__repr__(nn.Parameter(torch.ones(2))) == "tensor([1., 1.], requires_grad=True)"

    class Scale(nn.Parameter):
        pass

    class Point(nn.Parameter):
        def __repr__(self):
            return "at " + torch.Tensor.__repr__(self)
    assert repr(Scale(torch.ones(2))) == "Parameter containing:\nParameter(Scale([1., 1.], requires_grad=True))"
    assert repr(Point(torch.ones(2))) == "at Parameter(Point([1., 1.], requires_grad=True))"
    assert "scale" in dir(m) and m.get_parameter("first.bias") is m.first.bias and m.get_submodule("inner.1") is m.inner[1]


def test_tied_parameters_count_once():
    a, b = nn.Embedding(3, 2), nn.Linear(2, 3, bias=False)
    b.weight = a.weight
    m = nn.ModuleDict({"a": a, "b": b})
    assert len(list(m.parameters())) == 1 and list(m.state_dict()) == ["a.weight", "b.weight"]
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == ["a.weight", "b.weight"]


@pytest.mark.parametrize("act, kind, text", [
    (lambda m: m.missing, AttributeError, "'Net' object has no attribute 'missing'"),
    (lambda m: setattr(m, "scale", torch.ones(3)), TypeError,
     r"cannot assign 'torch.FloatTensor' as parameter 'scale' \(torch.nn.Parameter or None expected\)"),
    (lambda m: setattr(m, "first", 3), TypeError, r"cannot assign 'int' as child module 'first' \(torch.nn.Module or None expected\)"),
    (lambda m: m.register_parameter("a.b", None), KeyError, "parameter name can"),
    (lambda m: m.register_buffer("forward", None), KeyError, "attribute 'forward' already exists"),
    (lambda m: m.add_module("x", 3), TypeError, "int is not a Module subclass"),
    (lambda m: nn.Module()(1), NotImplementedError, r'Module \[Module\] is missing the required "forward" function'),
    (lambda m: m.get_submodule("nope"), AttributeError, "Net has no attribute `nope`"),
    (lambda m: m.to(torch.int32), TypeError, "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                                             "dtype=torch.int32"),
    (lambda m: nn.Parameter(torch.tensor([1])), RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"),
])
def test_errors(act, kind, text):
    with pytest.raises(kind, match=text):
        act(Net())


def test_attributes_before_init():
    class Bad(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(torch.ones(1))
    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Bad()


def test_state_dict_round_trip_and_errors():
    a, b = nn.Linear(2, 3), nn.Linear(2, 3)
    state = a.state_dict()
    assert state["weight"].data_ptr() == a.weight.data_ptr() and not state["weight"].requires_grad
    assert repr(b.load_state_dict(state)) == "<All keys matched successfully>" and torch.equal(a.weight, b.weight)
    assert repr(b.load_state_dict({"new": torch.ones(1)}, strict=False)) == (
        "_IncompatibleKeys(missing_keys=['weight', 'bias'], unexpected_keys=['new'])")
    with pytest.raises(RuntimeError) as e:
        a.load_state_dict({"weight": torch.ones(2), "new": 1})
    assert str(e.value) == ('Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "bias". \n\tUnexpected key(s) in '
                            'state_dict: "new". \n\tsize mismatch for weight: copying a param with shape torch.Size([2]) from checkpoint, '
                            "the shape in current model is torch.Size([3, 2]).")
    given = {"weight": torch.ones(3, 2), "bias": torch.ones(3)}
    b.load_state_dict(given, assign=True)
    assert isinstance(b.weight, nn.Parameter) and b.weight.data_ptr() == given["weight"].data_ptr()


def test_forward_hooks_change_arguments_and_result():
    m = nn.Identity()
    pre = m.register_forward_pre_hook(lambda mod, args, kwargs: ((args[0] * 2,), kwargs), with_kwargs=True)
    post = m.register_forward_hook(lambda mod, args, out: out + 1)
    assert m(torch.tensor(3.0)).item() == 7
    pre.remove()
    post.remove()
    assert m(torch.tensor(3.0)).item() == 3
    seen = []
    with nn.modules.module.register_module_forward_hook(lambda mod, args, out: seen.append(type(mod).__name__)):
        nn.Sequential(nn.ReLU())(torch.ones(1))
    assert seen == ["ReLU", "Sequential"]


def test_always_called_hook_runs_after_an_error():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")
    seen = []
    m = Fails()
    m.register_forward_hook(lambda *a: seen.append(a[2]), always_call=True)
    with pytest.raises(ValueError, match="no"):
        m(torch.ones(1))
    assert seen == [None]


def test_full_backward_hooks():
    torch.manual_seed(0)
    m = nn.Linear(2, 1)
    seen = []
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 2,))
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi[0].shape, go[0].item())))
    x = torch.ones(1, 2, requires_grad=True)
    m(x).sum().backward()
    assert seen == [(torch.Size([1, 2]), 2.0)] and torch.equal(x.grad, 2 * m.weight.detach()) and m.weight.grad.tolist() == [[2.0, 2.0]]
    x = torch.ones(1, 2)
    m = nn.Linear(2, 1)
    m.register_full_backward_hook(lambda mod, gi, go: seen.append(gi))
    with pytest.warns(UserWarning, match="Full backward hook is firing"):
        m(x).sum().backward()
    assert seen[-1] == (None,)


def test_copies():
    m = Net()
    m(torch.ones(1, 2)).sum().backward()
    for c in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert type(c.first.weight) is nn.Parameter and c.first.weight.requires_grad
        assert torch.equal(c.first.weight, m.first.weight) and c.first.weight.data_ptr() != m.first.weight.data_ptr()
        with torch.no_grad():
            c.first.weight.zero_()
        assert not torch.equal(c.first.weight, m.first.weight)
    assert copy.deepcopy(m).first.weight.grad is None


def test_conversions_keep_the_parameters():
    m = Net()
    p = m.scale
    assert m.double().scale is p and p.dtype == torch.float64 and m.steps.dtype == torch.float64
    assert m.to(torch.bfloat16) is m and p.dtype == torch.bfloat16
    m.float().requires_grad_(False)
    assert not any(q.requires_grad for q in m.parameters())
    assert not m.eval().inner[1].training and m.train().inner[1].training
    with torch.no_grad():
        assert nn.Linear(1, 2, device="meta").weight.is_meta


def test_containers():
    s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Identity())
    assert len(s[1:]) == 2 and s[-1] is s[2] and [type(m).__name__ for m in s + nn.Sequential(nn.GELU())][-1] == "GELU"
    del s[0]
    assert list(s._modules) == ["0", "1"]
    s.insert(0, nn.Sigmoid())
    assert type(s[0]) is nn.Sigmoid and type(s.pop(0)) is nn.Sigmoid
    with pytest.raises(IndexError, match="index 5 is out of range"):
        s[5]
    p = nn.ParameterList([torch.ones(2, 3), 3])
    assert repr(p) == "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x3]\n    (1): Object of type: int\n)"
    d = nn.ParameterDict({"a": torch.ones(2)})
    assert repr(d) == "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2])" and "a" in d


def test_clipping():
    a, b = nn.Parameter(torch.tensor([3.0])), nn.Parameter(torch.tensor([[1.0, 2.0]]))
    a.grad, b.grad = torch.tensor([3.0]), torch.tensor([[4.0, -12.0]])
    assert nn.utils.clip_grad_norm_([a, b], 6.5).item() == 13.0
    assert torch.allclose(b.grad, torch.tensor([[2.0, -6.0]]))
    nn.utils.clip_grad_value_([b], 3)
    assert b.grad[0, 1].item() == -3.0
    v = nn.utils.parameters_to_vector([a, b])
    nn.utils.vector_to_parameters(v * 2, [a, b])
    assert b.tolist() == [[2.0, 4.0]]
    a.grad = torch.tensor([float("nan")])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([a], 1.0, error_if_nonfinite=True)


def test_the_tables_of_hooks_for_every_module_can_be_replaced():
    """Libraries put an empty dict under torch's private name to forget all such hooks."""
    from collections import OrderedDict
    from torchshim.nn.modules import module as where
    seen = []
    where.register_module_forward_hook(lambda m, args, out: seen.append(type(m).__name__))
    try:
        nn.ReLU()(torch.ones(1))
        where._global_forward_hooks = OrderedDict()
        nn.ReLU()(torch.ones(1))
        assert seen == ["ReLU"]
    finally:
        where._global_forward_hooks.clear()


def test_a_backward_hook_sees_zeros_for_arguments_without_gradients_and_leaves_named_tuples_as_they_are():
    from collections import namedtuple
    Pair = namedtuple("Pair", "a b")

    class Two(nn.Module):
        def forward(self, x, y):
            assert x.requires_grad and not y.requires_grad
            return Pair(x * y, y)
    m, grads = Two(), []
    m.register_full_backward_hook(lambda m, gi, go: grads.append((gi, go)))
    out = m(torch.ones(2, requires_grad=True), torch.full((2,), 3.0))
    assert type(out) is Pair and not out.b.requires_grad
    out.a.sum().backward()
    (gi, go), = grads
    assert gi[0].tolist() == [3.0, 3.0] and gi[1].tolist() == [0.0, 0.0] and go[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("args, kwargs, kind", [
    (("cpu", True), {}, TypeError), ((None, True), {}, TypeError), (([],), {}, TypeError), (("cpu", torch.tensor(3)), {}, TypeError),
    ((), {"foo": 1}, TypeError), ((torch.tensor(3),), {}, TypeError), (("cpu",), {"copy": True}, RuntimeError),
])
def test_to_refuses_what_torch_refuses(args, kwargs, kind):
    with pytest.raises(kind):
        nn.Linear(1, 1).to(*args, **kwargs)


@pytest.mark.parametrize("swap", [False, True])
def test_conversion_and_loading_with_swapped_parameters(swap):
    """The parameter stays the same object; swapped, it takes even another class from what is loaded."""
    class Mine(torch.Tensor):
        pass
    torch.__future__.set_swap_module_params_on_conversion(swap)
    try:
        m = nn.Linear(2, 2)
        p = m.weight
        m(torch.ones(1, 2)).sum().backward()
        g = p.grad
        m.double()
        assert m.weight is p and p.dtype == torch.float64 and p.grad.dtype == torch.float64 and type(p) is nn.Parameter
        assert (p.grad is g) or not swap
        m.load_state_dict({"weight": torch.full((2, 2), 2.0), "bias": torch.zeros(2)})
        assert m.weight is p and p.tolist() == [[2.0, 2.0], [2.0, 2.0]] and p.dtype == torch.float64
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_swap_tensors():
    a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(3), requires_grad=False)
    a.note = 1
    torch.utils.swap_tensors(a, b)
    assert a.shape == (3,) and not a.requires_grad and b.note == 1 and b.requires_grad and not hasattr(a, "note")


def test_an_old_checkpoint_of_instance_norm_is_refused_with_a_reason():
    m = nn.InstanceNorm1d(2)
    with pytest.raises(RuntimeError, match=r'Unexpected running stats buffer\(s\) "running_mean" for InstanceNorm1d'):
        m.load_state_dict({"running_mean": torch.zeros(2)})


def test_replicas_and_scattering():
    from torchshim.nn.parallel import gather, scatter
    m = nn.ParameterList([torch.ones(2)])
    replica = m._replicate_for_data_parallel()
    assert not list(replica.parameters()) and len(replica) == 1 and replica._is_replica
    parts = scatter({"x": torch.arange(4.0), "n": 3}, ["cpu", "cpu"])
    assert [(p["x"].tolist(), p["n"]) for p in parts] == [([0.0, 1.0], 3), ([2.0, 3.0], 3)]
    assert gather([p["x"] for p in parts], "cpu").tolist() == [0.0, 1.0, 2.0, 3.0]
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    replica, = nn.parallel.replicate(net, ["cpu"])
    out, = nn.parallel.parallel_apply([replica], [torch.ones(1, 2)])
    out.sum().backward()
    assert not list(replica.parameters()) and net[0].weight.grad is not None and torch.equal(out, net(torch.ones(1, 2)))


def test_a_parameter_that_waits_for_its_shape_can_be_moved_and_cast_and_little_else():
    p = nn.parameter.UninitializedParameter()
    for f in (lambda: torch.empty_like(p), lambda: torch.add(p, p), lambda: p * 2, lambda: p.sum(), lambda: p.clone(), lambda: p[0],
              lambda: torch.optim.Adagrad([p])):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            f()
    with pytest.raises(ValueError, match="^Attempted to use an uninitialized parameter in <method 'detach' of 'torch._C.TensorBase'"):
        p.detach()
    m = nn.LazyLinear(3)
    m.half()
    assert nn.parameter.is_lazy(m.weight) and m.weight.dtype == torch.float16 and nn.parameter.is_lazy(copy.deepcopy(m).weight)
    assert nn.parameter.is_lazy(pickle.loads(pickle.dumps(m)).weight) and m.weight.requires_grad
    m.weight.materialize(10)
    assert type(m.weight) is nn.Parameter and m.weight.shape == (10,) and m.weight.dtype == torch.float16


def test_cross_map_lrn_counts_the_first_channel_on():
    """Values of torch 2.13, whose running sums never let go of the first channel."""
    x = torch.arange(1.0, 6).view(1, 5, 1, 1)
    for size, want in ((3, [0.48238257, 0.71656322, 0.76833856, 0.77130735, 1.07398999]),
                       (4, [0.50887311, 0.79288119, 0.8817668, 0.90358835, 1.24949181])):
        y = torch.nn.CrossMapLRN2d(size, alpha=0.5, beta=0.7, k=2.0)(x)
        np.testing.assert_allclose(y.flatten().tolist(), want, rtol=1e-6)


@pytest.mark.parametrize("make, error, text", [
    (lambda: torch.nn.GroupNorm(3, 4), ValueError, "num_channels (4) must be divisible by num_groups (3)"),
    (lambda: torch.nn.Hardtanh(2.0, 1.0), AssertionError, "max_val (1.0) must be greater than min_val (2.0)"),
    (lambda: torch.nn.ConstantPad2d(1), TypeError, "ConstantPad2d.__init__() missing 1 required positional argument: 'value'"),
    (lambda: torch.nn.FeatureAlphaDropout()(torch.ones(4)), RuntimeError, "Feature dropout requires at least 2 dimensions in the input"),
    (lambda: torch.nn.FractionalMaxPool3d(3, output_size=2)(torch.ones(1, 4, 4, 5)), RuntimeError,
     "fractional_max_pool3d_out(): pool time 3 too large relative to input time 4"),
    (lambda: torch.nn.SoftMarginLoss()(torch.ones(2), torch.ones(2, requires_grad=True)), RuntimeError,
     "The function 'soft_margin_loss' is not differentiable with respect to argument 'target'. This input cannot have requires_grad True."),
])
def test_modules_refuse_in_torchs_words(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == text


def test_a_subclass_of_parameter_may_take_more_arguments():
    """geoopt's ManifoldParameter has a __new__ of its own and no __init__."""
    class Held(nn.Parameter):
        def __new__(cls, data, requires_grad=True, manifold=None):
            made = torch.Tensor._make_subclass(cls, data, requires_grad)
            made.manifold = manifold
            return made

    p = Held(torch.ones(2), manifold="sphere")
    assert p.manifold == "sphere" and p.requires_grad and isinstance(p, Held)


def test_a_parameter_that_is_none_takes_no_entry_of_a_state_dict():
    m = torch.nn.Linear(2, 2, bias=False)
    assert m.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(2)}, strict=False).unexpected_keys == ["bias"]


def test_lazy_buffers_are_cast_and_still_wait():
    m = torch.nn.LazyBatchNorm1d().double()
    assert m(torch.ones(2, 3, dtype=torch.float64)).dtype == torch.float64
    assert m.running_mean.dtype == torch.float64 and type(m) is torch.nn.BatchNorm1d


def test_a_dict_or_a_parameter_dict_is_a_dict():
    both = {"a": torch.ones(1)} | torch.nn.ParameterDict({"b": torch.zeros(1)})
    assert type(both) is dict and list(both) == ["a", "b"]


def test_sequences_shorter_than_their_length_are_packed_as_far_as_they_go():
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.arange(6.).view(3, 2), [4, 2])
    assert packed.data.tolist() == [0, 1, 2, 3, 4] and packed.batch_sizes.tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize("shape, lengths, batch_first", [((0, 0), [], False), ((2, 0, 3), [1, 1], True), ((2, 0, 3), [], False),
                                                         ((0, 1, 10), torch.ones(11, 2), True)])
def test_nothing_is_not_packed(shape, lengths, batch_first):
    with pytest.raises(RuntimeError, match="^Cannot pack empty tensors.$"):
        torch.nn.utils.rnn.pack_padded_sequence(torch.ones(shape), lengths, batch_first)


def test_the_norm_of_complex_gradients_is_real():
    p = torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))
    p.grad = torch.full((2,), 3 + 4j)
    norm = torch.nn.utils.clip_grad_norm_([p], .5)
    assert norm.dtype == torch.float32 and abs(norm.item() - 50 ** .5) < 1e-5


def test_a_subclass_own_getattr_is_asked_for_each_parameter():
    """Layers read their parameters without a detour over Module.__getattr__; one that a subclass (or an assigned `__class__`, as Pyro does
    it) brings along must still see every read."""
    for layer, x in ((nn.Linear(2, 2), torch.ones(2)), (nn.LayerNorm(2), torch.ones(2)), (nn.Embedding(2, 2), torch.tensor([1])),
                     (nn.Conv1d(1, 1, 1), torch.ones(1, 1, 2)), (nn.GroupNorm(1, 2), torch.ones(1, 2))):
        asked = []

        def look(self, name, asked=asked):
            asked.append(name)
            return nn.Module.__getattr__(self, name)

        layer.__class__ = type("Own", (type(layer),), {"__getattr__": look})
        layer(x)
        assert {"weight", *(["bias"] if not isinstance(layer, nn.Embedding) else [])} <= set(asked), (type(layer).__mro__[1], asked)


def test_lists_name_the_child_at_an_index():
    """Subclasses of ModuleList and Sequential in libraries (Pyro's, mmengine's) look children up with these."""
    for many in (nn.ModuleList(map(nn.Identity, range(3))), nn.ParameterList(torch.ones(1) for _ in range(3))):
        assert [many._get_abs_string_index(i) for i in (0, -1, torch.tensor(1), True)] == ["0", "2", "1", "1"]
        for wrong in (3, -4):
            with pytest.raises(IndexError, match=f"index {wrong} is out of range"):
                many._get_abs_string_index(wrong)
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            many._get_abs_string_index(1.)
    row = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert row._get_item_by_idx(row._modules.keys(), -1) == "1" and row._get_item_by_idx(iter(row), 0) is row[0]


def test_loading_a_state_leaves_no_cycles():
    layer = torch.nn.LSTM(4, 4)
    state = layer.state_dict()
    layer.load_state_dict(state)               # what is met for the first time leaves some
    gc.collect()
    layer.load_state_dict(state)
    assert gc.collect() == 0


def test_a_parameter_becomes_a_sparse_one():
    layer = torch.nn.Linear(3, 2)
    layer.weight.grad, before = torch.ones(2, 3), layer.weight
    layer._apply(lambda t: t.detach().to_sparse())
    assert layer.weight.layout is layer.weight.grad.layout is torch.sparse_coo and layer.weight is not before


def test_copies_of_parameters_have_no_attributes_and_inference_tensors_become_none():
    """As in torch: a Parameter's deep copy is made anew; what was made in inference mode cannot require a gradient outside of it."""
    p = nn.Parameter(torch.ones(2, 3).t())
    p.tag = 1
    q = copy.deepcopy(p)
    assert not hasattr(q, "tag") and q.stride() == (1, 3) and type(q) is nn.Parameter
    with torch.inference_mode():
        made = torch.ones(2)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."):
        nn.Parameter(made)
    assert not nn.Parameter(made, requires_grad=False).requires_grad
    assert str(torch.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"


def test_what_is_builtin_in_torch_is_no_method_of_a_module():
    class Net(torch.nn.Module):
        act, size, contract = torch.tanh, torch.linalg.norm, torch.einsum

    class Other(Net):
        act = torch.relu
    x = torch.tensor([-1.0, 1.0])
    assert Net.act is Net().act is torch.tanh and Other().act(x).tolist() == [0, 1] and Other().size(x) == torch.linalg.norm(x)
    with pytest.raises(TypeError):             # a function of Python: the module is its first argument
        Net().contract("i->", x)
