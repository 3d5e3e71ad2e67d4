"""Protects what stands in for the compiled part of libraries: the numbers are those of torchvision's and torchaudio's own operators."""
import pytest

import torchshim as torch


@pytest.fixture(scope="module")
def vision():
    torch.ops.load_library("/somewhere/torchvision/_C.so")
    torch.ops.load_library("/somewhere/torchvision/_C.so")          # once more: nothing is declared twice
    torch.ops.load_library("/somewhere/torchvision/_C_stable.so")   # its name since torchvision 0.29
    return torch.ops.torchvision


X = (torch.arange(2 * 4 * 5 * 6.) * .7).sin().view(2, 4, 5, 6)
ROIS = torch.tensor([[0, -1, 0, 3.4, 4], [1, 1, 2, 5.5, 3], [1, 0.2, .3, 9, 1.1]])


@pytest.mark.parametrize("name, rest, total, part, slope, one, places", [
    ("roi_align", (-1, True), .10343, [[.328555703, .518645525], [-.294888198, .349788308]], -20.0763, 10.12, None),
    ("roi_align", (2, False), .4501, [[-.341439128, .514383018], [-.48891294, .018429555]], 13.9212, 16.0795, None),
    ("roi_pool", (), 22.80209, [[-.432969242, .814703286], [-.432969242, .814703286]], 430.4956, 0, 495),
    ("ps_roi_align", (-1,), .61493, [[.328555703, -.429263949], [-.310326993, .415215403]], 5.4572, 0, 18),
    ("ps_roi_pool", (), .05748, [[-.672412276, .832407296], [-.332245708, .066048071]], 4.234, 0, 18)])
def test_regions(vision, name, rest, total, part, slope, one, places):
    x = X.clone().requires_grad_()
    y = getattr(vision, name)(x, ROIS, .8, 2, 2, *rest)
    if places is not None:
        y, at = y
        assert at.dtype == torch.int32 and at.sum() == places and not at.requires_grad
    g, = torch.autograd.grad((y * torch.arange(y.numel()).view_as(y)).sum(), x, create_graph=True)
    assert y.sum().item() == pytest.approx(total, abs=2e-5) and torch.allclose(y[1, 0], torch.tensor(part), atol=1e-7)
    assert (g * x).sum().item() == pytest.approx(slope, abs=3e-4) and g[1, 0, 2, 3].item() == pytest.approx(one, abs=1e-4)
    assert not g.requires_grad
    g, = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=f"double backwards on {name} not supported"):
        torch.autograd.grad(g.sum(), x)
    with pytest.raises(RuntimeError, match="to have the same type as tensor for argument #2 'rois'; but type torch.FloatTensor does"):
        getattr(vision, name)(X, ROIS.double(), .8, 2, 2, *rest)
    with pytest.raises(NotImplementedError, match="_forward_kernel\" not implemented for 'BFloat16'"):
        getattr(vision, name)(X.bfloat16(), ROIS.bfloat16(), .8, 2, 2, *rest)

    def first(x):
        y = getattr(vision, name)(x, ROIS[:2].double(), .4, 2, 2, *rest)
        return y if places is None else y[0]
    assert torch.autograd.gradcheck(first, X[:, :, :4, :4].double().requires_grad_())


def test_boxes(vision):
    boxes = torch.tensor([[0, 0, 4, 4.], [1, 1, 5, 5], [0, 0, 4, 3.9], [6, 6, 7, 7], [6, 6, 7, 7]])
    scores = torch.tensor([.5, .6, .7, .1, .1])
    assert vision.nms(boxes, scores, .5).tolist() == [2, 1, 3]
    assert vision.nms(boxes[:0], scores[:0], .5).tolist() == [] and vision.nms(boxes, scores, .5).dtype == torch.int64
    assert vision.nms(boxes, torch.tensor([.5, float("nan"), .7, .1, .1]), .5).tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="boxes should have 4 elements in dimension 1, got 3"):
        vision.nms(boxes[:, :3], scores, .5)
    a, b = torch.tensor([[2, 2, 2, 2, 45.], [0, 0, 3, 1, 10]]), torch.tensor([[2, 2, 2, 2, 0.], [1, 0, 2, 2, -30]])
    assert torch.allclose(vision.box_iou_rotated(a, b), torch.tensor([[.70711, .00268], [0, .30427]]), atol=1e-5)


def test_deformable_convolution(vision):
    w = (torch.arange(16 * 2.) * .3).cos().view(4, 2, 2, 2)
    offset, mask = (torch.arange(480.) * .9).sin().view(2, 16, 3, 5) * 2, (torch.arange(240.) * .5).cos().view(2, 8, 3, 5)
    leaves = [t.clone().requires_grad_() for t in (X, w, offset, mask, torch.arange(4.))]
    geometry = 2, 1, 1, 0, 1, 1, 2, 2
    y = vision.deform_conv2d(*leaves, *geometry, True)
    (y * y).sum().backward()
    assert y.shape == (2, 4, 3, 5) and y.sum().item() == pytest.approx(175.7196, abs=2e-3)
    assert [(t.grad ** 2).sum().item() for t in leaves] == pytest.approx([627.17, 761.93, 1349.51, 426.75, 49344.19], rel=1e-4)
    # offsets of 0 and no mask: a convolution
    plain = vision.deform_conv2d(X, w, offset * 0, mask, torch.zeros(4), *geometry, False)
    assert torch.allclose(plain, torch.nn.functional.conv2d(X, w, stride=(2, 1), padding=(1, 0), groups=2), atol=1e-5)
    with pytest.raises(RuntimeError, match="offset.shape"):
        vision.deform_conv2d(X, w, offset[:, :14], mask, torch.zeros(4), *geometry, True)


def test_autocast_of_operators_of_a_library(vision):
    # torchvision has its operators computed in float32 under autocast, and gives back the input's dtype
    lib = torch.library.Library("torchvision", "IMPL")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

    def single(input, rois, *rest):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            assert not torch.is_autocast_enabled("cpu")
            return torch.ops.torchvision.roi_align(input.float(), rois.float(), *rest).to(input.dtype)
    lib.impl("roi_align", single, "AutocastCPU")
    with torch.autocast("cpu", torch.bfloat16):
        y = vision.roi_align(X.bfloat16(), ROIS, .8, 2, 2, -1, True)
        assert torch.is_autocast_enabled("cpu")
    assert y.dtype == torch.bfloat16 and torch.equal(y, vision.roi_align(X.bfloat16().float(), ROIS, .8, 2, 2, -1, True).bfloat16())

    @torch.library.custom_op("tests_extensions::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2
    torch.library.register_autocast("tests_extensions::twice", "cpu", torch.float16)
    with torch.autocast("cpu"):
        assert twice(X).dtype == torch.float16 and twice(X.double()).dtype == torch.float64
    assert twice(X).dtype == torch.float32
    with pytest.raises(ValueError, match="Unknown device type: tpux"):
        twice.register_autocast("tpux", torch.float16)


@pytest.fixture(scope="module")
def audio():
    torch.ops.load_library("/somewhere/torchaudio/lib/_torchaudio.abi3.so")
    torch.ops.load_library("/somewhere/torchaudio/lib/libtorchaudio.abi3.so")
    assert torch.ops._torchaudio.cuda_version() is None and torch.ops._torchaudio.is_align_available()
    return torch.ops.torchaudio


def test_recursive_filter(audio):
    x, out = (torch.arange(24.) * .9).sin().view(2, 2, 6), torch.zeros(2, 2, 8)
    given, coefficients = x.clone(), torch.tensor([[.2, -.5, 1.], [0, .3, 1]])
    assert audio._lfilter_core_loop(given, coefficients, out) is out and torch.equal(given, x)
    for c, (second, first, _) in enumerate(coefficients.tolist()):
        want = torch.zeros(2, 8)
        for i in range(6):
            want[:, i + 2] = x[:, c, i] - second * want[:, i] - first * want[:, i + 1]
        assert torch.allclose(out[:, c], want, atol=1e-6)


def test_overdrive(audio):
    w, temp = (torch.arange(8.) * .7).sin().view(2, 4), (torch.arange(8.) * .7).cos().view(2, 4)
    last_in, last_out, out = torch.zeros(2), torch.zeros(2), torch.zeros(2, 4)
    audio._overdrive_core_loop(w, temp, last_in, last_out, out)
    assert torch.equal(last_in, temp[:, -1]) and torch.allclose(last_out, temp[:, -1], atol=.05) and out[0, 0] == temp[0, 0] * .75


def test_alignment(audio):
    frames = torch.full((1, 7, 4), .1)
    for t, c in enumerate((0, 1, 1, 0, 1, 3, 0)):
        frames[0, t, c] = .7
    ones = torch.tensor([7]), torch.tensor([3])
    path, scores = audio.forced_align(frames.log(), torch.tensor([[1, 1, 3]]), *ones, 0)
    assert path.tolist() == [[0, 1, 1, 0, 1, 3, 0]] and torch.equal(scores, frames.log())
    with pytest.raises(RuntimeError, match="targets length: 3, and number of repeats: 1"):
        audio.forced_align(frames[:, :3].log(), torch.tensor([[1, 1, 3]]), torch.tensor([3]), torch.tensor([3]), 0)


@pytest.mark.parametrize("fused", [True, False])
def test_loss_of_transducers(audio, fused):
    # against the sum over all paths
    import itertools
    logits = (torch.arange(2 * 3 * 3 * 4.) * .8).sin().view(2, 3, 3, 4).requires_grad_()
    logs, targets = logits.log_softmax(-1), torch.tensor([[1, 2], [3, 0]], dtype=torch.int32)
    lengths = (3, 2), (2, 1)
    given = logits if fused else logs
    costs, grads = audio.rnnt_loss_forward(given.detach(), targets, *[torch.tensor(n, dtype=torch.int32) for n in lengths], 0, -1., fused)
    for b, (frames, length) in enumerate(zip(*lengths)):
        paths = []
        for labels in itertools.combinations(range(frames - 1 + length), length):
            t = u = 0
            total = 0
            for step in range(frames - 1 + length):
                total = total + (logs[b, t, u, targets[b, u]] if step in labels else logs[b, t, u, 0])
                t, u = (t, u + 1) if step in labels else (t + 1, u)
            paths.append(total + logs[b, t, u, 0])
        want = -torch.stack(paths).logsumexp(0)
        assert costs[b].item() == pytest.approx(want.item(), abs=1e-5)
        g, = torch.autograd.grad(want, logits if fused else logs, retain_graph=True)
        assert torch.allclose(grads[b], g[b], atol=1e-5)
