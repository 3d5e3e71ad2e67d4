"""What of a tensor shares one scale, as the newer observers say it."""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto

from ...nn import Module


class MappingType(Enum):
    """How numbers are mapped to levels."""
    SYMMETRIC = auto()
    SYMMETRIC_NO_CLIPPING_ERR = auto()
    ASYMMETRIC = auto()


class ZeroPointDomain(Enum):
    """What zero points are."""
    INT = auto()
    FLOAT = auto()
    NONE = auto()


TorchAODType = Enum("TorchAODType", [f"INT{bits}" for bits in range(1, 8)])


@dataclass(frozen=True)
class Granularity:
    """Base class of what says which elements share a scale."""


@dataclass(frozen=True)
class PerBlock(Granularity):
    """Blocks of a size."""
    block_size: tuple[int, ...]


@dataclass(frozen=True)
class PerTensor(Granularity):
    """All."""


@dataclass(frozen=True)
class PerAxis(Granularity):
    """Those of one index along an axis."""
    axis: int


@dataclass(frozen=True)
class PerGroup(Granularity):
    """Groups of so many in a row."""
    group_size: int


class PerRow(Granularity):
    """Rows."""


class PerToken(Granularity):
    """Rows, of activations."""


def get_block_size(input_shape, granularity):
    """The shape of the blocks that share a scale. ValueError for what says nothing about it."""
    if not isinstance(granularity, Granularity):
        raise AssertionError("Please provide an instance of Granularity, not subclass of it")
    n = len(input_shape)
    if isinstance(granularity, PerTensor):
        return input_shape
    if isinstance(granularity, PerAxis):
        sizes = list(input_shape)
        sizes[granularity.axis] = 1
        return tuple(sizes)
    if isinstance(granularity, (PerRow, PerToken)):
        return (1,) * (n - 1) + (input_shape[-1],)
    if isinstance(granularity, PerGroup):
        if n != 2:
            raise AssertionError(f"Expecting input shape dim to be 2 for per group quantization, gotinput shape: {input_shape}")
        return 1, granularity.group_size
    raise ValueError(f"Unsupported Granularity: {granularity}")


class AffineQuantizedObserverBase(ABC, Module):
    """Base class of the newer observers, which say by a Granularity what shares a scale."""

    def __init__(self, mapping_type, target_dtype, granularity, quant_min=None, quant_max=None, eps=None, scale_dtype=None,
                 zero_point_dtype=None, preserve_zero=True, zero_point_domain=ZeroPointDomain.INT, **kwargs):
        super().__init__()
        if granularity is None:
            raise AssertionError("granularity is None")
        self.mapping_type, self.target_dtype, self.granularity = mapping_type, target_dtype, granularity
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.scale_dtype, self.zero_point_dtype = scale_dtype, zero_point_dtype
        self.preserve_zero, self.zero_point_domain = preserve_zero, zero_point_domain
        self.block_size = self.original_dtype = None

    @classmethod
    def with_args(cls, **kwargs):
        """A factory of instances with these arguments."""
        from .observer import _with_args
        return _with_args(cls, **kwargs)

    @abstractmethod
    def forward(self, input):
        """Look at a tensor and return it."""

    @abstractmethod
    def calculate_qparams(self):
        """(scale, zero point) as tensors."""

    def convert(self, model, observer_node):
        """NotImplementedError: the operators that this would put in a graph are those of another library."""
        raise NotImplementedError("torchshim: AffineQuantizedObserverBase.convert; the operators torch.ops.pt2e_quant")


for _made in (MappingType, ZeroPointDomain, TorchAODType, Granularity, PerBlock, PerTensor, PerAxis, PerGroup, PerRow, PerToken,
              get_block_size, AffineQuantizedObserverBase):
    _made.__module__ = "torch.ao.quantization.observer"
