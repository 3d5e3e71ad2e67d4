"""Writes printing.json: tensors, print options and the text that PyTorch 2.13 gives for them.

Run where PyTorch is installed:  python tests/tensor/core/goldens/record_printing.py

A case holds `dtype`, `shape`, the elements and `text`. The elements are `values` (numbers or their
texts, cast to dtype), `bytes` (base64) or `ramp` ([start, step], cast to dtype). Optional: `options`
for set_printoptions, `default_dtype`, and in `how` further arguments of `format_tensor`.
"""

import base64
import json
import pathlib
import random

import numpy as np
import torch

FLOATS = ("float64", "float32", "float16", "bfloat16")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")


class Subclass(torch.Tensor):
    """Shows its own name where a tensor shows "tensor"."""


def elements(case):
    """The tensor that a case describes."""
    dtype, shape = getattr(torch, case["dtype"]), case["shape"]
    if "bytes" in case:
        raw = np.frombuffer(base64.b64decode(case["bytes"]), np.uint8).copy()
        return torch.from_numpy(raw).view(dtype).reshape(shape)
    if "ramp" in case:
        start, step = case["ramp"]
        values = start + step * np.arange(int(np.prod(shape)))
        return torch.from_numpy(values).to(dtype).reshape(shape)
    number = complex if case["dtype"].startswith("complex") else None
    if number is None:
        number = float if "float" in case["dtype"] else int
    return torch.tensor([number(v) for v in case["values"]], dtype=dtype).reshape(shape)


def record(case):
    """The case with its text."""
    tensor = elements(case)
    how = case.get("how", {})
    if how.get("is_meta"):
        tensor = tensor.to("meta")
    if how.get("requires_grad") or how.get("grad_fn_name"):
        tensor.requires_grad_()
    if how.get("grad_fn_name") == "AddBackward0":
        tensor = tensor + 0
    if how.get("kind"):
        tensor = tensor.as_subclass(Subclass)
    if how.get("prefix"):
        tensor = torch.nn.Parameter(tensor.detach(), requires_grad=how.get("requires_grad", False))
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**case.get("options", {}))
    torch.set_default_dtype(getattr(torch, case.get("default_dtype", "float32")))
    try:
        contents = how.get("tensor_contents")
        text = repr(tensor) if contents is None else tensor.__repr__(tensor_contents=contents)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_printoptions(profile="default")
    return {**case, "text": text}


def chosen():
    """Cases that each show one rule."""

    def case(dtype, shape, values=None, ramp=None, default_dtype=None, how=None, **options):
        out = {"dtype": dtype, "shape": list(shape)}
        if ramp is None:
            out["values"] = [str(v) for v in (values or [])]
        else:
            out["ramp"] = ramp
        if default_dtype:
            out["default_dtype"] = default_dtype
        if how:
            out["how"] = how
        if options:
            out["options"] = options
        return out

    nan, inf = "nan", "inf"
    for values in (
        [1, 2, 3], [1, 2.5], [-0.0, 0], [-0.0, 1.5], [0, 0], [nan], [nan, 0], [inf, 1], [nan, "-inf", 2.5],
        [1, 1000], [1, 1001], [1e8], [1e8 + 8], [1e-4, 1e-3], [9.9e-5], [99999.5], [0.99999], [1e-40],
        [1e-3, 1, nan], [123456.789, 1.0], [1e9, -0.0, "-inf"], [3e38, -1e-30],
    ):  # fmt: skip
        yield case("float32", (len(values),), values)
        yield case("float64", (len(values),), values)
        if len(values) == 1:
            yield case("float32", (), values)
    for dtype in FLOATS + FLOAT8[:4]:
        yield case(dtype, (4,), [0.5, 3, -1.75, 0])
        yield case(dtype, (), [2])
        yield case(dtype, (3,), [0.0078125, 32, nan])
    for values in (
        [1, 2], [0.5, 0.25], [1, nan], [2.0**-127, 1], [2.0**-20, 8], [2.0**-127], [2.0**-20, nan, 1], [1, 2.0**-20, nan],
    ):  # fmt: skip
        yield case("float8_e8m0fnu", (len(values),), values)
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        yield case(dtype, (3,), [limits.min, 0, limits.max])
        yield case(dtype, (2, 2), [1, 20, 3, 100])
    yield case("bool", (2,), [1, 0])
    yield case("bool", (), [1])
    for dtype in COMPLEX:
        for values in (
            ["1+2j", "3-4j"], ["1.5-1e-9j", "2"], ["nan+nanj"], ["1+infj", "-inf-1j"], ["-0-0j", "0.5j"],
            ["100-2.25j", "-1+33j"], ["1e10+1j", "1"],
        ):  # fmt: skip
            yield case(dtype, (len(values),), values)
            yield case(dtype, (len(values),), values, sci_mode=True, precision=2)
        yield case(dtype, (), ["1-2j"])
        yield case(dtype, (12,), ["1.25-2j"] * 12, linewidth=60)
        yield case(dtype, (12,), ["1.25-2j"] * 12, threshold=3)

    for default in FLOATS:
        for dtype in (*FLOATS, *COMPLEX, "int64", "int32", "bool"):
            yield case(dtype, (1,), [1], default_dtype=default)
            yield case(dtype, (0,), [], default_dtype=default)
            yield case(dtype, (1,), [1], default_dtype=default, how={"is_meta": True})

    for shape in ((0,), (0, 3), (2, 0, 4), (1, 0)):
        for dtype in ("float32", "int64", "complex64"):
            yield case(dtype, shape)
            yield case(dtype, shape, edgeitems=0, threshold=-1)
    for shape in ((), (3,), (2, 3), (0, 3)):
        count = int(np.prod(shape))
        yield case("float32", shape, [1] * count, how={"is_meta": True})
        yield case("float32", shape, [1] * count, how={"is_meta": True, "requires_grad": True})

    shapes = ((3, 4), (2, 3, 4), (2, 1, 2, 3), (1, 1, 1, 1, 2), (40,), (3, 30))
    for shape in shapes:
        for dtype in ("int64", "float32", "float16"):
            yield case(dtype, shape, ramp=[-1, 1])
        yield case("float32", shape, ramp=[0.5, 0.25], how={"requires_grad": True})
        yield case("float64", shape, ramp=[0.5, 0.25], how={"grad_fn_name": "AddBackward0"})
        yield case("float32", shape, ramp=[0, 1], how={"kind": "Subclass"})
        yield case("float32", shape, ramp=[0, 1], how={"prefix": "Parameter containing:\n", "requires_grad": True})
    yield case("float32", (2,), [1, 2], how={"prefix": "Parameter containing:\n"})
    yield case("int32", (2,), [1, 2], how={"tensor_contents": "hello"})
    yield case("int32", (0, 2), how={"tensor_contents": "hello"})

    yield case("int64", (1000,), ramp=[0, 1], linewidth=200)
    yield case("int64", (5, 5, 5, 9), ramp=[0, 1], profile="short")
    yield case("float32", (12, 12, 12), ramp=[0.5, 1])
    big = ((1001,), (40, 40), (7, 200), (200, 7), (6, 200), (2, 3, 400), (1, 1, 1, 1100))
    for shape in big:
        yield case("float32", shape, ramp=[-3, 0.5], profile="default")
        yield case("int64", shape, ramp=[-3, 1], profile="short")
        yield case("float32", shape, ramp=[1, 1], edgeitems=1, linewidth=30, how={"requires_grad": True})
        yield case("int16", shape, ramp=[1, 1], edgeitems=0)
    yield case("bool", (1002,), ramp=[0, 1], profile="full")
    yield case("float32", (6,), ramp=[0, 1], edgeitems=0)
    yield case("float32", (), [3], edgeitems=0, threshold=0)
    yield case("float32", (40,), [0] * 39 + [nan])
    for shape in ((6,), (7,), (2, 6), (6, 2), (7, 6)):
        yield case("int8", shape, ramp=[0, 1], threshold=0)
    for width in range(32, 76):
        yield case("float64", (2, 3), ramp=[0, 1], linewidth=width, how={"is_meta": True, "requires_grad": True})
    for width in (1, 8, 13, 20, 21, 79, 200):
        for how in (None, {"requires_grad": True}, {"grad_fn_name": "AddBackward0"}):
            yield case("float32", (2, 5), ramp=[0, 0.5], linewidth=width, how=how)
            yield case("float64", (3,), ramp=[0, 0.5], linewidth=width, how=how)
    for precision in (0, 1, 3, 8):
        for sci_mode in (None, True, False):
            yield case("float32", (4,), [0, 1.5, -2.25, 1e-6], precision=precision, sci_mode=sci_mode)
            yield case("float32", (3,), [0, 1, 20000], precision=precision, sci_mode=sci_mode)


def fuzzed(count):
    """Random numbers, shapes and options."""
    source = random.Random(2026)
    rng = np.random.default_rng(2026)
    for _ in range(count):
        dtype = source.choice((*FLOATS, *FLOATS, *FLOAT8, *INTEGERS, *COMPLEX, *COMPLEX))
        shape = [source.randrange(1, 5) for _ in range(source.randrange(4))]
        size = int(np.prod(shape))

        def numbers(size=size):
            values = rng.standard_normal(size) * 10.0 ** rng.integers(-3, 3 + source.choice((0, 4)), size)
            if source.random() < 0.4:
                values = np.round(values)
            special = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf], size)
            return np.where(rng.random(size) < source.choice((0, 0, 0.2)), special, values)

        if dtype in FLOAT8:
            tensor = torch.from_numpy(rng.integers(0, 256, size, np.uint8)).view(getattr(torch, dtype))
        elif dtype in INTEGERS:
            limits = np.iinfo(dtype)
            tensor = torch.from_numpy(rng.integers(limits.min, limits.max, size, dtype, endpoint=True))
        elif dtype in COMPLEX:
            tensor = torch.complex(*(torch.from_numpy(numbers()) for _ in "ab")).to(getattr(torch, dtype))
        else:
            tensor = torch.from_numpy(numbers()).to(getattr(torch, dtype))
        options = {}
        if source.random() < 0.6:
            options["threshold"] = source.choice((0, 5, 10, 1000))
            options["edgeitems"] = source.choice((1, 2, 3))
            options["linewidth"] = source.choice((20, 40, 80, 120))
            options["precision"] = source.choice((0, 2, 4, 6))
            options["sci_mode"] = source.choice((None, None, True, False))
        raw = base64.b64encode(tensor.view(torch.uint8).numpy().tobytes()).decode()
        yield {"dtype": dtype, "shape": shape, "bytes": raw, "options": options}


def option_steps():
    """Calls of set_printoptions in sequence, each with the options in force after it."""
    calls = (
        {"precision": 2}, {"sci_mode": True}, {"edgeitems": 1}, {"sci_mode": False, "threshold": 7}, {"profile": "short"},
        {"profile": "full", "linewidth": 50}, {"precision": 6, "profile": "short", "sci_mode": True}, {"profile": "unknown"},
        {"profile": "FULL"}, {}, {"threshold": float("inf")}, {"profile": "default"},
    )  # fmt: skip
    torch.set_printoptions(profile="default")
    for call in calls:
        torch.set_printoptions(**call)
        yield {"call": call, "options": dict(vars(torch._tensor_str.PRINT_OPTS))}


if __name__ == "__main__":
    golden = {
        "torch": torch.__version__,
        "chosen": [record(case) for case in chosen()],
        "fuzzed": [record(case) for case in fuzzed(155)],
        "option_steps": list(option_steps()),
    }
    lines = []
    for name, value in golden.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            lines.append(f"{json.dumps(name)}:[\n{rows}\n]")
        else:
            lines.append(f"{json.dumps(name)}:{json.dumps(value)}")
    path = pathlib.Path(__file__).with_name("printing.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(path, len(golden["chosen"]), len(golden["fuzzed"]), path.stat().st_size)
