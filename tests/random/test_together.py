"""Draws that are made in one go, and that they are the same ones."""
import numpy as np
import pytest

from torchshim.random import boxmuller, streams
from torchshim.random.generator import stream
import torchshim as torch


@pytest.mark.parametrize("n", [17, 31, 1000])
def test_normals_that_are_made_again_at_the_end_are_made_with_the_others(n, monkeypatch):
    """16 by 16 and at the end the last 16 anew: as one block of words, not two, of which the second costs as much as a thousand."""
    def apart():
        torch.manual_seed(7)
        s = stream(None, torch.ones(1)._ts_meta.device)
        s._engine.words(0)
        full = n - n % 16
        words = s._engine.words(n + 16).copy()
        made = np.empty(n, np.float32)
        for at, w in ((0, words[:full]), (n - 16, words[n:])):
            block = w.view(np.float32).copy()
            boxmuller.box_muller_f32(w, block, 0.0, 1.0)
            made[at:at + block.size] = block
        return made.tolist()
    expected = apart()
    calls, one = [], boxmuller.box_muller_f32
    monkeypatch.setattr(streams.boxmuller, "box_muller_f32", lambda *args: calls.append(1) or one(*args))
    torch.manual_seed(7)
    assert torch.randn(n).tolist() == expected and len(calls) == 1


def test_rows_drawn_with_replacement_use_the_uniforms_in_order():
    w = torch.tensor([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])
    torch.manual_seed(3)
    together = torch.multinomial(w, 4, True)
    torch.manual_seed(3)
    assert together.tolist() == [torch.multinomial(row, 4, True).tolist() for row in w]
    with pytest.raises(RuntimeError, match="probability entry < 0"):
        torch.multinomial(torch.tensor([[1.0, 1.0], [1.0, -1.0]]), 2, True)
    assert torch.multinomial(torch.ones(0, 3), 2, True).shape == (0, 2)


def test_probabilities_of_a_transposed_tensor_are_taken_in_its_memory_order():
    """Expected of torch 2.13: each draw goes with the probability of the element that it fills."""
    torch.manual_seed(3)
    x, p = torch.empty(3, 4).t(), torch.rand(4, 3)
    assert x.bernoulli_(p).int().tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 1]]
