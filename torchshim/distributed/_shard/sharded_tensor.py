"""torch.distributed._shard.sharded_tensor: importable; nothing is a ShardedTensor."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(__name__, classes="ShardedTensor Shard ShardedTensorMetadata TensorProperties"))
__getattr__ = _missing_attribute(__name__)
