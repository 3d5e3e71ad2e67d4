"""torch._jit_internal and torch.fx._compatibility: what libraries take from there (pyro, torchvision) does what torch's does."""
import typing

import pytest

import torchshim as torch
from torchshim import _jit_internal as internal
from torchshim.fx import _compatibility


class Module(torch.nn.Module):
    @torch.jit.export
    def told(self):
        pass


def test_functions_are_noted():
    def f():
        pass
    assert internal._copy_to_script_wrapper(f) is f
    assert f._torchscript_modifier == "if this method is not scripted, copy the python method onto the scripted model"
    notes = internal.FunctionModifiers
    for mark, note, dropped, ignored in ((internal.export, notes.EXPORT, False, False), (internal.ignore, notes.IGNORE, False, True),
                                         (internal.unused, notes.UNUSED, True, True), (internal._drop, notes._DROP, True, True),
                                         (internal.ignore(drop=True), notes.UNUSED, True, True)):
        def g():
            pass
        assert internal.get_torchscript_modifier(g) == notes.DEFAULT and mark(g) is g
        assert (internal.get_torchscript_modifier(g), internal.should_drop(g), internal.is_ignored_fn(g)) == (note, dropped, ignored)
    assert torch.jit.export is internal.export and torch.jit.unused is internal.unused
    assert internal.module_has_exports(Module()) and not internal.module_has_exports(torch.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="must be a bool or a function"):
        torch.jit.ignore(3)


def test_annotations_are_told_apart():
    kinds = ("optional", "union", "list", "tuple", "dict", "future", "final")
    for ann, expected in ((typing.Optional[int], "optional union"), (int | None, "optional union"), (typing.Union[int, str], "union"),
                          (int | str | None, "union"), (typing.List[int], "list"), (list[int], "list"), (list, ""),
                          (dict[int, int], "dict"), (typing.Tuple[int], "tuple"), (int, ""), (torch.Tensor, ""), (internal.Future[int], "future"),
                          (typing.Final[int], "final")):
        assert " ".join([k for k in kinds if getattr(internal, "is_" + k)(ann)]) == expected, ann
    with pytest.raises(RuntimeError, match="Please add a contained type, e.g. List.int"):
        internal.is_list(typing.List)
    with pytest.raises(RuntimeError, match="use dict without a contained type. Please add a contained type, e.g. dict.int, int."):
        torch.jit.isinstance({}, dict)


def test_names_and_dispatch():
    assert internal._qualified_name(torch.nn.Linear) == "__torch__.torch.nn.modules.linear.Linear"
    assert internal._qualified_name(torch.nn.Linear, mangle_name=False) == "torch.nn.modules.linear.Linear"
    with pytest.raises(RuntimeError, match="Could not get name of python class object"):
        internal._qualified_name(3)
    pool = internal.boolean_dispatch("both", 1, False, lambda x, both=False: (x, x), lambda x, both=False: x, "here", "pool")
    assert (pool(1), pool(1, True), pool(1, both=True), pool.__name__, pool.__module__) == (1, (1, 1), (1, 1), "pool", "here")
    assert internal.boolean_dispatched[pool]["arg_name"] == "both"


def test_compatibility_is_written_into_the_docstring():
    @_compatibility.compatibility(is_backward_compatible=True)
    def kept():
        """Doc."""

    @_compatibility.compatibility(is_backward_compatible=False)
    class New:
        pass
    assert kept.__doc__ == "Doc.\n\n.. note::\n    Backwards-compatibility for this API is guaranteed.\n"
    assert "*NOT* backward-compatible" in New.__doc__
    assert kept in _compatibility._BACK_COMPAT_OBJECTS and New not in _compatibility._BACK_COMPAT_OBJECTS


def test_tables_of_compiled_classes_are_there_to_be_cleared():
    torch.jit._recursive.concrete_type_store.type_store.pop(Module, None)
    torch.jit._recursive.concrete_type_store = torch.jit._recursive.ConcreteTypeStore()
    torch.jit._state._clear_class_state()


def test_graph_modules_are_made_at_once():
    from torchshim.fx._lazy_graph_module import _make_graph_module
    traced = torch.fx.symbolic_trace(torch.nn.ReLU())
    made = _make_graph_module(traced, traced.graph)
    assert type(made).__name__ == "GraphModule" and made(torch.tensor([-1.0])).tolist() == [0]
