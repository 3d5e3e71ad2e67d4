"""torch.distributed.checkpoint: importable; saving and loading by it raises NotImplementedError (torch.save and torch.load are there)."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_function

save, load, async_save, save_state_dict, load_state_dict = [
    absent_function(__name__, name) for name in ("save", "load", "async_save", "save_state_dict", "load_state_dict")]
__getattr__ = _missing_attribute(
    __name__, lazy=("default_planner", "filesystem", "format_utils", "hf_storage", "metadata", "planner", "state_dict", "stateful"),
    elsewhere={"FileSystemReader": "filesystem", "FileSystemWriter": "filesystem", "DefaultSavePlanner": "default_planner",
               "DefaultLoadPlanner": "default_planner", "HuggingFaceStorageReader": "hf_storage", "HuggingFaceStorageWriter": "hf_storage",
               "SavePlan": "planner", "LoadPlan": "planner", "SavePlanner": "planner", "LoadPlanner": "planner", "WriteItem": "planner",
               "ReadItem": "planner", "Metadata": "metadata", "TensorStorageMetadata": "metadata", "BytesStorageMetadata": "metadata",
               "ChunkStorageMetadata": "metadata"})
