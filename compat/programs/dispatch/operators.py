"""Calls whose operators are noted by a TorchDispatchMode, forward and backward."""
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode


def shown(a):
    if isinstance(a, torch.Tensor):
        return f"T{list(a.shape)}{'' if a.dtype is torch.float32 else str(a.dtype)[6:]}"
    if isinstance(a, (list, tuple)):
        return type(a).__name__[0] + "[" + ", ".join(map(shown, a)) + "]"
    return repr(a)


class Noting(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not str(func).startswith("profiler."):
            print(f"    {func}({', '.join([shown(a) for a in args] + [f'{k}={shown(v)}' for k, v in kwargs.items()])})")
        return func(*args, **kwargs)


torch.manual_seed(0)
x = torch.empty(2, 3)
w, b = torch.randn(4, 3, requires_grad=True), torch.randn(4, requires_grad=True)
y = (torch.rand(2, 3) + 0.5).requires_grad_()
z, i = torch.randn(2, 5, 3), torch.tensor([1, 0])
img, k = torch.randn(1, 3, 8, 8, requires_grad=True), torch.randn(4, 3, 3, 3, requires_grad=True)
CASES = {
    "binary": lambda: (x + x, x + 1, 1 + x, x - x, x - 2, 2 - x, x * x, x * 2, x / x, x / 2, 2 / x, x ** 2, 2 ** x, x ** x, x // 2,
            x % 2, -x, abs(x)),
    "compare": lambda: (x > 0, x < x, x == x, x != 1, x >= 1, x <= x, (x > 0) & (x < 1), ~(x > 0), x.bool() | True),
    "inplace": lambda: (x.add_(1), x.mul_(2), x.div_(3), x.sub_(x), x.zero_(), x.fill_(3), x.copy_(x), x.clamp_(0, 1),
            x.add_(x, alpha=2), x.addcmul_(x, x, value=2), x.addcdiv_(x, x), x.lerp_(x, .5), x.normal_(), x.uniform_(), x.exp_(),
            x.sqrt_(), x.masked_fill_(x > 0, 1)),
    "iop": lambda: exec("global x\nx += 1\nx *= 2\nx[0] = 1\nx[0, 1] = x[1, 1]\nx[:, 1:] += 1\nx[x > 0] = 0"),
    "unary": lambda: (x.exp(), x.log(), x.sqrt(), x.rsqrt(), x.sin(), x.tanh(), x.sigmoid(), x.relu(), x.abs(), x.neg(),
            x.reciprocal(), x.square(), x.floor(), x.round(), x.isnan(), x.sign(), x.erf(), x.logical_not(), x.isinf(), x.isfinite()),
    "acts": lambda: (F.relu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.leaky_relu(x), F.elu(x), F.softplus(x),
            F.hardtanh(x), F.relu6(x), F.sigmoid(x), F.logsigmoid(x), F.mish(x), F.hardswish(x), F.selu(x), F.glu(torch.ones(2, 4)),
            F.softmax(x, -1), F.log_softmax(x, 1), F.softmax(x, 0, dtype=torch.float64), F.dropout(x, .5), F.dropout(x, .5, False),
            F.normalize(x), F.relu(x, inplace=True)),
    "reduce": lambda: (x.sum(), x.sum(0), x.sum((0, 1), keepdim=True), x.sum(-1, True), x.mean(), x.mean(1), x.max(), x.max(1),
            x.min(0), x.amax(1), x.argmax(), x.argmax(1), x.var(), x.std(1), x.prod(), x.all(), x.any(1), x.norm(), x.norm(2, 1),
            x.cumsum(0), x.logsumexp(1), torch.linalg.norm(x), x.var(1, unbiased=False), torch.linalg.vector_norm(x), x.topk(2),
            x.sort(), x.median(), x.numel()),
    "view": lambda: (x.view(3, 2), x.view(-1), x.reshape(6), x.t().reshape(6), x.t(), x.T, x.transpose(0, 1), x.permute(1, 0),
            x.unsqueeze(0), x[None].squeeze(0), x.squeeze(), x.expand(4, 2, 3), x.flatten(), x.contiguous(), x.t().contiguous(),
            x.detach(), x.clone(), x.select(0, 1), x.narrow(0, 0, 1), x.chunk(2), x.split(1), x.unbind(), x.mT, x.view_as(x),
            x.expand_as(x), x.repeat(2, 2), x.movedim(0, 1), x.diagonal(), x.unflatten(1, (3, 1)), x.flip(0), x.roll(1), x.tril(),
            x.unfold(0, 1, 1), torch.broadcast_to(x, (1, 2, 3)), x.swapaxes(0, 1), torch.meshgrid(x[0], x[1], indexing="ij")),
    "index": lambda: (x[0], x[0, 1], x[:, 1], x[..., 0], x[0:1], x[None], x[:, None, 1:], x[i], x[x > 0], x[:, ::2], x[i, i], x[[0,
            1]], x[-1], x[:], x[...], x[:, i], x.gather(0, i[None]), x.index_select(0, i), torch.take(x, i),
            x.scatter(0, i[None], 1.), x.index_add(0, i, x), torch.where(x > 0, x, x), torch.where(x > 0, x, 0.), torch.where(x > 0),
            x.masked_fill(x > 0, 0), x.masked_select(x > 0), x.nonzero(), x.index_put((i,), x)),
    "join": lambda: (torch.cat([x, x]), torch.stack([x, x], 1), torch.hstack([x, x]), torch.vstack([x, x]), torch.cat([x, x], dim=-1)),
    "make": lambda: (torch.zeros(2), torch.ones(2, 3), torch.empty(2), torch.full((2,), 1.), torch.arange(3), torch.arange(1, 3),
            torch.arange(0, 6, 2), torch.linspace(0, 1, 3), torch.eye(2), torch.rand(2), torch.randn(2, 2), torch.randint(3, (2,)),
            torch.randperm(3), torch.tensor([1., 2.]), torch.tensor(1), torch.zeros_like(x), torch.ones_like(x), torch.empty_like(x),
            torch.rand_like(x), torch.randn_like(x), torch.full_like(x, 2), x.new_zeros(2), x.new_ones(2), x.new_empty(2),
            x.new_full((2,), 1), x.new_tensor([1]), torch.zeros(2, dtype=torch.int64), torch.as_tensor(x),
            torch.bernoulli(x.abs().clamp(0, 1)), torch.multinomial(x.abs() + .1, 1),
            torch.normal(0., 1., (2,))),
    "convert": lambda: (x.to(torch.float64), x.double(), x.half(), x.int(), x.to("cpu"), x.to(x), x.type(torch.int64), x.float(),
            x.bfloat16(), x.to("meta"), x.cpu(), x[0, 0].item(), float(x[0, 0]), bool(x[0, 0]), x.tolist(), x.type_as(x),
            x.to(torch.float64, copy=True)),
    "mm": lambda: (x @ x.t(), torch.mm(x, x.t()), x @ x[0], torch.mv(x, x[0]), x[0] @ x[0], torch.dot(x[0], x[0]), z @ x.t(),
            z @ z.transpose(1, 2), torch.bmm(z, z.mT), torch.matmul(x[0], x.t()), torch.addmm(b.detach(), x, w.detach().t()),
            torch.outer(x[0], x[1]), torch.baddbmm(torch.ones(2, 5, 5), z, z.mT), torch.randn(2, 2, 3, 3) @ torch.randn(2, 2, 3, 3),
            torch.randn(2, 2, 3, 3) @ torch.randn(3)),
    "linear": lambda: (F.linear(x, w.detach()), F.linear(x, w.detach(), b.detach()), F.linear(z, w.detach()), F.linear(z, w.detach(),
            b.detach()), F.linear(x[0], w.detach(), b.detach())),
    "losses": lambda: (F.mse_loss(x, x), F.cross_entropy(x, i), F.nll_loss(x, i), F.l1_loss(x, x), F.smooth_l1_loss(x, x),
            F.binary_cross_entropy_with_logits(x, x), F.binary_cross_entropy(x.sigmoid(), x.sigmoid()), F.huber_loss(x, x),
            F.cross_entropy(x, x.softmax(1)), F.mse_loss(x, x, reduction="none")),
    "norms": lambda: (F.layer_norm(x, (3,)), F.layer_norm(x, (3,), x[0], x[0]), F.group_norm(z, 5), F.batch_norm(x, torch.zeros(3),
            torch.ones(3), training=True), F.batch_norm(x, torch.zeros(3), torch.ones(3)), F.rms_norm(x, (3,)), F.embedding(i, x),
            torch.nn.BatchNorm1d(3)(x)),
    "conv": lambda: (F.conv2d(img.detach(), k.detach()), F.conv2d(img.detach(), k.detach(), padding=1, stride=2),
            F.conv1d(z.mT, torch.ones(2, 3, 2)), F.conv_transpose2d(img.detach(), torch.ones(3, 2, 2, 2)), F.max_pool2d(img.detach(),
            2), F.avg_pool2d(img.detach(), 2), F.adaptive_avg_pool2d(img.detach(), 1), F.adaptive_avg_pool2d(img.detach(), 2),
            F.pad(x, (1, 1))),
    "attn": lambda: (F.scaled_dot_product_attention(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4)),
            F.scaled_dot_product_attention(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4), is_causal=True),
            F.scaled_dot_product_attention(torch.ones(3, 4), torch.ones(3, 4), torch.ones(3, 4))),
    "b_linear": lambda: F.linear(x, w, b).sum().backward(),
    "b_mul": lambda: (x * y * 2 + y).sum().backward(),
    "b_mlp": lambda: torch.relu(F.linear(y, w, b)).mean().backward(),
    "b_matmul": lambda: (y @ w.t()).sum().backward(),
    "b_bmm": lambda: (z.requires_grad_() @ z.mT).sum().backward(),
    "b_ce": lambda: F.cross_entropy(y, i).backward(),
    "b_mse": lambda: F.mse_loss(y, x.detach()).backward(),
    "b_ln": lambda: F.layer_norm(y, (3,), torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)).sum().backward(),
    "b_softmax": lambda: y.softmax(1).pow(2).sum().backward(),
    "b_act": lambda: (F.gelu(y) + F.silu(y) + y.tanh() + y.sigmoid() + F.leaky_relu(y) + F.softplus(y) + y.exp() + y.abs()
            + y.sqrt() + y.log() + y.rsqrt() + y.sin() + y.cos() + F.elu(y) + F.hardtanh(y) + y.clamp(0, 1)).sum().backward(),
    "b_div": lambda: (y / (y + 3) - y / 2 + 1 / (y + 9)).sum().backward(),
    "b_view": lambda: (y.view(6)[1:3].sum() + y.t()[0].sum() + y.permute(1, 0).unsqueeze(0).expand(2, 3,
            2).sum() + y[0].sum() + y[i].sum() + y.reshape(3, 2).squeeze().transpose(0, 1).sum()).backward(),
    "b_cat": lambda: (torch.cat([y, y]) .sum()+ torch.stack([y,
            y]).sum() + sum(c.sum() for c in y.split(1)) + sum(c.sum() for c in y.chunk(3, 1))).backward(),
    "b_conv": lambda: F.max_pool2d(F.conv2d(img, k), 2).sum().backward(),
    "b_bn": lambda: torch.nn.BatchNorm2d(3)(img).sum().backward(),
    "b_pool": lambda: (F.avg_pool2d(img, 2).sum() + F.adaptive_avg_pool2d(img, 1).sum()).backward(),
    "b_emb": lambda: torch.nn.Embedding(4, 2)(i).sum().backward(),
    "b_where": lambda: (torch.where(y > 0, y, -y) + y.masked_fill(y > 0, 0)).sum().backward(),
    "b_red": lambda: (y.sum(0).sum() + y.mean(1,
            keepdim=True).sum() + y.max(1)[0].sum() + y.amax(0).sum() + y.var() + y.std(1).sum() + y.norm() + y.max()
            + y.logsumexp(1).sum() + y.cumsum(0).sum()).backward(),
    "b_drop": lambda: F.dropout(y, .5).sum().backward(),
    "b_to": lambda: (y.double().sum() + y.clone().sum()).backward(),
    "b_grad": lambda: torch.autograd.grad((y ** 3).sum(), y, create_graph=True),
    "b_sgd": lambda: [(F.linear(x, w, b).sum().backward(), o.step(), o.zero_grad())
                           for o in [torch.optim.SGD([w, b], .1)]],
    "b_sgdm": lambda: [(F.linear(x, w, b).sum().backward(), o.step(), o.step())
                           for o in [torch.optim.SGD([w, b], .1, momentum=.9, weight_decay=.1)]],
    "b_adam": lambda: [(F.linear(x, w, b).sum().backward(), o.step())
                           for o in [torch.optim.Adam([w, b], .1)]],
    "b_adamw": lambda: [(F.linear(x, w, b).sum().backward(), o.step())
                           for o in [torch.optim.AdamW([w, b], .1)]],
    "b_second": lambda: (lambda y: [F.linear(y, w).sum().backward() for _ in range(2)])(y),
}

for name, f in CASES.items():
    x.data.copy_(torch.tensor([[1.0, 2.0, -0.5], [0.5, -1.0, 3.0]]))
    print(name)
    with Noting():
        f()
