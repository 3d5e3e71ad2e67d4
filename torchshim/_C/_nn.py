"""torch._C._nn: what modules of libraries call of it."""
from ..nn.modules._conversion import parse_to as _parse_to        # noqa: F401
from ..nn.functional import (avg_pool2d, avg_pool3d, elu_, gelu, hardtanh_, leaky_relu_, linear, logsigmoid as log_sigmoid, one_hot,  # noqa: F401
                             scaled_dot_product_attention, softplus, softshrink)
