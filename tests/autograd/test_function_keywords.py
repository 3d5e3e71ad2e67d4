"""Arguments of `Function.apply` given by keyword: they go to their places, where backward counts them; what has none is refused, as in torch."""

import pytest

import torchshim as torch
from torchshim.autograd import Function


class Old(Function):
    @staticmethod
    def forward(ctx, a, b=2, c=3, *, only=1):
        ctx.given = b, c
        return a * b

    @staticmethod
    def backward(ctx, g):
        assert len(ctx.needs_input_grad) == ctx.expected
        return (g * ctx.given[0],) + (None,) * (ctx.expected - 1)


class New(Old):
    @staticmethod
    def forward(a, b=2, c=3):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, *ctx.given = inputs


class Only(New):
    @staticmethod
    def forward(a, *, only=1):
        return a * 1


@pytest.mark.parametrize("named, positions", [({}, 1), ({"b": 5}, 2), ({"c": 7, "b": 5}, 3)])
def test_keywords_count_as_the_positions_they_name(named, positions):
    x = torch.ones(2, requires_grad=True)
    y = Old.apply(x, **named)
    assert y.grad_fn.given == (named.get("b", 2), named.get("c", 3)) and y.grad_fn.needs_input_grad == (True,) + (False,) * (positions - 1)
    y.grad_fn.expected = positions
    y.sum().backward()
    assert x.grad.tolist() == [named.get("b", 2)] * 2
    assert Old.apply(b=4, a=x).grad_fn.needs_input_grad == (True, False)


def test_a_function_with_setup_context_gets_its_defaults_too():
    x = torch.ones(2, requires_grad=True)
    y = New.apply(x, c=9)
    assert y.grad_fn.given == [2, 9] and y.grad_fn.needs_input_grad == (True, False, False)


@pytest.mark.parametrize("kind, args, named, text", [
    (Old, 1, {"c": 1}, r"forward\(\) missing required argument: 'b' \(position 1\)"),
    (Old, 0, {"b": 1}, r"forward\(\) missing required argument: 'a' \(position 0\)"),
    (Old, 1, {"a": 1}, r"forward\(\) got multiple values for argument 'a'"),
    (Old, 1, {"only": 1}, r"forward\(\) got an unexpected keyword argument 'only'"),
    (Only, 1, {}, r"forward\(\) got an unexpected keyword argument 'only'"),
    (New, 1, {"a": 1}, "multiple values for argument 'a'"),
])
def test_what_has_no_place_is_refused(kind, args, named, text):
    with pytest.raises(TypeError, match=text):
        kind.apply(*[torch.ones(2, requires_grad=True)] * args, **named)
