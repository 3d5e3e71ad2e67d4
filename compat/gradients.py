"""gradcheck and gradgradcheck of every differentiable operator, in double and complex double precision: `python -m compat.gradients`.

Operators whose parameters are tensors, or have a default or a usual value, are found by their declarations; views, composites and what
needs arguments of its own is written down in CASES. Each is checked against finite differences, and so is its gradient.
"""
from __future__ import annotations

import argparse
import contextlib
import re
import sys
import warnings

import torchshim as torch
from torchshim.nn import functional as F
from torchshim.ops.registry import OPS

#: Arguments for parameters without a default, by name.
USUAL = {"dim": 0, "dims": (0,), "diagonal": 0, "correction": 1, "shifts": 1, "k": 1, "n": 2, "p": 3, "sizes": (2, 3), "size": (9,),
         "value": 0.5, "min": 0.4, "max": 0.8, "exponent": 2.5, "weight": 0.3, "threshold": 0.5, "n_dims": 1,
         "normalized_shape": (3,), "r": 2}
#: Where an operator's domain is not (0.2, 0.8): what is done to its inputs first.
DOMAIN = {"acosh": lambda x: x + 1.5, "arccosh": lambda x: x + 1.5, "erfinv": lambda x: x - 0.5, "floor_divide": None, "nextafter": None,
          "logdet": lambda x: x + 2 * torch.eye(3, dtype=x.dtype),
          "mvlgamma": lambda x: x + 3, "zeta": lambda x: x + 2, "cholesky_inverse": lambda x: (x + 2 * torch.eye(3, dtype=x.dtype)).tril(),
          "cholesky_solve": lambda x: (x + 2 * torch.eye(3, dtype=x.dtype)).tril()}
#: Declared operators that have no derivative of their own to check: no gradient in torch either, or only in some arguments; and those whose
#: derivatives are checked by CASES.
SKIP = re.compile(
                  r"^(airy_ai|(modified_|scaled_modified_|spherical_)?bessel_.*|.*polynomial_.*|heaviside|gcd|lcm|bitwise.*|logical.*|eq|ne|lt|le|gt|ge|"
                  r"i0|i0e|isin|histc|histogramdd|bincount|searchsorted|quantile|.*dropout.*|rnn_layer|.*_cell.*|geqrf|ormqr|linalg_ldl.*|ldl_solve|"
                  r"igamma|igammac|copysign|hash_tensor|outside.*|more_than|any_zero|frexp|_.*|lu_unpack|linalg_lu|linalg_eig|linalg_nonfinite|"
                  r"fractional_max_pool|ctc_loss_of|max_unpool|grid_sampler|embedding.*|one_hot_of|renormed_rows|floor_divide|polar|complex)$")
#: What torch says where it has no derivative, or none of the derivative.
UNKNOWN = re.compile("^derivative for aten::(hardsigmoid|multi_margin_loss)_backward is not implemented$|"
                     "^the derivative for '(_[cp]dist|_embedding_bag)_backward' is not implemented.$|"
                     "^nan_to_num does not support automatic differentiation for outputs with complex dtype")
#: Expressions of a, b, c (3 x 3), v (3) and s (a scalar tensor); B, E, I, J, K, L, M and T are given. Below the line: real ones alone.
CASES = """
a.t(); a.transpose(0, 1); a.reshape(9); a.view(-1); a.unsqueeze(1); a[1]; a[:, 1:]; a[::2]; a[torch.tensor([0, 2, 0])]; a[a.real > 0.5]
a.expand(2, 3, 3); a.diagonal(); a.unfold(0, 2, 1); a.as_strided((2, 2), (1, 2)); a.permute(1, 0); a.narrow(0, 1, 2); a.chunk(2)
a.split(1); a.unbind(); a.flatten(); a.squeeze(); a.movedim(0, 1); torch.stack([a, b]); torch.cat([a, b]); torch.hstack([a, b])
torch.where(a.real > 0.5, a, b); a.clone(); a.contiguous(); a.index_select(0, I); a.gather(1, J); a.scatter(1, J, b)
a.scatter_add(1, J, b); a.index_add(0, I, b[:2]); a.index_copy(0, I, b[:2]); a.index_fill(0, I, 2.0); a.take(K)
a.masked_fill(a.real > 0.5, 0.0); a.masked_select(a.real > 0.5); a.masked_scatter(a.real > 0.5, b); a.put(K, b); a.repeat(2, 1)
a.tile(2); a.roll(1, 0); a.flip(0); a.rot90(); a.tril(); a.triu(); torch.diag(v); torch.diag_embed(v); a.trace(); a @ b; a @ v; v @ v
torch.einsum('ij,jk->ik', a, b); torch.outer(v, v); torch.addmm(a, b, c); torch.baddbmm(a[None], b[None], c[None])
torch.bmm(a[None], b[None]); torch.tensordot(a, b, 1); torch.kron(a, b); torch.inner(a, b); a.sum(0); a.mean(1, keepdim=True); a.prod(0)
a.prod(); a.cumsum(0); a.cumprod(1); a.std(); a.var(0); a.norm(); torch.linalg.vector_norm(a, 3); a.logcumsumexp(0)
torch.linalg.det(a + E); torch.linalg.inv(a + E); torch.linalg.solve(a + E, b); torch.linalg.matrix_exp(a)
torch.linalg.slogdet(a + E)[1]; torch.linalg.pinv(a + E); torch.linalg.cholesky(a @ a.mH + E); torch.linalg.qr(a + E)
torch.linalg.svdvals(a + E); torch.linalg.eigvalsh(a + a.mH); torch.linalg.matrix_power(a, 3); torch.linalg.lu_factor(a + E)[0]
torch.linalg.solve_triangular((a + E).triu(), b, upper=True); torch.linalg.matrix_norm(a); torch.linalg.multi_dot([a, b, c])
torch.cholesky_solve(b, torch.linalg.cholesky(a @ a.mH + E)); torch.linalg.householder_product(a, v); torch.linalg.cross(a, b)
torch.linalg.eigh(a + a.mH)[0]; torch.fft.fft(a); torch.fft.ifft(a); torch.fft.fft2(a); torch.fft.fftshift(a); a.conj(); a.real
a * b.conj(); a.abs(); a.angle(); a.sgn(); a.pow(2.5); a ** b; a / b; torch.addcmul(a, b, c); torch.addcdiv(a, b, c); a.lerp(b, 0.3)
a.lerp(b, c.real); a.clone().mul_(b); a.clone().add_(b, alpha=2); torch.cumulative_trapezoid(a); torch.block_diag(a, b)
torch.cartesian_prod(v, v); torch.meshgrid(v, v, indexing='ij'); torch.diff(a); torch.gradient(v)[0]; torch.vander(v); torch.cov(a)
s * a
---
a.max(0)[0]; a.min(); a.amax(1); a.sort(0)[0]; a.topk(2)[0]; a.kthvalue(2)[0]; a.median(); a.mode()[0]; a.cummax(0)[0]; a.logsumexp(0)
a.softmax(0); a.clamp(0.4, 0.7); F.relu(a - 0.5); F.gelu(a); F.elu(a - 0.5); F.selu(a - 0.5); F.softplus(a); F.silu(a); F.mish(a)
F.leaky_relu(a - 0.5, 0.1); F.prelu(a - 0.5, v[:1]); F.glu(a[:, :2]); F.hardtanh(a); F.hardswish(a); F.hardsigmoid(a)
F.log_softmax(a, 1); F.logsigmoid(a); F.tanhshrink(a); F.softsign(a); F.normalize(a); F.cosine_similarity(a, b); F.mse_loss(a, b)
F.l1_loss(a, b); F.smooth_l1_loss(a, b); F.huber_loss(a, b); F.binary_cross_entropy(a, B); F.kl_div(a.log(), b)
F.poisson_nll_loss(a, b); F.binary_cross_entropy_with_logits(a, b); F.cross_entropy(a, T); F.cross_entropy(a, b.softmax(1))
F.nll_loss(a, T); F.gaussian_nll_loss(a, B, c); F.soft_margin_loss(a, B); F.hinge_embedding_loss(a, M)
F.margin_ranking_loss(v, b[0], M[0]); F.multi_margin_loss(a, T); F.triplet_margin_loss(a, b, c); F.cosine_embedding_loss(a, b, M[0])
F.linear(a, b, v); F.bilinear(a, b, c[None]); F.conv1d(a[None], b[:, :, None]); F.conv2d(a[None, None], b[None, None, :2, :2])
F.conv_transpose1d(a[None], b[:, :, None]); F.avg_pool1d(a[None], 2); F.max_pool1d(a[None], 2); F.adaptive_avg_pool1d(a[None], 2)
F.lp_pool1d(a[None], 2, 2); F.layer_norm(a, (3,), v, v); F.rms_norm(a, (3,)); F.group_norm(a[None], 3)
F.batch_norm(a, None, None, training=True); F.instance_norm(a[None]); F.local_response_norm(a[None], 2); F.pad(a, (1, 1))
F.pad(a[None], (1, 1), 'reflect'); F.interpolate(a[None], 5, mode='linear'); F.interpolate(a[None, None], (5, 4), mode='bicubic')
F.grid_sample(a[None, None], torch.stack([b, c], -1)[None], align_corners=True)
F.affine_grid(a[None, :2], (1, 1, 2, 2), align_corners=False); F.unfold(a[None, None], 2); F.pixel_shuffle(a.expand(4, 3, 3), 2)
F.embedding(T, a); F.embedding_bag(T[None], a); F.scaled_dot_product_attention(a[None], b[None], c[None])
F.ctc_loss(a[:, None].log_softmax(-1), L, (3,), (1,)); torch.cdist(a, b); torch.pdist(a); torch.dist(a, b); a.renorm(2, 0, 0.5)
torch.quantile(a, 0.3); torch.nanmedian(a); a.nansum(); a.erfinv(); torch.special.i0(a); torch.special.i1e(a); torch.special.entr(a)
torch.polygamma(1, a); torch.xlogy(a, b); torch.igamma(B + 1, b); torch.special.zeta(torch.tensor(2.5, dtype=torch.float64), a + 2)
torch.atan2(a, b); torch.hypot(a, b); torch.fmod(a, B); torch.remainder(a, b); torch.maximum(a, b); torch.fmin(a, b); torch.frac(a)
torch.nan_to_num(a); torch.logaddexp(a, b); torch.copysign(a, B); torch.complex(a, b); torch.polar(a, b); torch.ldexp(a, b)
a.scatter_reduce(1, J, b, 'prod'); a.scatter_reduce(1, J, b, 'amax'); a.index_reduce(0, I, b[:2], 'mean'); a.aminmax()[0]
torch.fft.rfft(a); torch.fft.irfft(torch.complex(a, b)); torch.sinc(a); torch.corrcoef(a); torch.trapezoid(a); torch.combinations(v)
a.float().double() * 0 + a; torch.stft(v.repeat(4), 4, window=torch.ones(4, dtype=torch.float64), return_complex=True)
"""


def inputs(dtype, seed):
    """a, b, c, v, s."""
    torch.manual_seed(seed)
    made = []
    for shape in ((3, 3), (3, 3), (3, 3), (3,), ()):
        x = torch.rand(shape, dtype=torch.float64) * 0.6 + 0.2
        if dtype.is_complex:
            x = torch.complex(x, torch.rand(shape, dtype=torch.float64) * 0.6 + 0.2)
        made.append(x.requires_grad_())
    return made


def written(dtype):
    """[(name, function, inputs)] of CASES."""
    both, real = CASES.split("---")
    texts = both + (real if not dtype.is_complex else "")
    names = "a b c v s".split()
    fixed = {"torch": torch, "F": F, "I": torch.tensor([0, 2]), "J": torch.tensor([[0, 2, 1], [1, 0, 2], [2, 1, 0]]),
             "T": torch.tensor([0, 2, 1]),
             "K": torch.arange(9).reshape(3, 3), "B": inputs(torch.float64, 5)[1].detach(),
             "M": torch.tensor([[1.0, -1.0, 1.0]] * 3, dtype=torch.float64), "L": torch.tensor([[1]]), "E": 3 * torch.eye(3, dtype=dtype)}
    for text in re.split(r";|\n", texts):
        text = text.strip()
        used = [n for n in names if re.search(rf"\b{n}\b", text)]
        if used:
            code = compile(text, text, "eval")
            xs = dict(zip(names, inputs(dtype, 7)))
            yield text, (lambda *ts, code=code, used=used: eval(code, fixed | dict(zip(used, ts)))), [xs[n] for n in used]


def declared(dtype):
    """[(name, function, inputs)] of the declared operators that can be called without knowing them."""
    for op in OPS.values():
        if op.grad is None or SKIP.match(op.name) or not op.function or op.nondiff:
            continue
        f = torch
        for part in op.public.split("."):
            f = getattr(f, part, None)
        xs, args, ok, shift = iter(inputs(dtype, 11)[:3]), [], f is not None, DOMAIN.get(op.name, lambda x: x)
        used = []
        for p in op.params:
            if p.kind == "tensor" and not p.is_list and not p.optional and p.name not in ("index", "indices", "mask", "target",
                                                                                          "condition"):
                used.append(next(xs, None))
                args.append(len(used) - 1)
            elif (not isinstance(p.default, (int, float, bool, str, type(None), tuple)) and p.name not in USUAL
                  or p.is_list and p.kind == "tensor"):
                ok = False
        if not ok or not used or None in used or shift is None:
            continue
        wanted = {p.name: USUAL[p.name] for p in op.params
                  if p.kind != "tensor" and p.name in USUAL and not isinstance(p.default, (int, float, bool, str, type(None), tuple))}
        yield op.public, (lambda *ts, f=f, shift=shift, wanted=wanted: f(*[shift(t) for t in ts], **wanted)), used


def floating(outs):
    return tuple([o for o in (outs if isinstance(outs, (tuple, list)) else (outs,)) if isinstance(o, torch.Tensor)
                  and (o.is_floating_point() or o.is_complex())])


def check(name, f, xs, second):
    """None if the gradients are right, else what is wrong; "" where the operator does not take such inputs."""
    try:
        with torch.no_grad():
            f(*xs)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return ""
    try:
        outs = floating(f(*xs))
        if not any([o.requires_grad for o in outs]):
            return ""
        torch.autograd.gradcheck(lambda *ts: floating(f(*ts)), xs)
        if second:
            torch.autograd.gradgradcheck(lambda *ts: floating(f(*ts)), xs)
    except Exception as error:
        if UNKNOWN.search(str(error)):
            return None
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def main():
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--only", default="", help="names that match")
    ask.add_argument("--first-order", action="store_true", help="gradcheck alone")
    o = ask.parse_args()
    warnings.simplefilter("ignore")
    bad = 0
    for dtype in (torch.float64, torch.complex128):
        right, other = 0, []
        for source in (declared, written):
            for name, f, xs in source(dtype):
                if not re.search(o.only, name):
                    continue
                with contextlib.redirect_stderr(None):
                    wrong = check(name, f, xs, not o.first_order)
                if wrong is None:
                    right += 1
                elif wrong:
                    bad += 1
                    print(f"{dtype} {name}: {wrong}", flush=True)
                else:
                    other.append(name)
        print(f"{dtype}: {right} right; not taken: {' '.join(other)}", flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
