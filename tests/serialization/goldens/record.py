"""Writes the golden files. Run where PyTorch is installed:  python tests/serialization/goldens/record.py"""
import io
import pathlib
import pickle
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from content import content, describe

made = content(torch)
torch.save(made, HERE / "zip.pt")
torch.save(made, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
(HERE / "plain.pkl").write_bytes(pickle.dumps(made))
(HERE / "content.txt").write_text("\n".join(describe(torch, made)) + "\n")
module = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU())
out = io.BytesIO()
with torch.no_grad():
    for p in module.parameters():
        p.fill_(0.5)
torch.save(module, HERE / "module.pt")
