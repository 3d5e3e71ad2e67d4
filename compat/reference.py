"""`python -m compat.reference --torch PYTHON`: the inputs with which PyTorch tests its own operators, given to both.

Real torch's operator database (torch.testing._internal.common_methods_invocations) makes reference inputs and error inputs, computes them
and writes calls and answers to a file; torchshim makes the same calls. What is compared: dtype, shape, strides and values of results, and
type and first line of errors. Operands that share memory share it in both.
"""
import argparse
import collections
import math
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import warnings

DTYPES = "float32 int64 bool bfloat16 complex64 uint8 float64".split()
LARGEST = 20_000           # elements of an input
#: (relative, absolute) differences of results by dtype; decompositions may differ in signs and are shown nevertheless
CLOSE = {"bfloat16": (1.6e-2, 1e-2), "float16": (2e-3, 1e-3), "float32": (2e-4, 2e-5), "complex64": (2e-4, 2e-5)}
_LIMIT = 30                # seconds of one call


# -- in the process that has torch ---------------------------------------------------------------------------------------------------
def record(path, only, kinds, most):
    """Write [(name, arguments, answer)] of the operators whose names match."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    calls = []
    for op in op_db:
        name = _public(torch, op.name)
        if name is None or not re.search(only, op.name):
            continue
        for sample in _samples(torch, op, kinds, most):
            try:
                arguments = encoded(torch, [[sample.input, *sample.args], sample.kwargs], {})
            except ValueError:                 # sparse tensors, generators, other devices
                continue
            torch.manual_seed(0)
            try:
                result = _function(torch, name)(sample.input, *sample.args, **sample.kwargs)
            except Exception as error:
                answer = ("error", type(error).__name__, str(error))
            else:
                try:
                    answer = ("result", encoded(torch, result))
                except ValueError:
                    continue
            calls.append((name, arguments, answer))
    with open(path, "wb") as file:
        pickle.dump(calls, file)


def _public(torch, name):
    """Where the function of this name is, below torch; None where it has none."""
    for path in (name, f"Tensor.{name}"):
        try:
            _function(torch, path)
        except AttributeError:
            continue
        # what is in new memory is nobody's answer
        alone = name.startswith(("_refs", "ops.", "empty", "new_empty")) or re.match(r"_[a-z]", name)
        return path if callable(_function(torch, path)) and not alone else None       # torch.int is a dtype, Tensor.T a property
    return None


def _function(torch, path):
    found = torch
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _samples(torch, op, kinds, most):
    if "error" in kinds and op.error_inputs_func is not None:
        try:
            yield from [e.sample_input for e in op.error_inputs("cpu")]
        except Exception as error:
            print(f"{op.name}: no error inputs: {error}", file=sys.stderr)
    for dtype in DTYPES if "reference" in kinds else ():
        if op.supports_dtype(getattr(torch, dtype), "cpu"):
            torch.manual_seed(11)
            try:
                found = list(op.reference_inputs("cpu", getattr(torch, dtype), requires_grad=False))
            except Exception as error:
                print(f"{op.name}: no inputs of {dtype}: {error}", file=sys.stderr)
                continue
            found = [s for s in found if not isinstance(s.input, torch.Tensor) or s.input.numel() < LARGEST]
            step = max(1, len(found) // most)
            yield from found[step // 2::step][:most]


def encoded(torch, x, memory=None):
    """Arguments and results as plain tuples. ValueError for what has no plain form. `memory`, for arguments: a dict of what is in memory
    so far, by its address; a tensor is then its place there."""
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided or x.device.type != "cpu" or x.is_quantized:
            raise ValueError("not a plain tensor")
        if memory is not None and x.untyped_storage().nbytes():
            address, whole = x.untyped_storage().data_ptr(), x.untyped_storage().nbytes() // x.itemsize
            if address not in memory:
                all_of_it = x.detach().as_strided((whole,), (1,), 0)
                memory[address] = bytes(all_of_it.clone().view(torch.uint8).numpy())      # a storage that numpy() saw cannot be resized
            if not x.is_conj() and not x.is_neg():
                return "place", str(x.dtype)[6:], tuple(x.shape), tuple(x.stride()), x.storage_offset(), address, memory[address]
        flat = torch.empty(x.numel(), dtype=x.dtype).copy_(x.detach().reshape(-1))
        return "tensor", str(x.dtype)[6:], tuple(x.shape), tuple(x.stride()), bytes(flat.view(torch.uint8).numpy()) if x.numel() else b""
    if isinstance(x, (list, tuple)):
        return "list" if isinstance(x, list) else "tuple", [encoded(torch, v, memory) for v in x]
    if isinstance(x, dict):
        return "dict", {k: encoded(torch, v, memory) for k, v in x.items()}
    if isinstance(x, (torch.dtype, torch.layout, torch.memory_format)):
        return "name", str(x)[6:]
    if isinstance(x, torch.device):
        return "device", str(x)
    if x is None or isinstance(x, (int, float, complex, str, slice, type(...))):
        return "plain", x
    raise ValueError(type(x))


# -- in the other ------------------------------------------------------------------------------------------------------------------
def decoded(torch, x, memory=None):
    """The inverse of `encoded`; tensors lie in memory as they did. `memory`: the tensors of one dtype and address, which share it."""
    kind, value = x[0], x[1]
    if kind == "place":
        _, dtype, shape, strides, offset, address, raw = x
        if (address, dtype) not in memory:
            memory[address, dtype] = torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype)).clone()
        whole = memory[address, dtype]
        return whole if (shape, strides, offset) == (tuple(whole.shape), (1,), 0) else whole.as_strided(shape, strides, offset)
    if kind == "tensor":
        _, dtype, shape, strides, raw = x
        t = torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype)).clone() if raw else torch.empty(0, dtype=getattr(torch, dtype))
        t = t.reshape(shape)
        if raw and tuple(t.stride()) != strides:
            distinct = tuple([slice(0, 1) if s == 0 else slice(None) for s in strides])
            memory = torch.empty(1 + sum([(n - 1) * s for n, s in zip(shape, strides)]), dtype=t.dtype)
            window = memory.as_strided(shape, strides)
            window[distinct].copy_(t[distinct])
            return window
        return t
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)([decoded(torch, v, memory) for v in value])
    if kind == "dict":
        return {k: decoded(torch, v, memory) for k, v in value.items()}
    return getattr(torch, value) if kind == "name" else torch.device(value) if kind == "device" else value


def leaves(torch, x):
    """Tensors and numbers in lists, tuples and dicts."""
    if isinstance(x, (list, tuple, dict)):
        return [leaf for v in (x.values() if isinstance(x, dict) else x) for leaf in leaves(torch, v)]
    return [x]


def difference(torch, wanted, got):
    """What is not alike in two leaves, or None."""
    if not isinstance(wanted, torch.Tensor) or not isinstance(got, torch.Tensor):
        alike = type(wanted) is type(got) and (wanted == got or wanted != wanted and got != got
                                               or isinstance(wanted, float) and math.isclose(wanted, got, rel_tol=1e-5))
        return None if alike else f"{got!r} for {wanted!r}"
    for what in ("dtype", "shape"):
        if getattr(wanted, what) != getattr(got, what):
            return f"{what} {getattr(got, what)} for {getattr(wanted, what)}"
    if wanted.numel() and wanted.stride() != got.stride():
        return f"strides {got.stride()} for {wanted.stride()}"
    if wanted.is_floating_point() or wanted.is_complex():
        relative, absolute = CLOSE.get(str(wanted.dtype)[6:], (1e-7, 1e-7))
        wrong = ~torch.isclose(got, wanted, rtol=relative, atol=absolute, equal_nan=True)
    else:
        wrong = wanted != got
    return f"{int(wrong.sum())} of {wrong.numel()} values" if bool(wrong.any()) else None


def first_line(text):
    return re.sub(r"0x[0-9a-f]+", "0x", text).strip().split("\n")[0]


class TooLong(BaseException):
    """A call took more than its time."""


def play(torch, path, show):
    """Make the calls of the file; prints what differs, at most `show` for each function. Returns their number."""
    def late(*_):
        raise TooLong
    with open(path, "rb") as file:
        calls = pickle.load(file)
    found = collections.Counter()
    before = signal.signal(signal.SIGALRM, late)
    try:
        for name, arguments, answer in calls:
            args, kwargs = decoded(torch, arguments, {})
            wrong = compared(torch, name, args, kwargs, answer)
            if wrong:
                found[name] += 1
                if found[name] <= show:
                    given = [f"{k}={shown(torch, v)}" for k, v in kwargs.items()]
                    print(f"{name}({', '.join([*[shown(torch, a) for a in args], *given])}): {wrong}", flush=True)
    finally:
        signal.signal(signal.SIGALRM, before)
    print(f"{len(calls)} calls, {sum(found.values())} differ")
    return sum(found.values())


def compared(torch, name, args, kwargs, answer):
    """What of a call is not as the recorded answer, or None."""
    torch.manual_seed(0)
    signal.alarm(_LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = leaves(torch, _function(torch, name)(*args, **kwargs))
        for leaf in result:
            if isinstance(leaf, torch.Tensor):
                leaf.tolist()                  # errors about values come when somebody looks
    except TooLong:
        return f"took more than {_LIMIT} s"
    except Exception as error:
        ours = f"{type(error).__name__}: {first_line(str(error))}"
        torchs = f"{answer[1]}: {first_line(answer[2])}" if answer[0] == "error" else "a result"
        return None if ours == torchs else f"{ours}; torch: {torchs}"
    finally:
        signal.alarm(0)
    if answer[0] == "error":
        return f"no error; torch: {answer[1]}: {first_line(answer[2])}"
    wanted = leaves(torch, decoded(torch, answer[1]))
    if len(wanted) != len(result):
        return "another number of results"
    return next(filter(None, [difference(torch, a, b) for a, b in zip(wanted, result)]), None)


def shown(torch, x):
    if isinstance(x, torch.Tensor):
        return f"{str(x.dtype)[6:]}{list(x.shape)}"
    return f"[{', '.join([shown(torch, v) for v in x])}]" if isinstance(x, (list, tuple)) else repr(x)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m compat.reference", description=__doc__.split("\n")[0])
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON", help="interpreter that has real torch")
    parser.add_argument("--only", default="", metavar="REGEX", help="operators whose names match")
    parser.add_argument("--kinds", default="error,reference", help="error, reference or both")
    parser.add_argument("--most", type=int, default=6, help="reference inputs of a dtype")
    parser.add_argument("--show", type=int, default=4, help="differences of one function that are printed")
    parser.add_argument("--record", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--play", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.record:
        return record(args.record, args.only, args.kinds.split(","), args.most)
    if args.play:
        import torch
        return bool(play(torch, args.play, args.show))
    if not args.torch:
        parser.error("--torch is missing")
    here = str(pathlib.Path(__file__).resolve())
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "calls")
        options = ["--only", args.only, "--kinds", args.kinds, "--most", str(args.most)]
        subprocess.run([args.torch, here, "--record", file, *options], check=True)
        return subprocess.run([sys.executable, "-m", "torchshim", here, "--play", file, "--show", str(args.show)],
                              cwd=pathlib.Path(here).parent.parent).returncode


if __name__ == "__main__":
    sys.exit(main())
