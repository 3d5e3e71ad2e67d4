"""The perceptron as one hand-written jitted step, parameters donated."""
import functools
import jax
import jax.numpy as jnp
import numpy as np


def setup(variant, sizes, batch=64):
    rng = np.random.default_rng(0)
    xs = [jnp.asarray(rng.standard_normal((batch, sizes[0])), jnp.float32) for _ in range(8)]
    ys = [jnp.asarray(rng.integers(0, sizes[-1], batch), jnp.int32) for _ in range(8)]
    params = [(jnp.asarray(rng.standard_normal((n, m)) * (2.0 / m) ** 0.5, jnp.float32), jnp.zeros(n)) for m, n in zip(sizes, sizes[1:])]
    count, kept = 0, None

    def model(params, x):
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w.T + b)
        w, b = params[-1]
        return x @ w.T + b

    def loss_of(params, x, y):
        logp = jax.nn.log_softmax(model(params, x))
        return -jnp.mean(jnp.take_along_axis(logp, y[:, None], 1))

    @functools.partial(jax.jit, donate_argnums=0)
    def update(params, x, y, lr):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss

    @jax.jit
    def accuracy(params, x, y):
        return jnp.mean(model(params, x).argmax(1) == y)

    def step():
        nonlocal params, count, kept
        lr = 0.01 / (1 + 0.001 * count) if variant == "lr" else 0.01
        params, loss = update(params, xs[count % 8], ys[count % 8], lr)
        if variant in ("item_before", "item_after"):
            float(loss)
        if variant == "keep":
            kept = loss
        if variant == "eval" and count % 10 == 0:
            float(accuracy(params, xs[0], ys[0]))
        count += 1

    def look():
        return float(jnp.sum(params[0][0]))

    return step, look
