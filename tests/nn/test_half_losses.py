"""Losses of half floats round where torch's kernels do: between their steps, in values and gradients. Bits are PyTorch 2.13's."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F


def operands(dtype):
    k = torch.arange(1, 13)
    return ((k * 7 % 11 + 0.7) / 12).to(dtype), ((k * 5 % 13 + 0.3) / 14).to(dtype), ((k * 3 % 7 + 0.9) / 8).to(dtype)


CALLS = {
    "mse_loss": lambda p, t, w, r: F.mse_loss(p, t, weight=w, reduction=r),
    "huber_loss": lambda p, t, w, r: F.huber_loss(p, t, delta=0.25, reduction=r),
    "l1_loss": lambda p, t, w, r: F.l1_loss(p, t, weight=w, reduction=r),
    "binary_cross_entropy": lambda p, t, w, r: F.binary_cross_entropy(p, t, w, reduction=r),
    "binary_cross_entropy_with_logits": lambda p, t, w, r: F.binary_cross_entropy_with_logits(p, t, w, reduction=r),
    "kl_div": lambda p, t, w, r: F.kl_div(p, t, reduction=r),
    "soft_margin_loss": lambda p, t, w, r: F.soft_margin_loss(p, t, reduction=r)}
BITS = {
    "mse_loss": ([15625, 15905, 15940, 14996, 15825, 15901, 15236, 15000, 15752, 15745, 15549, 14857],
        [16003, -16580, 16135, 15724, -16737, 16157, -17106, 15683, 16117, -16741, -16762, 15542]),
    "huber_loss": ([15628, 15770, 15898, 14920, 15880, 15808, 15507, 15004, 15644, 15765, 15488, 14992],
        [16000, -16768, 16000, 15648, -16768, 16000, -16830, 15688, 16000, -16768, -16843, 15680]),
    "l1_loss": ([15875, 16060, 16007, 15596, 15903, 16029, 15534, 15555, 15989, 15899, 15878, 15414],
        [16122, -16547, 16058, 16189, -16781, 16157, -16922, 16122, 16221, -16710, -16579, 15987]),
    "binary_cross_entropy": ([16073, 16212, 16174, 16131, 16035, 16190, 15780, 15904, 16190, 16030, 16135, 15909],
        [16142, -16419, 16429, 15857, -16538, 16382, -16976, 15945, 16283, -16606, -16360, 15685]),
    "binary_cross_entropy_with_logits": ([16077, 16140, 16075, 16136, 15893, 16146, 15764, 16060, 16176, 15963, 16134, 15910],
        [15883, -16886, 15947, 15793, -16994, 15986, -17492, 15965, 15944, -16995, 15957, 15475]),
    "kl_div": ([-16612, -16664, -16669, -16606, -16737, -16612, -16618, -16785, -16592, -16645, -16715, -16592],
        [-16702, -16580, -16856, -16635, -16543, -16739, -16598, -16962, -16666, -16561, -16783, -16616]),
    "soft_margin_loss": ([16148, 16150, 16159, 16143, 16153, 16148, 16140, 16176, 16139, 16140, 16176, 16133],
        [-16853, -16729, -16996, -16798, -16693, -16886, -16753, -17091, -16831, -16722, -16912, -16777]),}


@pytest.mark.parametrize("name", CALLS)
def test_bits(name):
    p, t, w = operands(torch.bfloat16)
    p.requires_grad_()
    y = CALLS[name](p, t, w, "none")
    CALLS[name](p, t, w, "sum").backward()
    values, gradients = BITS[name]
    assert y.detach().view(torch.int16).tolist() == values and p.grad.view(torch.int16).tolist() == gradients


# dtypes of input, target, weight and pos_weight; the loss and the gradients of the first two, in float64
MIXED_ENTROPIES = [
    (("float32", "float64", None, None), [0.9514132738113403, 0.16022415459156036],
     [-0.31757447123527527, -0.14804726839065552], [1.5, -1.75]),
    (("float64", "float32", None, "float32"), [2.6528265476226807, 0.4806724488735199],
     [-1.1351490020751953, -0.4441416263580322], [4.90282678604126, -1.4295517206192017]),
    (("float16", "float32", "float64", None), [1.90234375, 0.320556640625],
     [-0.63525390625, -0.2958984375], [3.0, -3.5]),
    (("float32", "float32", None, "float64"), [2.6528265476226807, 0.4806724786758423],
     [-1.1351490020751953, -0.44414180517196655], [4.90282678604126, -1.4295517206192017]),
    (("float32", "bfloat16", "float32", "float32"), [5.3125, 0.9609375],
     [-2.2702980041503906, -0.8882837295532227], [9.8125, -2.859375]),
]


@pytest.mark.parametrize("dtypes, loss, of_input, of_target", MIXED_ENTROPIES, ids=lambda d: "-".join(map(str, d))[:40])
def test_entropies_of_logits_of_several_dtypes_are_computed_step_by_step_into_that_of_the_target(dtypes, loss, of_input, of_target):
    given = [None if d is None else torch.tensor(v, dtype=getattr(torch, d))
             for d, v in zip(dtypes, ([[-1.5], [1.75]], [[0.5], [1.0]], [2.0], [3.0]))]
    x, target = [t.requires_grad_() for t in given[:2]]
    y = F.binary_cross_entropy_with_logits(x, target, given[2], pos_weight=given[3], reduction="none")
    y.sum().backward()
    assert (y.dtype, y.grad_fn.name()) == (target.dtype, "BinaryCrossEntropyWithLogitsBackward0")
    assert (y.flatten().tolist(), x.grad.flatten().tolist(), target.grad.flatten().tolist()) == (loss, of_input, of_target)


@pytest.mark.parametrize("dtype, weighted, reduction, smoothing, loss, grad", [
    ("bfloat16", False, "mean", 0.0, 2.046875, [-0.04833984375, 0.021728515625, 0.026611328125, 0.04541015625, -0.046875, 0.00168609619140625]),
    ("bfloat16", True, "mean", 0.1, 2.03125, [-0.0191650390625, 0.0079345703125, 0.01123046875, 0.0673828125, -0.06787109375, 0.0008544921875]),
    ("bfloat16", True, "sum", 0.0, 28.5, [-0.291015625, 0.130859375, 0.16015625, 1.0, -1.03125, 0.037109375]),
    ("float16", False, "sum", 0.1, 40.59375, [-0.8984375, 0.39990234375, 0.49853515625, 0.8720703125, -0.8720703125, 2.6881694793701172e-05]),
    ("float16", True, "mean", 0.0, 2.025390625,
     [-0.0206756591796875, 0.00928497314453125, 0.0113983154296875, 0.07110595703125, -0.07373046875, 0.002620697021484375])])
def test_cross_entropy_adds_sixteen_rounded_losses_at_a_time(dtype, weighted, reduction, smoothing, loss, grad):
    d = getattr(torch, dtype)
    x = (torch.arange(60.).reshape(20, 3).sin() * 3).to(d).requires_grad_()
    weight = torch.tensor([.3, 1.1, .7]).to(d) if weighted else None
    made = F.cross_entropy(x, torch.arange(20) * 7 % 3, weight, reduction=reduction, label_smoothing=smoothing)
    made.backward()
    assert made.item() == loss and x.grad[:2].flatten().tolist() == grad


def test_losses_of_planes_are_added_alike():
    x = (torch.arange(60.).reshape(20, 3).sin() * 3).T.reshape(1, 3, 4, 5).bfloat16()
    target = (torch.arange(20) * 7 % 3).reshape(1, 4, 5)
    assert F.nll_loss(x, target).item() == -0.109375
    assert F.nll_loss(x, target, torch.tensor([.3, 1.1, .7]).bfloat16(), reduction="sum").item() == -1.6640625
