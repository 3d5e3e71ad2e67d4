"""Rows of modules: each class says which it takes."""
from __future__ import annotations

from torchshim import nn
from torchshim.nn.utils.parametrize import type_before_parametrizations as _class_of


class _FusedModule(nn.Sequential):
    """Base class of such rows. AssertionError for modules of other classes."""
    _takes = ()

    def __init__(self, *modules):
        if len(modules) != len(self._takes):
            raise TypeError(f"{type(self).__name__}.__init__() takes {len(self._takes) + 1} positional arguments but {len(modules) + 1} "
                            "were given")
        if tuple(map(_class_of, modules)) != self._takes:
            raise AssertionError("Incorrect types for input modules" + "".join([str(_class_of(m)) for m in modules]))
        super().__init__(*modules)


class ConvReLU1d(_FusedModule):
    """A convolution and a ReLU."""
    _takes = nn.Conv1d, nn.ReLU


class ConvReLU2d(_FusedModule):
    """A convolution and a ReLU."""
    _takes = nn.Conv2d, nn.ReLU


class ConvReLU3d(_FusedModule):
    """A convolution and a ReLU."""
    _takes = nn.Conv3d, nn.ReLU


class LinearReLU(_FusedModule):
    """A linear layer and a ReLU."""
    _takes = nn.Linear, nn.ReLU


class ConvBn1d(_FusedModule):
    """A convolution and a batch norm."""
    _takes = nn.Conv1d, nn.BatchNorm1d


class ConvBn2d(_FusedModule):
    """A convolution and a batch norm."""
    _takes = nn.Conv2d, nn.BatchNorm2d


class ConvBn3d(_FusedModule):
    """A convolution and a batch norm."""
    _takes = nn.Conv3d, nn.BatchNorm3d


class ConvBnReLU1d(_FusedModule):
    """A convolution, a batch norm and a ReLU."""
    _takes = nn.Conv1d, nn.BatchNorm1d, nn.ReLU


class ConvBnReLU2d(_FusedModule):
    """A convolution, a batch norm and a ReLU."""
    _takes = nn.Conv2d, nn.BatchNorm2d, nn.ReLU


class ConvBnReLU3d(_FusedModule):
    """A convolution, a batch norm and a ReLU."""
    _takes = nn.Conv3d, nn.BatchNorm3d, nn.ReLU


class BNReLU2d(_FusedModule):
    """A batch norm and a ReLU."""
    _takes = nn.BatchNorm2d, nn.ReLU


class BNReLU3d(_FusedModule):
    """A batch norm and a ReLU."""
    _takes = nn.BatchNorm3d, nn.ReLU


class LinearBn1d(_FusedModule):
    """A linear layer and a batch norm."""
    _takes = nn.Linear, nn.BatchNorm1d


class LinearLeakyReLU(_FusedModule):
    """A linear layer and a leaky ReLU."""
    _takes = nn.Linear, nn.LeakyReLU


class LinearTanh(_FusedModule):
    """A linear layer and a tanh."""
    _takes = nn.Linear, nn.Tanh


class ConvAdd2d(_FusedModule):
    """A convolution and `add`, a function, with another tensor."""

    def __init__(self, conv, add):
        nn.Sequential.__init__(self, conv)
        self.add = add

    def forward(self, x1, x2):
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    """A convolution, `add`, a function, with another tensor, and a ReLU."""

    def __init__(self, conv, add, relu):
        nn.Sequential.__init__(self, conv)
        self.add, self.relu = add, relu

    def forward(self, x1, x2):
        return self.relu(self.add(self[0](x1), x2))


__all__ = [n for n in list(globals()) if n[:4] in ("Conv", "Line", "BNRe")]
