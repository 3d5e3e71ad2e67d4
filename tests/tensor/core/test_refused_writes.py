"""Writes that torch refuses: to what views of inference tensors' `.data` see, to a tensor through an index from itself,
and scans of bools."""
import pytest

import torchshim as torch

OVERLAP = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def made_in_inference():
    with torch.inference_mode():
        return torch.ones(3) * 1


@pytest.mark.parametrize("write", [
    lambda x: x.__setitem__(0, 5.0), lambda x: x.__setitem__(0, torch.tensor(5.0)), lambda x: x[0].add_(1), lambda x: x[1:].zero_(),
    lambda x: x.view(3, 1).add_(1), lambda x: x.select(0, 0).fill_(1), lambda x: x.__setitem__(None, 5.0)])
def test_views_of_data_of_inference_tensors_are_not_written(write):
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        write(made_in_inference().data)


def test_data_of_inference_tensors_is_written_as_a_whole():
    assert made_in_inference().data.add_(1).tolist() == [2, 2, 2]
    x = torch.ones(3)
    x.data[0] = 5
    assert x.tolist() == [5, 1, 1] and x._version == 0


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (1,), (2,)])
def test_a_tensor_is_not_written_to_itself_through_an_index(shape):
    for index in ([0], [1], [], [0, 0]):
        x = torch.ones(shape)
        with pytest.raises(RuntimeError, match=OVERLAP):
            x[torch.tensor(index, dtype=torch.long)] = x


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_scans_of_bools_in_place(name):
    with pytest.raises(NotImplementedError, match=f"\"{name}out_cpu\" not implemented for 'Bool'"):
        getattr(torch.ones(3, dtype=torch.bool), name)(0)
    assert getattr(torch.tensor(True), name)(0).item() is True
    assert getattr(torch.ones(0, dtype=torch.bool), name)(0).dtype == torch.bool
    assert getattr(torch.ones(3, dtype=torch.uint8), name)(0).dtype == torch.uint8
