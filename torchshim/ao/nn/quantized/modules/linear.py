"""The quantized linear layer."""
from __future__ import annotations

from collections.abc import Iterable

import torchshim as torch
from torchshim import nn
from torchshim.nn.utils.fusion import fuse_linear_bn_weights
from torchshim.nn.utils.parametrize import type_before_parametrizations as _class_of

from ... import intrinsic as nni
from .utils import WeightedQuantizedModule, _hide_packed_params_repr, _quantize_weight, chosen


class LinearPackedParams(nn.Module):
    """A linear layer's weight and bias: levels, or float16. RuntimeError for other dtypes."""
    _version = 3

    def __init__(self, dtype=torch.qint8):
        super().__init__()
        self.dtype = dtype
        if dtype is torch.qint8:
            weight = torch._empty_affine_quantized([1, 1], scale=1.0, zero_point=0, dtype=torch.qint8)
        else:
            weight = torch.zeros([1, 1], dtype=torch.float)
        self.set_weight_bias(weight, None)

    def _kernel(self, name):
        if self.dtype not in (torch.qint8, torch.float16):
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return getattr(torch.ops.quantized, f"linear_{name}" + ("" if self.dtype is torch.qint8 else "_fp16"))

    def set_weight_bias(self, weight, bias):
        """Take another weight and bias."""
        self._packed_params = self._kernel("prepack")(weight, bias)

    def _weight_bias(self):
        return self._kernel("unpack")(self._packed_params)

    def forward(self, x):
        return x

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"], destination[prefix + "_packed_params"] = self.dtype, self._weight_bias()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        version = local_metadata.get("version") or 1
        self.dtype = torch.qint8 if version < 2 else state_dict.pop(prefix + "dtype")
        if version < 3:
            self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        else:
            self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def __getstate__(self):
        state = self.__dict__.copy()
        state["_packed_params"] = self._weight_bias()
        return state

    def __setstate__(self, state):
        super().__setstate__({k: v for k, v in state.items() if k != "_packed_params"})
        self.set_weight_bias(*state["_packed_params"])

    def __deepcopy__(self, memo):
        made = type(self)(self.dtype)
        made.set_weight_bias(*self._weight_bias())
        made.training = self.training
        return made

    def __repr__(self):
        return self._weight_bias().__repr__()


class Linear(WeightedQuantizedModule):
    """A linear layer of quantized tensors. `scale` and `zero_point` are those of its results."""
    _version = 3
    _FLOAT_MODULE = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        if dtype is torch.qint8:
            weight = torch._empty_affine_quantized([out_features, in_features], scale=1, zero_point=0, dtype=torch.qint8)
        elif dtype is torch.float16:
            weight = torch.zeros([out_features, in_features], dtype=torch.float)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, torch.zeros(out_features, dtype=torch.float) if bias_ else None)
        self.scale, self.zero_point = 1.0, 0

    def _get_name(self):
        return "QuantizedLinear"

    def extra_repr(self):
        return (f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, zero_point={self.zero_point}, "
                f"qscheme={self.weight().qscheme()}")

    def __repr__(self):
        return _hide_packed_params_repr(self, LinearPackedParams)

    def forward(self, x):
        return torch.ops.quantized.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = torch.tensor(self.scale), torch.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.scale, self.zero_point = float(state_dict.pop(prefix + "scale")), int(state_dict.pop(prefix + "zero_point"))
        if local_metadata.get("version") in (None, 1):
            for name in ("weight", "bias"):
                state_dict[f"{prefix}_packed_params.{name}"] = state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def _weight_bias(self):
        return self._packed_params._weight_bias()

    def weight(self):
        """The weight, quantized."""
        return self._weight_bias()[0]

    def bias(self):
        """The bias, or None."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w, b):
        """Take another weight and bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a linear layer that was observed or trained with rounding. AssertionError for others."""
        if hasattr(mod, "weight_fake_quant"):
            from ...intrinsic import qat as nniqat
            if _class_of(mod) is nniqat.LinearBn1d:
                mod.weight, mod.bias = fuse_linear_bn_weights(mod.weight, mod.bias, mod.bn.running_mean, mod.bn.running_var, mod.bn.eps,
                                                              mod.bn.weight, mod.bn.bias)
            of_weight, of_output = mod.weight_fake_quant, mod.activation_post_process
        else:
            known = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, Iterable) else [cls._FLOAT_MODULE]
            if _class_of(mod) not in known:
                raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {', '.join([m.__name__ for m in known])}, but got: "
                                     f"{type(mod)}")
            if not hasattr(mod, "qconfig"):
                raise AssertionError("Input float module must have qconfig defined")
            of_output = mod.activation_post_process
            mod = mod[0] if _class_of(mod) is nni.LinearReLU else mod
            of_weight = mod.weight_fake_quant if hasattr(mod, "weight_fake_quant") else mod.qconfig.weight()
        if not use_precomputed_fake_quant:
            of_weight(mod.weight)
        if of_weight.dtype is not torch.qint8:
            raise AssertionError(f"Weight observer must have dtype torch.qint8, got {of_weight.dtype}")
        made = cls(mod.in_features, mod.out_features, dtype=of_weight.dtype)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), of_weight), mod.bias)
        made.scale, made.zero_point = chosen(of_output)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear, output_scale, output_zero_point):
        """From a reference module, with the scale and zero point of results."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


__all__ = ["LinearPackedParams", "Linear"]
