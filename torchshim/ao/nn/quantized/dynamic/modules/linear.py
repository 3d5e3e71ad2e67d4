"""The linear layer with a quantized weight, whose input chooses its own scale."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn

from .... import intrinsic as nni
from ...modules.linear import Linear as _Linear
from ...modules.utils import _quantize_weight


class Linear(_Linear):
    """nn.Linear with a weight of levels or of float16."""
    _version = 4

    def __init__(self, in_features, out_features, bias_=True, dtype=torch.qint8):
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version = 4

    def forward(self, x):
        packed = self._packed_params
        if packed.dtype is torch.qint8:
            halved = self.version is not None and self.version >= 4
            return torch.ops.quantized.linear_dynamic(x, packed._packed_params, reduce_range=halved).to(x.dtype)
        if packed.dtype is not torch.float16:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return torch.ops.quantized.linear_dynamic_fp16(x, packed._packed_params).to(x.dtype)

    def _get_name(self):
        return "DynamicQuantizedLinear"

    def extra_repr(self):
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return text + (f", qscheme={self.weight().qscheme()}" if self._packed_params.dtype is torch.qint8 else "")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a linear layer with a configuration. AssertionError for others, and for other dtypes of weights than qint8 and float16."""
        from ....qat.dynamic import Linear as Trained
        from .....quantization.qconfig import default_dynamic_qconfig
        known = [nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear, nni.LinearReLU, Trained]
        if type(mod) not in known:
            raise AssertionError(f"nn.quantized.dynamic.Linear.from_float only works for one of{[m.__name__ for m in known]}, got "
                                 f"{type(mod)}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        mod = mod[0] if type(mod) is nni.LinearReLU else mod
        said = mod.qconfig is not None and mod.qconfig.weight is not None
        watcher = (mod.qconfig if said else default_dynamic_qconfig).weight()
        if watcher.dtype not in (torch.qint8, torch.float16):
            raise AssertionError(f"The only supported dtypes for dynamic quantized linear are qint8 and float16, got: {watcher.dtype}")
        watcher(mod.weight)
        made = cls(mod.in_features, mod.out_features, dtype=watcher.dtype)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), watcher) if watcher.dtype is torch.qint8
                             else mod.weight.float(), mod.bias)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear):
        """From a reference module."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features, dtype=ref_qlinear.weight_dtype)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        return made


__all__ = ["Linear"]
