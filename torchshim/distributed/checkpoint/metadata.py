"""What torch.distributed.checkpoint says of its files: NotImplementedError when made."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(
    __name__,
    classes="Metadata MetadataIndex TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata "
            "TensorProperties"))
__getattr__ = _missing_attribute(__name__)
