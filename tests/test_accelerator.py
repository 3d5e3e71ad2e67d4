"""Protects tensors on an accelerator: what is computed there stays there and is what the CPU computes, operands of two devices are refused
in torch's words, each device has its own random numbers, and what names a device leads to it. Without a GPU the host's second device takes
its place."""
import copy
import io
import pickle

import jax
import numpy as np
import pytest
import torchshim as torch
from torchshim import nn
from torchshim.engine import array_of
from torchshim.tensor.core.handle import read

F = nn.functional
SAME = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def numbers(*shape, dtype=torch.float32, device="cpu", grad=False):
    a = np.random.RandomState(sum(shape)).standard_normal(shape)
    return torch.tensor(a, dtype=dtype, device=device).requires_grad_(grad)


def check(expected, got):
    """The same numbers, dtypes, strides and history, on the accelerator: by what the tensor says, and where its array is."""
    if isinstance(expected, (tuple, list)):
        assert len(expected) == len(got)
        for e, g in zip(expected, got):
            check(e, g)
        return
    assert (got.device.type, got.dtype, got.stride()) == ("cuda", expected.dtype, expected.stride())
    assert type(got.grad_fn).__name__ == type(expected.grad_fn).__name__ and got.requires_grad == expected.requires_grad
    a = array_of(read(got))
    assert isinstance(a, np.ndarray) or a.devices() == {got._ts_meta.device} and a.dtype == got._ts_meta.dtype
    e, g = expected.detach().cpu(), got.detach().cpu()
    if e.dtype in (torch.bfloat16, torch.float16):
        e, g = e.float(), g.float()
    np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=2e-2 if expected.dtype in (torch.bfloat16, torch.float16) else 1e-5, atol=1e-5)


def elementwise(d):
    x, y = numbers(4, 5, device=d, grad=True), numbers(5, device=d, grad=True)
    z = (x * y + x.exp() - y.sin() / (x.abs() + 1)).tanh() ** 2
    z.sum().backward()
    return z, x.grad, y.grad, x.t() + 1, x > 0, x.long(), x.bfloat16() * 2, torch.where(x > 0, x, torch.tensor(2.0)), x * torch.tensor(3)


def products(d):
    a, b = numbers(6, 8, device=d, grad=True), numbers(8, 3, device=d, grad=True)
    c = a @ b
    c.sum().backward()
    x, w = numbers(2, 3, 8, 8, device=d, grad=True), numbers(4, 3, 3, 3, device=d, grad=True)
    y = F.conv2d(x, w, padding=1)
    y.pow(2).sum().backward()
    whole = torch.tensor([[1, 2]], device=d) @ torch.tensor([[3], [4]], device=d)
    return c, a.grad, b.grad, y, x.grad, w.grad, torch.einsum("ij,jk->ki", a, b), whole


def picking(d):
    x = numbers(5, 6, device=d, grad=True)
    i = torch.tensor([0, 4, 0, 2], device=d)
    y = x[i] * 2 + x[x > 0].sum() + x[torch.arange(4) * 1]
    (y.sum() + x.sort(1).values[:, 0].sum() + x.topk(2).values.sum()).backward()
    z, gradient = torch.zeros(5, 6, device=d), x.grad
    z[i[1:3]], z[1, 2:4], z[z > 1], z[:, -1] = 1.5, x.detach()[0, :2], 2.0, 7
    x, zeros = x.detach(), torch.zeros(5, device=d)
    return (y, z, *x.sort(1), x.gather(1, i.view(4, 1)), zeros.index_add(0, i, numbers(4, device=d)), x.nonzero(),
            zeros.index_put((i,), torch.tensor(1.0), accumulate=True), F.one_hot(i, 5), torch.unique(i), x.masked_select(x > 0),
            F.embedding(i, x), torch.bincount(i), i.repeat_interleave(2), gradient)


def layers(d):
    torch.manual_seed(0)
    x = numbers(2, 3, 8, 8, device=d)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)).to(d)
    y = net(x)
    F.cross_entropy(y, torch.tensor([1, 2], device=d)).backward()
    lstm, bag = nn.LSTM(3, 5, bidirectional=True).to(d), nn.EmbeddingBag(5, 3).to(d)
    packed = nn.utils.rnn.pack_padded_sequence(numbers(4, 2, 3, device=d), [4, 2])
    assert packed.batch_sizes.is_cpu and nn.utils.rnn.pad_packed_sequence(packed)[1].is_cpu
    return (y, *[p.grad for p in net.parameters()], *net.state_dict().values(), lstm(packed)[0].data,
            nn.utils.rnn.pad_packed_sequence(packed)[0], bag(torch.tensor([[1, 2], [0, 4]], device=d)))


def factories(d):
    one = torch.ones(2, device=d)
    return [torch.arange(5, device=d), torch.linspace(0, 1, 5, device=d), torch.eye(3, device=d), torch.full((2,), 3, device=d),
            one.new_tensor([1, 2]), one.new_zeros(3, dtype=torch.int64), torch.zeros_like(one), torch.tensor([True], device=d),
            torch.tril_indices(2, 2, device=d), torch.tensor(2**40, device=d), torch.hann_window(4, device=d),
            torch.from_numpy(np.arange(3)).to(d)]


def linear_algebra(d):
    a = numbers(4, 4, dtype=torch.float64, device=d)
    s = (a @ a.T + torch.eye(4, device=d, dtype=torch.float64)).requires_grad_()
    c = torch.linalg.cholesky(s)
    c.sum().backward()
    L = torch.linalg
    return c, s.grad, L.solve(a, a[:, 0]), L.svdvals(a), L.eigh(s.detach()).eigenvalues, torch.fft.rfft(a).abs()


@pytest.mark.parametrize("f", [elementwise, products, picking, layers, factories, linear_algebra], ids=lambda f: f.__name__)
def test_computes_there_what_the_cpu_computes(cuda, f):
    check(f("cpu"), f(cuda))


LOWERED = {
    "solve": lambda a: torch.linalg.solve(a, a[0]), "inv": torch.linalg.inv, "det": torch.linalg.det,
    "eig": lambda a: torch.linalg.eig(a)[0].abs(), "eigh": lambda a: torch.linalg.eigh(a)[0],
    "svd": lambda a: torch.linalg.svd(a)[1], "qr": lambda a: torch.linalg.qr(a)[1],
    "cholesky": lambda a: torch.linalg.cholesky_ex(a)[0], "lu": lambda a: torch.linalg.lu(a)[1],
    "lstsq": lambda a: torch.linalg.lstsq(a, a)[0], "matrix_exp": torch.linalg.matrix_exp, "ldl": lambda a: torch.linalg.ldl_factor(a)[0],
    "fft": lambda a: torch.fft.fft2(a).abs(),
    "sort": lambda a: a.sort(1).values, "topk": lambda a: a.topk(2).values, "cumsum": lambda a: a.cumsum(0), "lgamma": torch.lgamma,
    "conv": lambda a: F.conv2d(a.reshape(1, 1, 4, 4), a[:3, :3].reshape(1, 1, 3, 3)), "pool": lambda a: F.max_pool2d(a[None, None], 2),
    "attention": lambda a: F.scaled_dot_product_attention(a[None], a[None], a[None]),
    "bf16": lambda a: (a.bfloat16() @ a.bfloat16()).float(),
}


@pytest.mark.parametrize("name", LOWERED)
def test_xla_has_a_lowering_for_nvidias_gpus(name):
    """What JAX can't lower for a GPU would fail there only; lowering needs none."""
    def f(a):
        return torch.to_jax(LOWERED[name](torch.from_jax(a)))
    for dtype in ("float32", "float64"):
        with jax.enable_x64(True):
            jax.jit(f).trace(jax.ShapeDtypeStruct((4, 4), dtype)).lower(lowering_platforms=("cuda",))


@pytest.mark.parametrize("kind, args", [("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.01, "amsgrad": True})])
def test_trains_as_on_the_cpu_first_by_operators_then_compiled(cuda, kind, args):
    def run(d):
        torch.manual_seed(0)
        model, losses = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)).to(d), []
        optimizer = getattr(torch.optim, kind)(model.parameters(), **args)
        x, y = numbers(16, 6, device=d), torch.arange(16, device=d) % 2
        for _ in range(5):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        return losses, list(model.parameters())
    compiles = torch.stats()["compiles"]
    (e, expected), (g, got) = run("cpu"), run(cuda)
    np.testing.assert_allclose(g, e, rtol=1e-5)
    check(expected, got)
    assert torch.stats()["compiles"] > compiles


def test_random_results_are_where_their_arguments_are(cuda):
    p = torch.full((4,), 0.3, device=cuda)
    D = torch.distributions
    blank = torch.empty(3, 3, device=cuda)
    for t in (torch.rand(4, device=cuda), torch.randperm(6, device=cuda), torch.bernoulli(p), torch.multinomial(p, 2), torch.normal(p, p),
              torch.poisson(p), torch.binomial(p * 9, p), torch._sample_dirichlet(p), D.Gamma(p, p).sample(), D.Beta(p, p).rsample(),
              D.Categorical(p).sample(), D.Laplace(p, p).sample(), p.new([1, 2]), F.rrelu(-p, training=True),
              F.dropout(p), nn.init.orthogonal_(blank), nn.init.sparse_(blank, 0.5)):
        assert t.device == torch.device("cuda:0") and t.cpu().isfinite().all()


def test_each_device_has_random_numbers_of_its_own(cuda):
    torch.manual_seed(5)
    expected = torch.randn(3)
    torch.manual_seed(5)
    torch.randn(100, device=cuda), F.dropout(torch.ones(9, device=cuda))
    assert torch.equal(torch.randn(3), expected)              # what was drawn there did not move the CPU's numbers
    state = torch.cuda.get_rng_state()
    first = torch.randn(3, device=cuda)
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.randn(3, device=cuda), first)
    with torch.random.fork_rng():
        second = torch.randn(3, device=cuda)
    assert torch.equal(torch.randn(3, device=cuda), second)
    torch.cuda.manual_seed(7)
    assert torch.cuda.initial_seed() == 7 and torch.initial_seed() == 5
    assert torch.cuda.default_generators[0].device == torch.device("cuda", 0)


def test_a_generator_serves_its_own_device(cuda):
    assert torch.randn(2, device=cuda, generator=torch.Generator(cuda).manual_seed(0)).is_cuda
    with pytest.raises(RuntimeError, match="^Expected a 'cuda' device type for generator but found 'cpu'$"):
        torch.randn(2, device=cuda, generator=torch.Generator())
    with pytest.raises(RuntimeError, match="^Expected a 'cpu' device type for generator but found 'cuda'$"):
        torch.ones(2).normal_(generator=torch.Generator(cuda))


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_draws_the_same_numbers_again(cuda, reentrant):
    x = torch.ones(64, device=cuda, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda x: F.dropout(x * 1), x, use_reentrant=reentrant)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_operands_of_two_devices_are_refused(cuda):
    c, x = torch.ones(3), torch.ones(3, device=cuda)
    for f in (lambda: x + c, lambda: c + x, lambda: c.add_(x), lambda: x.add_(c), lambda: c.add_(x[0]), lambda: x[0].clone() + c,
              lambda: torch.dot(c, x), lambda: torch.cat([c, x]), lambda: F.mse_loss(x, c), lambda: nn.Linear(3, 2)(x),
              lambda: x.masked_select(c > 0), lambda: torch.add(c, 1, out=x.clone()), lambda: torch.add(x, 1, out=torch.ones(3)),
              lambda: x.gather(0, torch.tensor([0]))):
        with pytest.raises(RuntimeError, match=SAME):
            f()
    with pytest.raises(RuntimeError, match=r"^indices should be either on cpu or on the same device as the indexed tensor \(cpu\)$"):
        c[torch.tensor([0], device=cuda)]
    with pytest.raises(RuntimeError, match="^'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor$"):
        nn.utils.rnn.pack_padded_sequence(torch.ones(2, 1, 1, device=cuda), torch.tensor([2], device=cuda))
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
        x[torch.tensor([5], device=cuda)].sum().item()
    assert c.tolist() == [1, 1, 1] == x.tolist()


def test_the_hosts_0d_operands_go_along(cuda):
    x, s = torch.ones(3, device=cuda), torch.tensor(2.5)
    for t in (x * s, s * x, torch.where(x > 0, x, s), x.add_(s), torch.tensor(1.0, device=cuda) + s, s + torch.tensor(1.0, device=cuda)):
        assert t.is_cuda
    assert x.tolist() == [3.5, 3.5, 3.5] and s.is_cpu


def test_gradients_come_back_over_a_transfer(cuda):
    a = torch.ones(3, requires_grad=True)
    (a.to(cuda) * 2).cpu().sum().backward()
    assert a.grad.is_cpu and a.grad.tolist() == [2, 2, 2]


def test_transforms_stay_on_the_device(cuda):
    x, w = torch.ones(2, 3, device=cuda), torch.ones(3, device=cuda, requires_grad=True)
    seen = []
    y = torch.func.vmap(lambda a: (seen.append(a.device), (a * w + torch.zeros(3, device=a.device)).sum())[1])(x)
    y.sum().backward()
    for t in (y, w.grad, torch.vmap(lambda a: torch.vmap(lambda b: b * 3)(a))(x), torch.vmap(F.dropout, randomness="different")(x),
              torch.vmap(torch.func.grad(lambda a: (a ** 2).sum()))(x), torch.func.hessian(lambda a: (a ** 3).sum())(x[0]),
              torch.from_jax(jax.numpy.sin(torch.to_jax(x)))):
        assert t.is_cuda
    assert seen[0] == x.device and torch.autograd.gradcheck(lambda a: a.sin().sum(), x.double().requires_grad_())


def test_a_copy_on_the_device_is_of_that_moment(cuda):
    a = np.zeros(1000, np.float32)
    x = torch.from_numpy(a)
    y = x.to(cuda, non_blocking=True)
    a += 1
    x.add_(1)
    assert y.sum().item() == 0


def test_names_lead_to_the_device(cuda):
    x = torch.ones(2).cuda()
    assert str(x) == "tensor([1., 1.], device='cuda:0')" and x.get_device() == 0 and torch.ones(2).get_device() == -1
    assert torch.ones(2).to(0).is_cuda and x.cpu().is_cpu and x.type() == "torch.cuda.FloatTensor" and torch.ones(2).type(x.type()).is_cuda
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor) and torch.cuda.LongTensor([1]).is_cuda
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 1 and torch.cuda.current_device() == 0
    assert torch.accelerator.current_accelerator() == torch.device("cuda") and torch.cuda.Event().query()
    s, e = torch.Stream(device="cuda"), torch.Event("cuda", enable_timing=True)
    e.record(s)
    assert isinstance(torch.cuda.Stream(), torch.Stream) and isinstance(torch.cuda.Event(), torch.Event) and s.device == torch.device("cuda:0")
    assert e.elapsed_time(e) == 0 and s.record_event().query() and s.query() and s.wait_stream(s) is None
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        x.to("cuda:99")
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        x.cuda("cpu")
    with pytest.raises(RuntimeError, match="cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"):
        x.pin_memory()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.new_ones(2), torch.as_tensor(x), x.untyped_storage()):
        assert y.device == x.device


def test_the_current_gpu_is_what_cuda_without_a_number_means(cuda):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    with torch.cuda.device(1):
        assert torch.ones(2).cuda().get_device() == 1 == torch.cuda.current_device()
        torch.cuda.set_device("cuda:0")
        assert torch.ones(2, device="cuda").get_device() == 0
    torch.cuda.set_device(1)
    try:
        assert torch.zeros(1, device=cuda).device == torch.device("cuda:1") and torch.accelerator.current_device_index() == 1
    finally:
        torch.cuda.set_device(0)
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cuda:1!"):
        torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")


def test_the_default_device_is_where_new_tensors_are_made(cuda):
    torch.set_default_device(cuda)
    try:
        assert torch.ones(2).is_cuda and torch.tensor(1).is_cuda and torch.randn(2).is_cuda and nn.Linear(1, 1).weight.is_cuda
        assert torch.Tensor(2).is_cpu and torch.FloatTensor([1]).is_cpu and torch.from_numpy(np.ones(1)).is_cpu
    finally:
        torch.set_default_device(None)
    torch.set_default_tensor_type("torch.cuda.DoubleTensor")
    try:
        assert torch.ones(2).is_cuda and torch.ones(2).dtype is torch.float64
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(2).is_cpu and torch.ones(2).dtype is torch.float32


def test_files_remember_devices(cuda):
    f = io.BytesIO()
    torch.save({"a": torch.arange(3, device=cuda), "b": torch.ones(2)}, f)
    for where, kind in ((None, "cuda"), ("cpu", "cpu"), ({"cuda:0": "cpu"}, "cpu"), (torch.device(cuda), "cuda")):
        f.seek(0)
        known = torch.load(f, map_location=where)
        assert known["a"].device.type == kind and known["a"].tolist() == [0, 1, 2]


def test_mixed_precision(cuda):
    model, scaler = nn.Linear(3, 2).to(cuda), torch.amp.GradScaler(cuda)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    before = model.weight.detach().clone()
    with torch.autocast(cuda, torch.float16):
        out = model(torch.ones(4, 3, device=cuda))
        loss = out.float().pow(2).mean()
    assert out.dtype is torch.float16
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(model.weight, before) and scaler.get_scale() == 65536
