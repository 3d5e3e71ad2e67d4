"""Protects torch.export of numbers and sizes that depend on values: they stay symbols, what torch._check says of them is asserted, and the programs
are right for other values than the example's."""
import pytest

import torchshim as torch
from torchshim.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

T = torch.tensor


class Of(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f, self.weight = f, torch.nn.Parameter(torch.ones(3, 2))

    def forward(self, *args):
        return self.f(self, *args)


def _checked_item(m, x, y):
    n = x.item()
    torch._check(n >= 2)
    torch._check(n <= y.shape[0])
    return y[:n].sum(), n * 2 + 1


def _zeros(m, x):
    n = x.max().item()
    torch._check(n >= 0)
    return torch.zeros(n, 2) + 1


PROGRAMS = {
    "nonzero": (lambda m, x: x.nonzero(), [(T([1, 0, 2]),), (T([0, 0, 0]),), (T([1, 1, 1]),)], "{u0: VR[0, 3]}"),
    "two of them": (lambda m, x, y: torch.cat([x[x > 0], y[y > 0]]), [(T([1., -1]), T([2., 3, -1])), (T([1., 1]), T([-2., -3, -1]))],
                    "{u0: VR[0, 2], u1: VR[0, 3]}"),
    "item": (_checked_item, [(T(3), torch.arange(5.)), (T(5), torch.arange(5.)), (T(2), torch.arange(5.))], "{u0: VR[2, 5]}"),
    "zeros": (_zeros, [(T([3, 1]),), (T([0, 0]),), (T([7, 9]),)], "{u0: VR[0, int_oo]}"),
    "rows": (lambda m, x, k: (x[k] @ m.weight).relu().sum(1), [(torch.arange(12.).view(4, 3), T([True, False, True, False])),
                                                              (torch.arange(12.).view(4, 3), T([False] * 4))], "{u0: VR[0, 4]}"),
    "their number": (lambda m, x: (torch.masked_select(x, x > 0) + 1, x.nonzero().shape[0]), [(T([3., -2, 0]),), (T([1., 2, 3]),)],
                     "{u0: VR[0, 9223372036854775806], u1: VR[0, 3]}"),
    "an unchecked slice": (lambda m, x, y: y[:x.item()] * 2, [(T(3), torch.arange(5.)), (T(9), torch.arange(5.)), (T(-2), torch.arange(5.))],
                           "{u0: VR[-int_oo, int_oo], u1: VR[0, 5]}"),
}


def _flat(made):
    return list(made) if isinstance(made, tuple) else [made]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    f, calls, ranges = PROGRAMS[name]
    m = Of(f)
    program = torch.export.export(m, calls[0])
    assert str(program.range_constraints) == ranges
    for args in calls:
        for got, want in zip(_flat(program.module()(*args)), _flat(m(*args)), strict=True):
            assert torch.equal(got, want) if isinstance(want, torch.Tensor) else got == want


def test_what_was_checked_is_asserted():
    program = torch.export.export(Of(_checked_item), PROGRAMS["item"][1][0])
    code = program.graph_module.code
    assert "item >= 2" in code and "slice_1 = torch.ops.aten.slice.Tensor(args_1, 0, None, item)" in code
    for n, said in ((1, "u0 >= 2 on node 'ge_1'"), (6, "u0 <= 5 on node 'le_1'")):
        with pytest.raises(RuntimeError, match=f"Runtime assertion failed for expression {said}"):
            program.module()(T(n), torch.arange(5.))
    with pytest.raises(RuntimeError, match="Expected cond to be True, but got False"):
        torch.export.export(Of(lambda m, x: torch._check(x.nonzero().shape[0] > 3)), (T([1, 2]),))


def test_questions_without_an_answer():
    def branch(m, x):
        return x if x.item() > 3 else x + 1
    with pytest.raises(GuardOnDataDependentSymNode, match=r"Could not guard on data-dependent expression u0 > 3 \(unhinted: u0 > 3\)"):
        torch.export.export(Of(branch), (T(3),))
    with pytest.raises(GuardOnDataDependentSymNode, match="data-dependent expression"):
        torch.export.export(Of(lambda m, x: [x for _ in range(x.item())]), (T(3),))
    with pytest.raises(NotImplementedError, match="sizes and numbers that depend on values"):
        torch.export.export(Of(lambda m, x: x.item() * x), (T(3.),))

    def known(m, x):
        n = x.item()
        torch._check(n > 5)
        return x if n > 3 else x + 1
    assert torch.export.export(Of(known), (T(8),)).module()(T(9)).item() == 9


def test_sizes_of_inputs_beside_them():
    n = torch.export.Dim("n", min=2)
    program = torch.export.export(Of(lambda m, x: x[x > 0] * 2), (torch.randn(6),), dynamic_shapes={"args": ({0: n},)})
    x = torch.randn(9)
    assert torch.equal(program.module()(x), x[x > 0] * 2)
    assert "u0: VR[0, 9223372036854775806]" in str(program.range_constraints)
    assert "Sym(u0)" in str(program)
    with pytest.raises(NotImplementedError, match="run_decompositions of a program with numbers or sizes that depend on values"):
        program.run_decompositions()
