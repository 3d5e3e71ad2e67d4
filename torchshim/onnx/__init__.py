"""torch.onnx: importable, so that programs that could export run. Exporting raises NotImplementedError; jax.export writes StableHLO."""
from __future__ import annotations

import enum

from ..dropin import missing_attribute as _missing_attribute

__all__ = ["ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TensorProtoDataType", "TrainingMode", "export", "is_in_onnx_export",
           "register_custom_op_symbolic", "unregister_custom_op_symbolic"]
producer_name, producer_version = "pytorch", "2.13.0"
TensorProtoDataType = enum.IntEnum("TensorProtoDataType",
                                   "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 "
                                   "UINT64 COMPLEX64 COMPLEX128 BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ", start=0)
OperatorExportTypes = enum.IntEnum("OperatorExportTypes", "ONNX ONNX_ATEN ONNX_ATEN_FALLBACK ONNX_FALLTHROUGH", start=0)
TrainingMode = enum.IntEnum("TrainingMode", "EVAL PRESERVE TRAINING", start=0)


class OnnxExporterError(RuntimeError):
    """An export that failed."""


class ONNXProgram:
    """What `export` returns in torch."""


def export(*args, **kwargs):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.onnx.export; export to StableHLO with jax.export on torchshim.to_jax tensors instead")


def is_in_onnx_export():
    """Whether an export runs: never."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Nothing: there is no exporter that would ask for it."""


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Nothing: none is registered."""


def select_model_mode_for_export(model, mode):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.onnx.select_model_mode_for_export; there is no ONNX exporter")


__getattr__ = _missing_attribute(__name__, lazy=("operators", "symbolic_helper", "symbolic_opset11", "utils"))
