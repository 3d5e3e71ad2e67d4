"""How DistributedDataParallel combines gradients of several processes: NotImplementedError."""
from ....dropin import missing_attribute as _missing_attribute
from ..._absent import absent_names

globals().update(absent_names(
    __name__,
    functions="allreduce_hook fp16_compress_hook bf16_compress_hook fp16_compress_wrapper bf16_compress_wrapper"))
__getattr__ = _missing_attribute(__name__)
