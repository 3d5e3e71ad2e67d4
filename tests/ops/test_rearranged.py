"""Operators told from shapes alone: what is said of their results and done at once is what their bodies say and do, to the bit."""
import jax
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import array_of
from torchshim.engine.interpret import build
from torchshim.ops.registry import OPS
from torchshim.tensor.core.handle import read

NAN, INF = float("nan"), float("inf")


def _values(dtype):
    x = torch.tensor([[0.0, -0.0, 1.0, NAN, -2.0, 1.0], [INF, 3.0, -INF, 3.0, NAN, -0.0], [5.0, 4.0, 3.0, 2.0, 1.0, 0.0],
                      [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]])
    if not dtype.is_floating_point:
        x = x.nan_to_num(7.0, 9.0, -8.0)
        x = x.abs() if dtype == torch.uint8 else x
    return x.to(dtype)


REAL = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8]
EVERY = [*REAL, torch.bool, torch.complex64]
CALLS = {
    "sort": [lambda x: x.sort(), lambda x: x.sort(0, True), lambda x: x.sort(dim=1, stable=True, descending=True), lambda x: x[:1].sort(0),
             lambda x: x[:0].sort(), lambda x: x.t().sort(-2)],
    "argsort": [lambda x: x.argsort(), lambda x: x.argsort(0, True), lambda x: x.argsort(dim=0, stable=True)],
    "topk": [lambda x: x.topk(2), lambda x: x.topk(3, 0, False), lambda x: x.topk(6), lambda x: x.topk(0),
             lambda x: x.t().topk(1, largest=False)],
    "kthvalue": [lambda x: x.kthvalue(2), lambda x: x.kthvalue(4, 0, True), lambda x: x.t().kthvalue(1, -1)],
    "cat": [lambda x: torch.cat([x, x[:1]]), lambda x: torch.cat([x, x[:, :2], x], -1), lambda x: torch.cat([x, torch.empty(0), x]),
            lambda x: torch.cat([torch.empty(0), torch.empty(0)]), lambda x: torch.cat([x, torch.ones(1, 6, dtype=torch.int16)]),
            lambda x: torch.cat([x[:0], x])],
    "stack": [lambda x: torch.stack([x, x]), lambda x: torch.stack([x, x.flip(0)], -1), lambda x: torch.stack([x[0, 0], x[1, 1]]),
              lambda x: torch.stack([x, x.double() if not x.is_complex() else x], 1)],
    "roll": [lambda x: x.roll(2), lambda x: x.roll(-1, 1), lambda x: x.roll((1, 8), (0, -1)), lambda x: x.roll((1, 2), (0, 0)),
             lambda x: x[0, 0].roll(1), lambda x: torch.roll(x, 1, None),
             lambda x: x[:0].roll(3, 0), lambda x: x.roll(4, 0)],
    "tril": [lambda x: x.tril(), lambda x: x.tril(-2), lambda x: torch.stack([x, x]).tril(9), lambda x: x[:0].tril()],
    "triu": [lambda x: x.triu(), lambda x: x.triu(2), lambda x: x.triu(-9)],
}
NO_ORDER = {"topk": (torch.bool, torch.complex64), "kthvalue": (torch.bool, torch.complex64), "sort": (torch.complex64,),
            "argsort": (torch.complex64,)}


@pytest.mark.parametrize("dtype", EVERY, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_results_and_host_are_those_of_the_body(name, dtype, monkeypatch):
    if dtype in NO_ORDER.get(name, ()):
        pytest.skip("refused")
    met = []
    for (space, full), op in OPS.items():
        if space is None and full.partition(".")[0] == name and op.results is not None:
            def build_it(layout, metas, kinds, op=op, plain=op.build):
                inst = plain(layout, metas, kinds)
                met.append(inst)
                return inst
            monkeypatch.setattr(op, "build", build_it)
            op.made.clear()
    for call in CALLS[name]:
        call(_values(dtype))
    assert met
    rng, numbers = np.random.default_rng(0), array_of(read(_values(dtype)))
    for inst in met:
        with jax.enable_x64(True):
            body = build(inst.jaxpr)
        assert [(m.shape, m.dtype) for m in inst.out_metas] == [(a.shape, a.dtype) for a in inst.jaxpr.out_avals], inst
        host = inst.op.on_host(inst)
        if host is None:
            continue
        arrays = []
        for m in inst.in_metas:
            with np.errstate(invalid="ignore"):
                given = np.resize(np.asarray(numbers).real if m.dtype.kind not in "cV" else numbers, m.shape).astype(m.dtype)
            arrays.append(rng.permuted(given.reshape(-1)).reshape(m.shape))
        for expected, got in zip(body(*arrays), host(*arrays), strict=True):
            expected = np.asarray(expected)
            assert got.shape == expected.shape and got.dtype == expected.dtype, inst
            assert got.tobytes() == expected.tobytes(), (inst, inst.layout)


def test_calls_whose_sizes_change_are_not_traced(monkeypatch):
    from torchshim.engine.compile import instance
    traced = []
    monkeypatch.setattr(instance, "jaxpr_of", lambda *args: traced.append(args) or pytest.fail("traced"))
    x = torch.rand(37, 41).detach()
    for k in range(1, 9):
        held = [x.topk(k)[0], x.kthvalue(k, 0)[1], x.roll(k, 1), x.tril(k), torch.cat([x] * k), torch.stack([x] * k), x.sort(k % 2)[0]]
        for h in held:
            h.numpy()
    assert not traced


def test_a_gradient_traces_what_was_only_computed_before():
    x = torch.randn(7, 9, requires_grad=True)
    with torch.no_grad():
        x.topk(3)[0].numpy()
    w = torch.rand(7, 3)
    values, index = x.topk(3)
    (values * w).sum().backward()
    expected = torch.zeros(7, 9).scatter_(1, index, w)
    assert torch.equal(x.grad, expected)


def test_wrong_dimensions_are_still_refused():
    x = torch.rand(3, 4)
    for call in (lambda: x.sort(2), lambda: x.topk(1, 5), lambda: x.roll(1, 2), lambda: torch.cat([x, x], 2),
                 lambda: torch.stack([x, x], 3),
                 lambda: x.kthvalue(1, -3)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            call()
