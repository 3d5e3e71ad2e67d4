"""What the reference modules share: a weight with what it is rounded by."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn

_QUANTIZED = (torch.quint8, torch.qint8, torch.quint4x2, torch.qint32)
_CHANNELS = (torch.per_channel_affine, torch.per_channel_affine_float_qparams)


def _tensor(x, dtype, device):
    return x.detach().clone() if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=dtype, device=device)


def _plain(module):
    return {"qscheme": torch.per_tensor_affine, "dtype": torch.quint8, "scale": 1.0, "zero_point": 0}


def _decomposed(weight, scheme, dtype, scale, point, axis, least, most):
    ops, held = torch.ops.quantized_decomposed, dtype.held
    if scheme not in (torch.per_tensor_affine, *_CHANNELS) or dtype not in _QUANTIZED:
        raise ValueError(f"Unsupported dtype and qscheme: {dtype}, {scheme}")
    if least is None or most is None:
        least, most = torch.iinfo(held).min, torch.iinfo(held).max
    if scheme is torch.per_tensor_affine:
        args = (scale, point, least, most, held)
        return ops.quantize_per_tensor(weight, *args), lambda q: ops.dequantize_per_tensor(q, *args)
    args = (scale, point, axis, least, most, held)
    return ops.quantize_per_channel(weight, *args), lambda q: ops.dequantize_per_channel(q, *args)


def _quantize_weight(weight, scheme, dtype, scale, point, axis):
    """A weight rounded to levels; in float16 simply in that dtype. ValueError for dtypes and schemes that do not go together."""
    if dtype is torch.float16:
        return weight.to(dtype)
    if scheme is torch.per_tensor_affine and dtype in (torch.quint8, torch.qint8, torch.qint32):
        return torch.quantize_per_tensor(weight, scale, point, dtype)
    if scheme in _CHANNELS and dtype in _QUANTIZED:
        return torch.quantize_per_channel(weight, scale, point, axis, dtype)
    raise ValueError(f"Unsupported dtype and qscheme: {dtype}, {scheme}")


class ReferenceQuantizedModule(nn.Module):
    """Base class: the buffers `weight_scale`, `weight_zero_point` and `weight_axis` say how `weight` is rounded.
    AssertionError for other schemes."""
    _IS_REFERENCE = True

    def _init_weight_qparams(self, weight_qparams, device):
        said = _plain(self) if weight_qparams is None else weight_qparams
        self.weight_qscheme, self.weight_dtype = said["qscheme"], said["dtype"]
        if self.weight_qscheme not in (None, torch.per_tensor_affine, *_CHANNELS):
            raise AssertionError(f"qscheme: {self.weight_qscheme} is not supported in reference quantized {self._get_name()}")
        scale, point, axis = 1.0, 0, 0
        if self.weight_dtype in _QUANTIZED:
            scale, point = said["scale"], said["zero_point"]
            axis = said["axis"] if self.weight_qscheme in _CHANNELS else 0
        for name, x, dtype in (("scale", scale, torch.float), ("zero_point", point, torch.int), ("axis", axis, torch.int)):
            self.register_buffer(f"weight_{name}", _tensor(x, dtype, device))
        self.is_decomposed, self.weight_axis_int = said.get("is_decomposed", False), self.weight_axis.item()
        self.weight_quant_min, self.weight_quant_max = said.get("quant_min"), said.get("quant_max")

    def _how(self):
        return self.weight_qscheme, self.weight_dtype, self.weight_scale, self.weight_zero_point, self.weight_axis_int

    def get_weight(self):
        """The weight's numbers after rounding."""
        if self.weight_qscheme is None:
            return self.weight
        if self.is_decomposed:
            levels, back = _decomposed(self.weight, *self._how(), self.weight_quant_min, self.weight_quant_max)
            return back(levels)
        return _quantize_weight(self.weight, *self._how()).dequantize()

    def get_quantized_weight(self):
        """The weight, quantized."""
        if self.is_decomposed:
            return _decomposed(self.weight, *self._how(), self.weight_quant_min, self.weight_quant_max)[0]
        return _quantize_weight(self.weight, *self._how())

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight_qscheme"], destination[prefix + "weight_dtype"] = self.weight_qscheme, self.weight_dtype
        if self.weight_qscheme is not None:
            destination[prefix + "weight_scale"], destination[prefix + "weight_zero_point"] = self.weight_scale, self.weight_zero_point
            if self.weight_qscheme is torch.per_channel_affine:
                destination[prefix + "weight_axis"] = self.weight_axis

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for name in ("weight_qscheme", "weight_dtype", "weight_scale", "weight_zero_point"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)


__all__ = ["ReferenceQuantizedModule"]
