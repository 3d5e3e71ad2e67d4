"""`python -m compat.bench`: torchshim, torch eager and hand-written jax.jit steps, timed in turn.

Each program and variant gets one process per contender; they take turns in rounds (A B C A B C ...), one
running at a time, all with the same threads (two). A ratio is the median over rounds of the ratio within the round.
"""
import argparse
import compileall
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from compat.bench import operators, plan, scripts
from compat.processes import Child, environment, ROOT

WORKER = str(pathlib.Path(__file__).resolve().parent / "worker.py")
COUNTED = 41            # steps watched one by one for compiles: four evaluations of the variant "eval"


def arguments(argv):
    parser = argparse.ArgumentParser(prog="python -m compat.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="REGEX", default="",
                        help="programs (name/variant, scripts/name, scripts/name/warm, whole/name, operators/family/name/size/pass, record, "
                             "changing, shapes, import) that match")
    parser.add_argument("--variants", default=None, help="only these variants, comma separated (plain,keep,item_after,item_before,lr,eval)")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--block", type=float, default=0.1, help="seconds of one contender's turn")
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON",
                        help="interpreter that has real torch (or the variable TORCHSHIM_REAL_TORCH); without it there is no such column")
    parser.add_argument("--runner", help="command that runs a script with the torch to be timed (default: PYTHON -m torchshim)")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torchshim and jax")
    parser.add_argument("--settle", type=float, default=8, help="seconds of steps before timing, in which what pays is compiled")
    parser.add_argument("--threads", type=int, default=2, help="threads and cores of each contender (1 on a machine with other work on it)")
    parser.add_argument("--script-rounds", type=int, default=3)
    parser.add_argument("--script-steps", type=int, help="instead of a script's own number")
    parser.add_argument("--operator-settle", type=float, default=0.3, help="the same for one operator of the sweep")
    parser.add_argument("--operator-block", type=float, default=0.015, help="seconds of one contender's turn there; at least one step")
    parser.add_argument("--operator-rounds", type=int, default=4)
    parser.add_argument("--device", default="cpu",
                        help="where torch's and torchshim's programs run, as cuda (JAX's run where JAX runs by default)")
    parser.add_argument("--tier", choices=("compiled", "operators"),
                        help="keep torchshim to one tier: what steps cost once compiled (--only scripts/ --tier compiled), or never")
    parser.add_argument("--warm-cache", action="store_true",
                        help="keep JAX's persistent compilation cache (cold time then means a second run)")
    return parser.parse_args(argv)


def contenders(args):
    """Name: (command prefix that runs a Python script, arguments of the worker)."""
    result = {"torchshim": (shlex.split(args.runner) if args.runner else [args.python, "-m", "torchshim"], [])}
    if args.torch:
        result["torch"] = ([args.torch], [])
    result["jax"] = ([args.python], ["jax"])
    return result


def surroundings(args, folder):
    """Environment of a contender: its threads, and a compilation cache of its own that starts empty."""
    env = {"OMP_NUM_THREADS": str(args.threads), "MKL_NUM_THREADS": str(args.threads), "PYTHONHASHSEED": "0"}
    if args.tier:
        env["TORCHSHIM_TIER"] = args.tier
    if not args.warm_cache:
        env["JAX_COMPILATION_CACHE_DIR"] = env["XDG_CACHE_HOME"] = folder
    return env


def pin(threads):
    """Keep this process and its children on as many cores as threads, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def bench_program(args, file, options, variant):
    """{contender: figures} for one program and variant."""
    children, figures, steps = {}, {}, {}

    def ask(name, **request):
        answer = children[name].ask(json.dumps(request), 300)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, (command, extra) in contenders(args).items():
                if name == "jax" and not (pathlib.Path(WORKER).parent / "jax_steps" / f"{file}.py").exists():
                    continue                    # not every program has a hand-written counterpart
                figures[name] = {"times": []}
                try:
                    start = time.perf_counter()
                    children[name] = Child([*command, WORKER, *extra], surroundings(args, os.path.join(folder, name)))
                    ask(name, do="setup", file=file, variant=variant, options=options, device=args.device)
                    figures[name]["cold"] = time.perf_counter() - start
                    figures[name].update(ask(name, do="count", steps=COUNTED))
                    if name == "torchshim":
                        figures[name].update(ask(name, do="settle", seconds=args.settle))
                    figures[name]["after"] = figures[name]["xla_after"] = 0
                    seconds = min(ask(name, do="time", steps=3)["seconds"] / 3 for _ in range(3))
                    steps[name] = max(3, min(2000, round(args.block / seconds)))
                except RuntimeError as failed:
                    figures[name]["error"] = str(failed)
            running = [name for name in children if "error" not in figures[name]]
            for _ in range(args.rounds):
                for name in running:
                    answer = ask(name, do="time", steps=steps[name])
                    figures[name]["times"].append(answer["seconds"] / steps[name] * 1e6)
                    figures[name]["after"] += answer["compiles"]
                    figures[name]["xla_after"] += answer["xla"]
                    time.sleep(0.01)            # lets the last contender's spinning threads go to sleep
            for name in running:
                figures[name].update(ask(name, do="memory"))
        finally:
            for child in children.values():
                child.close()
    return figures


def ratio(figures, other):
    """Median over rounds of torchshim's time over the other's."""
    pairs = list(zip(figures["torchshim"]["times"], figures.get(other, {}).get("times", [])))
    return statistics.median(a / b for a, b in pairs) if pairs else None


def best(figures, other):
    """The ratio of the best rounds: what a machine with other work on it disturbs least."""
    times = figures.get(other, {}).get("times")
    return min(figures["torchshim"]["times"]) / min(times) if times else None


def number(value, form):
    return "-" if value is None else format(value, form)


HEADER = ("program", "torchshim µs", "torch µs", "jax µs", "÷torch", "best", "÷jax", "best", "compiles", "while timed", "xla (timed)",
          "peak MB", "torch MB", "cold s", "torch", "jax", "aim")
WIDTHS = (26, 12, 10, 10, 7, 5, 6, 5, 8, 12, 13, 8, 8, 7, 6, 6, 6)


def row(cells):
    print(" | ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(cells, WIDTHS))), flush=True)


def print_program(name, variant, figures):
    """One line of the table; returns False where an aim is missed."""
    ours = figures["torchshim"]
    for contender, f in figures.items():
        if "error" in f:
            print(f"{name}/{variant}: {contender} failed: {f['error']}")
    if "error" in ours:
        return False
    medians = {c: statistics.median(f["times"]) for c, f in figures.items() if f["times"]}
    to_torch, to_jax = ratio(figures, "torch"), ratio(figures, "jax")
    after, xla_after = ours["after"], ours["xla_after"]
    aims = plan.AIMS.get(name, (None, None))
    good = all(aim is None or got is None or got <= aim for got, aim in zip((to_torch, to_jax), aims)) and after == 0
    torch = figures.get("torch", {})
    row((f"{name}/{variant}", number(medians.get("torchshim"), ".0f"), number(medians.get("torch"), ".0f"),
         number(medians.get("jax"), ".0f"),
         number(to_torch, ".2f"), number(best(figures, "torch"), ".2f"), number(to_jax, ".2f"), number(best(figures, "jax"), ".2f"),
         ours["library"][-1] + ours["settled"] + ours["after"], after, f"{ours['xla'][-1] + ours['xla_after']} ({xla_after})",
         number(ours["mb"], ".0f"), number(torch.get("mb"), ".0f"), number(ours["cold"], ".2f"), number(torch.get("cold"), ".2f"),
         number(figures.get("jax", {}).get("cold"), ".2f"), "yes" if good else "NO"))
    if after:
        print(f"    compiled {after} times in the timed blocks")
    if "look" in torch and abs(torch["look"] - ours["look"]) > 1e-3 * max(1.0, abs(torch["look"])):
        print(f"    the values differ after {COUNTED + 1} steps: torch {torch['look']}, torchshim {ours['look']}")
        good = False
    return good


def bench_record(args):
    """Microseconds of one recorded `a + b` with gradient, and of a node in a backward that goes node by node."""
    results = {}
    names = [n for n in contenders(args) if n != "jax"]
    children = {n: Child([*contenders(args)[n][0], WORKER], surroundings(args, tempfile.gettempdir())) for n in names}
    try:
        for _ in range(max(3, args.rounds // 2)):
            for n in names:
                answer = children[n].ask(json.dumps({"do": "cost", "file": "record"}), 300)
                if "error" in answer:
                    print(f"record: {n} failed: {answer['error']}")
                    return False
                results.setdefault(n, []).append(answer)
    finally:
        for child in children.values():
            child.close()
    good = True
    for kind, text in (("add", "c = a + b"), ("chain", "c = c + b")):
        medians = {n: statistics.median(r[kind] for r in rs) for n, rs in results.items()}
        line = f"recording `{text}` with gradient: " + ", ".join(f"{n} {m:.2f} µs" for n, m in medians.items())
        if "torch" in medians:
            value = medians["torchshim"] / medians["torch"]
            line += f", ratio {value:.2f}" + (f" (aim {plan.RECORD_AIM})" if kind == "add" else "")
            good = good and (kind != "add" or value <= plan.RECORD_AIM)
        print(line, flush=True)
    for how in ("partial", "retain", "hooks"):
        line = f"backward node by node ({how}): "
        for n, rs in results.items():
            node, recorded = [statistics.median(r[f"node {kind}"] for r in rs) for kind in (how, "recorded")]
            line += f"{n} {node:.2f} µs, {node / recorded:.2f} × recording a link; "
            good = good and (n != "torchshim" or node / recorded <= plan.NODE_AIM)
        print(f"{line}aim {plan.NODE_AIM}", flush=True)
    return good


def bench_cost(args, file, aims):
    """Milliseconds of CPU time that a file's `cost` tells for each of its cases, in fresh processes, once each; `aims`: of each case, or
    one for all. "changing": calls whose integers change, or whose result's shape depends on data. "shapes": steps at new batch sizes."""
    figures, good = {}, True
    for name in [n for n in contenders(args) if n != "jax"]:
        child = Child([*contenders(args)[name][0], WORKER], surroundings(args, tempfile.gettempdir()))
        try:
            figures[name] = child.ask(json.dumps({"do": "cost", "file": file}), 300)
        finally:
            child.close()
        if "error" in figures[name]:
            print(f"{file}: {name} failed: {figures[name]['error']}")
            return False
    for case, value in figures["torchshim"].items():
        aim = aims[case] if isinstance(aims, dict) else aims
        others = "".join(f", {n} {f[case]:.3f} ms" for n, f in figures.items() if n != "torchshim")
        print(f"{file}/{case}: torchshim {value:.3f} ms{others} (aim {aim})", flush=True)
        good &= value <= aim
    return good


def bench_import(args):
    """Seconds of `import`, as whole processes in turn."""
    commands = {"torchshim": [args.python, "-c", "import torchshim"], "jax": [args.python, "-c", "import jax"],
                "nothing": [args.python, "-c", "pass"]}
    if args.torch:
        commands["torch"] = [args.torch, "-c", "import torch"]
    times = {n: [] for n in commands}
    for _ in range(args.rounds):
        for n, command in commands.items():
            start = time.perf_counter()
            done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
            times[n].append(time.perf_counter() - start)
            if done.returncode:
                print(f"import: {n} failed: {done.stderr.strip().splitlines()[-1]}")
                return False
    value = statistics.median(a / b for a, b in zip(times["torchshim"], times["jax"]))
    print("import: " + ", ".join(f"{n} {statistics.median(t):.2f} s" for n, t in times.items()) + f"; torchshim ÷ jax {value:.2f} (aim "
          f"{plan.IMPORT_AIM})", flush=True)
    return value <= plan.IMPORT_AIM


def bench_scripts(args):
    """The complete training scripts that are asked for, as they are and once warm."""
    good = True
    for warm, aim in ((False, None), (True, plan.SCRIPTS_AIM)):
        ratios = []
        for name in plan.SCRIPTS:
            if re.search(args.only, f"scripts/{name}{'/warm' if warm else ''}"):
                met, value = scripts.bench(args, contenders(args), surroundings, name, warm, row)
                good &= met
                ratios.append(value)
        mean = scripts.geometric_mean(ratios)
        if mean is not None:
            print(f"a step of {len(ratios)} scripts{' once warm' if warm else ''}: {mean:.2f} × torch's in the geometric mean"
                  + (f" (aim {aim})" if aim else ""), flush=True)
            good &= aim is None or mean <= aim
    return good


def run_whole(command, path, env):
    """Run a script; returns its seconds by the clock and of CPU time, its children's with it."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([*command, str(path)], cwd=ROOT, env=environment(env), text=True, stdout=subprocess.DEVNULL,
                                   stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError((errors.read().strip().splitlines() or ["no output"])[-1])
    return time.perf_counter() - start, used.ru_utime + used.ru_stime


def bench_whole(args, path):
    """A script from start to end with empty caches, by torchshim and torch in turn; what counts is the CPU time."""
    runs, commands = {}, {n: c for n, (c, _) in contenders(args).items() if n != "jax"}
    with tempfile.TemporaryDirectory() as cache:
        for i in range(args.script_rounds):
            for name, command in commands.items():
                try:
                    runs.setdefault(name, []).append(run_whole(command, path, surroundings(args, os.path.join(cache, f"{name}{i}"))))
                except RuntimeError as failed:
                    print(f"whole/{path.stem}: {name} failed: {failed}")
                    return False
    aim = plan.VARIETY_AIM if path.stem == "variety" else plan.WHOLE_AIM
    medians = {n: [statistics.median(column) for column in zip(*rs)] for n, rs in runs.items()}
    text = ", ".join(f"{n} {clock:.2f} s (CPU {cpu:.2f})" for n, (clock, cpu) in medians.items())
    wall, value = ([statistics.median(a[k] / b[k] for a, b in zip(runs["torchshim"], runs["torch"])) for k in (0, 1)] if "torch" in runs
                   else (None, None))
    print(f"whole/{path.stem}: {text}" + (f", ratio {wall:.2f} (CPU {value:.2f}, aim {aim})" if value else ""), flush=True)
    return value is None or value <= aim


def bench_operators(args):
    """The sweep over operators (only when asked for: nearly nine hundred timings of half a second to one second each)."""
    with tempfile.TemporaryDirectory() as folder:
        commands = {name: [*command, WORKER] for name, (command, _) in contenders(args).items() if name != "jax"}
        return operators.bench(args, commands, lambda name: surroundings(args, os.path.join(folder, name)))


def main(argv=None):
    """The command; returns 1 where an aim is missed or a program fails."""
    args = arguments(argv)
    pin(args.threads)
    compileall.compile_dir(ROOT / "torchshim", quiet=1)        # as an installed package is, whatever the environment says of bytecode
    good = True
    if re.search(args.only, "import"):
        good &= bench_import(args)
    if re.search(args.only, "record"):
        good &= bench_record(args)
    for file, aims in plan.COSTS.items():
        if re.search(args.only, file):
            good &= bench_cost(args, file, aims)
    wanted = args.variants.split(",") if args.variants else None
    row(HEADER)
    for name, (file, options, variants) in plan.PROGRAMS.items():
        for variant in variants:
            if re.search(args.only, f"{name}/{variant}") and (wanted is None or variant in wanted):
                good &= print_program(name, variant, bench_program(args, file, options, variant))
    if re.search("operators", args.only):
        good &= bench_operators(args)
    for path in sorted((pathlib.Path(__file__).resolve().parent / "whole").glob("*.py")):
        if re.search(args.only, f"whole/{path.stem}"):
            good &= bench_whole(args, path)
    good &= bench_scripts(args)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
