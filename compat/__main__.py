"""`python -m compat`: run the conformance programs and report by area."""
import argparse
import os
import shlex
import sys
import time

from compat import suite
from compat.processes import run_programs


def arguments(argv):
    parser = argparse.ArgumentParser(prog="python -m compat", description="Run the conformance programs and report by area.")
    parser.add_argument("--only", metavar="REGEX", help="programs whose area/name matches")
    parser.add_argument("--runner", default=f"{shlex.quote(sys.executable)} -m torchshim",
                        help="command that runs a script with the torch to be checked (default: python -m torchshim)")
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON",
                        help="interpreter that has real torch (or the variable TORCHSHIM_REAL_TORCH)")
    parser.add_argument("--live", action="store_true", help="compare with real torch now, besides the stored results")
    parser.add_argument("--record", action="store_true", help="write the stored results anew from real torch")
    parser.add_argument("--jobs", type=int, default=1, help="driver processes side by side")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one program")
    parser.add_argument("--rtol", type=float, default=0.0, help="tolerance for printed numbers (accelerators); 0: the text is the same")
    parser.add_argument("--brief", action="store_true", help="no detail for failures")
    parser.add_argument("--list", action="store_true", help="print the names of the programs")
    args = parser.parse_args(argv)
    if (args.live or args.record) and not args.torch:
        parser.error("--live and --record need real torch: --torch PYTHON or TORCHSHIM_REAL_TORCH")
    return args


def report(title, names, results, wanted, rtol, brief):
    """Print passed/total by area and the first differing line of each failure; returns the number of failures."""
    failures, areas = [], {}
    for name in names:
        want = wanted(name)
        if want is None:
            difference = (0, "(nothing stored: run --record)", "")
        else:
            difference = suite.compare(results[name], want, rtol)
        passed, total = areas.get(name.split("/")[0], (0, 0))
        areas[name.split("/")[0]] = passed + (difference is None), total + 1
        if difference:
            failures.append((name, difference))
    if not brief:
        for name, (line, want, got) in failures:
            print(f"--- {name}, line {line}\n    expected: {want}\n    got:      {got}")
    print(f"{title}")
    for area, (passed, total) in sorted(areas.items()):
        print(f"  {area:<20} {passed:>3} of {total:<3}{'' if passed == total else '  <--'}")
    print(f"  {'all':<20} {len(names) - len(failures):>3} of {len(names)}")
    return len(failures)


def main(argv=None):
    """The command; returns the exit code (1 where a program differs)."""
    args = arguments(argv)
    names = suite.programs_list(args.only)
    if args.list:
        print("\n".join(names))
        return 0
    if not names:
        print(f"no program matches {args.only!r}")
        return 2
    options = {"jobs": args.jobs, "timeout": args.timeout}
    if args.record:
        results, version = run_programs([args.torch], names, **options)
        died = [n for n in names if results[n].startswith("the program died")]
        for name in died:
            print(f"{name}: {results.pop(name)}")
        suite.write_expected(results, version)
        print(f"recorded {len(results)} programs from torch {version}")
        return bool(died)
    start = time.perf_counter()
    results, version = run_programs(shlex.split(args.runner), names, **options)
    seconds = time.perf_counter() - start
    failures = report(f"torch {version} by `{args.runner}` against the stored results ({seconds:.1f} s)",
                      names, results, suite.expected, args.rtol, args.brief)
    if args.live:
        real, real_version = run_programs([args.torch], names, **options)
        failures += report(f"against real torch {real_version}, live", names, results, real.get, args.rtol, args.brief)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
