"""torch.ao.quantization: models get observers, and then quantized modules in place of their own.

Eager mode stands in `quantize`; observers in `observer` and `fake_quantize`, configurations in `qconfig` and `qconfig_mapping`. Traced
models (`quantize_fx`) are not quantized.
"""
import sys as _sys
import types as _types

from ...dropin import missing_attribute as _missing_attribute

_OF = {"observer": """AffineQuantizedObserverBase FixedQParamsObserver Granularity HistogramObserver MappingType MinMaxObserver
           MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase PerAxis PerBlock
           PerChannelMinMaxObserver PerGroup PerRow PerTensor PerToken PlaceholderObserver RecordingObserver ReuseInputObserver TorchAODType
           UniformQuantizationObserverBase ZeroPointDomain default_affine_fixed_qparams_observer default_debug_observer
           default_dynamic_quant_observer default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_observer
           default_float_qparams_observer default_float_qparams_observer_4bit default_histogram_observer default_observer
           default_per_channel_weight_observer default_placeholder_observer default_reuse_input_observer
           default_symmetric_fixed_qparams_observer default_weight_observer get_block_size get_observer_state_dict load_observer_state_dict
           per_channel_weight_observer_range_neg_127_to_127 weight_observer_range_neg_127_to_127 _PartialWrapper""",
       "fake_quantize": """FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize
           default_affine_fixed_qparams_fake_quant default_dynamic_fake_quant default_embedding_fake_quant default_embedding_fake_quant_4bit
           default_fake_quant default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_neg1to1_fake_quant
           default_fused_act_fake_quant default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant default_histogram_fake_quant
           default_per_channel_weight_fake_quant default_symmetric_fixed_qparams_fake_quant default_weight_fake_quant disable_fake_quant
           disable_observer enable_fake_quant enable_observer fused_per_channel_wt_fake_quant_range_neg_127_to_127
           fused_wt_fake_quant_range_neg_127_to_127""",
       "qconfig": """QConfig QConfigAny QConfigDynamic default_activation_only_qconfig default_debug_qconfig default_dynamic_qat_qconfig
           default_dynamic_qconfig default_embedding_qat_qconfig default_embedding_qat_qconfig_4bit default_per_channel_qconfig
           default_per_channel_symmetric_qnnpack_qat_qconfig default_per_channel_symmetric_qnnpack_qconfig default_qat_qconfig
           default_qat_qconfig_v2 default_qconfig default_quint8_weight_qconfig default_reuse_input_qconfig
           default_symmetric_qnnpack_qat_qconfig default_symmetric_qnnpack_qconfig default_weight_only_qconfig float16_dynamic_qconfig
           float16_static_qconfig float_qparams_weight_only_qconfig float_qparams_weight_only_qconfig_4bit get_default_qat_qconfig
           get_default_qat_qconfig_dict get_default_qconfig get_default_qconfig_dict per_channel_dynamic_qconfig qconfig_equals""",
       "qconfig_mapping": "QConfigMapping get_default_qat_qconfig_mapping get_default_qconfig_mapping",
       "quant_type": "QuantType",
       "stubs": "DeQuantStub QuantStub QuantWrapper",
       "fuse_modules": "fuse_modules fuse_modules_qat fuse_known_modules",
       "fuser_method_mappings": "fuse_conv_bn fuse_conv_bn_relu fuse_convtranspose_bn fuse_linear_bn get_fuser_method get_fuser_method_new",
       "quantization_mappings": """get_default_compare_output_module_list get_default_dynamic_quant_module_mappings
           get_default_dynamic_sparse_quant_module_mappings get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings
           get_default_qconfig_propagation_list get_default_static_quant_module_mappings get_default_static_quant_reference_module_mappings
           get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class get_embedding_qat_module_mappings
           get_embedding_static_quant_module_mappings get_quantized_operator get_static_quant_module_class no_observer_set
           DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS DEFAULT_STATIC_QUANT_MODULE_MAPPINGS DEFAULT_QAT_MODULE_MAPPINGS
           DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS""",
       "quantize": """add_quant_dequant convert get_default_custom_config_dict prepare prepare_qat propagate_qconfig_ quantize
           quantize_dynamic quantize_qat swap_module""",
       "quantize_jit": """convert_dynamic_jit convert_jit fuse_conv_bn_jit prepare_dynamic_jit prepare_jit quantize_dynamic_jit quantize_jit
           script_qconfig script_qconfig_dict""",
       "_names": "ObserverOrFakeQuantize default_eval_fn"}
_BOTH = ("fuse_modules", "quantize", "quantize_jit")               # functions that have the names of their modules
__getattr__ = _missing_attribute(__name__, lazy=(*[n for n in _OF if n not in _BOTH], "utils", "quantize_fx", "fx"),
                                 elsewhere={name: module for module, names in _OF.items() for name in names.split()})


class _Package(_types.ModuleType):
    """The package: importing a submodule that has a function's name leaves that name to the function."""

    def __setattr__(self, name, value):
        if name in _BOTH and isinstance(value, _types.ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
