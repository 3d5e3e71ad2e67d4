"""An optimizer that says that it can be captured in a graph is refused where torch captures none, after its state is made."""
import pytest

import torchshim as torch

ONE = "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']"
ALL = "['cuda', 'xpu', 'hpu', 'privateuseone']"


@pytest.mark.parametrize("name, foreach, what, there", [
    ("Adam", None, "params and state_steps", ONE), ("AdamW", True, "params and state_steps", ALL),
    ("NAdam", None, "params, mu_products and state_steps", ONE), ("NAdam", True, "params, mu_products, and state_steps", ALL),
    ("RMSprop", True, "params and state_steps", ONE), ("Adadelta", None, "params and state_steps", ALL),
    ("ASGD", None, "params, mus, etas, and state_steps", ONE),
])
def test_refused_on_the_cpu(name, foreach, what, there):
    p = torch.nn.Parameter(torch.ones(2))
    o = getattr(torch.optim, name)([p], capturable=True, foreach=foreach)
    o.step()                                   # nothing to do
    p.grad = torch.ones(2)
    with pytest.raises(AssertionError) as error:
        o.step()
    assert str(error.value) == f"If capturable=True, {what} must be on supported devices: {there}."
    assert p.tolist() == [1, 1] and o.state[p]["step"] == 0
