"""A transformer over token ids on plain JAX arrays, shared by the hand-written steps."""
import jax
import jax.numpy as jnp


def init(rng, vocab, width, layers, length):
    """Parameters: normal weights of 0.02, ones and zeros elsewhere."""
    def weight(*shape):
        return jnp.asarray(rng.standard_normal(shape) * 0.02, jnp.float32)

    def norm():
        return jnp.ones(width), jnp.zeros(width)

    blocks = [{"n1": norm(), "qkv": (weight(3 * width, width), jnp.zeros(3 * width)), "out": (weight(width, width), jnp.zeros(width)),
               "n2": norm(), "up": (weight(4 * width, width), jnp.zeros(4 * width)), "down": (weight(width, 4 * width), jnp.zeros(width))}
              for _ in range(layers)]
    return {"wte": weight(vocab, width), "wpe": weight(length, width), "head": weight(vocab, width), "norm": norm(), "blocks": blocks}


def layer_norm(x, norm):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * norm[0] + norm[1]


def linear(x, wb):
    return x @ wb[0].T + wb[1]


def dropout(x, rate, key):
    return x if key is None else jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


def model(params, ids, heads, rate=0.0, key=None):
    """Logits for each position; with a key, values are dropped at the embedding, the attention and the end of each block."""
    batch, length = ids.shape
    width = params["wte"].shape[1]
    keys = iter(jax.random.split(key, 1 + 2 * len(params["blocks"])) if key is not None else [None] * (1 + 2 * len(params["blocks"])))
    mask = jnp.tril(jnp.ones((length, length), bool))
    x = dropout(params["wte"][ids] + params["wpe"][:length], rate, next(keys))
    for p in params["blocks"]:
        q, k, v = (t.reshape(batch, length, heads, width // heads).swapaxes(1, 2)
                   for t in jnp.split(linear(layer_norm(x, p["n1"]), p["qkv"]), 3, axis=2))
        scores = q @ k.swapaxes(-2, -1) / (width // heads) ** 0.5
        scores = dropout(jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1), rate, next(keys))
        x = x + linear((scores @ v).swapaxes(1, 2).reshape(batch, length, width), p["out"])
        h = jax.nn.gelu(linear(layer_norm(x, p["n2"]), p["up"]), approximate=False)
        x = x + dropout(linear(h, p["down"]), rate, next(keys))
    return layer_norm(x, params["norm"]) @ params["head"].T


def loss(params, ids, heads, rate=0.0, key=None):
    """Mean cross-entropy of the next token."""
    logp = jax.nn.log_softmax(model(params, ids[:, :-1], heads, rate, key))
    return -jnp.mean(jnp.take_along_axis(logp, ids[:, 1:, None], 2))
