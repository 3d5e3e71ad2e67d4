"""torch.jit.annotations: types that only TorchScript's signatures have. They say nothing to Python."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union        # noqa: F401  programs take them from here

from ..dropin import missing_attribute as _missing_attribute


class BroadcastingListCls:
    """`BroadcastingList2[int]`: a list of two, for which one number may be given. None where Python evaluates it."""

    def __getitem__(self, types):
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3 = BroadcastingListCls(), BroadcastingListCls(), BroadcastingListCls()

__getattr__ = _missing_attribute(__name__)
