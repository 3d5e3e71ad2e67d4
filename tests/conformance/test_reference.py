"""compat.reference carries arguments and results from one library to another as they are, and sees what differs."""
import pickle

import torchshim as torch
from compat.reference import decoded, difference, encoded, play


def test_tensors_lie_in_memory_as_they_did():
    for t in (torch.arange(6.0).reshape(2, 3).t(), torch.ones(3, 1).expand(3, 4), torch.arange(8)[::2], torch.tensor(1 + 2j),
              torch.zeros(0, 3), torch.tensor([1.5, -2.0], dtype=torch.bfloat16), torch.tensor([True, False])):
        again = decoded(torch, encoded(torch, {"a": [t, None, 3, torch.float32]}))["a"]
        assert difference(torch, t, again[0]) is None and again[1:] == [None, 3, torch.float32]


def test_differences_are_told():
    a = torch.arange(4.0)
    assert difference(torch, a, a + 1) == "4 of 4 values"
    assert difference(torch, a, a.double()) == "dtype torch.float64 for torch.float32"
    assert difference(torch, a.reshape(2, 2), a.reshape(2, 2).t().contiguous().t().mul(1)).startswith("strides")
    assert difference(torch, float("nan"), float("nan")) is None and difference(torch, 1, 2) == "2 for 1"


def test_calls_are_made_and_counted(tmp_path, capsys):
    given = encoded(torch, [[torch.ones(2)], {}])
    calls = [("exp", given, ("result", encoded(torch, torch.ones(2).exp()))), ("neg", given, ("result", encoded(torch, torch.ones(2)))),
             ("linalg.inv", given, ("error", "RuntimeError", "linalg.inv: The input tensor A must have at least 2 dimensions.")),
             ("abs", given, ("error", "RuntimeError", "no"))]
    (tmp_path / "calls").write_bytes(pickle.dumps(calls))
    assert play(torch, tmp_path / "calls", 9) == 2
    assert ("neg(float32[2]): 2 of 2 values\nabs(float32[2]): no error; torch: RuntimeError: no\n4 calls, 2 differ"
            in capsys.readouterr().out)
