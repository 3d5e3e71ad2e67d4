"""Protects where loops that nobody looks into are cut: between two turns, at the same places whatever they began with, and nothing else."""
import random

import pytest

import torchshim as torch
from torchshim import engine
from torchshim.engine.record import trie
from torchshim.engine.record.loop import LATE

SWEEP = 22                 # operators in a sweep of `plate`


def plate(look=False):
    """Sweeps over a plate, as a function of how many; `look`: each is computed before the next."""
    torch.manual_seed(0)
    u = torch.rand(12, 12)
    engine.flush()

    def sweep(times):
        for _ in range(times):
            u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
            u[0] = u[1]
            u[-1] = u[-2]
            u[:, 0] = u[:, 1]
            u[:, -1] = u[:, -2]
            if look:
                u[0, 0].item()
        return u
    return sweep


def irregular(x, times):
    """What `times` operators make, each from the one before, that do not repeat themselves."""
    made = [x]
    for k in random.Random(0).choices(range(4), k=times):
        made.append((made[-1].sin, made[-1].cos, made[-1].exp, made[-1].neg)[k]())
    return made


def flushed(run):
    """Where the traces ended that `run` left behind it: (operators, inputs) of each."""
    ends, real = [], engine.context.executor.run_trace

    class Watched:
        def __getattr__(self, name):
            return getattr(executor, name)

        def run_trace(self, tr):
            ends.append((tr.end.n_ops, tr.end.n_inputs))
            return real(tr)
    executor = engine.context.executor
    engine.context.executor = Watched()
    try:
        run()
    finally:
        engine.context.executor = executor
    return ends


def test_a_loop_is_cut_after_its_last_write():
    sweep = plate()
    ends = flushed(lambda: sweep(100))
    assert set(ends) == {(12 * SWEEP, 1)}      # whole sweeps, which pass the plate on and nothing else


def test_cuts_change_no_digit():
    assert plate()(70).tolist() == plate(look=True)(70).tolist()


@pytest.mark.parametrize("before", [1, 5, 40])
def test_what_comes_before_a_loop_is_in_its_first_trace_only(before):
    sweep, x = plate(), torch.ones(3)
    engine.flush()

    def run():
        irregular(x, before)
        sweep(100)
    first, *others = flushed(run)
    (operators, inputs), = set(others)         # one kind of trace from then on
    assert LATE <= first[0] < before + 13 * SWEEP
    assert operators % SWEEP == 0 and inputs == 1


def test_few_records_and_one_program(free_compiles):
    sweep = plate()
    trie.clear()
    before = torch.stats()["compiles"]
    sweep(1000)
    assert torch.stats()["compiles"] - before == 1
    assert torch.stats()["states"] < 14 * SWEEP


def test_a_step_that_ends_soon_is_not_cut():
    sweep = plate()
    assert flushed(lambda: sweep(11)) == []


def test_the_fewest_values_are_passed_on_whatever_a_trace_begins_with():
    """A turn that has inputs to read passes on as many as one that reads values."""
    with torch.no_grad():
        p, m = torch.ones(4), torch.zeros(4)
        engine.flush()

        def run():
            nonlocal p, m
            for _ in range(100):
                g = p.sin()
                h = (g * 2.0).cos() + p
                m = m * 0.9 + h * g
                p = p - m * 0.1
        ends = flushed(run)
    assert len(set(ends)) == 1 and ends[0][1] == 2


def test_updates_of_parameters_are_no_loop():
    """They are alike, and read gradients that were made in another order: a cut would make outputs of all that are left."""
    x = torch.ones(4)
    engine.flush()

    def run():
        made = irregular(x, 100)
        for g in made[::-1]:
            made[0] = (g * 0.9).tanh().exp().add(1.0).sqrt()
    assert flushed(run) == []
