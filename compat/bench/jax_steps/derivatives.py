"""programs/derivatives.py by hand: one jitted step each."""
import jax
import jax.numpy as jnp
import numpy as np


def setup(variant, kind):
    draw = np.random.default_rng(0)
    normal = lambda *shape: jnp.asarray(draw.standard_normal(shape), jnp.float32)
    return {"penalty": penalty, "jacobian": jacobian, "hessian": hessian, "per_sample": per_sample}[kind](normal)


def penalty(normal, batch=64, size=32, hidden=64):
    xs = [normal(batch, size) for _ in range(8)]
    state = [[normal(n, m) * m ** -0.5 for m, n in ((size, hidden), (hidden, hidden), (hidden, 1))],
             [jnp.zeros(n) for n in (hidden, hidden, 1)]]
    count = 0

    def critic(state, x):
        weights, biases = state
        for w, b in zip(weights[:-1], biases[:-1]):
            x = jnp.tanh(x @ w.T + b)
        return x @ weights[-1].T + biases[-1]

    def loss(state, x):
        gradient = jax.grad(lambda x: critic(state, x).sum())(x)
        return critic(state, x).mean() + 10 * ((jnp.linalg.norm(gradient, axis=1) - 1) ** 2).mean()

    @jax.jit
    def update(state, x):
        return jax.tree.map(lambda p, g: p - 1e-3 * g, state, jax.grad(loss)(state, x))

    def step():
        nonlocal state, count
        state = update(state, xs[count % 8])
        count += 1

    return step, lambda: float(state[0][0].sum())


def _network(normal, n=10, hidden=32):
    a, b = normal(hidden, n) * n ** -0.5, normal(n, hidden) * hidden ** -0.5
    return lambda x: jnp.tanh(b @ jnp.tanh(a @ x)) * x


def _walk(matrix, n):
    place = jnp.ones(n)

    @jax.jit
    def onward(place):
        place = place + 0.01 * (matrix(place) @ place)
        return place / jnp.linalg.norm(place)

    def step():
        nonlocal place
        place = onward(place)

    return step, lambda: float(place.sum())


def jacobian(normal, n=10):
    return _walk(jax.jacrev(_network(normal, n)), n)


def hessian(normal, n=10):
    f = _network(normal, n)
    return _walk(jax.hessian(lambda x: jnp.square(f(x)).sum()), n)


def per_sample(normal, batch=64, size=20, hidden=32, classes=5):
    x, y = normal(batch, size), jnp.arange(batch) % classes
    weights = [normal(m, n) * m ** -0.5 for m, n in ((size, hidden), (hidden, hidden), (hidden, classes))]

    def loss(weights, x, y):
        for w in weights[:-1]:
            x = jnp.tanh(x @ w)
        return -jax.nn.log_softmax(x @ weights[-1])[y]

    @jax.jit
    def update(weights):
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(weights, x, y)
        cut = jnp.minimum(1, 1 / jnp.sqrt(sum([(g ** 2).sum((1, 2)) for g in gradients])))
        return [w - 0.1 * jnp.einsum("n,nij->ij", cut, g) / batch for w, g in zip(weights, gradients)]

    def step():
        nonlocal weights
        weights = update(weights)

    return step, lambda: float(weights[0].sum())
