"""Passes in their order, repeated until nothing changes."""
from __future__ import annotations

import functools
import inspect
import logging

from .... import nn
from .pass_base import PassResult

__all__ = ["PassManager", "inplace_wrapper", "pass_result_wrapper", "this_before_that_pass_constraint"]
_log = logging.getLogger(__name__)


def pass_result_wrapper(fn):
    """A function on modules as one that returns a PassResult, unless it says that it does."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)
    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


inplace_wrapper = pass_result_wrapper


def this_before_that_pass_constraint(this, that):
    """A constraint on two passes: not `that` before `this`."""
    return lambda a, b: a != that or b != this


class PassManager:
    """Runs passes on a module. steps: how often at most; constraints: functions (earlier pass, later pass) that must be true."""

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False):
        self.passes, self.constraints, self.steps = passes or [], constraints or [], steps or 1
        self.run_checks_after_each_pass, self.suppress_check_failures = run_checks_after_each_pass, suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        """Add one at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """RuntimeError where the order breaks one."""
        if self._validated:
            return
        for constraint in self.constraints:
            for k, a in enumerate(self.passes):
                for j, b in enumerate(self.passes[k + 1:]):
                    if not constraint(a, b):
                        raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {k} and {b} "
                                           f"at index{k + 1 + j} in pass list.")
        self._validated = True

    def add_checks(self, check):
        """Have a function look at the module after the passes. TypeError for one of more than a module."""
        parameters = list(inspect.signature(check).parameters.values())
        if len(parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module):
        """What must hold after the passes."""

    def __call__(self, module):
        self.validate_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            again = False
            for k, fn in enumerate(self.passes):
                name = fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
                _log.debug("Running pass '%s'", name)
                try:
                    result = fn(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(f"The result of the pass {name} should be type PassResult.Please wrap it with "
                                        "pass_result_wrapper()")
                    module, again = result.graph_module, again or result.modified
                    if isinstance(module, nn.Module) and hasattr(module, "recompile"):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as e:
                    before = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:k]]
                    raise Exception(f"An error occurred when running the '{name}' pass after the following passes: {before}") from e
            changed = changed or again
            if not again:
                break
        return PassResult(module, changed)
