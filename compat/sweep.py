"""`python -m compat.sweep --torch PYTHON`: the same calls by torchshim and by real torch, over layouts, dtypes and values.

A call is a template with `x`, a tensor of every layout and dtype, and `{d}`, every dimension counted from the end. What is compared:
dtype, shape, strides, values, first gradients and the grad_fn's name, and of errors the type (with --texts the first line too).
"""
import argparse
import json
import math
import os
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from compat.processes import Child  # noqa: E402

#: Tensors by how they lie in memory: expressions of t(*shape), which gives distinct numbers.
LAYOUTS = {
    "0-d": "t()", "empty": "t(0)", "empty2": "t(2, 0, 3)", "one": "t(1)", "ones": "t(1, 3, 1)", "vector": "t(5)", "matrix": "t(3, 4)",
    "volume": "t(2, 3, 4)", "transposed": "t(4, 3).t()", "permuted": "t(4, 2, 3).permute(1, 2, 0)", "expanded": "t(3, 1).expand(3, 4)",
    "strided": "t(6, 8)[::2, 1::2]", "offset": "t(9)[3:]", "diagonal": "t(4, 4).diagonal()",
    "channels": "t(2, 3, 4, 2).contiguous(memory_format=torch.channels_last)",
}
#: How many dimensions they have, where that is not one.
RANKS = {"0-d": 0, "matrix": 2, "transposed": 2, "expanded": 2, "strided": 2, "volume": 3, "permuted": 3, "ones": 3, "empty2": 3,
         "channels": 4}
DTYPES = ("float32", "float64", "int64", "uint8", "bool", "bfloat16", "complex64")
#: Values instead of the distinct numbers.
SPECIAL = "float('nan'), float('inf'), float('-inf'), 0., -0., 1e-30, -1e30, 2.5, -3.5"

UNARY = """abs acos acosh angle asin asinh atan atanh ceil conj cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac isfinite
    isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit neg positive rad2deg reciprocal relu round rsqrt sgn
    sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc nan_to_num bitwise_not i0 count_nonzero nonzero argwhere ravel t tril triu
    adjoint fliplr flipud squeeze""".split()
BINARY = """add sub mul div true_divide floor_divide remainder fmod pow atan2 hypot copysign nextafter maximum minimum fmax fmin eq ne lt le
    gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor ldexp heaviside xlogy logaddexp gcd lcm""".split()
REDUCING = """sum prod mean any all amax amin argmax argmin max min median nanmedian mode std var logsumexp nansum nanmean norm
    cumsum cumprod cummax cummin logcumsumexp softmax log_softmax sort argsort unbind cumulative_trapezoid trapezoid
    count_nonzero""".split()
CALLS = [f"torch.{f}(x)" for f in UNARY] + [f"torch.{f}(x, {y})" for f in BINARY for y in ("x", "2", "x.new_ones(())", "x.flip(-1)")]
CALLS += [f"torch.{f}(x, {{d}})" for f in REDUCING] + [f"torch.{f}(x, {{d}}, keepdim=True)" for f in REDUCING[:18]]
CALLS += [f"torch.{f}(x)" for f in REDUCING[:19]]
CALLS += """torch.flip(x, ({d},))|torch.diff(x, 1, {d})|torch.unique_consecutive(x, dim={d})|torch.topk(x, 1, {d})|torch.kthvalue(x, 1, {d})
    torch.select(x, {d}, -1)|torch.narrow(x, {d}, 0, 1)|torch.unsqueeze(x, {d})|torch.transpose(x, {d}, 0)|torch.movedim(x, {d}, 0)
    torch.roll(x, 1, {d})|torch.chunk(x, 2, {d})|torch.split(x, 2, {d})|torch.tensor_split(x, 2, {d})|torch.cat((x, x), {d})
    torch.stack((x, x), {d})|torch.repeat_interleave(x, 2, {d})|torch.unflatten(x, {d}, (1, -1))
    torch.index_select(x, {d}, torch.tensor([0]))|torch.gather(x, {d}, torch.zeros_like(x, dtype=torch.int64))
    torch.renorm(x, 2, {d}, 1.)|torch.index_add(x, {d}, torch.tensor([0]), x.narrow({d}, 0, 1))
    torch.index_fill(x, {d}, torch.tensor([0]), 1)|x.unfold({d}, 1, 1)
    torch.scatter(x, {d}, torch.zeros_like(x, dtype=torch.int64), 1)|torch.std_mean(x, {d})|torch.var(x, {d}, correction=0)
    torch.aminmax(x, dim={d})|torch.quantile(x, 0.3, {d})|torch.nanquantile(x, 0.3, {d})|F.normalize(x, dim={d})|F.softmin(x, {d})
    F.glu(x, {d})|torch.take_along_dim(x, x.argmax({d}, True), {d})|torch.zeros_like(x)|torch.full_like(x, 2)|x.clone()
    x.contiguous()|x.reshape(-1)|x.view(-1)|x.flatten()|x.double()|x.int()|x.bool()|x.to(torch.uint8)|x[..., 0]|x[None]|x[x > 1]
    x[:, None]|x[torch.tensor(0)]|x[[0]]|x[..., ::2]|torch.where(x > 1, x, 0)|torch.clamp(x, 1, 2)|torch.clamp(x, min=x)
    torch.masked_fill(x, x > 1, 3)|torch.masked_select(x, x > 1)|torch.take(x, torch.tensor([0]))|torch.bincount(x)
    torch.histc(x, 4)|torch.unique(x)|torch.addcmul(x, x, x, value=2)|torch.addcdiv(x, x, x, value=2)|torch.lerp(x, x, 0.5)
    torch.dot(x, x)|torch.matmul(x, x)|x @ x.mT|torch.mm(x, x.t())|torch.outer(x, x)|torch.kron(x, x)|torch.trace(x)|torch.diag(x)
    torch.diagonal(x)|torch.diag_embed(x)|torch.rot90(x)|torch.tril(x, 1)|torch.cov(x)|torch.linalg.norm(x)
    torch.linalg.vector_norm(x, 1, {d})|torch.dist(x, x)|torch.cdist(x, x)|torch.einsum('...i,...i->...', x, x)
    torch.broadcast_to(x, (2, *x.shape))|F.relu(x)|F.gelu(x)|F.elu(x)|F.silu(x)|F.hardtanh(x)|F.softplus(x)|F.leaky_relu(x)
    F.layer_norm(x, x.shape[-1:])|F.pad(x, (1, 1))|F.one_hot(x)|F.mse_loss(x, x)|F.l1_loss(x, x.flip(-1))
    F.smooth_l1_loss(x, x.flip(-1))|F.avg_pool1d(x, 2)|F.max_pool1d(x, 2)|F.avg_pool2d(x, 2)|F.max_pool2d(x, 2)
    F.adaptive_avg_pool2d(x, 2)|F.interpolate(x, scale_factor=2)|F.batch_norm(x, None, None, training=True)|F.group_norm(x, 1)
    F.cosine_similarity(x, x, {d})|x.add_(1)|x.mul_(2)|x.clamp_(max=1)|x.zero_()|x.fill_(2)|x.copy_(x.flip(-1))|x.sort()[0].add_(1)
    x.unsqueeze_(0)|x.squeeze_()|x.t_()|-x|x + 1.5|1 - x|x / 2|x // 2|x % 2|x ** 2|2 ** x|x == x|~x|x & 1|x << 1|abs(x)|x.item()
    float(x)|int(x)|bool(x)|len(x)|x.tolist()""".replace("\n", "|").split("|")
CALLS += """F.threshold(x, 1, 2)|F.hardtanh(x, 0, 3)|F.hardtanh(x, inplace=True)|F.relu6(x)|F.hardsigmoid(x)|F.hardswish(x)|F.selu(x)|F.celu(x, 0.5)
    F.elu(x, 2.)|F.logsigmoid(x)|F.hardshrink(x)|F.softshrink(x)|F.tanhshrink(x)|F.softsign(x)|F.mish(x)|F.gelu(x, approximate='tanh')
    F.prelu(x, u(1))|F.prelu(x, u(x.shape[1]))|F.rrelu(x)|F.softplus(x, 2, 3)|F.leaky_relu(x, 0)|torch.celu(x, 0)|F.glu(x)|F.relu(x, inplace=True)
    F.softmax(x, {d}, dtype=torch.float64)|F.log_softmax(x, {d}, dtype=torch.float32)|F.softmin(x, {d})|F.gumbel_softmax(x, dim={d}).shape
    torch.logcumsumexp(x, {d})|torch.cummax(x, {d}).indices|torch.cumsum(x, {d}, dtype=torch.float64)|torch.cumprod(x, {d}, dtype=torch.int64)
    torch.sum(x, {d}, dtype=torch.int64)|torch.mean(x, {d}, dtype=torch.float64)|torch.prod(x, {d}, dtype=torch.float32)|torch.sum(x, ())
    torch.sum(x, (0, {d}))|torch.mean(x, (0, -1))|torch.amax(x, (0, -1))|torch.all(x, (0, -1))|torch.var(x, (0, -1))|torch.logsumexp(x, (0, -1))
    torch.std(x, {d}, unbiased=False)|torch.var_mean(x, {d}, correction=2)|torch.norm(x, 3, {d})|torch.norm(x, float('inf'))|torch.norm(x, 0, {d})
    torch.linalg.vector_norm(x, 3.5, {d})|torch.linalg.vector_norm(x, 0)|torch.linalg.vector_norm(x, float('-inf'), {d}, True)|torch.aminmax(x)
    torch.nansum(x, {d}, dtype=torch.float64)|torch.max(x, {d}).indices|torch.amin(x, {d}, True)|torch.mvlgamma(x + 4, 2)|torch.mvlgamma(x, 1)
    torch.polygamma(2, x)|torch.special.ndtri(x)|torch.special.log_ndtr(x)|torch.special.erfcx(x)|torch.special.entr(x)|torch.special.i1e(x)
    torch.special.zeta(x, 2)|torch.special.xlog1py(x, x)|torch.special.multigammaln(x + 4, 2)|torch.special.logit(x, 0.1)|torch.special.softmax(x, {d})
    torch.float_power(x, 2)|torch.float_power(x, x)|torch.clamp(x, 3, 1)|torch.clamp(x, x, x + 1)|torch.clip(x, max=2.5)|torch.clamp_min(x, 1)
    torch.clamp(x)|torch.add(x, x, alpha=2)|torch.sub(x, 1, alpha=2.5)|torch.rsub(x, 2)|torch.div(x, 2, rounding_mode='floor')
    torch.div(x, x, rounding_mode='trunc')|torch.addcmul(x, x, x[..., :1], value=0.5)|torch.lerp(x, x + 1, x)|torch.lerp(x, x.flip(-1), 2)
    torch.where(x > 1, x, x[..., :1])|torch.where(x > 1)|torch.heaviside(x, u())|torch.masked_fill(x, x > 1, 1e40)|x.masked_fill(x > 1, -1)
    x.masked_fill_(x > 1, 300)|x.fill_(300)|x.fill_(1e40)|torch.full_like(x, 1e40)|x.add_(1e40)|x.mul_(1.5)|x.clamp_(1.5)|x.addcmul_(x, x)
    x.lerp_(x, 0.5)|x.relu_()|x.sigmoid_()|x.cumsum_({d})|x.div_(2)|x.pow_(2)|x.sqrt_()|F.normalize(x, 1, {d})|F.normalize(x, p=0.5, dim={d})
    F.pairwise_distance(x, x + 1)|F.pairwise_distance(x, x, keepdim=True)|F.pdist(x)|F.cosine_similarity(x, x[..., :1], {d})
    F.layer_norm(x, x.shape[-1:], u(*x.shape[-1:]), u(*x.shape[-1:]))|F.layer_norm(x, x.shape)|F.layer_norm(x, (2,))|F.layer_norm(x, ())
    F.rms_norm(x, x.shape[-1:])|F.rms_norm(x, x.shape[-1:], u(*x.shape[-1:]), 0.1)|F.group_norm(x, 3)|F.group_norm(x, 1, u(*x.shape[1:2]), u(*x.shape[1:2]))
    F.batch_norm(x, u(*x.shape[1:2]), u(*x.shape[1:2]))|F.batch_norm(x, u(*x.shape[1:2]), u(*x.shape[1:2]) + 1, u(*x.shape[1:2]), u(*x.shape[1:2]), True)
    F.batch_norm(x, u(*x.shape[1:2]), u(*x.shape[1:2]) + 1, u(*x.shape[1:2]), None, False, 0.1, 0.5)|F.instance_norm(x)
    F.instance_norm(x, u(*x.shape[1:2]), u(*x.shape[1:2]) + 1, u(*x.shape[1:2]), u(*x.shape[1:2]), False)|F.local_response_norm(x, 2)
    F.mse_loss(x, x.flip(-1), reduction='none')|F.mse_loss(x, x.flip(-1), reduction='sum')|F.l1_loss(x, x.flip(-1), reduction='none')
    F.smooth_l1_loss(x, x.flip(-1), reduction='none', beta=2.)|F.smooth_l1_loss(x, x.flip(-1), beta=0)|F.huber_loss(x, x.flip(-1), delta=2.)
    F.huber_loss(x, x.flip(-1), reduction='none')|F.binary_cross_entropy(x / 8, x / 8)|F.binary_cross_entropy_with_logits(x, x / 8)
    F.binary_cross_entropy_with_logits(x, x, pos_weight=u(1))|F.kl_div(x, x, reduction='sum')|F.kl_div(x, x, reduction='batchmean', log_target=True)
    F.soft_margin_loss(x, x)|F.poisson_nll_loss(x, x)|F.poisson_nll_loss(x, x, False, True)|F.gaussian_nll_loss(x, x.flip(-1), x + 1)
    F.hinge_embedding_loss(x, x - 2)|F.margin_ranking_loss(x, x.flip(-1), x)|F.cosine_embedding_loss(x, x, torch.ones(len(x)))
    F.triplet_margin_loss(x, x.flip(-1), x + 1)|F.multilabel_soft_margin_loss(x, x)|F.multilabel_margin_loss(x, k(*x.shape))
    F.multi_margin_loss(x, k(*x.shape[:1]))|F.nll_loss(x, k(*x.shape[:1], *x.shape[2:]))|F.cross_entropy(x, k(*x.shape[:1], *x.shape[2:]))
    F.cross_entropy(x, x)|F.cross_entropy(x, k(*x.shape[:1], *x.shape[2:]), u(*x.shape[1:2]), label_smoothing=0.1)
    F.cross_entropy(x, k(), reduction='sum')|F.nll_loss(x, k(*x.shape[:1]), u(*x.shape[1:2]), reduction='none')|F.cross_entropy(x, k(*x.shape[:1]), ignore_index=0)
    F.conv1d(x, u(2, *x.shape[-2:-1], 2))|F.conv1d(x, u(2, *x.shape[-2:-1], 2), u(2), 2, 1)|F.conv2d(x, u(2, *x.shape[-3:-2], 2, 2))
    F.conv2d(x, u(2, *x.shape[-3:-2], 2, 1), u(2), padding='same')|F.conv2d(x, u(*x.shape[-3:-2], 1, 2, 2), groups=(*x.shape, 1, 1, 1)[-3])
    F.conv3d(x, u(2, *x.shape[-4:-3], 1, 1, 1))|F.conv_transpose1d(x, u(*x.shape[-2:-1], 2, 2), stride=2)|F.conv1d(x, u(2, 2, 2))
    F.conv_transpose2d(x, u(*x.shape[-3:-2], 2, 2, 2), u(2), 2, 1, 1)|F.conv2d(x, x)|F.conv1d(x, u(2, 3, 2), padding=-1)|F.linear(x, u(2, *x.shape[-1:]))
    F.linear(x, u(2, *x.shape[-1:]), u(2))|F.linear(x, u(*x.shape[-1:]))|F.bilinear(x, x, u(2, *x.shape[-1:], *x.shape[-1:]))
    F.avg_pool1d(x, 2, 1, 1, True, False)|F.avg_pool2d(x, 2, 1, 1, True, False, 3)|F.avg_pool3d(x, 2)|F.max_pool1d(x, 2, 1, 1, ceil_mode=True)
    F.max_pool2d(x, 2, 1, 1, 2)|F.max_pool2d(x, 2, return_indices=True)|F.max_pool3d(x, 2)|F.max_pool1d(x, 2, return_indices=True)
    F.adaptive_avg_pool1d(x, 2)|F.adaptive_avg_pool2d(x, (None, 1))|F.adaptive_avg_pool3d(x, 2)|F.adaptive_max_pool1d(x, 2)|F.adaptive_max_pool2d(x, 1)
    F.adaptive_max_pool2d(x, (2, 3), return_indices=True)|F.lp_pool1d(x, 2, 2)|F.lp_pool2d(x, 3, 2)|F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)
    F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)|F.avg_pool2d(x, 5)|F.max_pool2d(x, 2, 0)|F.max_pool1d(x, 2, padding=2)|F.adaptive_avg_pool2d(x, 0)
    F.interpolate(x, 5)|F.interpolate(x, size=3, mode='linear')|F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=True)
    F.interpolate(x, scale_factor=1.5, mode='bicubic')|F.interpolate(x, scale_factor=0.5, mode='area')|F.interpolate(x, scale_factor=2, mode='nearest-exact')
    F.interpolate(x, size=(3, 3), mode='bilinear', antialias=True)|F.interpolate(x, scale_factor=1.7, recompute_scale_factor=True)|F.interpolate(x, size=0)
    F.interpolate(x, mode='linear')|F.interpolate(x, size=(2, 2), scale_factor=2)|F.pixel_shuffle(x, 2)|F.pixel_unshuffle(x, 2)|F.channel_shuffle(x, 3)
    F.grid_sample(x, u(2, 2, 2, 2) / 8 - 0.5, align_corners=False)|F.grid_sample(x, u(2, 3, 2, 2) / 4 - 1, 'nearest', 'border', True)
    F.grid_sample(x, u(2, 2, 2, 2) / 2 - 2, 'bicubic', 'reflection', False)|F.affine_grid(x[..., :2, :3], (2, 1, 2, 2), align_corners=False)
    F.unfold(x, 2)|F.unfold(x, (2, 1), 1, 1, 2)|F.fold(x, (2, 2), 1)|F.pad(x, (1, 0), mode='reflect')|F.pad(x, (1, 1), mode='replicate')
    F.pad(x, (1, 1), mode='circular')|F.pad(x, (1, -1, 2, 0), value=3)|F.pad(x, (1, 1, 1, 1), mode='reflect')|F.pad(x, (-1, -1))|F.pad(x, (1,))
    F.scaled_dot_product_attention(x, x, x)|F.scaled_dot_product_attention(x, x, x, is_causal=True)|F.scaled_dot_product_attention(x, x, x, x @ x.mT > 1)
    F.dropout(x, 0.)|F.dropout(x, 1.)|F.alpha_dropout(x, 0., True)|F.dropout2d(x, 0., True)|F.dropout(x, 2.)|F.feature_alpha_dropout(x, 1., True)
    F.embedding(k(2), x)|F.embedding(k(2, 2), x, 0)|F.embedding_bag(k(2, 2), x)|F.embedding_bag(k(2), x, torch.tensor([0]), mode='max')
    torch.rnn_tanh_cell(x, x, x, x)|torch.lstm_cell(x, (x, x), u(16, *x.shape[-1:]), u(16, 4))|torch.gru_cell(x, x, u(12, *x.shape[-1:]), u(12, 4))
    torch.cumulative_trapezoid(x, dx=2)|torch.trapezoid(x, x)|torch.gradient(x)|torch.renorm(x, 1, 0, 1)|torch.logaddexp2(x, x)|torch.signbit(-x)
    torch.frexp(x)|torch.real(x)|torch.imag(x)|torch.view_as_real(x)|torch.polar(x, x)|torch.complex(x, x)|torch.nan_to_num(x, 1, 2, 3)
    torch.count_nonzero(x, {d})|torch.var(x, 0)|torch.std(x)|torch.special.bessel_j0(x)|torch.sigmoid(x).mul(x).sum()""".replace("\n", "|").split("|")
#: Forward derivatives, derivatives of gradients, and writes into what is there.
CALLS += """pushed(lambda v: torch.logcumsumexp(v, {d}), x)|pushed(F.hardsigmoid, x)|pushed(torch.sinc, x)|pushed(torch.digamma, x)
    pushed(lambda v: torch.log_softmax(v, {d}), x)|pushed(lambda v: torch.xlogy(v, v), x)
    pushed(lambda v: torch.linalg.vector_norm(v, 3, {d}), x)|pushed(lambda v: F.max_pool2d(v, 2), x)|twice(lambda v: F.avg_pool2d(v, 2), x)
    twice(lambda v: F.pad(v, (1, 1), mode='replicate'), x)|twice(lambda v: F.smooth_l1_loss(v, v.detach().round()), x)|twice(torch.erf, x)
    twice(lambda v: torch.norm(v, 3, {d}), x)|torch.round(x, decimals=0)|x.round_()|x.round_(decimals=1)
    torch.linalg.norm(x, out=x.new_empty(()))|torch.fmod(x, 0)""".replace("\n", "|").split("|")
CALLS = list(dict.fromkeys(c.strip() for c in CALLS))


def every_call(only):
    """(name, code) of every combination."""
    for layout, made in LAYOUTS.items():
        rank = RANKS.get(layout, 1)
        for dtype in DTYPES:
            for call in CALLS:
                for d in range(-1, -max(rank, 1) - 1, -1) if "{d}" in call else (0,):
                    name = f"{call.replace('{d}', str(d))} of {layout} {dtype}"
                    if re.search(only, name):
                        yield name, [made, dtype, call.replace("{d}", str(d))]
    for call in CALLS:
        name = f"{call.replace('{d}', '-1')} of special"
        if "{d}" not in call and call.startswith(("torch.", "F.")) and re.search(only, name):
            yield name, ["special", "float32", call]


def serve():
    """Answer each line (layout, dtype, call) with a digest of its result."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import warnings

    import torch
    import torch.nn.functional as F
    warnings.simplefilter("ignore")

    def digest(r, gradient=False):
        if isinstance(r, torch.Tensor):
            values = torch.view_as_real(r.detach().resolve_conj()) if r.is_complex() else r.detach()
            strides = [] if gradient or not r.numel() else list(r.stride())      # torch promises those of a gradient where it accumulates
            values = values.double().flatten() + 0         # the zeros that torch has not allocated, too
            return [str(r.dtype), list(r.shape), strides, values.tolist()]
        return [digest(y) for y in r] if isinstance(r, (tuple, list)) else repr(r)

    def pushed(f, x):
        return torch.func.jvp(f, (x.detach(),), (x.detach() + 1,))[1].contiguous()         # they lie as they lie

    def twice(f, x):
        y = f(x)
        return torch.autograd.grad(torch.autograd.grad((y * y).sum(), x, create_graph=True)[0].sum(), x)[0].contiguous()

    def answer(made, dtype, call):
        d = getattr(torch, dtype)

        def t(*shape):
            n = math.prod(shape)
            return ((torch.arange(n) * 7 % 11).reshape(shape) * (0.75 if d.is_floating_point else 1)).to(d)

        def u(*shape):
            return t(*shape) * t(*shape).flip(0) if shape else t()

        def k(*shape):
            return torch.arange(math.prod(shape)).reshape(shape) % 2
        x = torch.tensor(eval(f"[{SPECIAL}]")) if made == "special" else eval(made, {"t": t, "torch": torch})
        wants = (d.is_floating_point or d.is_complex) and not re.search(r"\w_\(", call)
        x = x.requires_grad_() if wants else x
        try:
            r = eval(call, {"x": x, "torch": torch, "F": F, "u": u, "k": k, "pushed": pushed, "twice": twice})
            seen = {"result": digest(r)}
            first = r if isinstance(r, torch.Tensor) else r[0] if isinstance(r, (tuple, list)) and r else None
            if isinstance(first, torch.Tensor):
                seen["grad_fn"] = first.grad_fn and first.grad_fn.name()
            if isinstance(first, torch.Tensor) and first.requires_grad and d != torch.bfloat16:
                weights = torch.arange(1., first.numel() + 1, dtype=torch.float64).reshape(first.shape).to(first.dtype)
                seen["grad"] = digest(torch.autograd.grad((first * weights).sum().abs(), x)[0], True)
        except Exception as error:
            return {"error": [type(error).__name__, str(error).split("\n")[0]]}
        return seen

    print(json.dumps(str(torch.__version__)), file=channel, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), file=channel, flush=True)


def close(a, b, near):
    """Whether two digests agree, numbers to the relative distance `near`."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isnan(a) and math.isnan(b) or abs(a - b) <= near * max(abs(a), abs(b), 1e-2)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all([close(p, q, near) for p, q in zip(a, b)])
    return a == b


def same(mine, theirs, dtype, texts):
    """Whether two answers agree."""
    if "error" in mine or "error" in theirs:
        return mine.get("error", [0])[:1 + texts] == theirs.get("error", [1])[:1 + texts]
    near = {"float64": 1e-9, "bfloat16": 2e-2}.get(dtype, 2e-5)
    near = max(near, 2e-5) if "torch.float32" in str(theirs) else near         # asked for by the call
    return all([close(mine.get(part), theirs.get(part), near) for part in ("result", "grad", "grad_fn")])


def asked(child, call):
    """A contender's answer."""
    try:
        return child.ask(json.dumps(call), 120)
    except RuntimeError as failed:
        raise RuntimeError(f"{call}: {failed}") from None


def main(argv=None):
    """The command; returns the exit code (1 where a call differs)."""
    parser = argparse.ArgumentParser(prog="python -m compat.sweep", description=__doc__.split("\n")[0])
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON", help="interpreter that has real torch")
    parser.add_argument("--runner", default=f"{shlex.quote(sys.executable)} -m torchshim", help="command that runs a script with torchshim")
    parser.add_argument("--only", default="", metavar="REGEX", help="calls whose name matches")
    parser.add_argument("--texts", action="store_true", help="compare the errors' texts too")
    parser.add_argument("--show", type=int, default=40, help="how many differences to print")
    args = parser.parse_args(argv)
    if not args.torch:
        parser.error("real torch is needed: --torch PYTHON or TORCHSHIM_REAL_TORCH")
    both = [Child([*command, str(ROOT / "compat" / "sweep.py"), "--serve"]) for command in (shlex.split(args.runner), [args.torch])]
    names, total, differing = [child.receive(120) for child in both], 0, []
    try:
        for name, call in every_call(args.only):
            mine, theirs = [asked(child, call) for child in both]
            total += 1
            if not same(mine, theirs, call[1], args.texts):
                differing.append(name)
                if len(differing) <= args.show:
                    print(f"--- {name}\n    torch: {str(theirs)[:2000]}\n    here:  {str(mine)[:2000]}")
    finally:
        for child in both:
            child.close()
    print(f"{total - len(differing)} of {total} calls agree with torch {names[1]}")
    return int(bool(differing))


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
