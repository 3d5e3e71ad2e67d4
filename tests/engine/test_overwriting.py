"""Interpreted writes through an index overwrite an array that nobody else sees, and only such."""
import numpy as np
import torchshim as torch


def _twice(f):
    """A trace that comes again keeps its schedule: both times must agree."""
    return [np.array(f()) for _ in range(3)]


def test_a_view_that_is_read_later_keeps_what_it_read():
    def f():
        x = torch.arange(12.).reshape(3, 4) * 1
        x[0] = 5
        old = x[1:].clone()
        row = x[1] + 0
        x[1] = 7
        x[:, 0] = x[:, 1]
        return torch.cat([old.flatten(), row, x.flatten()]).numpy()
    x = np.arange(12.).reshape(3, 4)
    x[0] = 5
    old, row = x[1:].copy(), x[1].copy()
    x[1] = 7
    x[:, 0] = x[:, 1]
    for got in _twice(f):
        np.testing.assert_array_equal(got, np.concatenate([old.ravel(), row, x.ravel()]))


def test_inputs_are_not_overwritten():
    a = torch.ones(4, 4)
    seen = a.numpy().copy()
    for k in range(3):
        b = a.clone()
        c = a + 0
        b[0], b[1], c[2] = 2, 3, 4
        assert (b[0] == 2).all() and (c[2] == 4).all()
        np.testing.assert_array_equal(a.numpy(), seen)


def test_what_is_saved_for_backward_stays():
    for _ in range(3):
        w = torch.full((3,), 2., requires_grad=True)
        y = w * w
        z = y.detach().clone()
        z[0] = 100
        z[1:] = z[:-1].clone()
        (y * y).sum().backward()
        assert w.grad.tolist() == [32., 32., 32.] and z.tolist() == [100., 100., 4.]


def test_numbers_that_change_are_read_anew():
    x, got = torch.ones(3), []
    for k in (1.5, 1.5, -0.0, 0.0, 2.5, float("nan"), 3):
        got.append((x * k).tolist()[0])
    assert str(got) == "[1.5, 1.5, -0.0, 0.0, 2.5, nan, 3.0]"


def test_what_is_computed_from_a_number_is_remembered_with_that_number_alone():
    x = torch.ones(2, dtype=torch.float64)
    for numbers in ((2.0, 3.0), (2.0, 3.0), (3.0, 2.0), (2.0, 2.0), (1e-300, -0.0)):
        a, b = numbers
        for _ in range(2):
            y = (x * a + b, torch.addcdiv(x, x, x, value=a), x.float() / a)
            assert [v.tolist()[0] for v in y] == [a + b, 1 + a, float(np.float32(1) / np.float32(a))]
