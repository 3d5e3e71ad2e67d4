"""Convolution modules."""
from __future__ import annotations

import math

from ...autograd.grad_mode import no_grad
from ...tensor.api.creation import empty, empty_like
from ...tensor.core.memory_format import contiguous_format
from .. import functional as F, init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """What all convolutions share; a subclass says of how many dimensions (`_dims`) and which functions compute it."""

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
                     "kernel_size"]
    _dims = 0

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
                 padding_mode, device=None, dtype=None):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation, self.transposed = stride, padding, dilation, transposed
        self.output_padding, self.groups, self.padding_mode = output_padding, groups, padding_mode
        self._reversed_padding_repeated_twice = self._padding_of_pad()
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*shape, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_of_pad(self):
        """The padding as functional.pad takes it, for modes that the convolution itself does not have."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        widths = [0] * (2 * len(self.kernel_size))
        if self.padding == "same":
            for d, k, i in zip(self.dilation, self.kernel_size, range(len(self.kernel_size) - 1, -1, -1)):
                total = d * (k - 1)
                widths[2 * i], widths[2 * i + 1] = total // 2, total - total // 2
        return widths

    def reset_parameters(self):
        """U(±1/sqrt(fan in)) for weight and bias; the weight's numbers do not depend on its memory format."""
        with no_grad():
            weight = self.weight if self.weight.is_contiguous() else empty_like(self.weight, memory_format=contiguous_format)
            init.kaiming_uniform_(weight, a=math.sqrt(5))
            if weight is not self.weight:
                self.weight.copy_(weight)
            if self.bias is not None:
                fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
                bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0  # with no channels the bias draws its numbers all the same
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        n = len(self.kernel_size)
        s = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            s += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            s += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            s += f", output_padding={self.output_padding}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        if self.padding_mode != "zeros":
            s += f", padding_mode={self.padding_mode}"
        return s

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"


class _PlainConvNd(_ConvNd):
    """A convolution; its function is looked up by the number of dimensions."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        each = _ntuple(self._dims)
        super().__init__(in_channels, out_channels, each(kernel_size), each(stride), padding if isinstance(padding, str) else each(padding),
                         each(dilation), False, each(0), groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input, weight, bias):
        function = getattr(F, f"conv{self._dims}d")
        if self.padding_mode != "zeros":
            return function(F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), weight, bias, self.stride,
                            0, self.dilation, self.groups)
        return function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_PlainConvNd):
    """Convolution of (N, C, L) or (C, L); see functional.conv1d. padding_mode: what stands around the input."""
    _dims = 1

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_PlainConvNd):
    """Convolution of (N, C, H, W) or (C, H, W); see functional.conv2d. padding_mode: what stands around the input."""
    _dims = 2

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_PlainConvNd):
    """Convolution of (N, C, D, H, W) or (C, D, H, W); see functional.conv3d. padding_mode: what stands around the input."""
    _dims = 3

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self._dims)
        super().__init__(in_channels, out_channels, each(kernel_size), each(stride), each(padding), each(dilation), True,
                         each(output_padding), groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """The output_padding that yields `output_size`; ValueError where none does."""
        if output_size is None:
            return _ntuple(num_spatial_dims)(self.output_padding)
        lead = input.dim() - num_spatial_dims
        if len(output_size) == lead + num_spatial_dims:
            output_size = output_size[lead:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have {num_spatial_dims} or "
                             f"{lead + num_spatial_dims} elements (got {len(output_size)})")
        least = [(input.size(d + lead) - 1) * stride[d] - 2 * padding[d] + (dilation[d] if dilation is not None else 1)
                 * (kernel_size[d] - 1) + 1 for d in range(num_spatial_dims)]
        most = [n + s - 1 for n, s in zip(least, stride)]
        if any(not a <= n <= b for n, a, b in zip(output_size, least, most)):
            raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an input of "
                             f"{input.size()[2:]})")
        return [n - a for n, a in zip(output_size, least)]

    def forward(self, input, output_size=None):
        padding = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, self._dims, self.dilation)
        return getattr(F, f"conv_transpose{self._dims}d")(input, self.weight, self.bias, self.stride, self.padding, padding, self.groups,
                                                          self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C, L) or (C, L); the call's output_size chooses among the possible lengths."""
    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C, H, W) or (C, H, W); the call's output_size chooses among the possible sizes."""
    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C, D, H, W) or (C, D, H, W); the call's output_size chooses among the possible sizes."""
    _dims = 3


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution that learns in_channels from its first input."""

    def reset_parameters(self):
        """As the base's, once there are channels."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Shapes from the input's channels, then the usual initialisation."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        shape = (self.in_channels, self.out_channels // self.groups) if self.transposed else \
            (self.out_channels, self.in_channels // self.groups)
        self.weight.materialize((*shape, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input):
        unbatched, batched = self._dims + 1, self._dims + 2
        if input.dim() not in (unbatched, batched):
            raise RuntimeError(f"Expected {unbatched}D (unbatched) or {batched}D (batched) input to {type(self).__name__}, but got input "
                               f"of size: {input.shape}")
        return input.shape[1] if input.dim() == batched else input.shape[0]


def _uninitialized(module, out_channels, bias, device, dtype):
    """Give a convolution made for no channels parameters that wait for them."""
    module.out_channels = out_channels
    module.weight = UninitializedParameter(device=device, dtype=dtype)
    if bias:
        module.bias = UninitializedParameter(device=device, dtype=dtype)


class _LazyForward(_LazyConvXdMixin):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        _uninitialized(self, out_channels, bias, device, dtype)


class _LazyTranspose(_LazyConvXdMixin):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        _uninitialized(self, out_channels, bias, device, dtype)


class LazyConv1d(_LazyForward, Conv1d):
    """Conv1d that learns in_channels from its first input."""
    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """Conv2d that learns in_channels from its first input."""
    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """Conv3d that learns in_channels from its first input."""
    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTranspose, ConvTranspose1d):
    """ConvTranspose1d that learns in_channels from its first input."""
    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTranspose, ConvTranspose2d):
    """ConvTranspose2d that learns in_channels from its first input."""
    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTranspose, ConvTranspose3d):
    """ConvTranspose3d that learns in_channels from its first input."""
    cls_to_become = ConvTranspose3d
