"""What torch.export makes of modules: graphs of operators, what their inputs and outputs stand for."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import export


def shown(a):
    if isinstance(a, torch.fx.Node):
        return a.name
    if isinstance(a, (list, tuple)):
        return type(a).__name__[0] + "[" + ", ".join(map(shown, a)) + "]"
    return repr(a)


def lines(graph):
    for n in graph.nodes:
        if n.op == "call_function":
            yield f"    {n.name} = {n.target}({', '.join([shown(a) for a in n.args] + [f'{k}={shown(v)}' for k, v in n.kwargs.items()])})"
        elif n.op == "output":
            yield f"    return {shown(n.args[0])}"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.bn, self.ln, self.drop = nn.Linear(8, 4), nn.BatchNorm1d(4), nn.LayerNorm(4), nn.Dropout(.5)
        self.register_buffer("b", torch.ones(4))
        self.register_buffer("free", torch.ones(4), persistent=False)
        self.c = torch.ones(4)

    def forward(self, x, y=None, *, k=None):
        h = self.drop(self.ln(self.bn(self.lin(x)).relu()))
        h = h + self.b * self.c + torch.tensor([1., 2, 3, 4]) + self.free
        if y is not None:
            h = h @ y["m"][0].T
        self.b.add_(1)
        return {"o": h.softmax(-1), "l": [h.view(-1), h.reshape(2, -1)[0], x[:, 1:3], h.shape[0], k]}


net = Net()
ep = export(net, (torch.randn(2, 8), {"m": [torch.randn(3, 4)], "n": 3}), {"k": torch.ones(1)})
print("\n".join([line for line in str(ep).split("\n") if "# File" not in line and line.strip()]))
print(ep.graph_signature, repr(ep.graph_signature.input_specs[0]), ep.graph_signature.user_inputs, ep.graph_signature.user_outputs)
print(ep.call_spec, ep.module_call_graph[1:], ep.range_constraints, list(ep.constants), ep.dialect)
print(list(ep.state_dict), [n for n, _ in ep.named_parameters()], [n for n, _ in ep.named_buffers()])
for n in ep.graph.nodes:
    if n.op != "output":
        val = n.meta["val"]
        print(n.op, n.name, n.target, sorted(n.meta), val if isinstance(val, (torch.Tensor, int)) else type(val).__name__,
              n.meta.get("nn_module_stack"), n.meta.get("torch_fn"))
made = ep.module()
print(made.code)
print([n for n, _ in made.named_parameters()], [n for n, _ in made.named_buffers()], type(made).__name__)
print(net.b[0].item(), made(torch.randn(2, 8), {"m": [torch.randn(3, 4)], "n": 3}, k=torch.ones(1))["l"][3], net.b[0].item())
for wrong in (lambda: made(torch.randn(2, 8)), lambda: made(torch.randn(3, 8), {"m": [torch.randn(3, 4)], "n": 3}, k=torch.ones(1)),
              lambda: made(torch.randn(2, 8), {"m": [torch.randn(3, 4)], "n": 4}, k=torch.ones(1)), made.eval, lambda: ep(1)):
    try:
        print(wrong())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])

x, z, i = torch.tensor([[1., 2, -.5], [.5, -1, 3]]), torch.arange(30.).view(2, 5, 3) / 10, torch.tensor([1, 0])
img, q = torch.arange(192.).view(1, 3, 8, 8), torch.ones(1, 2, 3, 4)
CASES = {
    "arithmetic": lambda x, z, i, img, q: (x + 1, 2 - x, 2 / x, x ** 2, x // 2, (x > 0) & (x < 1), x.square(), x.clamp(min=0), torch.clip(x, 0, 1)),
    "conversions": lambda x, z, i, img, q: (x.double(), x.to("cpu"), x.to(x), x.type_as(z), x.int().long()),
    "activations": lambda x, z, i, img, q: (F.gelu(x), F.silu(x), F.elu(x), F.hardtanh(x), F.softmax(x, -1), F.log_softmax(x, 1), F.logsigmoid(x),
                                            F.dropout(x, .5), F.normalize(x), F.relu(x.clone(), inplace=True), F.glu(z, 1) if 0 else F.selu(x)),
    "reductions": lambda x, z, i, img, q: (x.sum(), x.sum(0), x.mean(1), x.max(1), x.max(x), x.var(1), x.std(), torch.var_mean(x, 1), x.norm(2, 1),
                                           torch.linalg.norm(x), x.topk(2), x.median(1)[0]),
    "views": lambda x, z, i, img, q: (x.view(-1), x.T, x.mT, x.transpose(0, 1), x.flatten(), x.chunk(2), x.split([1, 1]), x.unbind(), x[:, None, 1:],
                                      x[i], x[..., :-1], x[[0, 1]], x.movedim(0, 1), x.expand(4, -1, -1), x.t().contiguous(), x.hsplit(3),
                                      torch.broadcast_tensors(x, x[0]), torch.meshgrid(x[0], x[1], indexing="ij")),
    "products": lambda x, z, i, img, q: (x @ x.t(), torch.einsum("ij,kj->ik", x, x), torch.tensordot(x, x, dims=([1], [1])), torch.outer(x[0], x[1])),
    "losses": lambda x, z, i, img, q: (F.mse_loss(x, x), F.cross_entropy(x, i), F.nll_loss(x, i), F.kl_div(x, x, reduction="batchmean"),
                                       F.smooth_l1_loss(x, x), F.triplet_margin_loss(x, x, x), F.binary_cross_entropy_with_logits(x, x)),
    "layers": lambda x, z, i, img, q: (F.layer_norm(x, (3,)), F.group_norm(z, 5), F.instance_norm(z), F.rms_norm(x, (3,)), F.embedding(i, x),
                                       F.max_pool2d(img, 2), F.avg_pool2d(img, 2), F.adaptive_avg_pool2d(img, 1), F.pad(x, (1, 1)),
                                       F.unfold(img, 2), F.interpolate(img, scale_factor=2), F.scaled_dot_product_attention(q, q, q),
                                       F.interpolate(img, size=(4, 4), mode="bilinear"), F.conv2d(img, torch.ones(4, 3, 3, 3), padding=1)),
    "makers": lambda x, z, i, img, q: (torch.zeros(2), torch.arange(3), torch.ones_like(x), x.new_zeros(2), torch.tensor(1), torch.rand(2),
                                       torch.full((2,), 1.), torch.as_tensor(x), torch.where(x > 0, x, 0.), torch.tril(torch.ones(2, 2))),
    "writes": lambda x, z, i, img, q: (x.mul_(2), x.clone().zero_(), x.add_(1).relu_(), x.clone().copy_(x), x.masked_fill(x > 0, 0)),
}
for name, f in CASES.items():
    class Case(nn.Module):
        def forward(self, x, z, i, img, q):
            return f(x, z, i, img, q)
    print(name)
    print("\n".join(lines(export(Case(), (x, z, i, img, q)).graph)))


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.cells = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.GRU(4, 3)

    def forward(self, x):
        return self.layer(x), self.cells(x)[1].shape


print("\n".join([line.replace("getitem_3", "getitem").replace("getitem_4", "getitem_1") for line in lines(export(Attending(), (
    torch.ones(1, 3, 4),)).graph)]))


class Asking(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


try:
    export(Asking(), (torch.ones(2),))
except Exception as e:
    print(type(e).__name__, str(e).split("\n")[0])


class Told(nn.Module):
    def forward(self, x):
        print(torch.compiler.is_exporting(), torch.compiler.is_compiling(), torch.jit.is_tracing())
        return x


export(Told(), (torch.ones(2),))
print(torch.compiler.is_exporting(), torch.compiler.is_compiling())
