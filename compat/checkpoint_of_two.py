"""Writes tests/distributed/goldens/two, a checkpoint of two processes, under PyTorch 2.13:
`python -m torch.distributed.run --nproc-per-node 2 compat/checkpoint_of_two.py`."""
import pathlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
state = {"rows": distribute_tensor(torch.arange(15.0).view(5, 3), mesh, [Shard(0)]),
         "more": [distribute_tensor(torch.arange(4), mesh, [Replicate()]), {"columns": distribute_tensor(torch.eye(3), mesh, [Shard(1)])}],
         "step": 4}
dcp.save(state, checkpoint_id=pathlib.Path(__file__).parents[1] / "tests" / "distributed" / "goldens" / "two")
dist.destroy_process_group()
