"""Anomaly mode: which line of the forward pass a failing backward belongs to, and where nan comes from.

While the mode is on, each node is noted when it is made, with the place where the program is. Outside of the mode none of this
costs anything.
"""
from __future__ import annotations

import sys
import traceback

from ..engine import context, warn
from ..engine.site import is_ours
from ..tensor.core.graph import around_nodes

on = False                 # for all threads, as in torch
check_nan = True
MOST = 100_000             # places remembered

_places: dict = {}
_parents: dict = {}        # number of a node that a backward made -> that of the node whose backward it was, and its name


def note(node):
    """Remember where a node was made, and by whose backward."""
    if len(_places) >= MOST:
        del _places[next(iter(_places))]
        _parents.pop(next(iter(_parents), None), None)
    _places[node._ts_seq] = _stack()
    parent = context.modes.get("backward of")
    if parent is not None:
        _parents[node._ts_seq] = parent


def _noting(make_node):
    def make(*call):
        node = make_node(*call)
        if node is not None:
            note(node)
        return node
    return make


def _stack():
    frames = []
    for frame, line in traceback.walk_stack(None):
        if not is_ours(frame) and not frame.f_code.co_filename.startswith("<frozen"):
            frames.append((frame.f_code.co_filename, line, frame.f_code.co_name))
    return frames[::-1]


def switch(now, nan=True):
    """Turn the mode on or off."""
    global on, check_nan
    for value, position in ((now, "'enabled' (position 1)"), (nan, "'check_nan' (position 2)")):
        if value.__class__ is not bool:
            from ..tensor.api.parameters import type_name
            raise TypeError(f"set_anomaly_enabled(): argument {position} must be bool, not {type_name(value)}")
    on, check_nan = now, nan
    around_nodes("anomaly mode", _noting if on else None)
    if not on:
        _places.clear()
        _parents.clear()


def watched(apply):
    """`apply(node, box, mode)` that reports the forward line of a node that fails or makes nan."""
    def run(node, box, mode, part=None):
        try:
            with context.mode("backward of", (node._ts_seq, node.name())):
                grads = apply(node, box, mode, part)
        except Exception:
            _report(node)
            raise
        if check_nan:
            for k, g in enumerate(grads):
                if g is not None and _has_nan(mode.tensor(g)):
                    _report(node)
                    raise RuntimeError(f"Function '{node.name()}' returned nan values in its {k}th output.")
        return grads
    return run


def _has_nan(t):
    before, context.grad = context.grad, False
    try:
        return bool((t != t).any())
    finally:
        context.grad = before


def _report(node):
    place = _places.get(node._ts_seq) or _places.get(getattr(getattr(node, "fn", None), "_ts_seq", None))     # fn: a write through a view
    if place is None:
        _say(f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during forward pass "
             "for more information.")
        return
    _say(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{_lines(place)}")
    parent = _parents.get(node._ts_seq)
    while parent is not None:
        seq, name = parent
        if seq not in _places:
            _say(f"\n\nPrevious calculation was induced by {name}. No forward pass information available. Enable detect anomaly during "
                 "forward pass for more information.")
            return
        _say(f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that induced the previous calculation:\n"
             f"{_lines(_places[seq])}")
        parent = _parents.get(seq)


def _lines(place):
    return "".join(traceback.format_list([traceback.FrameSummary(*p) for p in place]))


def _say(text):
    """A warning; where warnings are errors it is printed, since another error is on its way."""
    try:
        warn(text)
    except Warning as error:
        error.__context__ = None
        sys.excepthook(type(error), error, None)


def set_anomaly_enabled(enabled, check_nan=True):
    """Switch anomaly mode on or off."""
    switch(enabled, check_nan)


class set_detect_anomaly:
    """Switch anomaly mode on or off: takes effect at once, and is undone at the end of a `with` block."""

    def __init__(self, mode, check_nan=True):
        self.before = on, globals()["check_nan"]
        switch(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        switch(*self.before)


class detect_anomaly:
    """A block in which backward reports the line of the forward pass that it fails at, and raises where it makes nan."""

    def __init__(self, check_nan=True):
        self.nan, self.before = check_nan, (on, globals()["check_nan"])
        warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.")

    def __enter__(self):
        self.before = on, check_nan
        switch(True, self.nan)

    def __exit__(self, *exc):
        switch(*self.before)


def is_anomaly_enabled():
    """Whether anomaly mode is on."""
    return on


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode looks for nan."""
    return check_nan
