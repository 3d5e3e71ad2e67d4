"""The line on stderr by which the benchmark reads a script's figures."""
import resource
import statistics
import sys


def report(seconds):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"median {statistics.median(seconds) * 1e3:.3f} ms a step, peak {peak:.0f} MB", file=sys.stderr)
