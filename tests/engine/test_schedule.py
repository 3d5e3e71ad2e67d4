"""A trace that came often runs as one function, which gives what its steps give one by one: results, memory, failures."""
import pytest

import torchshim as torch
from torchshim.engine import schedule
from torchshim.engine.compile import policy


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setattr(schedule, "OFTEN", 3)
    policy.pin("operators")
    yield
    policy.pin(None)


@pytest.fixture
def walks(monkeypatch):
    """How often steps were walked one by one."""
    found, plain = [], schedule.computed

    def computed(steps, made, lost):
        found.append(len(steps))
        return plain(steps, made, lost)
    monkeypatch.setattr(schedule, "computed", computed)
    return found


def _program(w, x):
    """Operators of several results, of a number, and writes into what nobody else sees and into what somebody does."""
    y = (x @ w).relu()
    kept = y * 2
    z = y * 3
    z[0] = 5.0
    z[:, 1] += kept[:, 0]
    values, places = z.max(1)
    loss = (values * kept[:, 0]).sum() + torch.var_mean(z)[1]
    loss.backward()
    return [t.detach().clone() for t in (y, kept, z, values, places, loss, w.grad)]


def test_each_time_gives_the_same(walks):
    torch.manual_seed(0)
    w, x, made = torch.randn(4, 3, requires_grad=True), torch.randn(5, 4), []
    for _ in range(12):
        w.grad = None
        made.append([t.tolist() for t in _program(w, x)])
    assert all([m == made[0] for m in made])
    before = len(walks)
    w.grad = None
    [t.tolist() for t in _program(w, x)]
    assert before and len(walks) == before


def test_results_that_are_arrays_of_jax_are_taken_as_they_are(walks):
    """As those of a function that NumPy has none for, and the functions of NumPy's arrays alone are not asked then."""
    x = torch.tensor([2.0, 3.0], requires_grad=True)

    def step():
        y = torch.polygamma(3, x) * 2
        return (y * y + y).sum().item()

    first = [step() for _ in range(8)]
    before = len(walks)
    assert {step() for _ in range(4)} | set(first) == {first[0]} and before and len(walks) == before


def test_what_fails_does_so_alone(monkeypatch):
    x = torch.arange(4.0).requires_grad_()

    def step():
        y, z = x * 2, x + 1
        return y, z

    for _ in range(8):
        y, z = step()
        y.tolist()
    known = []

    def raising(made):
        known.append(1)
        raise ValueError("once")
    run = schedule.Schedule.run

    def failing(self, made, lost):
        if self.whole is not None:
            self.whole = raising
        return run(self, made, lost)
    monkeypatch.setattr(schedule.Schedule, "run", failing)
    y, z = step()
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0] and z.tolist() == [1.0, 2.0, 3.0, 4.0] and known == [1]


def test_what_is_overwritten_has_no_second_name(monkeypatch):
    """An array that an operator in between reads as NumPy's own is counted as held by nobody else when it is written into."""
    overwritten, plain = [], schedule._either

    def either(overwrites, f, alone):
        return plain(lambda base, *rest: (overwritten.append(alone), overwrites(base, *rest))[1], f, alone)
    monkeypatch.setattr(schedule, "_either", either)
    x = torch.arange(10_000.0)                 # more than is computed at once

    def step():
        y = x * 2
        y[0] = 7.0
        z = y + 1                              # what was written is read
        y[1] = 9.0
        return y[:3].tolist(), z[:3].tolist()

    made = [step() for _ in range(10)]
    assert all([m == made[0] for m in made])
    assert overwritten[-8:] == [schedule._NAMED] * 8           # both writes of the last four


def test_writes_one_after_another_overwrite(monkeypatch):
    """What a step made is not held on by the walk itself: else each of a chain of writes would copy the whole array."""
    overwritten, plain = [], schedule._either

    def either(overwrites, f, alone):
        return plain(lambda base, *rest: (overwritten.append(alone), overwrites(base, *rest))[1], f, alone)
    monkeypatch.setattr(schedule, "_either", either)
    x = torch.zeros(20_000)
    for k in range(5):
        x[k] = k
    assert x[:6].tolist() == [0, 1, 2, 3, 4, 0]
    assert overwritten == [schedule._LISTED] * 5


def test_a_number_equal_to_that_of_the_last_time_is_the_same_unless_it_is_a_zero():
    """Numbers made anew each time, of which some change, change places, or change their sign where that cannot be told by comparing."""
    x, made, expected = torch.tensor([2.0]), [], []
    for k in range(12):
        zero = 0.0 if k % 3 else -0.0
        numbers = (float(f"{k // 4}.5"), zero, float("3.25"), float("nan") if k == 7 else 7.0 + k % 2)
        y = x
        for n in numbers:
            y = y * n
        made.append((str((x * zero).tolist()), str(y.tolist())))
        expected.append((str([2.0 * zero]), str([2.0 * numbers[0] * numbers[1] * numbers[2] * numbers[3]])))
    assert made == expected
