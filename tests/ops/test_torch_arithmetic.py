"""What torch's kernels make of complex infinities, of mixed dtypes in nextafter and dist, and how a Kronecker product lies."""
import math

import pytest

import torchshim as torch

INF = math.inf


def text(t):
    return [str(complex(x)) for x in t.tolist()]


def test_a_complex_sum_multiplies_by_one_so_that_an_infinite_part_spoils_the_other():
    a, b = torch.tensor([complex(1, 2), complex(0, 0)]), torch.tensor([complex(INF, 0), complex(1, INF)])
    for again in range(2):
        assert text(a + b) == ["(inf+nanj)", "(nan+infj)"]
        assert text(a - b) == ["(-inf+nanj)", "(nan-infj)"] and text(torch.rsub(b, a)) == ["(-inf+nanj)", "(nan-infj)"]
        assert text(b + a) == ["(inf+2j)", "(1+infj)"]
        assert text(a + torch.tensor([INF, 1.])) == ["(inf+nanj)", "(1+0j)"]
        assert text(torch.addcmul(a, b, torch.ones(2))) == ["(nan+nanj)", "(nan+nanj)"]


def test_a_gradient_is_not_multiplied():
    a = torch.tensor([complex(1, 2)], requires_grad=True)
    b = torch.tensor([complex(0, 1)], requires_grad=True)
    ct = torch.tensor([complex(INF, 1)])
    assert [text(g) for g in torch.autograd.grad(a + b, (a, b), ct)] == [["(inf+1j)"], ["(inf+1j)"]]
    assert [text(g) for g in torch.autograd.grad(a - b, (a, b), ct)] == [["(inf+1j)"], ["(-inf-1j)"]]


def test_nextafter_promotes_and_steps_in_half_types():
    assert torch.nextafter(torch.ones(1, dtype=torch.bfloat16), torch.zeros(1, dtype=torch.bfloat16)).item() == 0.99609375
    assert torch.nextafter(torch.ones(1), torch.zeros(1, dtype=torch.float64)).dtype is torch.float64
    assert torch.nextafter(torch.ones(1, dtype=torch.int64), torch.zeros(1)).dtype is torch.float32
    assert torch.nextafter(torch.ones(1, dtype=torch.float16), torch.zeros((), dtype=torch.float64)).dtype is torch.float16
    assert math.copysign(1, torch.nextafter(torch.tensor([-0.], dtype=torch.float16), torch.zeros(1, dtype=torch.float16)).item()) == 1
    with pytest.raises(NotImplementedError, match="nextafter_cpu\" not implemented for 'ComplexFloat'"):
        torch.nextafter(torch.ones(1), torch.ones(1, dtype=torch.complex64))
    x, y = torch.tensor([1., 2.], requires_grad=True), torch.tensor([2., 2.], requires_grad=True)
    assert [g.tolist() for g in torch.autograd.grad(torch.nextafter(x, y).sum(), (x, y))] == [[1., 0.], [0., 0.]]


def test_a_distance_to_a_number_has_the_tensors_dtype():
    assert torch.dist(torch.ones(3), torch.zeros((), dtype=torch.float64)).dtype is torch.float32
    assert torch.dist(torch.ones(3), torch.zeros(3, dtype=torch.float64)).dtype is torch.float64


def test_a_kronecker_product_lies_as_the_product_of_its_factors():
    x, t = torch.ones(2, 3), torch.ones(3, 2).t()
    assert torch.kron(x, torch.ones(2, 2)).stride() == (6, 1)
    assert torch.kron(t, torch.ones(2, 2).t()).stride() == (1, 4) and torch.kron(t, torch.tensor(2.)).stride() == (1, 2)
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride"):
        torch.kron(t, torch.ones(2, 2))


def test_dtypes_that_differ_are_refused_in_the_words_of_each():
    with pytest.raises(RuntimeError, match="^both inputs should have same dtype$"):
        torch.inner(torch.ones(2), torch.ones(2, dtype=torch.float64))
    with pytest.raises(NotImplementedError, match="cross"):
        torch.linalg.cross(torch.ones(3, dtype=torch.bool), torch.ones(3))


def test_complex_powers():
    """Those that are no short product are exp(y log(x)), also for integers; zeros to a power are what that gives. Bits of PyTorch 2.13."""
    x, y = torch.tensor([2j, 2j, 2j, 0, 0, 0]), torch.tensor([1., 2, -1, 0, 1, -1]) + 0j
    got = torch.view_as_real(x ** y)
    want = [[-8.742277657347586e-08, 2.0], [-4.0, -3.4969110629390343e-07], [-2.1855694143368964e-08, -0.5], [math.nan, math.nan],
            [0.0, -0.0], [math.inf, math.nan]]
    assert torch.equal(got.nan_to_num(7.0), torch.tensor(want).nan_to_num(7.0))
    # the fourth power is no chain of products any more, the square is one
    assert (torch.view_as_real(torch.tensor([2j]) ** 4).tolist() != [[16.0, 0.0]]
            and torch.view_as_real(torch.tensor([2j]) ** 2).tolist() == [[-4.0, 0.0]])
