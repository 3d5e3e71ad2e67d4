"""Checkpoints as files of torch.save, and back."""
from __future__ import annotations

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from .default_planner import _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import _load_state_dict
from .state_dict_saver import _save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Write all of a checkpoint as one file that torch.load reads."""
    found: dict = {}
    _load_state_dict(found, FileSystemReader(dcp_checkpoint_dir), planner=_EmptyStateDictLoadPlanner())
    torch.save(found, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Write what torch.load reads as a checkpoint. It is read with `weights_only=True`."""
    _save(torch.load(torch_save_path, weights_only=True), FileSystemWriter(dcp_checkpoint_dir), None)


__getattr__ = _missing_attribute(__name__)
