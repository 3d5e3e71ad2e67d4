"""torch.onnx.symbolic_helper: what modules that define exports of their own touch when they are imported."""
from __future__ import annotations

from . import TensorProtoDataType

_NAMES = {"Byte": "UINT8", "Char": "INT8", "Short": "INT16", "Int": "INT32", "Long": "INT64", "Half": "FLOAT16", "Float": "FLOAT",
          "Double": "DOUBLE", "Bool": "BOOL", "ComplexFloat": "COMPLEX64", "ComplexDouble": "COMPLEX128", "BFloat16": "BFLOAT16"}
cast_pytorch_to_onnx = {name: TensorProtoDataType[onnx] for name, onnx in _NAMES.items()}


def parse_args(*arg_descriptors):
    """A decorator for symbolic functions, which no exporter calls here: the function itself."""
    return lambda fn: fn


def quantized_args(*arg_q_descriptors, **kwargs):
    """The same."""
    return lambda fn: fn
