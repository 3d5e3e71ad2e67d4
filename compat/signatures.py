"""`python -m compat.signatures --torch PYTHON`: every operator that torch has a signature for, with right and wrong arguments.

Real torch lists its signatures. Of each, the first arguments out of a few that torch takes are changed one at a time: another shape, dtype,
number or type, left out, one too many, `out=` of another dtype or shape. What is compared: results, and of errors type and first line.
"""
import argparse
import collections
import itertools
import json
import os
import pathlib
import re
import shlex
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from compat.processes import Child  # noqa: E402
from compat.sweep import close  # noqa: E402

#: Names whose results are memory nobody wrote, that change the process, or that only other devices have.
SKIPPED = re.compile(r"""^_|empty|resize|^set_$|cudnn|miopen|mkldnn|fbgemm|quantize|q_|vulkan|xpu|nnpack|_copy$|sym_|from_file|record_stream|
    random_|hash_tensor|pin_memory|is_pinned|int_repr|dequantize|batch_norm_(elemt|stats|gather|backward|update)|to_mkldnn|data$|is_distributed|
    names|align_|refine|rename|cuda$|type_as_sparse|storage|backward|^to$|retain_grad|requires_grad_|sparse|coalesce|crow|ccol|values|indices""", re.X)
#: Where an operator lives, by what its name begins with.
PLACES = {"linalg_": "torch.linalg.", "fft_": "torch.fft.", "special_": "torch.special."}
#: Arguments that are one of few words or a certain kind of tensor, by name.
NAMED = {"index": ["torch.tensor([1, 0])", "torch.zeros(3, 4, dtype=torch.int64)", "torch.tensor([0, 1, 1])"], "mask": ["t(3, 4) > 2"],
         "indices": ["torch.tensor([1, 0])"], "reduce": ["'sum'", "'amax'"], "UPLO": ["'L'"], "ord": ["2", "'fro'"],
         "mode": ["'reduced'", "0"], "indexing": ["'ij'"], "rounding_mode": ["'floor'"], "norm": ["'ortho'"], "side": ["'right'"],
         "equation": ["'ij,jk->ik'"], "driver": ["None"], "reduction": ["1"], "size": ["[3, 4]", "[12]", "[2]"],
         "sizes": ["[2, 2]", "[3, 1]"], "p": ["2", "0.5"], "dims": ["[0, 1]", "[1, 0]", "[1]"], "approximate": ["'none'"],
         "pivots": ["torch.tensor([1, 2, 3, 4]).int()"], "n": ["2"], "k": ["1"]}
#: Tensors that a base call is tried with: each line is one for every tensor argument in turn, the last one repeated.
TENSORS = [["t(3, 4)"], ["t(4, 4)"], ["t(3, 4)", "t(4, 3)"], ["t(5)"], ["t(3, 4)", "t(3, 4)", "t(4, 4)"], ["t(3, 4)", "t(4)"],
           ["t(3, 3)", "t(3, 4)", "t(4, 3)"], ["t(3)", "t(3, 4)", "t(4)"], ["t(2, 3, 4)", "t(2, 4, 3)"],
           ["t(2, 3, 3)", "t(2, 3, 4)", "t(2, 4, 3)"], ["t(3, 4).long()"], ["t(3, 4).bool()"], ["t(1, 2, 6)", "t(2, 2, 3)", "t(2)"],
           ["t(1, 2, 6, 6)", "t(2, 2, 3, 3)", "t(2)"], ["t(1, 2, 4, 4, 4)", "t(2, 2, 2, 2, 2)", "t(2)"], ["t(3, 4)", "t(3).long()", "t(4)"],
           ["t(3, 4)", "t(3, 4).long()", "t(3, 4)"], ["t(3, 4).long()", "t(5, 4)"], ["t(5, 4)", "torch.tensor([1, 0])"],
           ["t(4, 4) @ t(4, 4).t() + torch.eye(4)"], ["t(3, 4).to(torch.complex64)"], ["t(5).long()"], ["t(1)"], ["t()"]]
VALUES = {"int": ["1", "2", "0", "-1"], "float": ["0.5", "1.0", "2.0"], "bool": ["False", "True"], "Scalar": ["2", "1"],
          "str": ["'sum'", "'mean'"], "ScalarType": ["torch.float64"],
          "int[]": ["[1]", "[0]", "[1, 1]", "[2, 2]", "[1, 1, 1]", "[3, 4]", "1"], "float[]": ["[0.5]", "[2., 2.]"],
          "Scalar[]": ["[1, 2]"], "Tensor[]": ["[t(3, 4), t(3, 4)]", "[t(3, 4), t(4, 3)]", "[torch.tensor([1, 0])]"], "Generator": ["None"],
          "Device": ["'cpu'"], "Layout": ["torch.strided"], "MemoryFormat": ["torch.contiguous_format"], "complex": ["2j"],
          "bool[]": ["[True]"]}
ODD = {"Tensor": ["None", "2", "1.5", "'a'", "[1., 2.]", "t()", "t(0)", "t(1)", "t(5)", "t(2, 3, 4)", "t(4, 3).t()",
                  "t(3, 1).expand(3, 4)", "t(4, 4)", "t(0, 4)", "t(2, 0, 3)", "t(3, 4).long()", "t(3, 4).bool()", "t(3, 4).double()",
                  "t(3, 4).to(torch.complex64)", "t(3, 4).bfloat16()", "t(3, 4).half()", "t(3, 4).byte()", "t(3, 4).int()",
                  "torch.tensor([0, 7])", "torch.tensor([0, -1])", "t(5).long()",
                  "torch.tensor([[0, 1], [2, 2]])", "t(3, 4) - 4", "t(2, 3, 4, 5)", "t(3, 4, device='meta')"],
       "int": ["0", "-1", "-2", "-3", "2", "3", "5", "100", "1.5", "'a'", "None", "True", "t(1)", "torch.tensor(1)", "[1]",
               "torch.tensor(1.5)", "2j"],
       "float": ["0", "-1", "0.0", "float('nan')", "float('inf')", "'a'", "None", "True", "torch.tensor(0.5)", "1j", "[0.5]"],
       "bool": ["1", "0", "None", "'a'", "1.5", "t(1)", "torch.tensor(True)", "torch.tensor(1)"],
       "Scalar": ["2", "1.5", "-1", "0", "True", "2j", "float('nan')", "None", "'a'", "t()", "torch.tensor(2)", "t(2)", "[1]"],
       "str": ["'nonsense'", "None", "2", "'mean'", "'prod'", "b'sum'"],
       "ScalarType": ["torch.int64", "torch.complex64", "torch.bool", "torch.bfloat16",
                                                                                     "float", "None", "'float32'", "2"],
       "int[]": ["[]", "()", "0", "-1", "[-1]", "[0, 0]", "[0, -2]", "[5]", "[0, 1]", "[1, 0]", "None", "'a'", "[1.5]", "['a']", "[True]",
                 "1.5", "t(2)", "torch.tensor([1])", "[torch.tensor(1)]", "[2, 3]", "[-3]", "[1, 1, 1, 1]"],
       "float[]": ["[]", "[1]", "0.5", "['a']", "None", "[-1.]"], "Scalar[]": ["[]", "[1j]", "['a']", "None", "1"],
       "Tensor[]": ["[]", "()", "None", "t(3, 4)", "[t(3, 4)]", "[t(3, 4), None]", "[t(3, 4), 1]", "[t(3, 4), t(4)]", "[t(3, 4), t(2, 4)]",
                    "[t(3, 4).long(), t(3, 4)]", "[torch.tensor([0, 7])]", "[t(0), t(3, 4)]", "[t(), t()]",
                    "[torch.tensor([True, False, True])]", "'a'", "1"],
       "Generator": ["1", "'a'"], "Device": ["'nonsense'", "1.5", "torch.device('meta')"], "Layout": ["torch.sparse_coo", "1"],
       "MemoryFormat": ["torch.channels_last", "torch.preserve_format", "1", "'a'"], "complex": ["1"], "bool[]": ["[1]", "[]"]}
ODD_OUT = ["t(0)", "t(3, 4)", "t(3, 4).long()", "t(3, 4).to(torch.complex64)", "t(5, 5)", "t(3, 4).double()", "t(4, 3).t()", "1", "None",
           "(t(0), t(0))", "t(3, 4).requires_grad_()", "(t(0), t(0).long())", "t(1).expand(3, 4)"]


def kind(text):
    """The kind of value that a schema's type takes: one of VALUES' or 'Tensor'; None where none is known."""
    text = re.sub(r"\([a-z!]+\)", "", text).replace("SymInt", "int").rstrip("?")
    text = re.sub(r"\[\d+\]", "[]", text).replace("Tensor?[]", "Tensor[]")
    return text if text == "Tensor" or text in VALUES else None


def parameters(schema):
    """[(name, kind, positional, required, optional)] of a schema's text; None where a type is unknown."""
    inner, found, positional = schema[schema.index("(") + 1:schema.rindex(") ->")], [], True
    for part in re.split(r", (?![^\[]*\])", inner) if inner else ():
        if part == "*":
            positional = False
            continue
        declared, _, named = part.rpartition(" ")
        name, _, default = named.partition("=")
        if kind(declared) is None:
            return None
        found.append((name, kind(declared), positional, not default, "?" in declared, "!" in declared))
    return found


def written(target, method, chosen, dropped=(), more=""):
    """The text of a call: `chosen` is [(parameter, code)]."""
    args = [code if p[2] else f"{p[0]}={code}" for i, (p, code) in enumerate(chosen) if i not in dropped and not (method and i == 0)]
    args += [more] if more else []
    return f"({chosen[0][1]}).{target}({', '.join(args)})" if method else f"{target}({', '.join(args)})"


def bases(params):
    """Arguments to try, in turn, until torch takes them."""
    tried = []
    for tensors, variant in itertools.product(TENSORS, range(7)):
        row, seen = [], 0
        for p in params:
            pool = NAMED.get(p[0]) if p[1] != "Tensor" or p[0] in ("index", "mask", "indices", "pivots") else None
            if p[0] == "self" and p[1] == "Tensor" or pool is None and p[1] == "Tensor":
                row.append((p, tensors[min(seen, len(tensors) - 1)]))
                seen += 1
            else:
                pool = list(pool or ()) + VALUES.get(p[1], []) if p[1] != "Tensor" else pool
                row.append((p, pool[min(variant, len(pool) - 1)]))
        if row not in tried:
            tried.append(row)
    return tried


def changed(target, method, base, outs):
    """Codes of calls: the base, and each with one thing changed."""
    yield written(target, method, base)
    for i, (p, code) in enumerate(base):
        for odd in ODD[p[1]]:
            if odd != code and not (method and i == 0 and not odd.startswith(("t(", "torch.tensor"))):
                yield written(target, method, [*base[:i], (p, odd), *base[i + 1:]])
        if not (method and i == 0):
            yield written(target, method, base, (i,))
    yield written(target, method, base, more="1" if base[-1][0][2] else "*[1]") if base else f"{target}(1)"
    yield written(target, method, base, more="nonsense=1")
    if method and base[0][0][0] == "self" and len(base) > 1 and base[1][0][2]:
        renamed = [base[0], ((base[1][0][0], base[1][0][1], False, True, False, False), base[1][1]),
                   *[((p[0], p[1], False, True, False, False), c)
                                                                                                      for p, c in base[2:]]]
        yield written(target, method, renamed)
    if outs and not method:
        for out in ODD_OUT:
            yield written(target, method, base, more=f"out={out}")


def serve():
    """Answer each line: a list of codes, or a request for signatures, or a list of candidates of which the first that works is named."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import warnings

    import torch
    warnings.simplefilter("ignore")

    def t(*shape, **more):
        return (torch.arange(torch.Size(shape).numel(), **more) * 7 % 11).reshape(shape) * 0.75

    def digest(r):
        if isinstance(r, torch.Tensor):
            if r.is_meta or r.layout != torch.strided:
                return [str(r.dtype), list(r.shape), str(r.device), str(r.layout)]
            values = torch.view_as_real(r.detach().resolve_conj()) if r.is_complex() else r.detach()
            return [str(r.dtype), list(r.shape), list(r.stride()) if r.numel() else [], values.double().flatten().tolist()[:400]]
        return [digest(y) for y in r] if isinstance(r, (tuple, list)) else re.sub(r"0x[0-9a-f]+", "0x", repr(r))

    def answer(code):
        torch.manual_seed(0)
        try:
            return {"result": digest(eval(code, {"t": t, "torch": torch, "F": torch.nn.functional}))}
        except Exception as error:
            return {"error": [type(error).__name__, str(error).split("\n")[0]]}

    def signatures():
        found = collections.defaultdict(list)
        for schema in map(str, torch._C._jit_get_all_schemas()):
            name = schema.split("(")[0].split(".")[0]
            if name.startswith("aten::"):
                found[name[6:]].append(schema)
        return found

    def reply(request):
        if isinstance(request, dict):
            return (signatures() if "signatures" in request
                    else next((i for i, c in enumerate(request["first"]) if "result" in answer(c)), None))
        return [answer(code) for code in request]

    print(json.dumps(str(torch.__version__)), file=channel, flush=True)
    for line in sys.stdin:
        print(json.dumps(reply(json.loads(line))), file=channel, flush=True)


def targets(name, params):
    """(how it is called, whether as a method) of an operator."""
    place = next((p for p in PLACES if name.startswith(p)), None)
    if place:
        yield PLACES[place] + name[len(place):], False
    else:
        yield "torch." + name, False
        yield "torch.nn.functional." + name, False
        if params and params[0][0] == "self" and params[0][1] == "Tensor":
            yield name, True


def same(mine, theirs, texts):
    """Whether two answers agree."""
    if "error" in mine or "error" in theirs:
        return mine.get("error", [0])[:1 + texts] == theirs.get("error", [1])[:1 + texts]
    return close(mine["result"], theirs["result"], 2e-2 if "bfloat16" in str(theirs) or "float16" in str(theirs) else 5e-5)


def main(argv=None):
    """The command; returns the exit code (1 where a call differs)."""
    parser = argparse.ArgumentParser(prog="python -m compat.signatures", description=__doc__.split("\n")[0])
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON", help="interpreter that has real torch")
    parser.add_argument("--runner", default=f"{shlex.quote(sys.executable)} -m torchshim", help="command that runs a script with torchshim")
    parser.add_argument("--only", default="", metavar="REGEX", help="operators whose name matches")
    parser.add_argument("--types", action="store_true", help="of errors compare the types alone")
    parser.add_argument("--show", type=int, default=5, help="how many differences of an operator to print")
    parser.add_argument("--sample", type=float, default=1.0, help="which part of the changed calls is made")
    parser.add_argument("--out", help="a file for all differences, as JSON")
    args = parser.parse_args(argv)
    if not args.torch:
        parser.error("real torch is needed: --torch PYTHON or TORCHSHIM_REAL_TORCH")
    commands = [[*command, str(ROOT / "compat" / "signatures.py"), "--serve"] for command in (shlex.split(args.runner), [args.torch])]
    both = [Child(command) for command in commands]
    version = [child.receive(300) for child in both][1]

    def ask(side, request):
        """The answer of one side; None where it died of the question."""
        try:
            return both[side].ask(json.dumps(request), 900)
        except RuntimeError:
            both[side].process.kill()
            both[side].close()
            both[side] = Child(commands[side])
            both[side].receive(300)

    def answers(side, codes):
        whole = ask(side, codes)
        return whole if whole is not None else [(ask(side, [c]) or [{"died": c}])[0] for c in codes]

    total, kept = 0, []
    try:
        for name, schemas in sorted(ask(1, {"signatures": 1}).items()):
            if SKIPPED.search(name) or not re.search(args.only, name):
                continue
            outs = any(re.search(r"!\) out\)", s) for s in schemas)
            codes = {}
            for schema in schemas:
                params = parameters(schema)
                if not params or any(p[5] and not p[2] for p in params):
                    continue
                full = [p for p in params if p[1] not in ("Generator", "Device", "Layout") and p[0] != "pin_memory"]
                for target, method in targets(name, full):
                    short = [p for p in full if p[3]] or full
                    for wanted in (full, short):
                        rows = bases(wanted)
                        first = ask(1, {"first": [written(target, method, row) for row in rows]}) if rows and wanted else None
                        if first is not None:
                            codes.update(dict.fromkeys(changed(target, method, rows[first], outs)))
                            break
            codes = [c for c in codes if zlib.crc32(c.encode()) < args.sample * 2 ** 32]
            mine, theirs = answers(0, codes), answers(1, codes)
            differing = [(c, m, t) for c, m, t in zip(codes, mine, theirs)
                         if "died" not in t and ("died" in m or not same(m, t, not args.types))]
            total += len(codes)
            kept += differing
            for code, m, t in differing[:args.show]:
                print(f"--- {code}\n    torch: {str(t)[:300]}\n    here:  {str(m)[:300]}")
    finally:
        for child in both:
            child.close()
        if args.out:
            pathlib.Path(args.out).write_text(json.dumps(kept), encoding="utf-8")
    print(f"{total - len(kept)} of {total} calls agree with torch {version}")
    return int(bool(kept))


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())
