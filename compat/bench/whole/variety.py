"""Random training programs, no two alike: layers, activations, sizes, losses and optimizers drawn anew; sixteen steps each."""
import random
import torch
from torch import nn

draw = random.Random(0)
for program in range(60):
    torch.manual_seed(program)
    sizes = [draw.randint(2, 24) for _ in range(draw.randint(2, 5))]
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), draw.choice((nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.ELU, nn.Softplus))()]
        if draw.random() < 0.3:
            layers.append(nn.LayerNorm(b))
    model = nn.Sequential(*layers)
    optimizer = draw.choice((torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW))(model.parameters(), lr=0.01)
    x, y = torch.randn(draw.randint(2, 40), sizes[0]), torch.randn(sizes[-1])
    measure = draw.choice((lambda o: (o - y).pow(2).mean(), lambda o: (o - y).abs().sum(), lambda o: o.logsumexp(1).mean(), lambda o: (o * y).sum(1).exp().mean().log()))
    for _ in range(16):
        loss = measure(model(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(program, f"{loss.item():.3g}")
