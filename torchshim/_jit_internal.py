"""torch._jit_internal: names of TorchScript's that libraries take from here."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Final, ForwardRef, Generic, List, Optional, Tuple, TypeVar, Union    # noqa: F401

from .dropin import missing_attribute as _missing_attribute
from .futures import Future    # noqa: F401
from .jit import _overload, _overload_method, is_scripting, isinstance as _isinstance    # noqa: F401
from .jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingListCls    # noqa: F401
from .jit.modifiers import (FunctionModifiers, _copy_to_script_wrapper, _drop, _qualified_name, boolean_dispatch,    # noqa: F401
                            boolean_dispatched, export, get_torchscript_modifier, ignore, is_dict, is_final, is_future, is_ignored_fn,
                            is_list, is_optional, is_tuple, is_union, module_has_exports, should_drop, unused)


@contextlib.contextmanager
def _disable_emit_hooks():
    """Nothing: there is no compiler that has such hooks."""
    yield


__getattr__ = _missing_attribute(__name__)
