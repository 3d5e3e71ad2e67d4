"""huber_loss has its input's dtype, into which torch's kernel writes; other losses have the common one."""
import pytest

import torchshim as torch

huber = torch.nn.functional.huber_loss


def test_the_result_is_of_the_inputs_dtype():
    for d, e in ((torch.float32, torch.float64), (torch.float64, torch.float32), (torch.float32, torch.int64), (torch.bfloat16, torch.float32)):
        made = huber(torch.full((3,), 1.0, dtype=d), torch.full((3,), 4, dtype=e))
        assert made.dtype is d and made.item() == 2.5
    x = torch.tensor([0.1], requires_grad=True)
    made = huber(x, torch.tensor([0.0], dtype=torch.float64))
    assert made.grad_fn.name() == "HuberLossBackward0"
    with pytest.raises(RuntimeError, match="^Found dtype Double but expected Float$"):
        made.backward()


@pytest.mark.parametrize("d, e, told", [("bool", "float32", "result type Float can't be cast to the desired output type Bool"),
                                        ("float64", "complex64", "result type ComplexDouble can't be cast to the desired output type Double"),
                                        ("complex64", "float32", "\"huber_cpu\" not implemented for 'ComplexFloat'"),
                                        ("int64", "int64", "\"huber_cpu\" not implemented for 'Long'")])
def test_refusals(d, e, told):
    with pytest.raises(RuntimeError, match=f"^{told}$"):
        huber(torch.ones(2, dtype=getattr(torch, d)), torch.ones(2, dtype=getattr(torch, e)))
