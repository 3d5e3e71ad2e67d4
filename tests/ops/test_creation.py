"""Ranges of integers and complex numbers, tensors with gaps, pairs of rows. Expectations are PyTorch 2.13's."""
import pytest

import torchshim as torch
from torchshim.engine.compile import policy


def test_ranges():
    assert torch.linspace(-5, 5, 4, dtype=torch.int32).tolist() == [-5, -1, 1, 5]
    assert torch.linspace(10, -7, 6, dtype=torch.uint8).tolist() == [10, 57, 105, 153, 201, 249]
    assert torch.linspace(3.7, 5, 1, dtype=torch.int64).tolist() == [3] and torch.linspace(1 + 1j, 3, 3).tolist() == [1 + 1j, 2 + .5j, 3]
    assert torch.logspace(0, 3, 5, base=2, dtype=torch.int64).tolist() == [1, 1, 2, 4, 8]
    assert torch.logspace(0, 1j, 3).dtype == torch.complex64
    with pytest.raises(RuntimeError, match=r"inferred dtype c10::complex<float> can't be safely cast to passed dtype Float"):
        torch.linspace(1j, 3, 4, dtype=torch.float32)


def test_gaps_and_overlap():
    x = torch.empty_strided((3, 3), (1, 1)).fill_(0)
    x[0, 1] = 5.
    assert x.tolist() == [[0, 5, 0], [5, 0, 0], [0, 0, 0]] and not x._is_view()
    assert torch.empty_strided((2, 3), (5, 1)).untyped_storage().nbytes() == 32
    assert torch.empty_permuted((2, 3, 5), (0, 2, 1)).stride() == (15, 1, 3)


def test_pairs_of_rows():
    x = torch.arange(6.).reshape(3, 2).requires_grad_()
    y = torch.pdist(x, 1.)
    assert y.tolist() == [4, 8, 4] and y.grad_fn.name() == "PdistBackward0"
    many = torch.arange(300.).reshape(100, 3)
    assert torch.allclose(torch.pdist(many), torch.cdist(many, many)[tuple(torch.triu_indices(100, 100, 1))], atol=1e-2)


def test_frexp():
    m = torch.frexp(torch.tensor([0., 1, -3, torch.inf]))
    assert m.mantissa.tolist() == [0, .5, -.75, torch.inf] and m.exponent.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("tier", policy.TIERS[1:])
def test_linspace_of_doubles_rounds_once(tier):
    policy.pin(tier)
    try:
        line, huge = torch.linspace(-1, 1, 12, dtype=torch.float64).tolist(), torch.linspace(1e40, -1e40, 7, dtype=torch.float64)[3].item()
    finally:
        policy.pin(None)
    assert [x.hex() for x in line[4:6]] == ["-0x1.1745d1745d174p-2", "-0x1.745d1745d1744p-4"] and huge == 6.044629098073146e+23


@pytest.mark.parametrize("make, start, end, steps, dtype, said", [
    (torch.linspace, 0, 1e40, 3, torch.float32, "float"), (torch.linspace, 1e40, 0, 1, torch.float32, "float"),
    (torch.linspace, 1e5, 0, 3, torch.float16, "c10::Half"), (torch.logspace, 0, 3.5e38, 2, torch.bfloat16, "c10::BFloat16"),
    (torch.logspace, 0, 1e40, 3, torch.complex64, "c10::complex<float>"),
])
def test_ends_beyond_the_dtype(make, start, end, steps, dtype, said):
    with pytest.raises(RuntimeError, match=f"value cannot be converted to type {said} without overflow"):
        make(start, end, steps, dtype=dtype)


def test_ends_that_are_not_converted():
    assert torch.linspace(1e40, 0, 0).tolist() == [] and torch.linspace(0, 1e40, 1).tolist() == [0]
    assert torch.linspace(1e40, 0, 1, dtype=torch.float16).tolist() == [torch.inf]


@pytest.mark.parametrize("tier", policy.TIERS[1:])
def test_ranges_of_fractions_are_counted_as_torch_counts_them(tier):
    """In registers: the first number of each is rounded, the others are counted from it; a product and its sum are rounded once."""
    policy.pin(tier)
    try:
        single, double = torch.arange(-8., 8., .1)[76:82].tolist(), torch.arange(.5, -.55, -.1, dtype=torch.float64)[3:6].tolist()
        halves = (torch.arange(-1., .6, .1, dtype=torch.bfloat16)[9:11].tolist()
                  + torch.arange(-8., 0, .01, dtype=torch.float16)[797:].tolist())
        huge = torch.arange(0, 1e305, 3e304, dtype=torch.float64).tolist()
    finally:
        policy.pin(None)
    assert single == [-0.4000000059604645, -0.30000001192092896, -0.20000001788139343, -0.10000000894069672, 4.440892098500626e-16,
                      0.10000000149011612]
    assert double == [0.19999999999999998, 0.09999999999999998, -2.7755575615628914e-17]
    assert halves == [-0.10009765625, 1.4901161193847656e-08, -0.030029296875, -0.0200347900390625, -0.01003265380859375]
    assert huge == [0.0, 3e+304, 6e+304, 9e+304]


def test_memory_that_no_address_reaches():
    for make in (lambda: torch.rand(2, 4, 2 ** 29, 2 ** 30), lambda: torch.randint(3, (2 ** 62, 4)),
                 lambda: torch.empty_strided([8, 8], [2 ** 61, 1], dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed with sizes="):
            make()


def test_nothing_is_joined_anywhere():
    nothing = torch.ones(0)
    assert torch.cat([nothing, nothing], dim=1).shape == torch.cat([nothing], dim=-2).shape == (0,)


def test_a_capsule_shares_its_memory():
    x = torch.arange(4)
    shared = torch.asarray(torch.utils.dlpack.to_dlpack(x))
    assert shared.tolist() == [0, 1, 2, 3] and shared.data_ptr() == x.data_ptr()
    assert torch.asarray(torch.utils.dlpack.to_dlpack(x), dtype=torch.float32).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_resizing_as_another_tensor_in_a_memory_format():
    like = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for x in (torch.rand(9), torch.rand(2, 3, 4, 5)):
        assert x.clone().resize_as_(like).stride() == (60, 20, 5, 1)
        assert x.clone().resize_as_(like, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
        assert x.clone().resize_as_(like, memory_format=torch.preserve_format).stride() == (60, 1, 15, 3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.rand(3).resize_as_(torch.rand(5), memory_format=torch.channels_last)


def test_a_search_in_scattered_memory_warns_once(monkeypatch):
    from torchshim.tensor.core import settings
    said = []
    monkeypatch.setattr(settings, "warn_once", said.append)
    x = torch.arange(6.0)[::2]
    assert torch.searchsorted(x, x.contiguous()).tolist() == [0, 1, 2]
    torch.searchsorted(x.contiguous(), x)
    assert [s[:74] for s in said] == ["torch.searchsorted(): boundary tensor is non-contiguous, this will lower t",
                                      "torch.searchsorted(): input value tensor is non-contiguous, this will lowe"]
