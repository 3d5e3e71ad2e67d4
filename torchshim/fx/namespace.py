"""Names in generated code, each used once."""
from __future__ import annotations

import builtins
import keyword
import re

_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")
#: What generated code may use without being told: {name: (the line that imports it, how to find it)}.
CUSTOM_BUILTINS = {"inf": "from math import inf", "nan": "from math import nan", "NoneType": "NoneType = type(None)",
                   "torch": "import torch", "device": "from torch import device", "fx_pytree": "import torch.fx._pytree as fx_pytree",
                   "pytree": "import torch.utils._pytree as pytree"}


class Namespace:
    """Gives names that are legal and new; an object keeps the one it got."""

    def __init__(self):
        self._objects, self._used, self._numbers = {}, set(), {}

    def create_name(self, candidate, obj=None):
        """A name like the candidate. obj: what it is to be the name of, which gets the same one again; None for nothing."""
        if obj is not None and obj in self._objects:
            return self._objects[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        if candidate in self._used or self._is_illegal(candidate, obj):
            match = _NUMBERED.match(candidate)
            base, number = (match.group(1), int(match.group(2))) if match else (candidate, 0)
            number = number or self._numbers.get(base, 0)
            while candidate in self._used or self._is_illegal(candidate, obj):
                number += 1
                candidate = f"{base}_{number}"
            self._numbers[base] = number
        self._used.add(candidate)
        if obj is not None:
            self._objects[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Keep a name that was given before for an object."""
        self._objects[obj] = name

    def _rename_object(self, obj, name):
        self._objects[obj] = name
        self._used.add(name)

    @staticmethod
    def _is_illegal(name, obj):
        if keyword.iskeyword(name) or name in CUSTOM_BUILTINS:
            return name not in CUSTOM_BUILTINS or obj is None
        return hasattr(builtins, name) and getattr(builtins, name) is not obj
