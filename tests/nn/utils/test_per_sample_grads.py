"""Protects call_for_per_sample_grads: each sample's gradient, in `grad_sample`, as PyTorch's expanded weights give it, and their refusals."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim.nn.utils._expanded_weights import ExpandedWeight
from torchshim.nn.utils._per_sample_grad import call_for_per_sample_grads


def run(m, x, **settings):
    """The grad_fn's name and, by parameter, the sum of each sample's gradient."""
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.arange(p.numel()).reshape(p.shape).sin())
    o = call_for_per_sample_grads(m, **settings)(x)
    o = o[0] if isinstance(o, tuple) else o
    (o * torch.arange(o.numel()).reshape(o.shape).cos()).sum().backward()
    assert all([p.grad is None and p.grad_sample.shape[1:] == p.shape for p in m.parameters()])
    return o.grad_fn.name(), {n: [round(v, 4) for v in p.grad_sample.flatten(1).sum(1).tolist()] for n, p in m.named_parameters()}


CASES = [                                      # what torch 2.13 gives
    (lambda: nn.Linear(4, 2), {}, "LinearPerSampleGradBackward",
     {"weight": [4.7957, 2.6658, 1.2086], "bias": [0.1342, 1.3441, -1.8913]}),
    (lambda: nn.Linear(4, 2), {"loss_reduction": "mean"}, "LinearPerSampleGradBackward",
     {"weight": [14.3871, 7.9975, 3.6258], "bias": [0.4025, 4.0323, -5.6738]}),
    (lambda: nn.Conv1d(2, 2, 3, padding="same"), {}, "ConvPerSampleGradBackward",
     {"weight": [-0.1283, 0.1653, -0.1883], "bias": [1.4783, -0.7629, -1.2562]}),
    (lambda: nn.GroupNorm(1, 2), {}, "GroupNormPerSampleGradBackward",
     {"weight": [0.4281, -0.5124, 0.61], "bias": [1.4783, -0.7629, -1.2562]}),
    (lambda: nn.InstanceNorm1d(2, affine=True), {}, "InstanceNormPerSampleGradBackward",
     {"weight": [1.1303, -1.6886, 1.9417], "bias": [1.4783, -0.7629, -1.2562]}),
    (lambda: nn.LayerNorm(4), {}, "LayerNormPerSampleGradBackward",
     {"weight": [1.1303, -1.6886, 1.9417], "bias": [1.4783, -0.7629, -1.2562]}),
    (lambda: nn.RNN(4, 2), {"batch_first": False}, "CatBackward0",
     {"weight_ih_l0": [0.5944, 0.277], "weight_hh_l0": [-0.8802, -0.3413], "bias_ih_l0": [-0.4092, -0.1434], "bias_hh_l0": [-0.4092, -0.1434]}),
    (lambda: nn.GRU(4, 2, batch_first=True, bidirectional=True), {}, "TransposeBackward0",
     {"weight_ih_l0": [0.3599, 0.4966, 0.1824], "weight_hh_l0": [-0.0418, 0.1375, -0.0679], "bias_ih_l0": [0.1526, 0.2615, -0.0214],
      "bias_hh_l0": [0.2974, 0.3091, 0.1136], "weight_ih_l0_reverse": [-0.6087, -0.3793, -0.6805],
      "weight_hh_l0_reverse": [0.0325, 0.0022, 0.1159], "bias_ih_l0_reverse": [-0.0442, -0.2529, 0.3676],
      "bias_hh_l0_reverse": [-0.2026, -0.2504, 0.2497]})]


@pytest.mark.parametrize("module, settings, name, expected", CASES, ids=[name + str(k) for k, (_, _, name, _) in enumerate(CASES)])
def test_each_sample_s_gradient(module, settings, name, expected):
    got, grads = run(module(), torch.arange(24.).reshape(3, 2, 4).sin(), **settings)
    assert got == name and list(grads) == list(expected)
    for n, g in grads.items():
        assert g == pytest.approx(expected[n], abs=2e-4), n


def test_padding_of_an_embedding_has_a_gradient_here():
    assert run(nn.Embedding(3, 2, padding_idx=0), torch.tensor([[0, 1], [2, 2], [0, 0]]))[1] == {"weight": [0.1342, 1.3441, -1.8913]}


def test_packed_sequences_give_what_their_samples_give():
    torch.manual_seed(0)
    x = torch.randn(3, 2, 4)
    m = nn.LSTM(4, 2, 2, bidirectional=True)
    o = call_for_per_sample_grads(m, batch_size=2)(nn.utils.rnn.pack_padded_sequence(x, [3, 1]))[0]
    o.data.sum().backward()
    for k, length in enumerate((3, 1)):
        m.zero_grad()
        m(x[:length, k])[0].sum().backward()
        for p in m.parameters():
            torch.testing.assert_close(p.grad_sample[k], p.grad)


def test_uses_add_up_and_inputs_have_their_gradients():
    x, m = torch.ones(2, 3, requires_grad=True), nn.Linear(3, 3)
    called = call_for_per_sample_grads(nn.Sequential(m, m))
    called(x).sum().backward()
    got = x.grad.clone(), m.weight.grad_sample
    x.grad = None
    m(m(x)).sum().backward()
    torch.testing.assert_close((got[0], got[1].sum(0)), (x.grad, m.weight.grad))


def test_refusals():
    refused = [
        (lambda: call_for_per_sample_grads(nn.BatchNorm1d(2))(torch.ones(2, 2)),
         "Expanded Weights encountered but cannot handle function batch_norm"),
        (lambda: call_for_per_sample_grads(nn.Linear(2, 1))(torch.ones(2)),
         "Input does not have a batch dimension. Expanded Weights expected input of at least rank 2, got of rank 1"),
        (lambda: call_for_per_sample_grads(nn.Linear(2, 1), batch_size=3)(torch.ones(2, 2)),
         "Expected ExpandedWeights to have batch size matching input but got input batch size of 2 with ExpandedWeight of batch size 3"),
        (lambda: call_for_per_sample_grads(nn.Linear(2, 1), loss_reduction="x"),
         "Expected loss_reduction argument to be sum or mean, got x"),
        (lambda: call_for_per_sample_grads(3), "Module passed must be nn.Module, got int"),
        (lambda: ExpandedWeight(torch.ones(1), 1, "sum"), "Can only build ExpandedWeights objects of tensors that requires_grad")]
    for f, text in refused:
        with pytest.raises(RuntimeError) as e:
            f()
        assert str(e.value) == text
    m = nn.Linear(2, 1)
    call_for_per_sample_grads(m)(torch.ones(2, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="Current Expanded Weights accumulates the gradients"):
        call_for_per_sample_grads(m)
