"""Protects torch.library: operators of a program's own run below autograd, with the gradient that was registered and no other, are called
by their schema, and refuse what PyTorch refuses."""
from typing import List, Optional, Sequence, Tuple

import pytest

import torchshim as torch
from torchshim import Tensor
from torchshim.library import Library, custom_op, infer_schema, opcheck


@custom_op("tests_lib::scale", mutates_args=())
def scale(x: Tensor, s: float = 2.0) -> Tensor:
    return x * s


@scale.register_fake
def _(x, s=2.0):
    return torch.empty_like(x)


scale.register_autograd(lambda ctx, g: (g * ctx.s * 10, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "s", inputs[1]))


def test_calls_fill_in_defaults_and_take_the_registered_gradient():
    x = torch.ones(2, requires_grad=True)
    for call, factor in ((lambda: scale(x), 2), (lambda: scale(x, 3.0), 3), (lambda: scale(x, s=4.0), 4),
                         (lambda: torch.ops.tests_lib.scale(x), 2),
                         (lambda: torch.ops.tests_lib.scale.default(x, 5), 5)):
        y = call()
        assert y.tolist() == [factor] * 2 and type(y.grad_fn).__name__ == "GeneratedBackwardFor_tests_lib_scale_defaultBackward"
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [factor * 10] * 2
    assert scale(torch.ones(2, device="meta")).shape == (2,) and torch.vmap(scale)(torch.ones(3, 2)).tolist() == [[2, 2]] * 3


def test_names_and_schemas():
    packet = torch.ops.tests_lib.scale
    assert repr(packet) == "<OpOverloadPacket(op='tests_lib.scale')>" and packet.overloads() == ["default"]
    assert str(packet.default._schema) == "tests_lib::scale(Tensor x, float s=2.) -> Tensor" and packet.default.name() == "tests_lib::scale"

    def f(x: Tensor, y: Sequence[int], z: Optional[Tensor] = None, w: List[Tensor] = None, q: str = "a", *, k: int = 3) -> Tuple[Tensor,
        Tensor]:
        return x, x
    assert infer_schema(f, mutates_args=()) == ('(Tensor x, SymInt[] y, Tensor? z=None, Tensor[] w=None, str q="a", *, SymInt k=3) -> '
                                                "(Tensor, Tensor)")
    assert infer_schema(f, mutates_args=("x",)).startswith("(Tensor(a0!) x, ")
    with pytest.raises(ValueError, match="were not found in the custom op's signature"):
        infer_schema(f, mutates_args=("nope",))
    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        custom_op("tests_lib::bare", mutates_args=())(lambda x: x)


def test_wrong_calls():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'x' but instead found type 'str'"):
        scale("x")
    with pytest.raises(RuntimeError, match=r"expected at most 2 argument\(s\) but received 3"):
        scale(x, 1, 2)
    with pytest.raises(RuntimeError, match="is missing value for argument 'x'"):
        scale()

    @custom_op("tests_lib::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x
    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        same(x)


def test_without_a_gradient_there_is_none():
    @custom_op("tests_lib::opaque", mutates_args=())
    def opaque(x: Tensor) -> Tensor:
        return x * 2
    y = opaque(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="Trying to backward through tests_lib.opaque.default but no autograd formula was registered"):
        y.sum().backward()


def test_lists_and_several_results():
    @custom_op("tests_lib::many", mutates_args=())
    def many(xs: List[Tensor], y: Tensor) -> List[Tensor]:
        return [x * y for x in xs]
    many.register_autograd(lambda ctx, gs: ([g * 3 for g in gs], None))
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    out = many([a, b], torch.tensor(2.0))
    assert type(out) is list and [t.tolist() for t in torch.autograd.grad(out[0].sum() + out[1].sum(), [a, b])] == [[3, 3], [3, 3, 3]]


def test_writing_in_place():
    @custom_op("tests_lib::add_one", mutates_args={"x"})
    def add_one(x: Tensor) -> None:
        x.add_(1)
    x = torch.zeros(2)
    assert add_one(x) is None and x.tolist() == [1, 1] and x._version == 2
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        add_one.register_autograd(lambda ctx, g: g)


def test_libraries():
    lib, x = Library("tests_lib2", "DEF"), torch.ones(2, requires_grad=True)
    lib.impl("early", lambda x: x + 5, "CPU")
    assert lib.define("early(Tensor x) -> Tensor") == "early" and torch.ops.tests_lib2.early(torch.ones(1)).item() == 6
    lib.define("f(Tensor x, int n=2) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 'tests_lib2::f' with arguments from the 'CPU' backend"):
        torch.ops.tests_lib2.f(x)
    lib.impl("f", lambda x, n: x * n, "CPU")
    assert torch.ops.tests_lib2.f(x, n=3).tolist() == [3, 3]
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        torch.ops.tests_lib2.f(x).sum().backward()
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", lambda x: x.sin(), "CompositeImplicitAutograd")
    assert type(torch.ops.tests_lib2.g(x).grad_fn).__name__ == "SinBackward0"
    torch.library.define("tests_lib2::h", "(Tensor x) -> Tensor")
    torch.library.impl("tests_lib2::h", "cpu")(lambda x: x * 5)
    torch.library.register_autograd("tests_lib2::h", lambda ctx, g: g * 7)
    assert torch.autograd.grad(torch.ops.tests_lib2.h(x).sum(), x)[0].tolist() == [7, 7]
    for wrong, text in ((lambda: lib.define("f(Tensor x) -> Tensor"), "multiple times"), (lambda: lib.define("f"), "only the operator "
                                            "name"),
                        (lambda: Library("tests_lib2", "DEF"), "Only a single TORCH_LIBRARY")):
        with pytest.raises(RuntimeError, match=text):
            wrong()


def test_checks():
    assert set(opcheck(scale, (torch.ones(2, requires_grad=True),)).values()) == {"SUCCESS"}

    @custom_op("tests_lib::liar", mutates_args=())
    def liar(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()
    liar.register_fake(lambda x: torch.empty(7, device="meta"))
    found = opcheck(liar, (torch.ones(2),), raise_exception=False)
    assert "was mutated" in str(found["test_schema"]) and "shape" in str(found["test_faketensor"])
    with pytest.raises(torch.library.OpCheckError, match="test_schema failed"):
        opcheck(liar, (torch.ones(2),))


def test_shapes_of_operators_whose_library_could_not_be_loaded():
    # what torchvision does when it is imported: its operators are missing, the rest of it works
    with pytest.raises(RuntimeError, match="operator tests_absent::f does not exist"):
        torch.library.register_fake("tests_absent::f")(lambda x: x)
    with pytest.raises(OSError):
        torch.ops.load_library("/somewhere/tests_absent/_C.so")

    @torch.library.register_fake("tests_absent::f")
    def shape(x):
        return x.new_empty(7)
    with pytest.raises(RuntimeError, match="operator tests_other::f does not exist"):
        torch.library.register_fake("tests_other::f", shape)
    lib = Library("tests_absent", "DEF")       # defined after all: it has its shapes
    lib.define("f(Tensor x) -> Tensor")
    assert torch.ops.tests_absent.f(torch.ones(2, device="meta")).shape == (7,)


def test_meta_tensors_ask_for_a_fake_function_unless_nothing_is_returned():
    @torch.library.custom_op("tests::writes_sine", mutates_args={"output"}, device_types="cpu")
    def writes_sine(input: torch.Tensor, output: torch.Tensor) -> None:
        output.copy_(input.sin())

    @torch.library.custom_op("tests::without_fake", mutates_args=())
    def without_fake(input: torch.Tensor) -> torch.Tensor:
        return input * 2

    meta, x = torch.empty(3, device="meta"), torch.ones(3)
    assert writes_sine(meta, meta.clone()) is None and torch.ops.tests.writes_sine(meta, meta.clone()) is None
    assert set(torch.library.opcheck(writes_sine, (x, x.clone())).values()) == {"SUCCESS"}
    with pytest.raises(RuntimeError, match=r"no fake impl registered for "
                                           r"<CustomOpDef\(tests::without_fake\)>.*`without_fake.register_fake`"):
        without_fake(meta)
    found = torch.library.opcheck(without_fake, (x,), raise_exception=False)
    assert [k for k, v in found.items() if v == "SUCCESS"] == ["test_schema", "test_autograd_registration"]


def test_a_schema_may_name_its_library():
    lib = torch.library.Library("named_twice", "DEF")
    assert lib.define("named_twice::one(Tensor x) -> Tensor") == "named_twice::one" and lib.define("two.out(Tensor x) -> Tensor") == "two"
    lib.impl("one", lambda x: x + 1, "CPU")
    assert torch.ops.named_twice.one(torch.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"Explicitly provided namespace \(other\) in schema string does not match"):
        lib.define("other::one(Tensor x) -> Tensor")
