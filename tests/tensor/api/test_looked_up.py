"""Protects functions that are computed by what they called for such arguments before (tensor/api/looked_up.py): they give what they gave,
for other values, other numbers and the same tensor twice, and go on to write, to warn and to keep histories."""
import warnings

import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.engine import context, direct
from torchshim.tensor.api import looked_up
from torchshim.tensor.api.looked_up import _Plan
from torchshim.tensor.core.dispatch import apply


@pytest.fixture(autouse=True)
def calm(monkeypatch):
    """Small calls are computed at once."""
    monkeypatch.setattr(direct.policy, "tier", "auto")
    torch._engine.flush()
    context.record_all()
    for k in range(direct.CALM):
        (torch.tensor([1.0, 2.0]) + k).sum().item()
    assert context.trace.direct is not None
    assert apply.__code__ is looked_up._CODE and not any(context.modes.values()), (context.modes, apply.__code__)
    context.trace.direct.left = direct.CALLS   # none of the traces between is due


def plans():
    return len([p for p in context.trace.direct.calls.values() if p.__class__ is _Plan])


CALLS = [
    lambda x, y: F.layer_norm(x, (6,)), lambda x, y: F.layer_norm(x, [4, 6], eps=0.1), lambda x, y: F.rms_norm(x, (6,)),
    lambda x, y: F.group_norm(x, 1, eps=0.0), lambda x, y: F.instance_norm(x), lambda x, y: F.batch_norm(x, None, None, training=True),
    lambda x, y: F.batch_norm(x, y[0, :, 0], y[1, :, 0].abs()), lambda x, y: F.normalize(x, dim=1), lambda x, y: F.normalize(x[0], p=1.0),
    lambda x, y: F.max_pool1d(x, 2), lambda x, y: F.avg_pool1d(x, 3, 1, 1, True), lambda x, y: F.adaptive_avg_pool1d(x, 2),
    lambda x, y: F.max_pool1d(x, 2, return_indices=True)[1], lambda x, y: F.pad(x, (1, 2), value=0.5),
    lambda x, y: F.pad(x, (1, 1), "reflect"),
    lambda x, y: F.interpolate(x, 9), lambda x, y: F.interpolate(x[None], scale_factor=2, mode="bilinear"),
    lambda x, y: F.mse_loss(x, y), lambda x, y: F.mse_loss(x, x), lambda x, y: F.smooth_l1_loss(x, y, beta=0.5),
    lambda x, y: F.huber_loss(x, y, reduction="none"), lambda x, y: F.kl_div(x, y.abs(), reduction="sum"),
    lambda x, y: F.l1_loss(x[:1], y[:1]),
    lambda x, y: F.binary_cross_entropy_with_logits(x, y), lambda x, y: F.cosine_similarity(x, y), lambda x, y: F.unfold(x[None], (2, 3)),
    lambda x, y: F.pixel_shuffle(x.reshape(3, 4, 2, 3), 2), lambda x, y: F.grid_sample(x[None], y[None, :2, :, :2], align_corners=True),
    lambda x, y: torch.fft.fft(x), lambda x, y: torch.fft.ifft(x, norm="ortho"), lambda x, y: torch.fft.fft2(x, (5, 4)),
    lambda x, y: torch.fft.rfft(x, dim=1), lambda x, y: torch.fft.irfft(torch.complex(x, y), 7), lambda x, y: torch.fft.irfft2(x),
    lambda x, y: torch.fft.fftn(torch.complex(x, y), norm="forward"), lambda x, y: torch.fft.ifftn(torch.complex(x, y), (2, 9), (0, 2)),
    lambda x, y: torch.fft.hfft(torch.complex(x, y)), lambda x, y: torch.fft.ihfftn(x), lambda x, y: torch.fft.rfftn(x, norm="ortho"),
    lambda x, y: torch.stft(x.reshape(-1), 8, window=torch.hann_window(8), return_complex=True),
    lambda x, y: torch.hamming_window(7, False, 0.5), lambda x, y: torch.kaiser_window(6, True, beta=2.0),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_results_are_those_of_first_calls(number, monkeypatch):
    """Step by step, and of the last two as they are written down."""
    monkeypatch.setattr(looked_up, "OFTEN", 1)
    call = CALLS[number]
    g = torch.Generator().manual_seed(number)
    operands = [[torch.randn(3, 4, 6, generator=g) for _ in range(2)] for _ in range(5)]
    for x, y in operands:
        x.sum().item(), y.sum().item()
    with torch.no_grad():
        made = [call(x, y) for x, y in operands]
    context.record_all()                       # each by itself now
    for (x, y), z in zip(operands, made):
        first = call(x, y)
        assert z.dtype is first.dtype and z.shape == first.shape and z.stride() == first.stride()
        assert z._is_view() is first._is_view() and z._version == first._version
        assert z.resolve_conj().tolist() == first.resolve_conj().tolist()


def test_a_call_is_looked_up_from_the_third_time_on():
    x = torch.randn(3, 4, 11)
    x.sum().item()
    before = plans()
    for k in range(4):
        F.instance_norm(x)
        assert plans() - before == (k > 0)
    states = torch.stats()["states"]
    F.instance_norm(x).sum().item()
    assert torch.stats()["states"] == states


def test_parameters_are_looked_up_without_gradients_and_keep_theirs_with():
    norm = torch.nn.LayerNorm(11)
    norm.weight.data = torch.arange(11.0) + 2
    x = torch.randn(3, 4, 11)
    with torch.no_grad():
        for _ in range(direct.CALM):
            [t.sum().item() for t in (x, norm.weight, norm.bias)]
        before = plans()
        made = [norm(x) for _ in range(4)]
    assert plans() == before + 1 and not any(y.requires_grad for y in made)
    assert type(made[-1]) is torch.Tensor and type(norm.weight) is torch.nn.Parameter
    y = norm(x)
    assert y.requires_grad and y.grad_fn.name() == "NativeLayerNormBackward0"
    assert all(torch.equal(y, z) for z in made)


def test_new_tensors_are_where_and_what_they_are_asked_for():
    for f in (lambda **how: torch.hann_window(8, **how), lambda **how: torch.arange(5.0, **how), lambda **how: torch.zeros(2, 3, **how),
              lambda **how: torch.ones((2, 3), **how)):
        for _ in range(4):
            x, y = f(), f()
            assert x.device.type == "cpu" and x.dtype is torch.float32 and not x.requires_grad
            assert f(dtype=torch.float64).dtype is torch.float64
            x.zero_()
            assert y.abs().sum() > 0 or y.shape == (2, 3)
            assert f(requires_grad=True).requires_grad and f(requires_grad=True).is_leaf and f(device="meta").device.type == "meta"
            with torch.device("meta"):
                assert f().device.type == "meta"
            torch.set_default_dtype(torch.float64)
            try:
                assert f().dtype is torch.float64
            finally:
                torch.set_default_dtype(torch.float32)
    for n in (*range(5), 3, 4, 3, 3):
        assert torch.arange(n).tolist() == list(range(n)) and torch.arange(1, n + 1, 2).tolist() == list(range(1, n + 1, 2))
        assert torch.zeros(n, 2).tolist() == [[0.0, 0.0]] * n and torch.arange(n).dtype is torch.int64
    for _ in range(4):
        assert torch.arange(0.0, -1.5, -0.5).tolist() == [0.0, -0.5, -1.0] and torch.arange(3, dtype=torch.uint8).dtype is torch.uint8


def test_an_empty_trace_stays():
    trace = context.trace
    torch.cpu.synchronize()
    assert context.trace is trace
    x = torch.ones(2, requires_grad=True) * 2
    torch.cpu.synchronize()
    assert context.trace is not trace and x.tolist() == [2.0, 2.0]


def test_numbers_and_classes_tell_calls_apart():
    x = torch.tensor([[1.0, 2.0, 4.0]])
    for _ in range(4):
        assert F.pad(x, (0, 1), value=1.0).tolist()[0][3] == 1.0 and F.pad(x, (0, 1), value=2.0).tolist()[0][3] == 2.0
        assert str(F.pad(x, (0, 1), value=-0.0)[0, 3].item()) == "-0.0" and str(F.pad(x, (0, 1), value=0.0)[0, 3].item()) == "0.0"
        assert F.normalize(x, eps=1e-12, dim=-1).norm() < 1.01 and F.normalize(x, eps=10.0, dim=-1).norm() < 0.5
        assert F.mse_loss(x, x).item() == 0 and F.mse_loss(x, x + 1).item() == 1


def test_what_is_written_is_written_each_time():
    x, mean, var = torch.ones(4, 2), torch.zeros(2), torch.ones(2)
    x.sum().item()
    for k in range(5):
        F.batch_norm(x, mean, var, training=True, momentum=0.5)
        assert mean.tolist() == [1 - 0.5 ** (k + 1)] * 2 and mean._version == k + 1


def test_warnings_come_each_time():
    x, y = torch.ones(2, 2), torch.ones(2, 1)
    for _ in range(4):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            F.mse_loss(x, y)
        assert len(said) == 1


def test_histories_and_modes_are_kept():
    x, w = torch.randn(2, 3), torch.randn(3)
    for _ in range(4):
        assert not F.layer_norm(x, (3,), w).requires_grad
    w.requires_grad_()
    assert F.layer_norm(x, (3,), w).grad_fn.name() == "NativeLayerNormBackward0"
    with torch.no_grad():
        assert not F.layer_norm(x, (3,), w).requires_grad
    assert torch.func.vmap(lambda v: F.layer_norm(v, (3,)))(x).shape == (2, 3)
    with torch.autocast("cpu"):
        assert F.mse_loss(x.bfloat16(), x.bfloat16()).dtype is torch.float32
    with torch.inference_mode():
        assert F.layer_norm(x, (3,)).is_inference()
    with pytest.raises(RuntimeError):
        F.layer_norm(x, (4,))


def test_results_are_memory_of_their_own():
    x = torch.randn(2, 3, 4)
    for _ in range(4):
        y = F.instance_norm(x)
        z = F.instance_norm(x)
        y.zero_()
        assert z.abs().sum() > 0 and x.abs().sum() > 0 and F.instance_norm(x).abs().sum() > 0


INDEXED = [
    lambda x, i: x.gather(1, i), lambda x, i: x.scatter(0, i % 3, x), lambda x, i: x.scatter(0, i % 3, 2.5),
    lambda x, i: x.index_select(1, i[0]),
    lambda x, i: x.scatter_add(1, i, x), lambda x, i: x.index_add(1, i[1], x), lambda x, i: x.index_fill(0, i[0, :2] % 3, -1),
    lambda x, i: x.masked_fill(i > 1, 0.5), lambda x, i: x.take_along_dim(i[:, :1], 1), lambda x, i: F.cross_entropy(x, i[:, 0]),
    lambda x, i: F.nll_loss(x, i[:, 0], ignore_index=1), lambda x, i: x.scatter_reduce(1, i, x, "amax"),
    lambda x, i: x.index_put((i[:, 0] % 3,), x[:1]), lambda x, i: x.index_put([i[0] % 3, i[1]], x[0], accumulate=True),
    lambda x, i: x.index_put((i > 1,), x[0, :1]), lambda x, i: x.index_copy(1, i[0], x),
    lambda x, i: F.cross_entropy(x, i[:, 1], label_smoothing=0.1, reduction="none"),
]


@pytest.mark.parametrize("number", range(len(INDEXED)))
def test_indices_are_looked_at_each_time(number):
    call = INDEXED[number]
    g = torch.Generator().manual_seed(number)
    x = torch.randn(3, 4, generator=g)
    places = [torch.randperm(12, generator=g).reshape(3, 4) % 4 for _ in range(5)]
    x.sum().item(), [i.sum().item() for i in places]
    with torch.no_grad():
        made = [call(x, i) for i in places]
        wrong = places[0].clone()
        wrong.fill_(7).sum().item()
        if number not in (1, 2, 6, 7, 8, 12, 14):
            with pytest.raises((IndexError, RuntimeError)):
                call(x, wrong)
    context.record_all()
    for i, y in zip(places, made):
        assert y.tolist() == call(x, i).tolist()


@pytest.mark.parametrize("call", [lambda x, i: x.index_copy(0, i, x), lambda x, i: x.index_fill(0, i, 2), lambda x, i: x.index_add(0, i, x)])
def test_what_jax_computes_is_left_to_it(call):
    """Writes by an index into a single element have no rule of NumPy's."""
    for dtype in (torch.int64, torch.float32):
        x, i = torch.ones(1, dtype=dtype), torch.zeros(1, dtype=torch.int64)
        assert len({call(x, i).item() for _ in range(4)}) == 1


def test_switches_that_were_used_once_are_off():
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        torch.ones(2)
    x = torch.randn(3, 4, 12)
    before = plans()
    for _ in range(3):
        F.instance_norm(x)
    assert plans() == before + 1


@pytest.mark.parametrize("shape, dim, source", [((0, 3), 0, (1, 3)), ((2, 0, 3), 1, (2, 1, 3)), ((3, 0), 0, (1, 0))])
def test_where_nothing_is_added_or_copied_no_index_is_refused(shape, dim, source):
    """As in torch, which asks for elements first."""
    x, there = torch.zeros(*shape, requires_grad=True), torch.tensor([7])
    y = x.index_add(dim, there, torch.ones(*source))
    assert y.shape == shape and y.grad_fn.name() == "IndexAddBackward0"
    y.sum().backward()
    assert x.grad.shape == shape and x.detach().index_add_(dim, there, torch.ones(*source), alpha=2).shape == shape
    if not torch.ones(*source).numel():
        assert torch.zeros(*shape).index_copy(dim, there, torch.ones(*source)).shape == shape


def test_adding_to_an_empty_vector_refuses_the_index():
    with pytest.raises(IndexError, match="^index out of range in self$"):
        torch.zeros(0).index_add(0, torch.tensor([0]), torch.ones(1))
