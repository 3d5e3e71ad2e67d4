"""torch.qscheme: the names of the ways to quantize; see tensor/quantized."""


class qscheme:
    """How the numbers of a quantized tensor are meant."""
    __module__ = "torchshim"
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


per_tensor_affine, per_tensor_symmetric, per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams = (
    qscheme(name) for name in ("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
                               "per_channel_affine_float_qparams"))
