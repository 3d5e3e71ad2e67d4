"""The training scripts of the benchmark: whole runs, and what a step takes in them.

A step's time is that of the last part of a run, from the end of one step to the end of the last one, by the number of steps between
them: what comes now and then (an evaluation, a new epoch) counts as often as it comes. `scripts/name` runs a script as it is, and
its second half counts; `scripts/name/warm` for so many steps that what pays is compiled before its last third, which counts. By itself
that takes thousands of steps, since a compile takes seconds and saves tenths of a millisecond; so it is told to be less patient.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from compat.bench import plan
from compat.processes import ROOT, environment

FOLDER = pathlib.Path(__file__).resolve().parent


def run_script(command, path, steps, env, part):
    """Run a training script; returns its seconds by the clock and of CPU time, those to the end of its first step, those of a step by the
    clock and of CPU time in the last `part` of its steps, how often something was compiled before and in these, and its peak memory."""
    start = time.perf_counter()
    extra = ["--steps", str(steps)] if steps else []
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([*command, str(FOLDER / "stamped.py"), str(path), *extra], cwd=ROOT, env=environment(env), text=True,
                                   stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        total = time.perf_counter() - start
        errors.seek(0)
        said = errors.read().strip().splitlines() or ["no output"]
    if process.returncode:
        raise RuntimeError(said[-1])
    stamps = json.loads(said[-1])
    first = min(int(len(stamps) * (1 - part)), len(stamps) - 2)
    (clock, cpu, before), (end, cpu_end, after) = stamps[first], stamps[-1]
    count = len(stamps) - 1 - first
    return {"total": total, "cpu": used.ru_utime + used.ru_stime, "cold": stamps[0][0] - start, "step": (end - clock) / count * 1e6,
            "cpu_step": (cpu_end - cpu) / count * 1e6, "compiles": before, "late": after - before,
            "mb": used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)}


def measure(args, contenders, surroundings, name, warm):
    """{contender: its runs}, in turn; {} where torchshim's failed. What the others take in the last part does not depend on warmth."""
    runs, part = {}, 1 / 3 if warm else 1 / 2
    with tempfile.TemporaryDirectory() as cache:
        for i in range(args.script_rounds):
            for contender, (command, _) in contenders.items():
                path = FOLDER / "jax_steps" / f"{name}.py" if contender == "jax" else FOLDER.parent / "scripts" / f"{name}.py"
                if not path.exists():
                    continue                    # few have a hand-written counterpart
                steps = args.script_steps or (plan.SCRIPTS[name] if warm else None)
                if steps and contender != "torchshim":
                    steps = min(steps, plan.OTHERS_STEPS)
                env = surroundings(args, os.path.join(cache, f"{contender}{i}"))
                if warm:
                    env["TORCHSHIM_PATIENCE"] = str(plan.PATIENCE)
                try:
                    run = run_script(command, path, steps, env, part)
                except (RuntimeError, ValueError) as failed:
                    print(f"scripts/{name}: {contender} failed: {failed}")
                    if contender == "torchshim":
                        return {}
                    continue
                runs.setdefault(contender, []).append(run)
    return runs


def bench(args, contenders, surroundings, name, warm, row):
    """One line of the table, and one below it; returns (whether the aims are met, a step's time over torch's or None)."""
    runs = measure(args, contenders, surroundings, name, warm)
    if not runs:
        return False, None

    def median(contender, key):
        return statistics.median(r[key] for r in runs[contender]) if contender in runs else None

    def over(other, key):
        pairs = list(zip(runs["torchshim"], runs.get(other, [])))
        return statistics.median(a[key] / b[key] for a, b in pairs) if pairs else None

    def number(value, form):
        return "-" if value is None else format(value, form)

    aims = {key: aim for key, aim in plan.SCRIPT_AIMS.items() if (key == "step") is warm}
    good = all(over("torch", key) is None or over("torch", key) <= aim for key, aim in aims.items())
    row((f"scripts/{name}{'/warm' if warm else ''}", *(number(median(c, "step"), ".0f") for c in ("torchshim", "torch", "jax")),
         number(over("torch", "step"), ".2f"), "-", number(over("jax", "step"), ".2f"), "-",
         max(r["compiles"] + r["late"] for r in runs["torchshim"]), max(r["late"] for r in runs["torchshim"]), "-",
         number(median("torchshim", "mb"), ".0f"), number(median("torch", "mb"), ".0f"),
         *(number(median(c, "cold"), ".2f") for c in ("torchshim", "torch", "jax")), "yes" if good else "NO"))
    totals = "" if warm else "from start to end: " + ", ".join(
        f"{c} {median(c, 'total'):.2f} s (CPU {median(c, 'cpu'):.2f})" for c in runs) + "; "
    keys = {"step": "a step", "cpu_step": "its CPU time", **({} if warm else {"total": "all", "cpu": "its CPU time", "mb": "peak memory"})}
    print(f"    {totals}÷torch: " + ", ".join(f"{said} {number(over('torch', key), '.2f')}" for key, said in keys.items()), flush=True)
    return good, over("torch", "step")


def geometric_mean(values):
    """Of what is known among the values; None of nothing."""
    known = [v for v in values if v is not None]
    return statistics.geometric_mean(known) if known else None
