"""The unrolled cell as one hand-written jitted step, parameters donated."""
import functools
import jax
import jax.numpy as jnp
import numpy as np


def setup(variant, inputs=32, hidden=64, outputs=8, batch=16, length=24):
    rng = np.random.default_rng(0)

    def normal(*shape, scale=1.0):
        return jnp.asarray(rng.standard_normal(shape) * scale, jnp.float32)

    xs, target = normal(length, batch, inputs), normal(batch, outputs)
    params = (normal(inputs, hidden, scale=inputs ** -0.5), normal(hidden, hidden, scale=hidden ** -0.5),
              jnp.zeros(hidden), normal(hidden, outputs, scale=hidden ** -0.5))
    count, kept = 0, None

    def loss_of(params):
        wx, wh, b, wo = params
        h = jnp.zeros((batch, hidden))
        for t in range(length):
            h = jnp.tanh(xs[t] @ wx + h @ wh + b)
        return jnp.mean((h @ wo - target) ** 2)

    @functools.partial(jax.jit, donate_argnums=0)
    def update(params, lr):
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss

    evaluate = jax.jit(loss_of)

    def step():
        nonlocal params, count, kept
        lr = 0.01 / (1 + 0.001 * count) if variant == "lr" else 0.01
        params, loss = update(params, lr)
        if variant in ("item_before", "item_after"):
            float(loss)
        if variant == "keep":
            kept = loss
        if variant == "eval" and count % 10 == 0:
            float(evaluate(params))
        count += 1

    def look():
        return float(jnp.sum(params[1]))

    return step, look
