"""torch._dynamo.decorators: what files that PyTorch wrote name of it."""
from dataclasses import dataclass

from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)


@dataclass(frozen=True, slots=True)
class _DimRange:
    """A dimension whose size changes, and between what; jagged tensors are saved with it."""
    dim: int
    min: int | None
    max: int | None


def mark_unbacked(t, index, hint_override=None, strict=False, specialize_on=None, shape_id=None, min=None, max=None):
    """Without effect: programs are compiled for the sizes that come."""
