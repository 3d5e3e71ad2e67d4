"""One contender of the benchmark in a process of its own, driven over pipes.

Run as a script: by `python -m torchshim`, by a Python with real torch, or (with the argument `jax`) by
plain Python for the hand-written steps. Requests and answers are JSON lines.
"""
import importlib
import json
import os
import pathlib
import resource
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


class Contender:
    """A program set up in this process."""

    def __init__(self, folder):
        sys.path.insert(0, str(HERE / folder))
        self.in_jax = folder == "jax_steps"
        self.xla = 0
        self.step = self.look = None

    def watch(self):
        # XLA's own count of compiles, beside the library's: it also sees the small programs of single ops.
        jax = sys.modules.get("jax")
        if jax is None:
            return

        def on_event(name, seconds, **_):
            if name.endswith("backend_compile_duration"):
                self.xla += 1

        jax.monitoring.register_event_duration_secs_listener(on_event)

    def compiles(self):
        shim = sys.modules.get("torchshim")
        return shim.stats()["compiles"] if shim else 0

    def setup(self, file, variant, options, device="cpu"):
        if device != "cpu" and not self.in_jax:
            importlib.import_module("torch").set_default_device(device)
        program = importlib.import_module(file)
        self.watch()
        self.step, self.look = program.setup(variant, **options)
        if self.step is None:                  # the program has no such variant
            return {"look": None}
        self.step()
        return {"look": self.look()}

    def operators(self):
        """What the sweep over operators times."""
        return {"cases": [(*key, size) for key, sizes in importlib.import_module("operators").CASES.items() for size in sizes]}

    def count(self, steps):
        """Steps one at a time; the numbers of compiles up to and including each."""
        library, xla = [], []
        for _ in range(steps):
            self.step()
            library.append(self.compiles())
            xla.append(self.xla)
        return {"library": library, "xla": xla, "look": self.look()}

    def settle(self, seconds):
        """Steps until for twice as long as the last compile took to come, or for so many seconds, nothing was compiled."""
        start = time.perf_counter()
        last, known = 0.0, self.compiles()
        before = known
        while (now := time.perf_counter() - start) < max(seconds, 2 * last):
            self.step()
            if self.compiles() != known:
                last, known = now, self.compiles()
        return {"settled": known - before}

    def time(self, steps):
        """Seconds for a block of steps that ends in a look, by the clock and of CPU time, and the compiles within its steps."""
        before, xla = self.compiles(), self.xla
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            self.step()
        during, xla = self.compiles() - before, self.xla - xla
        self.look()
        return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "compiles": during, "xla": xla}

    def memory(self):
        """Peak resident size in MB."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"mb": peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)}

    def cost(self, file):
        return importlib.import_module(file).cost()


def serve():
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    contender = Contender("jax_steps" if sys.argv[1:] == ["jax"] else "programs")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(contender, request.pop("do"))(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
        channel.write(json.dumps(answer) + "\n")
        channel.flush()


serve()
