"""The quantized LSTM that an observed one becomes."""
from __future__ import annotations

from ... import quantizable as _quantizable


class LSTM(_quantizable.LSTM):
    """A quantizable LSTM whose parts are converted; made of an observed one."""
    _FLOAT_MODULE = _quantizable.LSTM

    def _get_name(self):
        return "QuantizedLSTM"

    @classmethod
    def from_float(cls, *args, **kwargs):
        """NotImplementedError: it is made of an observed module."""
        raise NotImplementedError("It looks like you are trying to convert a non-observed LSTM module. Please, see the examples on "
                                  "quantizable LSTMs.")

    @classmethod
    def from_observed(cls, other):
        """The observed module with its parts converted. AssertionError for others."""
        from ....quantization import convert
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"Expected module type to be one of {cls._FLOAT_MODULE}, but got {type(other)}")
        made = convert(other, inplace=False, remove_qconfig=True, convert_custom_config_dict=None)
        made.__class__ = cls
        return made


__all__ = ["LSTM"]
