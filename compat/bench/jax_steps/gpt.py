"""The transformer as one hand-written jitted step with SGD, parameters donated."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
import transformer


def setup(variant, vocab=65, width=64, heads=4, layers=4, length=32, batch=8):
    rng = np.random.default_rng(0)
    tokens = [jnp.asarray(rng.integers(0, vocab, (batch, length + 1)), jnp.int32) for _ in range(8)]
    params = transformer.init(rng, vocab, width, layers, length)
    loss_of = functools.partial(transformer.loss, heads=heads)
    count, kept = 0, None

    @functools.partial(jax.jit, donate_argnums=0)
    def update(params, ids, lr):
        loss, grads = jax.value_and_grad(loss_of)(params, ids)
        return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss

    evaluate = jax.jit(loss_of)

    def step():
        nonlocal params, count, kept
        lr = 0.1 / (1 + 0.001 * count) if variant == "lr" else 0.1
        params, loss = update(params, tokens[count % 8], lr)
        if variant in ("item_before", "item_after"):
            float(loss)
        if variant == "keep":
            kept = loss
        if variant == "eval" and count % 10 == 0:
            float(evaluate(params, tokens[0]))
        count += 1

    def look():
        return float(jnp.sum(params["blocks"][0]["qkv"][0] ** 2))

    return step, look
