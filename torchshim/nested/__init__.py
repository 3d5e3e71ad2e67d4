"""torch.nested: importable; there are no nested tensors, so that making one raises NotImplementedError."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.nested.{name}; pad the sequences instead (torch.nn.utils.rnn.pad_sequence)")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__, missing.__unimplemented__ = "NotImplementedError.", True
    return missing


nested_tensor, as_nested_tensor, to_padded_tensor, narrow, nested_tensor_from_jagged, masked_select = map(
    _missing, ("nested_tensor", "as_nested_tensor", "to_padded_tensor", "narrow", "nested_tensor_from_jagged", "masked_select"))
__getattr__ = _missing_attribute(__name__)
