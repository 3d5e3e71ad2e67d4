"""Protects collectives between processes: their results, gloo's digits, their errors, DistributedDataParallel, stores and torchrun.

The sums' digits and the error texts are those of PyTorch 2.13's gloo in three processes.
"""
import datetime
import hashlib
import sys
import threading

import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim import multiprocessing as mp
from torchshim.distributed import run
from torchshim.distributed.elastic.multiprocessing.errors import ChildFailedError

OP = dist.ReduceOp


def _collectives(rank, n):
    x = (torch.arange(3) + rank + 1).float()
    assert dist.all_reduce(x) is None and x.tolist() == [6, 9, 12]
    for op, dtype, found in ((OP.AVG, torch.bfloat16, [2, 3, 4]), (OP.PRODUCT, torch.int64, [6, 24, 60]),
                             (OP.MAX, torch.float64, [3, 4, 5]), (OP.BXOR, torch.int32, [0, 5, 2]),
                             (OP.SUM, torch.bool, [True] * 3), (OP.SUM, torch.complex64, [6, 9, 12])):
        x = (torch.arange(3) + rank + 1).to(dtype)
        dist.all_reduce(x, op)
        assert x.tolist() == found and x.dtype is dtype
    x = torch.arange(6.0).view(2, 3).t()       # not contiguous
    dist.all_reduce(x)
    assert x.tolist() == [[0, 9], [3, 12], [6, 15]]
    for call, error, text in ((lambda: dist.all_reduce(torch.ones(2), OP.BAND), RuntimeError, "Cannot use ReduceOp.BAND with non-integral"),
                              (lambda: dist.all_reduce(torch.ones(2).short()), RuntimeError, "Invalid scalar type"),
                              (lambda: dist.all_gather([torch.zeros(2)], torch.ones(2)), RuntimeError, "expected length 3, got 1"),
                              (lambda: dist.broadcast(torch.ones(1), 7), RuntimeError, "ProcessGroupGloo::broadcast: invalid root rank: 7"),
                              (lambda: dist.send(torch.ones(1), rank), ValueError, "Invalid destination rank")):
        with pytest.raises(error, match=text):
            call()
    work = dist.all_reduce(x := torch.ones(2), async_op=True)
    assert work.wait() and work.is_completed() and x.tolist() == [3, 3] and work.get_future().value()[0] is x
    made = [torch.zeros(1) for _ in range(n)]
    dist.all_gather(made, torch.ones(1) * rank)
    assert [t.item() for t in made] == [0, 1, 2]
    dist.all_to_all(made, [torch.ones(1) * (10 * rank + k) for k in range(n)])
    assert [t.item() for t in made] == [rank, 10 + rank, 20 + rank]
    dist.gather(torch.ones(1) * rank, made if rank == 2 else None, 2)
    assert rank != 2 or [t.item() for t in made] == [0, 1, 2]
    x = torch.zeros(2)
    dist.scatter(x, [torch.ones(2) * k for k in range(n)] if rank == 1 else None, 1)
    assert x.tolist() == [rank, rank]
    dist.reduce(x, 0)
    assert rank or x.tolist() == [3, 3]
    whole = [None] * n
    dist.all_gather_object(whole, {"rank": rank})
    assert whole == [{"rank": k} for k in range(n)]
    said = [rank, "a"]
    dist.broadcast_object_list(said, 1)
    assert said == [1, "a"]


def _to_neighbours(rank, n):
    if rank == 0:
        dist.send(torch.arange(3.0), 1, tag=4)
        dist.send(torch.ones(3), 1)
    elif rank == 1:
        x, y = torch.zeros(3), torch.zeros(3)
        assert dist.recv(y, 0) == 0 and dist.irecv(x, 0, tag=4).wait() and x.tolist() == [0, 1, 2] and y.tolist() == [1, 1, 1]
    mine, theirs = torch.ones(1) * rank, torch.zeros(1)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, (rank + 1) % n), dist.P2POp(dist.irecv, theirs, (rank - 1) % n)]):
        work.wait()
    assert theirs.item() == (rank - 1) % n


def _groups(rank, n):
    g = dist.new_group([0, 2])
    if rank == 1:
        assert g == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(g) == -1
        with pytest.warns(UserWarning, match="Running all_reduce on global rank 1 which does not belong to the given group"):
            assert dist.all_reduce(torch.ones(1), group=g) is None
        return
    dist.all_reduce(x := torch.ones(1), group=g)
    assert x.item() == 2 and dist.get_world_size(g) == 2 and dist.get_group_rank(g, 2) == 1 and dist.get_global_rank(g, 1) == 2
    with pytest.raises(ValueError, match="Global rank 1 is not part of group"):
        dist.broadcast(x, 1, group=g)


def _digits(rank, n):
    torch.manual_seed(rank)
    x, part = torch.randn(1001), torch.empty(333)
    dist.all_reduce(y := x.clone())
    dist.reduce_scatter_single(part, x[:999].clone())
    assert hashlib.sha256(y.numpy().tobytes()).hexdigest()[:16] == "775fc0e38a2f2b27"
    assert rank != 1 or hashlib.sha256(part.numpy().tobytes()).hexdigest()[:16] == "1cab0eb0c7f94262"


def _gradients(rank, n):
    from torchshim.distributed.nn import functional as through
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    ((rank + 1) * through.all_reduce(x)).sum().backward()
    assert x.grad.tolist() == [6, 6]
    x.grad = None
    sum([(k + 1) * (rank + 1) * t for k, t in enumerate(through.all_gather(x))]).sum().backward()
    assert x.grad.tolist() == [6 * (rank + 1)] * 2


def _training(rank, n):
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)))
    torch.manual_seed(0)
    same = torch.nn.Linear(3, 2)
    assert torch.equal(model.module[0].weight, same.weight)
    x = torch.arange(6.0).view(2, 3) * (rank + 1)
    with model.no_sync():
        model(x)[:, 0].pow(3).sum().backward()
    own = [None] * n
    dist.all_gather_object(own, model.module[1].weight.grad.tolist())
    model.zero_grad()
    model(x)[:, 0].pow(3).sum().backward()
    mean = [sum(g) / n for g in zip(*own)]
    assert model.module[1].weight.grad.tolist() == pytest.approx(mean, rel=1e-5, abs=1e-6)
    part = torch.nn.parallel.DistributedDataParallel(torch.nn.ModuleDict({"a": torch.nn.Linear(1, 1), "b": torch.nn.Linear(1, 1)}))
    part.module.forward = lambda x: part.module["a"](x)
    part(torch.ones(1, 1)).sum().backward()
    with pytest.raises(RuntimeError, match="did not receive grad for rank .: 2 3"):
        part(torch.ones(1, 1))
    with pytest.raises(RuntimeError, match="DDP expects same model across all ranks"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1, bias=rank == 0))


def _meshes(rank, n):
    mesh = dist.init_device_mesh("cpu", (3, 1), mesh_dim_names=("dp", "tp"))
    assert repr(mesh) == "DeviceMesh((dp=3, tp=1), 'cpu', stride=(1, ()))" and mesh.get_coordinate() == (rank, 0)
    assert mesh["dp"].get_coordinate() == (rank,)
    assert dist.get_process_group_ranks(mesh.get_group("dp")) == [0, 1, 2] and dist.get_process_group_ranks(mesh.get_group("tp")) == [rank]
    assert mesh.get_local_rank("dp") == rank == mesh.get_rank() and mesh._flatten().size() == 3
    assert dist.init_device_mesh("cpu", (3,)).get_group() is dist.group.WORLD
    with pytest.raises(RuntimeError, match="Mesh should not be bigger than default world size 3, but found 4 ranks!"):
        dist.init_device_mesh("cpu", (4,))
    with pytest.raises(NotImplementedError, match="torch.distributed.tensor.DTensor with more than one process"):
        dist.tensor.distribute_tensor(torch.ones(3), mesh["dp"])
    with pytest.raises(NotImplementedError, match="torch.distributed.fsdp.fully_shard with more than one process"):
        dist.fsdp.fully_shard(torch.nn.Linear(1, 1))


def _everything(rank, n, path):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=n)
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (rank, n, "gloo")
    for part in (_collectives, _to_neighbours, _groups, _digits, _gradients, _meshes, _training):
        part(rank, n)
    with pytest.raises(NotImplementedError, match="torch.distributed.checkpoint.save with more than one process"):
        torch.distributed.checkpoint.save({}, checkpoint_id="nowhere")
    dist.barrier()
    dist.destroy_process_group()


def test_three_processes(tmp_path):
    mp.spawn(_everything, args=(3, tmp_path / "store"), nprocs=3)
    assert not (tmp_path / "store").exists()   # the last one removes it


def _store(make):
    s, soon = make(), datetime.timedelta(milliseconds=20)
    assert s.set("a", "1") is None and s.get("a") == b"1" and s.add("n", 3) == 3 and s.add("n", -1) == 2 and s.get("n") == b"2"
    assert s.check(["a"]) and not s.check(["a", "q"]) and s.wait(["a"]) is None
    assert s.compare_set("c", "", "v1") == b"v1" == s.compare_set("c", "x", "v2") and s.compare_set("new", "x", "v2") == b"x"
    s.append("c", "!!")
    assert s.get("c") == b"v1!!" and s.delete_key("c") and not s.delete_key("c")
    s.multi_set(["k", "l"], ["1", b"2"])
    assert s.multi_get(["k", "l"]) == [b"1", b"2"] and s.timeout == datetime.timedelta(seconds=300)
    s.set_timeout(soon)
    with pytest.raises(RuntimeError):
        s.get("zz")
    with pytest.raises(RuntimeError):
        s.wait(["q", "r"], soon)
    with pytest.raises(TypeError):
        s.set("a", 1)
    later = threading.Timer(0.02, s.clone().set, ("late", "x"))
    later.start()
    s.set_timeout(datetime.timedelta(seconds=10))
    assert s.get("late") == b"x"
    later.join()
    return s


def test_stores(tmp_path):
    queue = _store(dist.HashStore)
    queue.queue_push("Q", "1")
    assert queue.queue_len("Q") == 1 and queue.queue_pop("Q") == b"1"
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        queue.queue_pop("Q", False)
    tcp = _store(lambda: dist.TCPStore("127.0.0.1", 0, 1, True))
    assert tcp.port and tcp.host == "127.0.0.1"
    tcp.set_timeout(datetime.timedelta(milliseconds=10))
    with pytest.raises(dist.DistStoreError, match="wait timeout after 10ms, keys: /zz"):
        tcp.get("zz")
    with pytest.raises(dist.DistNetworkError, match=f"port: {tcp.port}, useIpv6: false, code: -98, name: EADDRINUSE"):
        dist.TCPStore("127.0.0.1", tcp.port, 1, True)
    _store(lambda: dist.FileStore(str(tmp_path / "f"), 1))
    prefixed = _store(lambda: dist.PrefixStore("p", dist.HashStore()))
    assert prefixed.underlying_store.get("p/a") == b"1"


@pytest.mark.parametrize("said, text", [({}, "RANK"), ({"RANK": "0"}, "WORLD_SIZE"), ({"RANK": "0", "WORLD_SIZE": "1"}, "MASTER_ADDR"),
                                        ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "x"}, "MASTER_PORT")])
def test_what_the_environment_must_say(monkeypatch, said, text):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, x in said.items():
        monkeypatch.setenv(name, x)
    with pytest.raises(ValueError, match=f"env:// rendezvous: environment variable {text} expected, but not set"):
        dist.init_process_group("gloo")


def test_torchrun_starts_processes_and_ends_them(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import sys, torch, torch.distributed as dist\n"
                      "dist.init_process_group('gloo')\nx = torch.ones(1) * (dist.get_rank() + 1)\ndist.all_reduce(x)\n"
                      "open(f'{sys.argv[1]}/{dist.get_rank()}', 'w').write(str(x.item()))\n"
                      "if dist.get_rank() == 1 and sys.argv[2:]:\n    sys.exit(3)\n")
    run.main(["--standalone", "--nproc_per_node=2", str(script), str(tmp_path)])
    assert [(tmp_path / str(k)).read_text() for k in range(2)] == ["3.0", "3.0"]
    with pytest.raises(ChildFailedError, match=r"exitcode  : 3 \(pid: "):
        run.main(["--standalone", "--nproc_per_node=2", str(script), str(tmp_path), "fail"])
    assert "torchshim" in sys.modules
