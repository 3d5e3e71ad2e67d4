"""The tutorial loop as one hand-written jitted step."""
import functools
import jax
import jax.numpy as jnp
import numpy as np


def setup(variant):
    rng = np.random.default_rng(0)
    x, y = jnp.ones(5), jnp.zeros(3)
    params = (jnp.asarray(rng.standard_normal((5, 3)), jnp.float32), jnp.asarray(rng.standard_normal(3), jnp.float32))

    def loss_of(params):
        z = x @ params[0] + params[1]
        return jnp.mean(jnp.maximum(z, 0) - z * y + jnp.log1p(jnp.exp(-jnp.abs(z))))

    @functools.partial(jax.jit, donate_argnums=0)
    def update(params):
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - 0.01 * (g + g), params, grads), loss

    def step():
        nonlocal params
        params, loss = update(params)
        float(loss)

    def look():
        return float(params[0].sum())

    return step, look
