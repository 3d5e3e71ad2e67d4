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
