"""Random training programs, no two alike, sixteen steps each: networks, sizes, losses and the way of updating are drawn anew.

    variety.py [programs] [first]      # 300 from number 0
"""
import random
import sys
import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.ELU, nn.Softplus, nn.SiLU, nn.LeakyReLU, nn.Hardtanh, nn.Softsign)
CURVES = (torch.sin, torch.tanh, torch.sigmoid, F.softplus, lambda t: t * t, lambda t: t.abs().sqrt(), lambda t: t.clamp(-1, 1),
          lambda t: (-t * t).exp())


def dense(draw):
    """A stack of layers on rows of numbers."""
    sizes = [draw.randint(2, 24) for _ in range(draw.randint(2, 5))]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b, bias=draw.random() < 0.8), draw.choice(ACTIVATIONS)()]
        if draw.random() < 0.3:
            layers.append(draw.choice((nn.LayerNorm, nn.BatchNorm1d))(b))
    return nn.Sequential(*layers), torch.randn(draw.randint(2, 40), sizes[0])


def images(draw):
    """Convolutions, pooling and a linear layer on small images."""
    channels, side, made = draw.randint(1, 3), draw.randint(8, 14), draw.randint(2, 6)
    layers = [nn.Conv2d(channels, made, draw.choice((1, 3)), padding=draw.randint(0, 1), stride=draw.randint(1, 2)),
              draw.choice(ACTIVATIONS)()]
    layers.append(draw.choice((nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2))))
    x = torch.randn(draw.randint(2, 6), channels, side, side)
    wide = nn.Sequential(*layers)(x).flatten(1).shape[1]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(wide, draw.randint(2, 8))), x


class Recurrent(nn.Module):
    """A cell unrolled by hand over steps in time."""

    def __init__(self, draw):
        super().__init__()
        self.wide = draw.randint(3, 12)
        self.cell = draw.choice((nn.RNNCell, nn.GRUCell, nn.LSTMCell))(draw.randint(2, 8), self.wide)
        self.out = nn.Linear(self.wide, draw.randint(2, 6))

    def forward(self, x):
        h = None
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
        return self.out(h[0] if isinstance(h, tuple) else h)


def sequences(draw):
    model = Recurrent(draw)
    return model, torch.randn(draw.randint(2, 9), draw.randint(1, 6), model.cell.input_size)


class Attentive(nn.Module):
    """One block of attention on embedded symbols."""

    def __init__(self, draw):
        super().__init__()
        heads = draw.randint(1, 3)
        wide = heads * draw.randint(2, 6)
        self.table, self.attend = nn.Embedding(draw.randint(5, 20), wide), nn.MultiheadAttention(wide, heads, batch_first=True)
        self.norm, self.out = nn.LayerNorm(wide), nn.Linear(wide, draw.randint(2, 9))

    def forward(self, x):
        e = self.table(x)
        e = self.norm(e + self.attend(e, e, e, need_weights=False)[0])
        return self.out(e.mean(1))


def symbols(draw):
    model = Attentive(draw)
    return model, torch.randint(0, model.table.num_embeddings, (draw.randint(1, 5), draw.randint(2, 10)))


class Formula(nn.Module):
    """A random expression of a few parameters and the data."""

    def __init__(self, draw, rows, columns):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(columns, draw.randint(2, 7))), nn.Parameter(torch.randn(columns))
        self.steps = [(draw.choice(CURVES), draw.randrange(5), draw.random()) for _ in range(draw.randint(3, 9))]

    def forward(self, x):
        t = x * self.b
        for curve, way, number in self.steps:
            u = curve(t)
            t = (u + number, u * t, u - u.mean(0), torch.cat([u[:, 1:], t[:, :1]], 1), torch.where(t > number, u, t * number))[way]
        return t @ self.a


def formulas(draw):
    rows, columns = draw.randint(2, 30), draw.randint(2, 15)
    return Formula(draw, rows, columns), torch.randn(rows, columns)


def by_hand(parameters, lr):
    """Gradient descent as tutorials write it."""
    parameters = list(parameters)

    def step():
        with torch.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p -= lr * p.grad
                    p.grad = None
    return step


def updates(draw, model):
    """A function that makes one step with the gradients, and clears them."""
    lr = draw.choice((0.1, 0.01, 0.003))
    kind = draw.randrange(6)
    if kind == 0:
        return by_hand(model.parameters(), lr)
    made = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad)[kind - 1]
    optimizer = made(model.parameters(), lr=lr, **({"momentum": 0.9} if kind == 1 and draw.random() < 0.5 else {}))
    clip = draw.random() < 0.3

    def step():
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return step


def measures(draw, out):
    """A loss of outputs like `out`."""
    rows, columns = out.shape
    y, classes = torch.randn(columns), torch.randint(0, columns, (rows,))
    return draw.choice((
        lambda o: (o - y).pow(2).mean(), lambda o: (o - y).abs().sum() / rows, lambda o: o.logsumexp(1).mean(),
        lambda o: F.cross_entropy(o, classes), lambda o: (o * y).sum(1).tanh().mean().exp().log(),
        lambda o: F.smooth_l1_loss(o, y.expand(rows, -1)), lambda o: F.mse_loss(o, o.detach().roll(1, 0)),
        lambda o: -o.log_softmax(1)[torch.arange(rows), classes].mean(),
        lambda o: F.binary_cross_entropy_with_logits(o, (y > 0).float().expand(rows, -1)),
    ))


programs, first = (*map(int, sys.argv[1:]), *(300, 0)[len(sys.argv) - 1:])
for program in range(first, first + programs):
    draw = random.Random(program)
    torch.manual_seed(program)
    model, x = draw.choice((dense, dense, images, sequences, symbols, formulas))(draw)
    measure, update = measures(draw, model(x)), updates(draw, model)
    for _ in range(16):
        loss = measure(model(x))
        loss.backward()
        update()
    print(program, f"{loss.item():.3g}")
