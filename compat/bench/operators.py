"""The sweep over operators: each at its sizes, forward and backward, against torch eager in one run."""
import json
import math
import re

from compat.bench import plan
from compat.processes import Child

VARIANTS = ("forward", "backward")


class Sweep:
    """Two contenders that stay alive over all cases, timed in turn."""

    def __init__(self, commands, env, args):
        self.commands, self.env, self.args, self.children = commands, env, args, {}

    def ask(self, name, **request):
        if name not in self.children:
            self.children[name] = Child(self.commands[name], self.env(name))
        try:
            answer = self.children[name].ask(json.dumps(request), 300)
        except RuntimeError:
            self.children.pop(name).close()
            raise
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def case(self, variant, family, name, size):
        """{contender: seconds of a step in its best block}, or None for what is not differentiated."""
        looks, steps, best = {}, {}, {}
        clock = "cpu" if self.args.threads == 1 else "seconds"      # what other work on the machine disturbs least
        for who in self.commands:
            answer = self.ask(who, do="setup", file="operators", variant=variant, options={"family": family, "name": name, "size": size})
            if answer["look"] is None:
                return None
            looks[who] = answer["look"]
            if who == "torchshim":
                self.ask(who, do="settle", seconds=self.args.operator_settle)
            seconds = self.ask(who, do="time", steps=1)[clock]
            if seconds < self.args.operator_block:             # the first may have met other work
                seconds = min(seconds, self.ask(who, do="time", steps=3)[clock] / 3)
            steps[who] = max(1, min(5000, round(self.args.operator_block / max(seconds, 1e-6))))
        for _ in range(self.args.operator_rounds):
            for who in self.commands:
                seconds = self.ask(who, do="time", steps=steps[who])[clock] / steps[who]
                best[who] = min(seconds, best.get(who, math.inf))
        if family != "random" and len({round(x, 2) for x in looks.values()}) > 1 and not math.isclose(*looks.values(), rel_tol=1e-2):
            print(f"    operators/{family}/{name}/{size}/{variant}: the values differ: {looks}")
        return best

    def close(self):
        for child in self.children.values():
            child.close()


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def bench(args, commands, env):
    """Times what matches `--only`; prints a line each, then the families and the worst. Returns False where an aim is missed."""
    ratios, good = {}, True
    sweep = Sweep(commands, env, args)
    try:
        for family, name, size in sweep.ask("torchshim", do="operators")["cases"]:
            for variant in VARIANTS:
                case = f"operators/{family}/{name}/{size}/{variant}"
                if not re.search(args.only, case):
                    continue
                try:
                    best = sweep.case(variant, family, name, size)
                except RuntimeError as failed:
                    print(f"{case}: failed: {failed}", flush=True)
                    good = False
                    continue
                if best is None:
                    continue
                line = f"{case:56}" + "".join(f" {who} {seconds * 1e6:10.1f} µs" for who, seconds in best.items())
                if "torch" in best:
                    ratios[family, name, size, variant] = value = best["torchshim"] / best["torch"]
                    line += f"   {value:6.2f}"
                print(line, flush=True)
    finally:
        sweep.close()
    return summary(ratios) and good


def summary(ratios):
    """Geometric means over all, the families, the sizes; the worst."""
    if not ratios:
        return True
    families = {}
    for (family, *_), value in ratios.items():
        families.setdefault(family, []).append(value)
    print("family: geometric mean, worst")
    for family, values in sorted(families.items(), key=lambda item: -mean(item[1])):
        print(f"    {family:14} {mean(values):5.2f} {max(values):6.2f}   ({len(values)} timings)")
    for at, what in ((2, "size"), (3, "pass")):
        for kind in dict.fromkeys(key[at] for key in ratios if at == 3 or key[2] in plan.SIZES):
            print(f"{what} {kind}: {mean([v for k, v in ratios.items() if k[at] == kind]):.2f}")
    worst = sorted(ratios.items(), key=lambda item: -item[1])[:20]
    print("worst: " + ", ".join(f"{'/'.join(key)} {value:.1f}" for key, value in worst))
    everything = mean(list(ratios.values()))
    print(f"operators: geometric mean {everything:.2f} of {len(ratios)} timings (aim {plan.OPERATOR_AIM}; a family {plan.FAMILY_AIM})")
    return everything <= plan.OPERATOR_AIM and all(mean(v) <= plan.FAMILY_AIM for v in families.values())
