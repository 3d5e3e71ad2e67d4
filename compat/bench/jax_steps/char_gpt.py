"""The character-level GPT's training loop around one hand-written jitted step: AdamW, cosine schedule, clipping."""
import argparse
import functools
import math
import time
import jax
import jax.numpy as jnp
import numpy as np
import transformer
from report import report


def main(vocab=39, width=64, heads=4, layers=4, length=48, batch=12, rate=0.1, peak_lr=1e-3):
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)
    data = rng.integers(0, vocab, 12000).astype(np.int32)
    params = transformer.init(rng, vocab, width, layers, length)
    first, second = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(params, first, second, ids, lr, t, key):
        loss, grads = jax.value_and_grad(transformer.loss)(params, ids, heads, rate, key)
        norm = jnp.sqrt(sum(jnp.sum(g ** 2) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (norm + 1e-6)), grads)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, grads)
        params = jax.tree.map(lambda p, m, v: p * (1 - lr * 0.1) - lr * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.95 ** t)) + 1e-8),
                              params, first, second)
        return params, first, second, loss, norm

    key = jax.random.key(0)
    seconds = []
    for step in range(steps):
        start = time.perf_counter()
        key, used = jax.random.split(key)
        starts = rng.integers(0, len(data) - length - 1, (batch, 1))
        lr = peak_lr / 10 + 0.45 * peak_lr * (1 + math.cos(math.pi * step / steps))
        params, first, second, loss, norm = update(params, first, second, data[starts + np.arange(length + 1)], lr, step + 1.0, used)
        value = float(loss)
        seconds.append(time.perf_counter() - start)
        print(f"step {step:4d} loss {value:.6f} norm {float(norm):.4f}", flush=step == 0)
    report(seconds)


main()
