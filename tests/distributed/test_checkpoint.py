"""torch.distributed.checkpoint: what PyTorch wrote with two processes is read, what is written comes back, and a hostile folder runs
nothing.

goldens/two was written by PyTorch 2.13 (compat/checkpoint_of_two.py).
"""
import pathlib
import pickle
import shutil

import pytest

import torchshim as torch
from torchshim.distributed import checkpoint as dcp
from torchshim.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from torchshim.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from torchshim.distributed.checkpoint.state_dict_loader import _load_state_dict

TWO = pathlib.Path(__file__).parent / "goldens" / "two"


def whole(path, **options):
    found = {}
    _load_state_dict(found, dcp.FileSystemReader(path), planner=_EmptyStateDictLoadPlanner(**options))
    return found


def test_pieces_of_several_processes_become_whole():
    found = whole(TWO)
    assert found["rows"].tolist() == torch.arange(15.).view(5, 3).tolist() and found["step"] == 4
    assert found["more"][0].tolist() == [0, 1, 2, 3] and found["more"][1]["columns"].tolist() == torch.eye(3).tolist()
    assert list(whole(TWO, keys=["more"])) == ["more"]
    entry = dcp.FileSystemReader(TWO).read_metadata().state_dict_metadata["rows"]
    assert entry.size == (5, 3) and [tuple(c.offsets) for c in entry.chunks] == [(0, 0), (3, 0)]


class Counter:
    def __init__(self, n):
        self.n = n

    def state_dict(self):
        return {"n": self.n}

    def load_state_dict(self, state):
        self.n = state["n"]


@pytest.mark.parametrize("single", [True, False])
def test_what_is_saved_comes_back(tmp_path, single):
    weight = torch.randn(4, 4, dtype=torch.bfloat16)
    dcp.save({"w": weight, "part": weight.t()[1:], "c": Counter(3), "list": [1, torch.ones(2)], "name": "x"},
             storage_writer=dcp.FileSystemWriter(tmp_path, single_file_per_rank=single))
    counter, target = Counter(0), torch.zeros(4, 4, dtype=torch.bfloat16)
    found = {"w": target, "part": torch.zeros(3, 4, dtype=torch.bfloat16), "c": counter, "list": [0, torch.zeros(2)], "name": ""}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["w"] is target and torch.equal(target, weight) and torch.equal(found["part"], weight.t()[1:])
    assert counter.n == 3 and found["list"][0] == 1 and found["list"][1].tolist() == [1., 1.] and found["name"] == "x"
    assert sorted(p.suffix for p in tmp_path.iterdir() if p.name != ".metadata") == [".distcp"] * (1 if single else 6)


def test_as_one_file_and_back(tmp_path):
    dcp_to_torch_save(TWO, tmp_path / "one.pt")
    assert torch.load(tmp_path / "one.pt")["step"] == 4
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
    assert whole(tmp_path / "again")["rows"].shape == (5, 3)
    assert dcp.async_save({"a": torch.ones(1)}, checkpoint_id=tmp_path / "later").result().version is None


@pytest.mark.parametrize("state, text", [
    ({"nowhere": torch.ones(1)}, "RuntimeError: Missing key in checkpoint state_dict: nowhere."),
    ({"rows": torch.ones(2, 2)}, r"Size mismatch between saved torch.Size\(\[5, 3\]\) and current: torch.Size\(\[2, 2\]\) for rows")])
def test_what_does_not_fit(state, text):
    with pytest.raises(dcp.CheckpointException, match=text) as raised:
        dcp.load(state, checkpoint_id=TWO)
    assert list(raised.value.failures) == [0]
    dcp.load(state, checkpoint_id=TWO, planner=dcp.DefaultLoadPlanner(allow_partial_load=True)) if "nowhere" in state else None


class Hostile:
    def __reduce__(self):
        return open, ("ran", "w")


def test_a_folder_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".metadata").write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(dcp.CheckpointException, match="asks for .*open, which is no part of it"):
        dcp.load({"x": torch.ones(1)}, checkpoint_id="a")
    shutil.copytree(TWO, "b")
    metadata = (tmp_path / "b" / ".metadata").read_bytes()
    (tmp_path / "b" / ".metadata").write_bytes(metadata.replace(b"__0_0.distcp", b"../up.distcp"))
    with pytest.raises(dcp.CheckpointException, match="leads out of its folder"):
        whole("b")
    (tmp_path / "b" / ".metadata").write_bytes(metadata)
    data = (tmp_path / "b" / "__0_0.distcp").read_bytes()
    (tmp_path / "b" / "__0_0.distcp").write_bytes(data[:len(data) // 2])
    with pytest.raises(dcp.CheckpointException):
        whole("b")
    assert not (tmp_path / "ran").exists()


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path):
    dcp.save({"x": torch.ones(2)}, checkpoint_id=tmp_path)
    with pytest.warns(UserWarning, match="Detected an existing checkpoint"), pytest.raises(dcp.CheckpointException):
        dcp.save({"x": torch.zeros(2), "y": lambda: 0}, checkpoint_id=tmp_path)
    assert whole(tmp_path)["x"].tolist() == [1., 1.] and not list(tmp_path.glob("*.tmp"))
    with pytest.raises(dcp.CheckpointException, match="Checkpoint already exists and self.overwrite=False."):
        dcp.save({"x": torch.zeros(2)}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False))
