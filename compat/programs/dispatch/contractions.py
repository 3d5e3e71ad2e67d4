"""einsum, tensordot, Fourier transforms, results that are put somewhere: the operators that a mode sees, and their results."""
import torch
import torch.nn as nn
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
        print(f"    {func}({', '.join([shown(a) for a in args] + [f'{k}={shown(v)}' for k, v in kwargs.items()])})")
        return func(*args, **kwargs)


torch.manual_seed(0)
x, z, o = torch.randn(2, 3), torch.randn(2, 5, 3), torch.empty(2, 3)
c = torch.randn(2, 3, dtype=torch.complex64)
y, w = torch.randn(2, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
SIZES = dict(i=2, j=3, k=4, b=2, h=2, d=3, l=5)
for e in ("ij,kj->ik", "ij,jk->ik", "bij,bkj->bik", "ij->ji", "ij->", "ij->i", "ii->i", "ii", "i,j->ij", "bhid,bhjd->bhij", "ij,j->i", "ij,ij->ij",
          "ij,ij->", "...ij,...kj->...ik", "ijk,lk->ijl", "bij,kj,bi->bk", "ij,jk", "ji,jk"):
    ops = [torch.randn(*([2] * p.count("...")), *[2 if "ii" in e else SIZES[q] for q in p.replace("...", "")]) for p in e.split("->")[0].split(",")]
    print(e)
    with Noting():
        made = torch.einsum(e, *ops)
    print(torch.allclose(made, torch.einsum(e, *ops), atol=1e-5))
CASES = {
    "backward of einsum": lambda: torch.einsum("ij,kj->ik", y, w).sum().backward(),
    "fft": lambda: (torch.fft.fft(x), torch.fft.fft(c), torch.fft.rfft(x), torch.fft.irfft(c), torch.fft.ifft(c), torch.fft.fft2(c), torch.fft.fftn(c),
                    torch.fft.rfft2(x), torch.fft.irfft2(c), torch.fft.fft(x, n=2), torch.fft.fft(c, norm="ortho"), torch.fft.rfft(x, dim=0),
                    torch.fft.rfft(x, n=4), torch.fft.ifftn(c, norm="forward")),
    "shifts": lambda: (torch.fft.fftshift(x), torch.fft.ifftshift(x), torch.fft.fftfreq(4)),
    "kl_div": lambda: (F.kl_div(x, x.abs()), F.kl_div(x, x, reduction="batchmean", log_target=True), F.kl_div(x, x.abs(), reduction="sum")),
    "tensordot": lambda: (torch.tensordot(x, x, dims=([1], [1])), torch.tensordot(z, x, dims=([2], [1]))),
    "pools": lambda: (F.max_pool1d(z, 2), F.avg_pool1d(z, 2), F.adaptive_avg_pool1d(z, 1)),
    "others": lambda: (F.softmin(x, 1), F.softsign(x), F.tanhshrink(x), torch.dstack([x, x]), torch.column_stack([x, x]), torch.block_diag(x, x),
                       x.tile(2, 1), torch.std_mean(x), torch.var_mean(x, 1), torch.diag_embed(x)),
}
for name, f in CASES.items():
    print(name)
    with Noting():
        made = f()
    if name not in ("backward of einsum",):
        want = f()
        flat = lambda r: [t for v in r for t in (v if isinstance(v, tuple) else (v,))]
        print([torch.allclose(a, b, atol=1e-5, equal_nan=True) for a, b in zip(flat(made), flat(want))])
print("out")
two, pair, longs = torch.empty(2, 2), torch.empty(2), torch.empty(2, dtype=torch.long)
xt = x.t()
for f in (lambda: torch.add(x, x, out=o), lambda: torch.mul(x, 2, out=o), lambda: torch.exp(x, out=o), lambda: torch.mm(x, xt, out=two),
          lambda: torch.cat([x, x], out=torch.empty(4, 3)), lambda: torch.max(x, 1, out=(pair, longs))[0], lambda: torch.sum(x, 1, out=pair),
          lambda: torch.matmul(x, xt, out=two), lambda: torch.zeros(2, 3, out=o)):
    with Noting():
        made = f()
    print(made is o or made is two or made is pair, [round(v, 4) for v in made.flatten().tolist()][:4])
layer = nn.MultiheadAttention(4, 2)
q = torch.randn(3, 1, 4)
print("attention")
with Noting():
    made = layer(q, q, q)
print([torch.allclose(a, b, atol=1e-5) for a, b in zip(made, layer(q, q, q))])
