"""What every training program finds defined: helpers, and modules as people write them."""

from ..real import MODULES

WORLD = '''
import collections, io, json, math, pickle, sys, types, warnings
import torch.nn.utils.prune
__name__ = "world"                      # where pickle finds the classes
world = sys.modules["world"] = types.ModuleType("world")
from torch.utils import data
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence, unpack_sequence, unpad_sequence
warnings.simplefilter("ignore")
torch.distributions.Distribution.set_default_validate_args(True)       # which dynamo forbids
F, S, nn, optim, D, P = (torch.nn.functional, torch.optim.lr_scheduler, torch.nn, torch.optim, torch.distributions,
                         torch.nn.utils.parametrize)
one = say

def say(what, *several):
    """What is in lists and dicts is told one by one."""
    for x in several:
        if isinstance(x, dict):
            one(what, list(x))
            x = list(x.values())
        if isinstance(x, torch.Tensor) and x.layout is not torch.strided:
            one(what, [str(x.layout), x.is_coalesced(), x.requires_grad])
            x = [x.detach().coalesce().indices(), x.detach().coalesce().values()]
        if isinstance(x, nn.utils.rnn.PackedSequence):
            x = [*x]
        if isinstance(x, (list, tuple)):
            say(what, *x)
            one(what, len(x))
        else:
            one(what, torch.tensor(x) if isinstance(x, float) else x)

def caught(f, *a, **k):
    """The exception of a call as text."""
    try:
        return f(*a, **k)
    except Exception as e:
        return type(e).__name__ + ": " + str(e)

def steady(parameters, least=None):
    """Gradients that are nothing but roundings, of which optimizers make whole steps, are zeros from here on."""
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None and p.grad.layout is torch.strided:
                p.grad.mul_(p.grad.abs() > (least or (1e-9 if p.dtype in (torch.float64, torch.complex128) else 1e-4)))

def stored(x, **options):
    file = io.BytesIO()
    torch.save(x, file, **options)
    file.seek(0)
    return torch.load(file)

def grads(model):
    return {n: p.grad for n, p in model.named_parameters()}

def heard(name, model):
    """Names and results of a hook of each module."""
    def hook(m, *rest):
        made = [r for r in rest[-1:]][0]
        made = [x for x in (made if isinstance(made, tuple) else (made,)) if isinstance(x, torch.Tensor)]
        say(name, type(m).__name__, [x.detach().sum() for x in made])
    return hook

class Stepping(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell
    def forward(self, x):
        h, made = None, []
        for k in range(x.size(1)):
            h = self.cell(x[:, k], h)
            made.append(h[0] if isinstance(h, tuple) else h)
        return torch.stack(made, 1)

class Attending(nn.Module):
    def __init__(self, size, heads, weights=False, **options):
        super().__init__()
        self.layer, self.weights = nn.MultiheadAttention(size, heads, batch_first=True, **options), weights
    def forward(self, x):
        made, w = self.layer(x, x, x, need_weights=self.weights)
        return made if w is None else made * w.mean()

class Causally(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.layer = nn.MultiheadAttention(size, heads, batch_first=True)
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1), dtype=x.dtype)
        return self.layer(x, x, x, attn_mask=mask, is_causal=True)[0]

class Crossing(nn.Module):
    def __init__(self, size, other):
        super().__init__()
        self.memory = nn.Parameter(torch.linspace(-1, 1, 3 * other).view(3, other))
        self.layer = nn.MultiheadAttention(size, 1, kdim=other, vdim=other, batch_first=True)
    def forward(self, x):
        m = self.memory.expand(len(x), -1, -1)
        return x + self.layer(x, m, m, key_padding_mask=(torch.arange(3) > 1).expand(len(x), 3), average_attn_weights=False)[0]

class Decoding(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.body = nn.TransformerDecoder(layer, 2)
    def forward(self, x):
        return self.body(x, x.flip(1), tgt_mask=nn.Transformer.generate_square_subsequent_mask(x.size(1)), tgt_is_causal=True)

class Translating(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
    def forward(self, x):
        return self.body(x, x[:, 1:], src_key_padding_mask=torch.zeros(x.shape[:2], dtype=torch.bool),
                         tgt_mask=self.body.generate_square_subsequent_mask(x.size(1) - 1))

class Relative(nn.Module):
    """Attention with a learnt bias by distance."""
    def __init__(self, size):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(size, size, bias=False) for _ in range(3))
        self.distance = nn.Embedding(15, 1)
    def forward(self, x):
        at = torch.arange(x.size(1))
        bias = self.distance((at[:, None] - at).clamp(-7, 7) + 7).squeeze(-1)
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / math.sqrt(x.size(-1)) + bias
        return scores.masked_fill(at[:, None] < at, float("-inf")).softmax(-1) @ self.v(x)

class Rotary(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("angles", torch.outer(torch.arange(16.), 1 / 10 ** torch.arange(0, size, 2)), persistent=False)
        self.mix = nn.Linear(size, size)
    def forward(self, x):
        x, a = self.mix(x), self.angles[:x.size(1)].to(x.dtype)
        even, odd = x[..., ::2], x[..., 1::2]
        odd = F.pad(odd, (0, even.size(-1) - odd.size(-1)))
        made = torch.stack([even * a.cos()[:, :even.size(-1)] - odd * a.sin(), even * a.sin()], -1)
        return made.flatten(-2)[..., :x.size(-1)]

class Positions(nn.Module):
    def __init__(self, size):
        super().__init__()
        at = torch.arange(16.)[:, None] / 100 ** (torch.arange(0, size, 1) / size)
        self.register_buffer("pe", torch.where(torch.arange(size) % 2 == 0, at.sin(), at.cos())[None])
        self.drop = nn.Dropout(0.1)
    def forward(self, x):
        return self.drop(x + self.pe[:, :x.size(1)].type_as(x))

class Gated(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.up, self.gate = nn.Linear(c, d, bias=False), nn.Linear(c, d)
    def forward(self, x):
        return self.up(x) * torch.sigmoid(self.gate(x))

class Experts(nn.Module):
    """Each row goes to the expert its gate likes best."""
    def __init__(self, c, d):
        super().__init__()
        self.gate, self.d = nn.Linear(c, 3), d
        self.experts = nn.ModuleList([nn.Linear(c, d) for _ in range(3)])
    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        made = x.new_zeros(len(x), self.d)
        for k, expert in enumerate(self.experts):
            rows, nth = torch.where(chosen == k)
            if len(rows):
                made.index_add_(0, rows, weights[rows, nth, None] * expert(x[rows]))
        return made

class Quantizer(nn.Module):
    """The nearest code, straight through."""
    def __init__(self, size, codes):
        super().__init__()
        self.codes = nn.Embedding(codes, size)
        nn.init.uniform_(self.codes.weight, -1, 1)
    def forward(self, x):
        nearest = torch.cdist(x, self.codes.weight).argmin(-1)
        made = self.codes(nearest)
        self.extra = F.mse_loss(made, x.detach()) + 0.25 * F.mse_loss(made.detach(), x)
        return x + (made - x).detach() + 0.01 * self.extra

class Counting(nn.Module):
    """A running mean in buffers."""
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.tensor(0))
        self.register_buffer("mean", torch.zeros(()))
    def forward(self, x):
        if self.training:
            self.seen += 1
            with torch.no_grad():
                self.mean.lerp_(x.mean().to(self.mean.dtype), 1.0 / self.seen.item())
        return x - self.mean

class Noisy(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.mu, self.rho = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.full((size,), -2.0))
    def forward(self, x):
        return x + self.mu + F.softplus(self.rho) * torch.randn(self.mu.shape, dtype=x.dtype)

class LowRank(nn.Module):
    """A frozen layer and an adapter."""
    def __init__(self, c, d):
        super().__init__()
        self.base = nn.Linear(c, d).requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.empty(2, c)), nn.Parameter(torch.zeros(d, 2))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.a), self.b) * 0.5

class Cosine(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_normal_(torch.empty(d, c)))
    def forward(self, x):
        return 4 * F.cosine_similarity(x.unsqueeze(1), self.weight.unsqueeze(0), dim=-1)

class Unpooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
    def forward(self, x):
        made, at = self.down(x)
        return self.up(made, at, output_size=x.size())

class Squeeze(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(2, c, 1), nn.Sigmoid())
    def forward(self, x):
        return x * self.body(x)

class Patches(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.inner = nn.Linear(4 * c, d)
    def forward(self, x):
        x = F.interpolate(x, size=(4, 4))
        b, c, h, w = x.shape
        x = x.reshape(b, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 3, 5, 1).reshape(b, -1, 4 * c)
        return self.inner(x).transpose(1, 2).unflatten(-1, (h // 2, w // 2))

class AxialMean(nn.Module):
    def forward(self, x):
        return x - x.mean(-1, keepdim=True) - x.mean(-2, keepdim=True)

class Causal(nn.Module):
    def __init__(self, c, d, dilation=1):
        super().__init__()
        self.conv, self.pad = nn.Conv1d(c, d, 2, dilation=dilation), dilation
    def forward(self, x):
        return self.conv(F.pad(x, (self.pad, 0)))

class Glued(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.conv = nn.Conv1d(c, 2 * d, 1)
    def forward(self, x):
        return F.glu(self.conv(x), 1)

class Summed(nn.Module):
    def __init__(self, n, size):
        super().__init__()
        self.token, self.place = nn.Embedding(n, size), nn.Parameter(torch.zeros(1, 8, size))
    def forward(self, t):
        return self.token(t) + self.place[:, :t.size(1)]

class Checkpointed(nn.Module):
    def __init__(self, body, use_reentrant=False):
        super().__init__()
        self.body, self.use_reentrant = body, use_reentrant
    def forward(self, x):
        return checkpoint(self.body, x, use_reentrant=self.use_reentrant)

class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

class Skew(nn.Module):
    def forward(self, x):
        x = x.triu(1)
        return x - x.mT
    def right_inverse(self, x):
        return x.triu(1)

class Positive(nn.Module):
    def forward(self, x):
        return F.softplus(x)
    def right_inverse(self, x):
        return torch.where(x > 0, x, 0.1).expm1().log()

class Clipped(nn.Module):
    def forward(self, x):
        return x.clamp(-0.3, 0.3)
    def right_inverse(self, x):
        return x

def parametrized(layer, name, how):
    P.register_parametrization(layer, name, how)
    return layer

class Pairs(data.Dataset):
    """Rows that are made when they are asked for."""
    def __init__(self, n, size=3):
        self.n, self.size = n, size
    def __len__(self):
        return self.n
    def __getitem__(self, k):
        if not 0 <= k < self.n:
            raise IndexError(f"no row {k}")
        return torch.arange(self.size) * 0.1 + k / self.n, k % 3

class Numbers(data.IterableDataset):
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.n, step))

vars(world).update(globals())
''' + MODULES
