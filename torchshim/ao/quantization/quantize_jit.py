"""torch.ao.quantization.quantize_jit: TorchScript models are not quantized; NotImplementedError."""


def _no_scripts(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.ao.quantization.{name}; scripted models are not quantized")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError: scripted models are not quantized."
    missing.__unimplemented__ = True
    return missing


(convert_dynamic_jit, convert_jit, fuse_conv_bn_jit, prepare_dynamic_jit, prepare_jit, quantize_dynamic_jit, quantize_jit, script_qconfig,
 script_qconfig_dict) = map(_no_scripts, ("convert_dynamic_jit", "convert_jit", "fuse_conv_bn_jit", "prepare_dynamic_jit", "prepare_jit",
                                          "quantize_dynamic_jit", "quantize_jit", "script_qconfig", "script_qconfig_dict"))
