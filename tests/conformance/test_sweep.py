"""Protects the sweep against real torch: every call has a name of its own, and answers are told apart."""
from compat import sweep


def test_calls_have_names_of_their_own():
    names = [name for name, _ in sweep.every_call("of (volume|special)")]
    assert len(names) == len(set(names)) > 500
    assert ["t(2, 3, 4)", "float32", "torch.sum(x, -3)"] in [call for _, call in sweep.every_call("sum.*volume float32")]


def test_answers_are_told_apart():
    answer = {"result": ["torch.float32", [2], [1], [1.0, float("nan")]]}
    near = {"result": ["torch.float32", [2], [1], [1.0 + 1e-6, float("nan")]]}
    other = {"result": ["torch.float32", [2], [1], [1.001, float("nan")]]}
    assert sweep.same(answer, near, "float32", False) and not sweep.same(answer, other, "float32", False)
    doubles, apart = [{"result": ["torch.float64", *a["result"][1:]]} for a in (answer, near)]
    assert not sweep.same(doubles, apart, "float64", False) and sweep.same(answer, near, "float64", False)   # the call asked for float32
    wrong, said = {"error": ["IndexError", "a"]}, {"error": ["IndexError", "b"]}
    assert (sweep.same(wrong, said, "float32", False) and not sweep.same(wrong, said, "float32", True)
            and not sweep.same(wrong, answer, "float32", False))
