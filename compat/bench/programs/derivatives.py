"""Derivatives of derivatives: a critic's gradient penalty, a Jacobian, a Hessian; and the gradient of each sample by vmap."""
import torch
import torch.nn.functional as F


def setup(variant, kind):
    torch.manual_seed(0)
    return {"penalty": penalty, "jacobian": jacobian, "hessian": hessian, "per_sample": per_sample}[kind]()


def penalty(batch=64, size=32, hidden=64):
    """A critic of two layers whose gradient in its inputs is held at length 1."""
    xs = [torch.randn(batch, size) for _ in range(8)]
    weights = [(torch.randn(n, m) * m ** -0.5).requires_grad_() for m, n in ((size, hidden), (hidden, hidden), (hidden, 1))]
    biases = [torch.zeros(n, requires_grad=True) for n in (hidden, hidden, 1)]
    optimizer = torch.optim.SGD(weights + biases, lr=1e-3)
    count = 0

    def critic(x):
        for w, b in zip(weights[:-1], biases[:-1]):
            x = torch.tanh(F.linear(x, w, b))
        return F.linear(x, weights[-1], biases[-1])

    def step():
        nonlocal count
        x = xs[count % 8].clone().requires_grad_()
        scores = critic(x)
        gradient, = torch.autograd.grad(scores.sum(), x, create_graph=True)
        loss = scores.mean() + 10 * ((gradient.norm(2, dim=1) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1

    return step, lambda: weights[0].detach().sum().item()


def _network(n=10, hidden=32):
    a, b = torch.randn(hidden, n) * n ** -0.5, torch.randn(n, hidden) * hidden ** -0.5
    return lambda x: torch.tanh(b @ torch.tanh(a @ x)) * x


def jacobian(n=10):
    """Newton's direction from the Jacobian of a small network, at places that follow each other."""
    f, place = _network(n), torch.ones(n)

    def step():
        nonlocal place
        made = torch.autograd.functional.jacobian(f, place)
        place = place + 0.01 * (made @ place)
        place = place / place.norm()

    return step, lambda: place.sum().item()


def hessian(n=10):
    """The same with the Hessian of a sum of squares."""
    f, place = _network(n), torch.ones(n)

    def step():
        nonlocal place
        made = torch.autograd.functional.hessian(lambda x: f(x).square().sum(), place)
        place = place + 0.01 * (made @ place)
        place = place / place.norm()

    return step, lambda: place.sum().item()


def per_sample(batch=64, size=20, hidden=32, classes=5):
    """Steps along the gradients of the samples, each of which is cut to length 1 before they are added up."""
    x, y = torch.randn(batch, size), torch.randint(0, classes, (batch,))
    weights = [torch.randn(m, n) * m ** -0.5 for m, n in ((size, hidden), (hidden, hidden), (hidden, classes))]

    def loss(weights, x, y):
        for w in weights[:-1]:
            x = torch.tanh(x @ w)
        return F.cross_entropy(x @ weights[-1], y)

    def step():
        nonlocal weights
        gradients = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(weights, x, y)
        length = sum([g.flatten(1).square().sum(1) for g in gradients]).sqrt()
        cut = (1 / length).clamp(max=1)
        weights = [w - 0.1 * torch.einsum("n,nij->ij", cut, g) / batch for w, g in zip(weights, gradients)]

    return step, lambda: weights[0].sum().item()
