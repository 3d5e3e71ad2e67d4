"""Protects what a step's arguments refuse, and what its meta is told of where it comes from."""
import copy
import pickle

import pytest

import torchshim as torch
from torchshim.fx import traceback


def test_a_steps_arguments_refuse_to_be_changed_in_place():
    made = torch.fx.symbolic_trace(lambda x: torch.cat([x, x], dim=0))
    step = [n for n in made.graph.nodes if n.op == "call_function"][0]
    with pytest.raises(TypeError, match="'immutable_list' object does not support mutation. If you are attempting to modify the kwargs or"):
        step.args[0].append(3)
    with pytest.raises(TypeError, match="'immutable_dict' object does not support mutation"):
        step.kwargs["dim"] = 1
    step.args = ([step.args[0][0]],)                       # but others may be given
    made.recompile()
    assert made(torch.ones(2)).shape == (2,)
    assert pickle.loads(pickle.dumps(made))(torch.ones(2)).shape == copy.deepcopy(made)(torch.ones(2)).shape == (2,)


def test_einsum_is_recorded_with_its_operands_one_by_one():
    """Optimizers of contractions read them there, whether the program gave a list or not."""
    for call in (lambda a, b: torch.einsum("ij,jk->ik", a, b), lambda a, b: torch.einsum("ij,jk->ik", [a, b])):
        made = torch.fx.symbolic_trace(call)
        a, b, step, _ = made.graph.nodes
        assert step.args == ("ij,jk->ik", a, b) and made(torch.ones(2, 3), torch.ones(3, 4)).tolist() == [[3.0] * 4] * 2


def test_annotations_reach_the_steps_where_they_are_preserved():
    with traceback.preserve_node_meta(), traceback.annotate({"part": 1}):
        made = torch.fx.symbolic_trace(lambda x: x + 1)
    assert [n.meta.get("custom") for n in made.graph.nodes] == [{"part": 1}] * 3
    with traceback.annotate({"part": 1}):
        assert not any(n.meta for n in torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes)


def test_an_assertion_about_a_proxy_is_a_step_that_stays():
    def checked(x):
        torch._assert(x.shape[-1] == 3, "three, please")
        return x + 1

    made = torch.fx.symbolic_trace(checked)
    made.graph.eliminate_dead_code()
    made.recompile()
    assert made(torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(AssertionError, match="three, please"):
        made(torch.ones(2))
