"""Record what real PyTorch draws, for test_streams.py and test_boxmuller.py.

    python tests/random/record_goldens.py      (an environment with torch 2.13, CPU)

writes goldens.json beside this file.  A case is a seed and a list of draws; kept
are a digest of all values' bytes and one of the generator state afterwards.
"""

import hashlib
import itertools
import json
import pathlib
import random
import struct
import warnings

import numpy as np
import torch

FLOATS = ["float32", "float64", "bfloat16", "float16"]
INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
SIZES = [0, 1, 3, 15, 16, 17, 100, 624, 2049]


def draw(name, a):
    """One draw, from the arguments the test hands to Stream."""
    n, dtype = a["n"], getattr(torch, a.get("dtype", "float32"))
    if name == "randperm":
        return torch.randperm(n)
    if name == "bernoulli_tensor":
        return torch.bernoulli((torch.arange(n) % 65 / 64).to(dtype)).bool()
    if name == "poisson":
        return torch.poisson((torch.arange(n) % 30 / 2).to(dtype))
    if name == "standard_gamma":
        return torch._standard_gamma((1 + torch.arange(n) % 160).to(dtype) / 32)
    if name == "rrelu_noise":
        x = (torch.arange(n) % 5 - 2).to(dtype)
        noise = torch.zeros_like(x)
        torch.ops.aten.rrelu_with_noise(x, noise, a["lower"], a["upper"], True)
        return noise
    if name == "multinomial":
        weights = (torch.arange(n * a["rows"]) % 13 % 7).to(dtype).reshape(a["rows"], n)
        return torch.multinomial(weights, a["n_sample"], a["replacement"])
    if name == "dropout_noise":
        return torch.nn.functional.dropout(torch.ones(n, dtype=dtype), a["p"])
    x = torch.empty(n, dtype=dtype)
    if name == "normal":
        if not a.get("contiguous", True):
            x = torch.empty(n, 2, dtype=dtype)[:, 0]
        return x.normal_(a["mean"], a["std"])
    if name == "uniform":
        return x.uniform_(a["a"], a["b"])
    if name == "bernoulli":
        return torch.empty(n, dtype=torch.bool).bernoulli_(a["p"])
    if name == "random_from_to":
        return x.random_(a["low"], a["high"])
    if name == "random_from":
        return x.random_(a["low"], None)
    if name == "random_full":
        return x.random_()
    arguments = {"exponential": ["lambd"], "cauchy": ["median", "sigma"],
                 "log_normal": ["mean", "std"], "geometric": ["p"]}[name]
    return getattr(x, name + "_")(*(a[k] for k in arguments))


def raw(tensor):
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def continuous(n, dtype):
    d = {"n": n, "dtype": dtype}
    yield from (("uniform", {**d, "a": a, "b": b}) for a, b in (
        (0, 1), (-0.3, 0.7), (2.5, 2.5), (1e-39, 3e-39)))
    yield from (("normal", {**d, "mean": m, "std": s}) for m, s in (
        (0, 1), (0, 0.02), (-0.3, 2.7), (1e-38, 1e-39)))
    if n > 1:
        yield "normal", {**d, "mean": 0.5, "std": 2.0, "contiguous": False}
    yield "exponential", {**d, "lambd": 0.3}
    yield "cauchy", {**d, "median": 0.7, "sigma": 2.0}
    yield "log_normal", {**d, "mean": -1.0, "std": 2.0}
    yield "geometric", {**d, "p": 0.3}
    yield "bernoulli_tensor", d
    yield "poisson", d
    yield "dropout_noise", {**d, "p": 0.3}
    if dtype in FLOATS[:2]:
        yield "standard_gamma", d
    if dtype != "float16":
        yield "rrelu_noise", {**d, "lower": 0.125, "upper": 1 / 3}


def integral(n, dtype):
    d = {"n": n, "dtype": dtype}
    x = torch.empty(n, dtype=getattr(torch, dtype))
    if not dtype.startswith("uint") or dtype == "uint8":
        yield "random_full", d
    for low, high in ((0, 2), (-5, 100), (0, 2**28 - 1), (0, 2**28), (-2**40, 2**50),
                      (2**24 + 1, 2**24 + 77), (-2**63, 2**63 - 1), (0, 2**63 - 1)):
        try:
            x.random_(low, high)
        except RuntimeError:
            continue
        yield "random_from_to", {**d, "low": low, "high": high}
    for low in (0, -3, 100, -2**63):
        try:
            x.random_(low, None)
        except (RuntimeError, NotImplementedError):
            continue
        yield "random_from", {**d, "low": low}


def cases():
    """Seeds and draws: each kind by itself, then random mixtures."""
    for n, dtype in itertools.product(SIZES, FLOATS):
        yield n, list(continuous(n, dtype))
    for n, dtype in itertools.product([1, 17, 3001], INTEGERS + FLOATS):
        yield n + 1, list(integral(n, dtype))
    for n in [*SIZES, 399, 400, 401, 70000, 200003]:
        yield 3, [("randperm", {"n": n}), ("bernoulli", {"n": n, "p": 1 / 3}),
                  ("normal", {"n": n, "mean": 0, "std": 1})]
    for n, dtype in itertools.product([7, 64, 300], FLOATS):
        yield 11, [("multinomial", {"n": n, "rows": 2, "n_sample": k, "replacement": r, "dtype": dtype})
                   for k, r in ((1, True), (1, False), (5, False), (n, False), (2, True), (100, True))]
    choose = random.Random(0)
    for seed in (*range(20), 2**31, 2**32 + 5, 2**63 - 1):
        kinds = [d for n in choose.choices(SIZES, k=3) for d in continuous(n, choose.choice(FLOATS))]
        kinds += list(integral(choose.choice(SIZES), choose.choice(INTEGERS)))
        yield seed, choose.choices(kinds, k=15)


def exhaustive():
    """Digest of single-precision normals for every possible pair of equal words:
    set as the generator's state, after undoing the twister's output scrambling."""
    pairs, total = 304, 2**24
    words = np.arange(-(-total // pairs) * pairs, dtype=np.uint32) % np.uint32(total)
    words = np.repeat(words.reshape(-1, 1, 8), 2, 1).reshape(-1, 2 * pairs)
    out = hashlib.sha256()
    state = bytearray(torch.get_rng_state().numpy().tobytes())
    struct.pack_into("<QiiQ", state, 0, 0, 624, 1, 0)
    for row in words:
        state[24:24 + 8 * row.size] = unscramble(row).astype("<u8").tobytes()
        torch.set_rng_state(torch.frombuffer(state, dtype=torch.uint8))
        out.update(raw(torch.randn(row.size)))
    return out.hexdigest()[:16]


def unscramble(y):
    y = y ^ y >> 18
    y = y ^ y << 15 & np.uint32(0xEFC60000)
    x = y
    for _ in range(5):
        x = y ^ x << 7 & np.uint32(0x9D2C5680)
    y = x
    for _ in range(3):
        x = y ^ x >> 11
    return x


def main():
    warnings.simplefilter("ignore")
    recorded = []
    for seed, draws in cases():
        torch.manual_seed(seed)
        values = b"".join(raw(draw(name, a)) for name, a in draws)
        recorded.append({"seed": seed, "draws": draws, "values": digest(values),
                         "state": digest(torch.get_rng_state().numpy().tobytes())})
    text = json.dumps({"torch": torch.__version__, "exhaustive": exhaustive(), "cases": recorded},
                      separators=(",", ":"))
    pathlib.Path(__file__).with_name("goldens.json").write_text(text.replace('{"seed"', '\n{"seed"') + "\n")


if __name__ == "__main__":
    main()
