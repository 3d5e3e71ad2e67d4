"""Protects what a compiled step is told about memory: the buffer of a parameter goes to its new value,
whatever else of its shape comes out."""
import re

import pytest

import torchshim as torch
from torchshim.engine.compile import policy


@pytest.fixture(autouse=True)
def compiled():
    policy.pin("compiled")
    yield
    policy.pin(None)


def step_of(optimizer, params, loss_of):
    for _ in range(4):
        optimizer.zero_grad()
        loss_of(*params).backward()
        optimizer.step()
    [p.tolist() for p in params]
    return max(policy._lru, key=lambda p: len(p.donate))


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.1), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                                  lambda p: torch.optim.AdamW(p, lr=0.1)])
def test_a_parameter_is_updated_where_it_is(make):
    # the gradients are results, too, come first and have the parameters' shape
    a, b = torch.randn(160, 160).requires_grad_(), torch.randn(160, 160).requires_grad_()
    x = torch.randn(8, 160)
    program = step_of(make([a, b]), [a, b], lambda a, b: (torch.relu(x @ a) + x @ b).sum())
    assert len(program.donate) >= 2
    assert not re.search(r" copy\(%?inputs", program.pieces[0].fn.as_text())


def test_a_value_comes_in_the_place_of_what_it_was_made_from():
    # by hand, with a result of the same shape that is no update of either, and the later input first
    def step(p, q):
        kept = p * q
        q = q - kept
        p = p + q
        return kept, p, q
    p, q = torch.ones(200, 200), torch.full((200, 200), 0.5)
    expected_p, expected_q = 1.0, 0.5
    for _ in range(5):
        kept, p, q = step(p, q)
        expected_q -= expected_p * expected_q
        expected_p += expected_q
        assert p[7, 3].item() == expected_p and q[7, 3].item() == expected_q
        del kept


def test_numbers_made_anew_that_are_the_same_are_not_sent_again(monkeypatch):
    """A step's hyperparameters are other objects each time. What tells numbers apart is their bits: -0.0 is not 0.0."""
    from torchshim.engine.compile.program import Program
    x, sent, before = torch.ones(300), [], Program._sent

    def noted(self, inputs, nums):
        sent.append(list(nums))
        return before(self, inputs, nums)
    monkeypatch.setattr(Program, "_sent", noted)

    def step(text):
        return torch.copysign(x, torch.mul(x, float(text))).sum().item()
    for _ in range(4):
        assert step("0.0") == 300
    del sent[:]
    for _ in range(3):
        assert step("0.0") == 300
    assert not sent
    assert step("-0.0") == -300 and step("nan") == 300
    assert len(sent) == 2
    assert step("0.0") == 300


def test_small_arrays_that_are_wanted_twice_are_not_sent_alone(monkeypatch):
    """A forward's operands are a backward's, too. To send one costs as much as ten arguments; what comes again and again is sent."""
    from torchshim.engine.compile import program
    sent, before = [], program._transfer

    def noted(array, device):
        sent.append(array.shape)
        return before(array, device)
    monkeypatch.setattr(program, "_transfer", noted)
    w, kept = torch.tensor([[1.0] * 3] * 3, requires_grad=True), torch.tensor([0.0, 1.0, 2.0])
    for k in range(3 * program._PASSES):
        x = torch.tensor([1.0, 2.0, float(k)])
        y = (w @ x + kept).sum()
        assert y.item() == 9 + 3 * k + 3
        y.backward()
        assert w.grad[0].tolist() == [1, 2, k]
        w.grad = None
    assert sent == [(3, 3), (3,)]              # w and kept
    large = torch.tensor([2.0] * 9000)
    for _ in range(3):
        (large * 2).sum().item()
    assert sent[2:].count((9000,)) == 1
