"""The spiral classifier's training loop around one hand-written jitted step."""
import argparse
import functools
import time
import jax
import jax.numpy as jnp
import numpy as np
from report import report


def main(width=128, depth=3, batch=64, classes=3):
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)

    def layer(m, n):
        bound = m ** -0.5
        return jnp.asarray(rng.uniform(-bound, bound, (n, m)), jnp.float32), jnp.asarray(rng.uniform(-bound, bound, n), jnp.float32)

    params = [layer(2, width), *[layer(width, width) for _ in range(depth)], layer(width, classes)]
    momentum = jax.tree.map(jnp.zeros_like, params)
    arm = rng.integers(0, classes, 1024)
    radius = rng.random(1024)
    angle = radius * 4 + arm * (2 * np.pi / 3) + rng.standard_normal(1024) * 0.15
    x, y = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32), arm.astype(np.int32)

    def loss_of(params, x, y):
        (w, b), *hidden, (wo, bo) = params
        x = jnp.tanh(x @ w.T + b)
        for w, b in hidden:
            x = x + jax.nn.relu(x @ w.T + b)
        logp = jax.nn.log_softmax(x @ wo.T + bo)
        return -jnp.mean(jnp.take_along_axis(logp, y[:, None], 1))

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(params, momentum, x, y, lr):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        momentum = jax.tree.map(lambda m, g, p: 0.9 * m + g + 1e-4 * p, momentum, grads, params)
        return jax.tree.map(lambda p, m: p - lr * m, params, momentum), momentum, loss

    seconds = []
    for step in range(steps):
        start = time.perf_counter()
        chosen = rng.integers(0, len(x), batch)
        params, momentum, loss = update(params, momentum, x[chosen], y[chosen], 0.015 * 0.5 ** (step // 40))
        value = float(loss)
        seconds.append(time.perf_counter() - start)
        print(f"step {step:4d} loss {value:.6f}", flush=step == 0)
    report(seconds)


main()
