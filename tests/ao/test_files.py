"""Protects files of quantized models: a state_dict that torch wrote is loaded and computes the same."""
import pathlib
import pickle
import warnings

import torchshim as torch
from torchshim.ao import quantization as tq

WRITTEN_BY_TORCH = pathlib.Path(__file__).with_name("written_by_torch.pt")


def model():
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))


def test_a_state_dict_of_torch_is_loaded():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = tq.quantize_dynamic(model())
    state, x, y = torch.load(WRITTEN_BY_TORCH)
    made.load_state_dict(state)
    assert torch.equal(made(x), y)


def test_a_quantized_model_is_pickled():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = tq.quantize_dynamic(model())
    x = torch.randn(2, 4)
    assert torch.equal(pickle.loads(pickle.dumps(made))(x), made(x))
