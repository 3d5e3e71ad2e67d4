"""Quantized convolutions."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F
from torchshim.nn.utils.fusion import fuse_conv_bn_weights

from ... import intrinsic as nni
from .utils import WeightedQuantizedModule, _quantize_weight, chosen

_SUPPORTED_PADDING = {"zeros", "reflect"}
_STATE = "in_channels out_channels kernel_size stride padding dilation transposed output_padding groups padding_mode".split()


def _sizes(x, d):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,) * d


class _ConvNd(WeightedQuantizedModule):
    """What the convolutions share. `scale` and `zero_point` are those of results."""
    _d, _transposed = 0, False
    _FLOAT_MODULE = _NNI_CONV_ADD_MODULE = _NNI_CONV_ADD_RELU_MODULE = None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None):
        self._init(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode, device, dtype)

    def _init(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
              padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        if out_channels <= 0:
            raise ValueError(f"out_channels must be greater than 0, got {out_channels}")
        for name, n in (("in_channels", in_channels), ("out_channels", out_channels)):
            if n % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if padding_mode not in _SUPPORTED_PADDING:
            raise ValueError(f"'padding_mode' {padding_mode} is not supported by quantized convolution")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation, self.output_padding = [
            _sizes(x, self._d) for x in (kernel_size, stride, dilation, output_padding)]
        self.padding = padding if isinstance(padding, str) else _sizes(padding, self._d)
        self.transposed, self.padding_mode = transposed, padding_mode
        shape = [in_channels, out_channels // groups] if transposed else [out_channels, in_channels // groups]
        weight = torch._empty_affine_quantized(shape + list(self.kernel_size), scale=1, zero_point=0, dtype=torch.qint8, device=device)
        self.set_weight_bias(weight, torch.zeros(out_channels, dtype=torch.float, device=device) if bias else None)
        self.scale, self.zero_point = 1.0, 0

    def _get_name(self):
        return f"QuantizedConv{'Transpose' if self._transposed else ''}{self._d}d"

    def _kernel(self, suffix=""):
        return getattr(torch.ops.quantized, f"conv{'_transpose' if self._transposed else ''}{self._d}d{suffix}")

    def set_weight_bias(self, w, b):
        """Take another weight and bias."""
        padding = self.padding if self.padding_mode == "zeros" else (0,) * self._d
        between = (self.output_padding,) if self._transposed else ()
        self._packed_params = self._kernel("_prepack")(w, b, self.stride, padding, *between, self.dilation, self.groups)

    def _weight_bias(self):
        return self._packed_params.unpack()

    def weight(self):
        """The weight, quantized."""
        return self._weight_bias()[0]

    def bias(self):
        """The bias, or None."""
        return self._weight_bias()[1]

    def _padded(self, input):
        if len(input.shape) != self._d + 2:
            raise ValueError(f"Input shape must be `(N, C, {', '.join('DHW'[3 - self._d:] if self._d > 1 else 'L')})`!")
        if self.padding_mode == "zeros":
            return input
        return F.pad(input, [n for n in reversed(self.padding) for _ in range(2)], mode=self.padding_mode)

    def forward(self, input):
        return self._kernel()(self._padded(input), self._packed_params, self.scale, self.zero_point)

    def extra_repr(self):
        text = (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, scale={self.scale}, "
                f"zero_point={self.zero_point}")
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            found = getattr(self, name)
            text += f", {name}={found}" if found != (usual,) * len(found) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        return text + (", bias=False" if self.bias() is None else "")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()
        destination[prefix + "scale"], destination[prefix + "zero_point"] = torch.tensor(self.scale), torch.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        self.scale, self.zero_point = float(state_dict.pop(prefix + "scale")), int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def __getstate__(self):
        return (*[getattr(self, n) for n in _STATE], *self._weight_bias(), self.scale, self.zero_point, self.training)

    def __setstate__(self, state):
        nn.Module.__init__(self)
        for name, value in zip(_STATE, state):
            setattr(self, name, value)
        self.set_weight_bias(state[10], state[11])
        self.scale, self.zero_point, self.training = state[12:]

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        made.__setstate__(self.__getstate__())
        return made

    def __copy__(self):
        return self.__deepcopy__({})

    @classmethod
    def _of(cls, mod):
        return cls(mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding, mod.dilation, mod.groups,
                   mod.bias is not None, mod.padding_mode)

    @classmethod
    def get_qconv(cls, mod, activation_post_process, weight_post_process=None):
        """From a convolution and what its observers have chosen."""
        watcher = mod.qconfig.weight() if weight_post_process is None else weight_post_process
        watcher(mod.weight)
        if watcher.dtype is not torch.qint8:
            raise AssertionError(f"Weight observer must have a dtype of qint8, got {watcher.dtype}")
        made = cls._of(mod)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), watcher), mod.bias)
        if activation_post_process is not None and activation_post_process.dtype is not torch.float:
            made.scale, made.zero_point = chosen(activation_post_process)
        return made

    @classmethod
    def _rows(cls):
        """Classes of rows of modules whose first one counts."""
        return [c for c in (getattr(nni, f"ConvReLU{cls._d}d"), cls._NNI_CONV_ADD_MODULE, cls._NNI_CONV_ADD_RELU_MODULE) if c is not None]

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a convolution that was observed or trained with rounding. AssertionError for others."""
        if hasattr(mod, "weight_fake_quant"):
            if type(mod) is cls._trained():
                mod.weight, mod.bias = fuse_conv_bn_weights(mod.weight, mod.bias, mod.bn.running_mean, mod.bn.running_var, mod.bn.eps,
                                                            mod.bn.weight, mod.bn.bias)
            if not hasattr(mod, "activation_post_process"):
                raise AssertionError("Input QAT module must have observer attached")
            return cls.get_qconv(mod, mod.activation_post_process, mod.weight_fake_quant)
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__} but got: {type(mod).__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined.")
        watcher = getattr(mod, "activation_post_process", None)
        mod = mod[0] if type(mod) in cls._rows() else mod
        return cls.get_qconv(mod, watcher, mod.qconfig.weight())

    @classmethod
    def _trained(cls):
        """The class of convolutions with a batch norm, in training, whose weight is that of both."""
        from ...intrinsic import qat as nniqat
        return getattr(nniqat, f"ConvBn{cls._d}d")

    @classmethod
    def from_reference(cls, ref_qconv, output_scale, output_zero_point):
        """From a reference module, with the scale and zero point of results."""
        made = cls._of(ref_qconv)
        made.set_weight_bias(ref_qconv.get_quantized_weight(), ref_qconv.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


class Conv1d(_ConvNd):
    """nn.Conv1d of quantized tensors."""
    _d, _FLOAT_MODULE = 1, nn.Conv1d


class Conv2d(_ConvNd):
    """nn.Conv2d of quantized tensors."""
    _d, _FLOAT_MODULE = 2, nn.Conv2d
    _NNI_CONV_ADD_MODULE, _NNI_CONV_ADD_RELU_MODULE = nni.ConvAdd2d, nni.ConvAddReLU2d


class Conv3d(_ConvNd):
    """nn.Conv3d of quantized tensors."""
    _d, _FLOAT_MODULE = 3, nn.Conv3d


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions share."""
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        self._init(in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias, padding_mode,
                   device, dtype)

    @classmethod
    def _of(cls, mod):
        return cls(mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding, mod.output_padding, mod.groups,
                   mod.bias is not None, mod.dilation, mod.padding_mode)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a transposed convolution that was observed. AssertionError for others."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f" nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined.")
        return cls.get_qconv(mod, getattr(mod, "activation_post_process", None))


class ConvTranspose1d(_ConvTransposeNd):
    """nn.ConvTranspose1d of quantized tensors."""
    _d, _FLOAT_MODULE = 1, nn.ConvTranspose1d


class ConvTranspose2d(_ConvTransposeNd):
    """nn.ConvTranspose2d of quantized tensors."""
    _d, _FLOAT_MODULE = 2, nn.ConvTranspose2d


class ConvTranspose3d(_ConvTransposeNd):
    """nn.ConvTranspose3d of quantized tensors."""
    _d, _FLOAT_MODULE = 3, nn.ConvTranspose3d


__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
