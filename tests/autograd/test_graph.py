"""Protects torch.autograd.graph, anomaly mode and inference mode.

Every expectation holds for real torch 2.13: replacing the import below by `import torch` must leave the file green.
"""
import copy
import warnings

import pytest

import torchshim as torch
from torchshim.autograd.graph import Node, disable_saved_tensors_hooks, get_gradient_edge, save_on_cpu, saved_tensors_hooks


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_names_of_nodes():
    x = leaf()
    y = x.clone()
    y[0] = 5
    assert y.grad_fn.name() == "torch::autograd::CopySlices" and "grad_fn=<CopySlices>" in repr(y)
    end = (x * 2).grad_fn.next_functions[0][0]
    assert end.name() == "torch::autograd::AccumulateGrad" and type(end).__name__ == "AccumulateGrad" and isinstance(end, Node)
    edge = get_gradient_edge(x)
    assert edge.node is end and edge.output_nr == 0
    assert torch.autograd.grad((x * 3).sum(), edge)[0].tolist() == [3, 3]


def test_hooks_on_the_node_of_a_leaf():
    """Data-parallel code puts them there: before and after the gradient is added, in each backward, replayed or not."""
    x, log = leaf(), []
    for k in range(4):
        (x * k).sum().backward()
    x.grad = None
    x.register_hook(lambda g: log.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    end = x.expand_as(x).grad_fn.next_functions[0][0]
    end.register_prehook(lambda grads: (log.append("pre"), (grads[0] * 10,))[1])
    after = end.register_hook(lambda ins, outs: log.append(("post", ins, outs[0].tolist(), x.grad.tolist())))
    (x * 2 + x * 3).sum().backward()
    assert log == ["tensor", "pre", "accumulated", ("post", (), [50, 50], [50, 50])]
    log.clear()
    assert torch.autograd.grad((x * 2).sum(), x)[0].tolist() == [2, 2] and log == ["tensor"]
    after.remove()
    log.clear()
    (x * 2).sum().backward(inputs=[x])
    assert log == ["tensor", "pre", "accumulated"] and x.grad.tolist() == [70, 70]


def test_a_graph_keeps_the_node_of_a_leaf_that_was_seen():
    x, log = leaf(), []
    y = (x * 2).sum()
    y.grad_fn.next_functions[0][0].next_functions[0][0].register_hook(lambda *a: log.append("fired"))
    y.backward()
    assert log == ["fired"]


def test_what_hooks_on_nodes_may_return():
    for register, count in (("register_prehook", 1), ("register_hook", 2)):
        for answer, error, text in ((lambda g: g[0], TypeError, "expected tuple, but hook returned 'Tensor'"),
                                    (lambda g: (g[0],) * 3, RuntimeError, f"got 3, but expected {count}"),
                                    (lambda g: (g[0][:1], *g[1:]), RuntimeError, "has changed the size of value"),
                                    (lambda g: (g[0].double(), *g[1:]), RuntimeError, "was torch.FloatTensor got torch.DoubleTensor"),
                                    (lambda g: ("a", *g[1:]), TypeError, "expected Variable, but hook returned 'str'")):
            y = leaf() * 2
            getattr(y.grad_fn, register)(lambda g, *_: answer(g))
            with pytest.raises(error, match=text):
                y.sum().backward()
    x = leaf()
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (None,))
    y.sum().backward()
    assert x.grad is None


def test_hooks_see_gradients_of_what_has_a_derivative():
    """Not of indices, exponents, counts or the statistics of a batch."""
    x, w = torch.eye(4, requires_grad=True), torch.ones(4)
    for made, inputs in ((x.max(0), 1), (x.sort(), 1), (x.cummax(0), 1), (torch.frexp(x), 1), (torch.linalg.inv_ex(x), 1),
                         (torch.linalg.lu_factor_ex(x), 1), (torch.nn.functional.max_pool2d(x[None], 2, return_indices=True), 1),
                         ((torch.nn.functional.batch_norm(x, None, None, w, w, True),), 3)):
        seen = []
        made[0].grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
        made[0].grad_fn.register_hook(lambda ins, outs: seen.extend((len(ins), len(outs))))
        made[0].sum().backward()
        assert seen == [1, inputs, 1]


def test_the_node_of_a_layer_has_its_bias_first():
    layer, x, seen = torch.nn.Linear(3, 4), torch.tensor([1.0, 2.0, 3.0], requires_grad=True).view(1, 3), []
    node = layer(x).grad_fn
    assert [type(n).__name__ for n, _ in node.next_functions] == ["AccumulateGrad", "ViewBackward0", "TBackward0"]
    assert node.next_functions[0][0].variable is layer.bias
    y = layer(x)
    y.grad_fn.register_hook(lambda ins, outs: seen.append([g.shape for g in ins]) or (ins[0] * 2, ins[1] * 3, ins[2] * 4))
    y.sum().backward()
    assert seen[0] == [(4,), (1, 3), (3, 4)] and layer.bias.grad.tolist() == [2.0] * 4 and layer.weight.grad[0].tolist() == [4.0, 8.0, 12.0]


def test_a_leaf_that_wants_no_gradient_any_more_gets_none():
    x = leaf()
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_hooks_on_saved_tensors():
    x, packed = leaf(), []

    def pack(t):
        packed.append(t is x)
        return t.detach() * 10
    with saved_tensors_hooks(pack, lambda t: t):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [20, 40] and packed == [True, True]
    with saved_tensors_hooks(lambda t: 3, lambda t: t):
        y = (x * x).sum()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type int"):
        y.backward()
    with pytest.raises(RuntimeError, match="modifying its input in place"):
        with saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
            x.exp()
    with disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            pass


def test_hooks_see_what_is_saved_in_the_order_of_its_names():
    # torch's generated code goes through saved tensors by the alphabet, on the way there and back, and through results last
    a, b, seen = leaf(), torch.tensor([3.0, 5.0], requires_grad=True), []

    def order(f, *xs):
        seen.clear()
        with saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: seen.append(t.tolist()) or t):
            y = f(*xs)
        y.sum().backward()
        half = len(seen) // 2
        assert seen[:half] == seen[half:]
        return seen[:half]
    both = [b.tolist(), a.tolist()]
    assert order(torch.mul, a, b) == both and order(torch.div, a, b) == both                    # other, self
    assert order(torch.pow, a, b) == [*both, (a ** b).tolist()]                                 # exponent, self, result
    m, n = torch.eye(2).requires_grad_(), torch.ones(2, 2, requires_grad=True)
    assert order(torch.mm, m, n) == [n.tolist(), m.tolist()]                                    # mat2, self
    assert order(torch.addmm, b, m, n) == [m.tolist(), n.tolist()]                              # mat1, mat2


def test_save_on_cpu_and_second_derivatives():
    x = leaf()
    with save_on_cpu():
        y = (x * x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
    assert g.tolist() == [3, 12] and x.grad.tolist() == [6, 12]


def test_anomaly_mode_names_the_line():
    def root_of_zero():
        return (torch.zeros(1, requires_grad=True).sqrt() * 0).sum()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.set_detect_anomaly(True):
            y = root_of_zero()
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output."):
                y.backward()
    text = str(caught[-1].message)
    assert "Error detected in SqrtBackward0. Traceback of forward call" in text and "in root_of_zero" in text
    assert not torch.is_anomaly_enabled()
    y = root_of_zero()
    y.backward()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        with torch.autograd.detect_anomaly(check_nan=False):
            root_of_zero().backward()
    x = leaf()
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        y = x.exp()
        y.add_(1)
        with pytest.raises(RuntimeError, match="the backtrace further above shows the operation"):
            y.sum().backward()


def test_inference_tensors():
    x, w = leaf(), torch.ones(2)
    with torch.inference_mode():
        y, view = x * 2, w[:1]
        assert y.is_inference() and torch.zeros(2).is_inference() and y[0].is_inference() and y.clone().is_inference()
        assert not view.is_inference() and not w.detach().is_inference() and copy.deepcopy(w).is_inference()
        y.add_(1)
        with torch.enable_grad():
            assert not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert (x * 2).requires_grad
    assert not (y + 1).is_inference() and y.detach().is_inference()
    for f in (lambda: y.add_(1), lambda: y.zero_(), lambda: y.__setitem__(0, 1.0), lambda: y[0].mul_(2), lambda: y.normal_(),
              lambda: torch.add(w, w, out=y)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            f()
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        y._version
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * y
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        y.requires_grad_()
    assert (x + y).requires_grad
    z = y.clone()
    z.add_(1)


def test_saved_tensors_by_name():
    a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    y, e = a * b, a.exp()
    assert y.grad_fn._saved_self is a and y.grad_fn._saved_other is b
    assert torch.equal(e.grad_fn._saved_result, e) and e.grad_fn._saved_result is not e and e.grad_fn._saved_result.grad_fn is e.grad_fn
    assert torch.stack((a, b)).max(1).values.grad_fn._saved_indices.tolist() == [1, 1]
    assert not hasattr((a + b).grad_fn, "_saved_self")
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
        hooked = a * b
    assert torch.equal(hooked.grad_fn._saved_self, a)
    product = y * b
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.grad_fn._saved_self
    e.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        e.grad_fn._saved_result


def test_a_pack_hook_may_write_what_it_gets_to_a_file(tmp_path):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: torch.save(t, tmp_path / "t.pt") or tmp_path / "t.pt", torch.load):
        y = x.pow(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_saved_tensors_are_looked_at_in_the_order_in_which_they_were_saved():
    """By the alphabet of torch's names, results last; in place too."""
    a, b = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    for call in (torch.mul, torch.hypot, lambda x, y: x.clone().mul_(y)):
        saved, seen = [], []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.item()) or t.clone(), lambda t: seen.append(t.item()) or t):
            out = call(a, b)
        out.backward()
        assert saved[:2] == [2.0, 3.0] and seen == saved


def test_a_hook_after_accumulation_may_return_the_leaf_itself():
    p, others = torch.zeros(2, requires_grad=True), []
    p.register_post_accumulate_grad_hook(lambda p: p.add_(p.grad, alpha=-1))
    p.sum().backward()
    assert p.tolist() == [-1.0, -1.0]
    p.register_post_accumulate_grad_hook(lambda p: p.grad)
    p.register_post_accumulate_grad_hook(others.append)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        p.sum().backward()
    assert others[0] is p.grad                 # the others ran, with what came before them


def test_a_hook_that_gives_another_shape_is_refused_where_it_is_asked():
    import torchshim as torch
    x = torch.arange(4.0).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t[:2]):
        y = x.sin().sum()
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(4\) must match the size of tensor b \(2\) at non-singleton dimension "
                                           r"0"):
        y.backward()
    assert x.grad is None and x.sin().sum().item() == pytest.approx(1.8918884)


def test_hooks_on_saved_tensors_are_callables_and_may_be_refused_while_they_are_active():
    with pytest.raises(TypeError, match=r"_push_saved_tensors_default_hooks\(\): incompatible function arguments"):
        with torch.autograd.graph.saved_tensors_hooks(3, 4):
            pass
    keep = lambda t: t
    with torch.autograd.graph.saved_tensors_hooks(keep, keep):
        with pytest.raises(RuntimeError, match="^not here$"):
            with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
                pass
        with torch.autograd.graph.disable_saved_tensors_hooks("not here", fail_if_non_empty=False):
            pass


def test_an_edge_is_an_input_of_backward():
    x = torch.ones(2, requires_grad=True)
    at = torch.autograd.graph.get_gradient_edge(x)
    torch.autograd.backward((x * 3).sum(), inputs=[at])
    torch.autograd.backward((x * 3).sum(), inputs=at)
    assert x.grad.tolist() == [6.0, 6.0]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="arguments both passed to `backward"):
        torch.autograd.backward((x * 3).sum(), torch.ones(()), grad_variables=torch.ones(()))


def test_hooks_without_names_are_unknown():
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    class Hook:
        def __call__(self, g):
            return g.double()
    y.register_hook(Hook())
    with pytest.raises(RuntimeError, match="hook '<unknown>' has changed the type of value"):
        y.sum().backward()


def test_what_is_differentiable_once_says_so_for_each_gradient():
    from torchshim.autograd.function import once_differentiable

    class Products(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, k, b):
            return a * k * b

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return g * 2, None, g * 3
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    Products.apply(x, 2, y).backward(torch.ones(2, requires_grad=True), create_graph=True)
    (nothing, _), (error, nr) = y.grad.grad_fn.next_functions
    assert nothing is None and nr == 2 and error is x.grad.grad_fn.next_functions[1][0] and error.name() == "torch::autograd::Error"
    assert [n and type(n).__name__ for n, _ in error.next_functions] == ["AccumulateGrad", None, "AccumulateGrad"]
    with pytest.raises(RuntimeError, match="trying to differentiate twice"):
        x.grad.sum().backward()


def test_the_inverses_of_hyperbolic_functions_have_no_derivative_in_place():
    for name in ("asinh", "acosh", "atanh"):
        y = getattr(torch.ones(2, requires_grad=True) * 0.5, name + "_")().sum()
        with pytest.raises(NotImplementedError, match=f"the derivative for 'inplace version of {name}' is not implemented"):
            y.backward()


def test_a_class_may_be_decorated_still():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated and will be disabled in future versions"):
        @torch.no_grad()
        class Made:
            def __init__(self):
                self.made_with = torch.is_grad_enabled()

            def here(self):
                return torch.is_grad_enabled()
    made = Made()
    assert made.made_with is False and made.here() is True


def test_whether_several_threads_may_walk():
    with torch.autograd.set_multithreading_enabled(False):
        assert torch.autograd.is_multithreading_enabled() is False
    assert torch.autograd.is_multithreading_enabled() is True
