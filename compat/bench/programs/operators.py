"""Operators one by one, at three sizes: the cases of `python -m compat.bench --only operators/`.

A case is a function of a number of elements that gives (f, operands, those of them that are differentiated). A step calls f on
CALLS[size] sets of operands and keeps the results, as a program with operands of that size does, then computes them; backward, it
asks for their gradients.
"""
import torch
import torch.nn.functional as F

SIZES = {"1k": 1 << 10, "100k": 320 * 320, "4M": 1 << 22}
CALLS = {"1k": 8, "100k": 1, "4M": 1}
CASES = {}              # (family, name): {size: case}


def real(*shape):
    return torch.randn(shape)


def positive(*shape):
    return torch.rand(shape) + 0.1


def square(n):
    """Rows and columns of a matrix of n elements."""
    return {1 << 10: (32, 32), 320 * 320: (320, 320), 1 << 22: (2048, 2048)}[n]


def flat(family, make=real, operands=1, grad=True, **functions):
    """Functions of vectors."""
    for name, f in functions.items():
        def case(n, f=f):
            xs = [make(n) for _ in range(operands)]
            return f, xs, xs if grad else []
        CASES[family, name] = dict.fromkeys(SIZES, case)


def matrix(family, make=real, grad=True, **functions):
    """Functions of a square matrix."""
    for name, f in functions.items():
        def case(n, f=f):
            x = make(*square(n))
            return f, [x], [x] if grad else []
        CASES[family, name] = dict.fromkeys(SIZES, case)


def listed(family, **cases):
    """Cases that say themselves what sizes there are: {label: (f, operands, how many of them are differentiated)}."""
    for name, sizes in cases.items():
        CASES[family, name] = {label: lambda n, make=make: make() for label, make in sizes.items()}


def differentiated(f, *operands, first=None):
    """A case: f, its operands, and that its `first` ones, or all, are differentiated."""
    return f, list(operands), list(operands[:first])


flat("unary", exp=torch.exp, tanh=torch.tanh, sigmoid=torch.sigmoid, sin=torch.sin, gelu=F.gelu, relu=F.relu, abs=torch.abs, erf=torch.erf,
     leaky_relu=F.leaky_relu, silu=F.silu)
flat("unary", positive, log=torch.log, sqrt=torch.sqrt, rsqrt=torch.rsqrt)
flat("unary", grad=False, to_bfloat16=lambda x: x.to(torch.bfloat16), to_int64=lambda x: x.to(torch.int64), isnan=torch.isnan)
flat("binary", operands=2, add=torch.add, mul=torch.mul, div=torch.div, maximum=torch.maximum, pow_2=lambda x, y: (x - y) ** 2)
flat("binary", positive, 2, pow=torch.pow)
flat("binary", operands=2, grad=False, lt=torch.lt, fmod=torch.fmod)
flat("ternary", operands=3, addcmul=torch.addcmul, lerp=torch.lerp)
flat("ternary", operands=2, where=lambda x, y: torch.where(MASK[:len(x)], x, y))
flat("ternary", clamp=lambda x: x.clamp(-1, 1))
torch.manual_seed(0)
MASK = torch.rand(SIZES["4M"]) > 0.5

flat("reduction", sum=torch.sum, mean=torch.mean, max=torch.max, norm=torch.linalg.vector_norm, var=torch.var)
matrix("reduction", sum_0=lambda x: x.sum(0), sum_1=lambda x: x.sum(1), mean_1=lambda x: x.mean(1), max_0=lambda x: x.max(0).values,
       max_1=lambda x: x.max(1).values, amax_1=lambda x: x.amax(1), var_1=lambda x: x.var(1), logsumexp_1=lambda x: x.logsumexp(1),
       norm_1=lambda x: x.norm(dim=1))
matrix("reduction", grad=False, argmax_1=lambda x: x.argmax(1), argmin_0=lambda x: x.argmin(0), any_1=lambda x: (x > 2).any(1),
       count_nonzero=lambda x: (x > 0).count_nonzero(1))
matrix("softmax", softmax=lambda x: x.softmax(1), log_softmax=lambda x: x.log_softmax(1), softmax_0=lambda x: x.softmax(0))
flat("cumulative", cumsum=lambda x: x.cumsum(0), logcumsumexp=lambda x: x.logcumsumexp(0))
matrix("cumulative", cumsum_0=lambda x: x.cumsum(0), cumsum_1=lambda x: x.cumsum(1), cumprod_1=lambda x: x.cumprod(1),
       cummax_1=lambda x: x.cummax(1).values)
flat("sorting", sort=lambda x: x.sort().values, median=torch.median, kthvalue=lambda x: x.kthvalue(len(x) // 3).values,
     topk=lambda x: x.topk(100).values)
matrix("sorting", sort_1=lambda x: x.sort(1).values, topk_1=lambda x: x.topk(8, 1).values, median_1=lambda x: x.median(1).values)
flat("sorting", grad=False, argsort=torch.argsort, unique=lambda x: (x * 100).int().unique())


def indexed(family, **functions):
    """Functions of a table of 64 columns and a vector of as many row numbers as it has rows."""
    for name, (f, grad) in functions.items():
        def case(n, f=f, grad=grad):
            x = torch.randn(n // 64, 64)
            return f, [x, torch.randint(0, n // 64, (n // 64,))], [x] if grad else []
        CASES[family, name] = dict.fromkeys(SIZES, case)


indexed("indexing", embedding=(lambda x, i: F.embedding(i, x), True), index=(lambda x, i: x[i], True),
        index_select=(lambda x, i: x.index_select(0, i), True),
        gather=(lambda x, i: x.gather(0, i[:, None].expand(-1, 64)), True),
        gather_1=(lambda x, i: x.gather(1, (i % 64)[:, None]), True),
        take_along_dim=(lambda x, i: x.take_along_dim(i[:, None], 0), True),
        scatter_add=(lambda x, i: torch.zeros(len(x), 64).scatter_add(0, i[:, None].expand(-1, 64), x), True),
        index_add=(lambda x, i: torch.zeros(len(x), 64).index_add(0, i, x), True),
        index_put=(lambda x, i: x.index_put((i,), x[:1]), True),
        index_fill=(lambda x, i: x.index_fill(0, i, 0.5), True),
        masked_select=(lambda x, i: x[x > 1], True), masked_fill=(lambda x, i: x.masked_fill(x > 1, 0.), True),
        nonzero=(lambda x, i: (x > 1).nonzero(), False), one_hot=(lambda x, i: F.one_hot(i % 64, 64), False),
        bincount=(lambda x, i: i.bincount(), False), searchsorted=(lambda x, i: torch.searchsorted(x[:, 0].cumsum(0), x), False),
        histc=(lambda x, i: x.histc(100), False))
matrix("shape", cat=lambda x: torch.cat([x, x], 1), stack=lambda x: torch.stack([x, x]), transpose=lambda x: x.t().contiguous(),
       flip=lambda x: x.flip(1), roll=lambda x: x.roll(3, 1), pad=lambda x: F.pad(x, (1, 1, 1, 1)), tril=torch.tril,
       repeat=lambda x: x.repeat(2, 2), permute=lambda x: x.view(len(x), -1, 4).permute(2, 0, 1).contiguous(),
       repeat_interleave=lambda x: x.repeat_interleave(2, 0), chunk=lambda x: torch.cat(x.chunk(4, 1)[::-1], 1), diag=torch.diagonal)
flat("shape", grad=False, arange=lambda x: torch.arange(len(x)), zeros=lambda x: torch.zeros(len(x)), clone=torch.clone)
flat("random", grad=False, randn=lambda x: torch.randn(len(x)), rand=lambda x: torch.rand(len(x)),
     randint=lambda x: torch.randint(0, 1000, (len(x),)), randperm=lambda x: torch.randperm(len(x)),
     bernoulli=lambda x: x.bernoulli(0.3), exponential=lambda x: torch.empty_like(x).exponential_(),
     multinomial=lambda x: x.abs()[:1000].multinomial(len(x), replacement=True))
flat("random", dropout=lambda x: F.dropout(x, 0.3))


def images(channels, pixels):
    """Shape of a batch of two images with n elements."""
    return {1 << 10: (2, 8, 8, 8), 320 * 320: (2, 32, 40, 40), 1 << 22: (2, 32, 256, 256)}[channels * pixels]


def pictures(family, **functions):
    """Functions of a batch of images."""
    for name, f in functions.items():
        def case(n, f=f):
            x = torch.randn(images(1, n))
            return f, [x], [x]
        CASES[family, name] = dict.fromkeys(SIZES, case)


pictures("norm", batch_norm=lambda x: F.batch_norm(x, None, None, training=True), group_norm=lambda x: F.group_norm(x, 4),
         instance_norm=F.instance_norm, batch_norm_eval=lambda x: F.batch_norm(x, MEAN[:x.shape[1]], VAR[:x.shape[1]]))
matrix("norm", layer_norm=lambda x: F.layer_norm(x, x.shape[1:], VAR[:x.shape[1]], MEAN[:x.shape[1]]),
       normalize=lambda x: F.normalize(x, dim=1))
MEAN, VAR = torch.zeros(2048), torch.ones(2048)
pictures("pooling", max_pool=lambda x: F.max_pool2d(x, 2), avg_pool=lambda x: F.avg_pool2d(x, 2),
         max_pool_3_2=lambda x: F.max_pool2d(x, 3, 2, 1),
         adaptive_avg=lambda x: F.adaptive_avg_pool2d(x, 1), adaptive_4=lambda x: F.adaptive_avg_pool2d(x, 4))
pictures("resizing", nearest=lambda x: F.interpolate(x, scale_factor=2),
         bilinear=lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
         bicubic=lambda x: F.interpolate(x, scale_factor=0.5, mode="bicubic"), pixel_shuffle=lambda x: F.pixel_shuffle(x, 2),
         unfold=lambda x: F.unfold(x[:1], 3, padding=1),
         grid_sample=lambda x: F.grid_sample(x, F.affine_grid(torch.eye(2, 3).expand(2, 2, 3) * 0.9, list(x.shape), False),
                                             align_corners=False))


def convolution(x, w, f=F.conv2d, **options):
    """A convolution of random operands of these shapes, with bias."""
    channels = w[1] if f in (F.conv_transpose1d, F.conv_transpose2d) else w[0]
    return lambda: differentiated(lambda x, w, b: f(x, w, b, **options), real(*x), real(*w), real(channels))


listed("convolution",
       resnet={"stem": convolution((4, 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3),
               "56": convolution((4, 64, 56, 56), (64, 64, 3, 3), padding=1),
               "28": convolution((4, 128, 28, 28), (128, 128, 3, 3), padding=1),
               "14": convolution((4, 256, 14, 14), (256, 256, 3, 3), padding=1),
               "7": convolution((4, 512, 7, 7), (512, 512, 3, 3), padding=1),
               "down": convolution((4, 64, 56, 56), (128, 64, 3, 3), stride=2, padding=1),
               "1x1": convolution((4, 64, 56, 56), (256, 64, 1, 1))},
       unet={"first": convolution((1, 3, 128, 128), (64, 3, 3, 3), padding=1),
             "128": convolution((1, 64, 128, 128), (64, 64, 3, 3), padding=1),
             "up": convolution((1, 128, 64, 64), (128, 64, 2, 2), F.conv_transpose2d, stride=2),
             "up_4": convolution((1, 64, 32, 32), (64, 32, 4, 4), F.conv_transpose2d, stride=2, padding=1)},
       small={"lenet": convolution((64, 1, 28, 28), (6, 1, 5, 5), padding=2),
              "tiny": convolution((8, 8, 16, 16), (16, 8, 3, 3), padding=1)},
       other={"1d": convolution((16, 64, 256), (64, 64, 3), F.conv1d, padding=1),
              "1d_long": convolution((4, 1, 16000), (32, 1, 80), F.conv1d, stride=4),
              "3d": convolution((2, 16, 16, 32, 32), (32, 16, 3, 3, 3), F.conv3d, padding=1),
              "depthwise": convolution((4, 64, 56, 56), (64, 1, 3, 3), padding=1, groups=64),
              "groups": convolution((4, 64, 56, 56), (64, 16, 3, 3), padding=1, groups=4),
              "dilated": convolution((4, 32, 56, 56), (32, 32, 3, 3), padding=2, dilation=2),
              "transposed_1d": convolution((8, 64, 128), (64, 32, 4), F.conv_transpose1d, stride=2, padding=1)})


def product(f, *shapes, dtype=torch.float32):
    return lambda: differentiated(f, *[real(*s).to(dtype) for s in shapes])


listed("product",
       matmul={str(n): product(torch.matmul, (n, n), (n, n)) for n in (64, 128, 256, 512, 1024)},
       linear={"64": product(F.linear, (64, 784), (256, 784), (256,)), "512": product(F.linear, (512, 768), (3072, 768), (3072,))},
       vector={str(n): product(torch.mv, (n, n), (n,)) for n in (64, 1024)},
       batched={str(n): product(torch.bmm, (64, n, n), (64, n, n)) for n in (16, 64, 128)},
       einsum={"bhqk": product(lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k), (4, 128, 8, 32), (4, 128, 8, 32)),
               "outer": product(lambda x, y: torch.einsum("i,j->ij", x, y), (512,), (512,))},
       bfloat16={str(n): product(torch.matmul, (n, n), (n, n), dtype=torch.bfloat16) for n in (128, 512)})
heads = (1, 12, 512, 64)
listed("attention",
       scaled={"plain": product(F.scaled_dot_product_attention, heads, heads, heads),
               "causal": product(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), heads, heads, heads),
               "small": product(F.scaled_dot_product_attention, (8, 4, 32, 16), (8, 4, 32, 16), (8, 4, 32, 16))},
       written={"out": product(lambda q, k, v: (q @ k.transpose(-1, -2) / 8).softmax(-1) @ v, heads, heads, heads)})


def against(f, make=lambda n: torch.randn(n)):
    def case(n):
        x = torch.randn(n)
        return f, [x, make(n)], [x]
    return dict.fromkeys(SIZES, case)


def classes(f):
    def case(n):
        rows, columns = square(n)
        x = torch.randn(rows, columns)
        return f, [x, torch.randint(0, columns, (rows,))], [x]
    return dict.fromkeys(SIZES, case)


for name, case in {"cross_entropy": classes(F.cross_entropy), "nll": classes(lambda x, y: F.nll_loss(x.log_softmax(1), y)),
                   "label_smoothing": classes(lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1)),
                   "mse": against(F.mse_loss), "l1": against(F.l1_loss), "smooth_l1": against(F.smooth_l1_loss),
                   "huber": against(F.huber_loss),
                   "bce_logits": against(F.binary_cross_entropy_with_logits, torch.rand),
                   "kl_div": against(lambda x, y: F.kl_div(x, y, reduction="batchmean"), torch.rand)}.items():
    CASES["loss", name] = case


def definite(n, *batch):
    x = torch.randn(*batch, n, n)
    return x @ x.transpose(-1, -2) / n + torch.eye(n)


def linear_algebra(f, make=lambda n: torch.randn(n, n), sizes=(16, 64, 256)):
    return {str(n): lambda n=n: differentiated(f, make(n)) for n in sizes}


listed("linalg",
       inv=linear_algebra(torch.linalg.inv, definite), det=linear_algebra(torch.linalg.det, definite),
       cholesky=linear_algebra(torch.linalg.cholesky, definite),
       solve=linear_algebra(lambda x: torch.linalg.solve(x, x.detach()[:, :4]), definite),
       eigh=linear_algebra(lambda x: torch.linalg.eigh(x)[0], definite), svd=linear_algebra(lambda x: torch.linalg.svd(x)[1]),
       qr=linear_algebra(lambda x: torch.linalg.qr(x)[0]), lstsq=linear_algebra(lambda x: torch.linalg.lstsq(x, x.detach()[:, :4])[0]),
       pinv=linear_algebra(torch.linalg.pinv, sizes=(16, 64)),
       batched_inv=linear_algebra(torch.linalg.inv, lambda n: definite(n, 64), (4, 16)),
       matrix_exp=linear_algebra(torch.matrix_exp, definite, (16, 64)))
flat("fft", fft=lambda x: torch.fft.fft(x).abs(), rfft=lambda x: torch.fft.rfft(x).real)
matrix("fft", fft2=lambda x: torch.fft.fft2(x).real, irfft=lambda x: torch.fft.irfft(x + 0j),
       stft=lambda x: torch.stft(x.reshape(-1), 256, 64, window=torch.hann_window(256), return_complex=True).abs())


def recurrent(kind, *shape, **options):
    def case():
        torch.manual_seed(0)
        length, batch, size = shape
        module = kind(size, size, **options)
        return lambda x, *ps: module(x)[0], [real(length, batch, size), *module.parameters()], [*module.parameters()]
    return case


listed("recurrent",
       **{kind.__name__.lower(): {"16x8x32": recurrent(kind, 16, 8, 32), "35x20x200": recurrent(kind, 35, 20, 200),
                                  "128x4x64": recurrent(kind, 128, 4, 64)}
          for kind in (torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU)})


def setup(variant, family, name, size):
    """One case: the step of its variant ("forward" or "backward"); None for what is not differentiated."""
    torch.manual_seed(0)
    make = CASES[family, name][size]
    calls = [make(SIZES.get(size)) for _ in range(CALLS.get(size, 1))]
    f = calls[0][0]
    leaves = [x.requires_grad_() for _, _, wrt in calls for x in wrt]
    result = None

    def forward():
        nonlocal result
        result = None
        with torch.no_grad():
            result = [f(*operands) for _, operands, _ in calls]
        torch.cpu.synchronize()

    def backward():
        nonlocal result
        result = None
        result = torch.autograd.grad([f(*operands) for _, operands, _ in calls], leaves, cotangents)
        torch.cpu.synchronize()

    def look():
        value = [float(r.flatten()[-1]) for r in result][-1]        # all of them: each may still be at work
        torch.cpu.synchronize()                                     # views recorded for the look are no part of the next step
        return value

    if variant == "forward":
        return forward, look
    if not leaves:
        return None, None
    cotangents = [torch.randn_like(f(*operands)) for _, operands, _ in calls]
    return backward, look
