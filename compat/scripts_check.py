"""`python -m compat.scripts_check`: the training scripts under torchshim and real torch, loss by loss.

Every number printed after the word `loss` is compared: they must agree to 1e-4 over the steps that a script takes by itself.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

from compat.processes import ROOT, environment

TOLERANCE = 1e-4
SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"


def run(command, name, steps, seed):
    """What the script printed, and the seconds it took."""
    start = time.perf_counter()
    done = subprocess.run([*command, str(SCRIPTS / f"{name}.py"), *(["--steps", str(steps)] if steps else []), "--seed", str(seed)],
                          cwd=ROOT, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    return done.stdout, time.perf_counter() - start


def losses(text):
    """The numbers after the word `loss`, in order."""
    return [float(v) for v in re.findall(r"loss (\S+)", text)]


def difference(ours, theirs):
    """The largest relative difference and where it is; infinite where the counts differ."""
    if len(ours) != len(theirs) or not ours:
        return float("inf"), min(len(ours), len(theirs))
    return max((abs(a - b) / abs(b) if a == a else float("inf"), i) for i, (a, b) in enumerate(zip(ours, theirs)))


def main(argv=None):
    """The command; returns 1 where the losses differ."""
    parser = argparse.ArgumentParser(prog="python -m compat.scripts_check", description=__doc__.split("\n")[0])
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON",
                        help="interpreter that has real torch (or the variable TORCHSHIM_REAL_TORCH)")
    parser.add_argument("--runner", default=f"{shlex.quote(sys.executable)} -m torchshim")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--steps", type=int, help="instead of a script's own number")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    if not args.torch:
        parser.error("real torch is needed: --torch PYTHON or TORCHSHIM_REAL_TORCH")
    good = True
    for name in sorted(path.stem for path in SCRIPTS.glob("*.py")):
        if not re.search(args.only, name):
            continue
        try:
            theirs, their_seconds = run([args.torch], name, args.steps, args.seed)
            ours, our_seconds = run(shlex.split(args.runner), name, args.steps, args.seed)
        except RuntimeError as failed:
            print(f"{name}: {failed}")
            good = False
            continue
        worst, at = difference(losses(ours), losses(theirs))
        same = sum(a == b for a, b in zip(ours.splitlines(), theirs.splitlines()))
        good &= worst <= TOLERANCE
        print(f"{name}: {len(losses(theirs))} losses, largest relative difference {worst:.1e} (number {at + 1}; at most {TOLERANCE:g}) "
              f"{'yes' if worst <= TOLERANCE else 'NO'}; {same} of {len(theirs.splitlines())} lines the same; {our_seconds:.1f} s, torch "
              f"{their_seconds:.1f} s")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
