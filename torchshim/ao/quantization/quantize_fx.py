"""torch.ao.quantization.quantize_fx: quantization of traced models. NotImplementedError: models are quantized in eager mode,
see `quantize`."""


def _no_graphs(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.ao.quantization.quantize_fx.{name}; models are quantized in eager mode (prepare, "
                                  "convert)")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError: models are quantized in eager mode."
    missing.__unimplemented__ = True
    return missing


(attach_preserved_attrs_to_model, convert_fx, convert_to_reference_fx, fuse_fx, prepare_fx, prepare_qat_fx) = map(_no_graphs, (
    "attach_preserved_attrs_to_model", "convert_fx", "convert_to_reference_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"))
