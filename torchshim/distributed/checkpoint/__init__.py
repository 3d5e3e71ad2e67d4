"""torch.distributed.checkpoint: importable; saving and loading by it raises NotImplementedError (torch.save and torch.load are there)."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_class, absent_function

save, load, async_save, save_state_dict, load_state_dict = [
    absent_function(__name__, name) for name in ("save", "load", "async_save", "save_state_dict", "load_state_dict")]
FileSystemReader, FileSystemWriter = absent_class(__name__, "FileSystemReader"), absent_class(__name__, "FileSystemWriter")
__getattr__ = _missing_attribute(__name__, lazy=("hf_storage",))
