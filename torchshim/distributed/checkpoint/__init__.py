"""torch.distributed.checkpoint: state dicts in folders that PyTorch reads and writes too, from one process or many."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .optimizer import load_sharded_optimizer_state_dict
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict
from .storage import StorageReader, StorageWriter

__all__ = ["BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
           "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "LoadPlan", "LoadPlanner",
           "Metadata", "ReadItem", "SavePlan", "SavePlanner", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem",
           "async_save", "load", "load_sharded_optimizer_state_dict", "load_state_dict", "save", "save_state_dict"]
globals().update(absent_names(__name__, classes="QuantizedHuggingFaceStorageReader"))
__getattr__ = _missing_attribute(__name__, lazy=("format_utils", "state_dict", "stateful"))
