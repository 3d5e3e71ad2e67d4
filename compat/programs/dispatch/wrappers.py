"""Tensors that wrap others, and modes."""
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import is_traceable_wrapper_subclass, TorchDispatchMode
from torch.utils._pytree import tree_map
log = []
class Scaled(torch.Tensor):
    """int8 weights with a scale, as quantisers have them"""
    @staticmethod
    def __new__(cls, q, s, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=s.dtype, device=q.device, requires_grad=requires_grad)
    def __init__(self, q, s, requires_grad=False):
        self.q, self.s = q, s
    def __tensor_flatten__(self): return ["q", "s"], None
    @classmethod
    def __tensor_unflatten__(cls, d, c, size, stride): return cls(d["q"], d["s"])
    def __repr__(self): return f"Scaled({tuple(self.shape)})"
    def dequantize(self): return self.q.to(self.s.dtype) * self.s
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        log.append(str(func))
        if func in (torch.ops.aten.detach.default, torch.ops.aten.clone.default):
            return cls(func(args[0].q), args[0].s)
        if func is torch.ops.aten.t.default:
            return cls(args[0].q.t(), args[0].s)
        if func is torch.ops.aten._to_copy.default:
            return cls(args[0].q, args[0].s.to(kwargs["dtype"]))
        un = lambda t: t.dequantize() if isinstance(t, Scaled) else t
        return func(*tree_map(un, args), **tree_map(un, kwargs))
w = Scaled(torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.int8), torch.tensor(0.5))
x = torch.tensor([[1., 2.]], requires_grad=True)
print(w, w.shape, w.dtype, w.device, w.stride(), w.requires_grad, type(w).__name__, w.is_contiguous(), w.numel(), w.ndim)
y = F.linear(x, w); print(y, y.grad_fn is not None, type(y.grad_fn).__name__, log)
log.clear()
y.sum().backward(); print(x.grad, log)
log.clear()
print(w + 1, log)
log.clear()
print((w * 2).sum(), w.detach(), log)
log.clear()
print(w[0], w.mean(), log)
log.clear()
m = torch.nn.Linear(2, 3, bias=True)
m.weight = torch.nn.Parameter(w, requires_grad=False)
print(type(m.weight).__name__, isinstance(m.weight, torch.nn.Parameter), m.weight.requires_grad, log)
log.clear()
print(m(torch.ones(2, 2)).shape, log)
log.clear()
print([n for n, _ in m.named_parameters()], {k: type(v).__name__ for k, v in m.state_dict().items()}, log)
log.clear()
print(is_traceable_wrapper_subclass(w), is_traceable_wrapper_subclass(x))
class Double(torch.Tensor):
    """wraps one tensor and returns wrappers"""
    @staticmethod
    def __new__(cls, t, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(cls, t.shape, strides=t.stride(), dtype=t.dtype, device=t.device, requires_grad=requires_grad)
    def __init__(self, t, requires_grad=False): self.t = t
    def __repr__(self): return f"Double({self.t})"
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        log.append(str(func))
        un = lambda t: t.t if isinstance(t, Double) else t
        out = func(*tree_map(un, args), **tree_map(un, kwargs or {}))
        return tree_map(lambda t: Double(t) if isinstance(t, torch.Tensor) else t, out)
d = Double(torch.tensor([1., 2.]), requires_grad=True)
e = (d * d + 3).relu().sum()
print(e, e.requires_grad, type(e.grad_fn).__name__, d.is_leaf, e.is_leaf, log)
log.clear()
e.backward(); print(d.grad, type(d.grad).__name__, log)
log.clear()
(d * 2).sum().backward(); print(d.grad, log)
log.clear()
g, = torch.autograd.grad((d ** 3).sum(), d, create_graph=True); print(g, g.requires_grad, log)
log.clear()
gg, = torch.autograd.grad(g.sum(), d); print(gg, log)
log.clear()
with torch.no_grad(): print((d + 1).requires_grad)
print(torch.ones(2) + d, d == 1,
       d.t is not None, torch.cat([d, d]), d.view(2, 1), d.split(1), log)
log.clear()
lin = torch.nn.Linear(2, 2); torch.nn.init.ones_(lin.weight); torch.nn.init.zeros_(lin.bias)
o = lin(Double(torch.ones(1, 2))); print(o, type(o).__name__, log)
log.clear()
o.sum().backward(); print(lin.weight.grad, type(lin.weight.grad).__name__, log)
log.clear()
class No(torch.Tensor):
    @staticmethod
    def __new__(cls, t): return torch.Tensor._make_wrapper_subclass(cls, t.shape)
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None): return NotImplemented
for f in (lambda: No(torch.ones(2)) + 1, lambda: torch.mm(No(torch.ones(2, 2)), torch.ones(2, 2)),
          lambda: torch.Tensor._make_wrapper_subclass(int, (2,)), lambda: No(torch.ones(2)).tolist(), lambda: No(torch.ones(2)).numpy()):
    try: print(f())
    except Exception as ex: print(type(ex).__name__, str(ex)[:120].split("\n")[0])
class Count(TorchDispatchMode):
    def __init__(self): super().__init__(); self.n = {}
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.n[str(func)] = self.n.get(str(func), 0) + 1
        out = func(*args, **(kwargs or {}))
        return out
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
inp = torch.ones(3, 4); 
loss0 = F.cross_entropy(net(inp), torch.tensor([0, 1, 0])); loss0.backward(); ref = [p.grad.clone() for p in net.parameters()]; net.zero_grad()
with Count() as c:
    loss = F.cross_entropy(net(inp), torch.tensor([0, 1, 0])); loss.backward()
print(c.n, torch.allclose(loss, loss0), 
      [torch.allclose(p.grad, r, atol=1e-6) for p, r in zip(net.parameters(), ref)])
with Count() as a:
    with Count() as b: torch.ones(2) + 1
    torch.ones(2)
print(a.n, b.n)
class Zero(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.add.Tensor: return torch.zeros(7)
        return func(*args, **(kwargs or {}))
with Zero(): print(torch.ones(2) + 1)
print(torch.ops.aten.add.Tensor, torch.ops.aten.mm.default._schema, torch.ops.aten.mm.default.name(), torch.ops.aten.mm(torch.eye(2), torch.eye(2)).tolist())
x = torch.ones(2, 2, requires_grad=True)
print(torch.ops.aten.mm.default(x, x).requires_grad,
       torch.ops.aten.sum.dim_IntList(torch.ones(2, 3), [1]).tolist(), torch.ops.aten.native_layer_norm.default(torch.arange(4.).view(2,2), [2], None, None, 1e-5)[0].tolist())
