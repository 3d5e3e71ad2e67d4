"""torch.distributed.tensor over one process: values, gradients and, as PyTorch 2.13 gives them, placements, texts and histories."""
import copy

import pytest

import torchshim as torch
from torchshim import distributed as dist
from torchshim import nn
from torchshim.distributed.device_mesh import init_device_mesh
from torchshim.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor, zeros
from torchshim.distributed.tensor.experimental import implicit_replication, local_map
from torchshim.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module
from torchshim.nn import functional as F


@pytest.fixture
def mesh():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def test_it_holds_its_data_and_knows_how_it_lies(mesh):
    w = torch.arange(6.).view(2, 3)
    d = distribute_tensor(w, mesh, [Shard(0)])
    assert repr(d) == ("DTensor(local_tensor=tensor([[0., 1., 2.],\n        [3., 4., 5.]]), device_mesh=DeviceMesh((1,), 'cpu', "
                       "stride=((),)), placements=(Shard(dim=0),))")
    assert (d.shape == (2, 3) and d.is_leaf and torch.equal(d.to_local(), w) and torch.equal(d.full_tensor(), w)
            and str(d._spec) == "Spec(f32[2, 3](S(0)))")
    d.add_(1)
    assert w[0, 0] == 0 and d.to_local()[0, 0] == 1                # a shard has memory of its own
    for refused in (d.numpy, d.tolist):
        with pytest.raises(RuntimeError, match="is not supported for tensor subclasses"):
            refused()


@pytest.mark.parametrize("f, placement", [
    (lambda d: d + d, Shard(0)), (lambda d: d * 2, Shard(0)), (lambda d: d @ d.t(), Shard(0)), (lambda d: d.t(), Shard(1)),
    (lambda d: d.sum(), Partial("sum")), (lambda d: d.sum(0), Partial("sum")), (lambda d: d.sum(1), Shard(0)),
    (lambda d: d.mean(), Partial("avg")), (lambda d: d.max(), Partial("max")), (lambda d: d.max(1).indices, Shard(0)),
    (lambda d: d.view(2, 6), Shard(0)), (lambda d: d[0], Replicate()), (lambda d: d[:, 1:], Shard(0)),
    (lambda d: torch.softmax(d, -1), Shard(0)), (lambda d: torch.softmax(d, 0), Replicate()),
    (lambda d: torch.cat([d, d]), Replicate()), (lambda d: torch.stack([d, d]), Shard(1)), (lambda d: d.to(torch.bfloat16), Shard(0)),
    (lambda d: d.split(2)[0], Replicate()), (lambda d: torch.where(d > 0, d, 0.), Shard(0)), (lambda d: torch.zeros_like(d), Shard(0)),
    (lambda d: F.layer_norm(d, (3,)), Shard(0)), (lambda d: d.relu().detach().clone(), Shard(0)),
    (lambda d: d + torch.tensor(1.), Shard(0)),
])
def test_where_results_lie(mesh, f, placement):
    d = distribute_tensor(torch.arange(12.).view(4, 3) - 5, mesh, [Shard(0)])
    r = f(d)
    assert r.placements == (placement,) and isinstance(r, DTensor) and torch.equal(r.to_local(), f(d.to_local()))


def test_plain_tensors_beside_it_are_refused(mesh):
    d = distribute_tensor(torch.ones(4, 3), mesh, [Shard(0)])
    with pytest.raises(RuntimeError, match="^aten.add.Tensor got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
                                           "DTensor before"):
        d + torch.ones(4, 3)
    with implicit_replication():
        assert (d + torch.ones(4, 3)).placements == (Shard(0),)


def test_gradients(mesh):
    p = nn.Parameter(distribute_tensor(torch.ones(2, 2), mesh, [Shard(1)]))
    (p * 3).sum().backward()
    assert isinstance(p, nn.Parameter) and type(p.grad) is DTensor and torch.equal(p.grad.full_tensor(), torch.full((2, 2), 3.))
    leaf = torch.ones(2, requires_grad=True)
    q = DTensor.from_local(leaf, mesh, [Shard(-1)])
    assert q.placements == (Shard(0),) and type(q.grad_fn).__name__ == "_FromTorchTensorBackward"
    assert type(q.to_local().grad_fn).__name__ == "_ToTorchTensorBackward"
    moved = q.redistribute(placements=[Replicate()])
    assert type(moved.grad_fn).__name__ == "RedistributeBackward"
    moved.full_tensor().square().sum().backward()
    assert leaf.grad.tolist() == [2., 2.]
    optimizer = torch.optim.Adam([p], lr=0.5)
    optimizer.step()
    assert type(optimizer.state[p]["exp_avg"]) is DTensor and p.full_tensor().tolist() == [[.5, .5], [.5, .5]]
    norm = nn.utils.clip_grad_norm_([p], 1.)
    assert type(norm) is DTensor and norm.placements == (Replicate(),) and norm.item() == 6
    twin = copy.deepcopy(p)
    assert twin.placements == p.placements and twin.requires_grad and twin.to_local().data_ptr() != p.to_local().data_ptr()


def test_what_cannot_be_placed(mesh):
    with pytest.raises(ValueError, match="must have the same length as `device_mesh.ndim`! Found placements length: 2, and "
                                         "device_mesh.ndim: 1"):
        distribute_tensor(torch.ones(2), mesh, [Shard(0), Shard(0)])
    with pytest.raises(RuntimeError, match="should be used to distribute leaf tensors"):
        distribute_tensor(torch.ones(2, requires_grad=True) * 2, mesh)
    d = zeros(2, 2, device_mesh=mesh)
    with pytest.raises(RuntimeError, match="only accepts torch.Tensor but got"):
        DTensor.from_local(d, mesh)
    with pytest.raises(RuntimeError, match="redistributing to Partial is for internal use only"):
        d.redistribute(placements=[Partial()])
    with pytest.raises(RuntimeError, match="No device mesh is currently active"):
        distribute_tensor(torch.ones(2))
    with mesh:
        assert distribute_tensor(torch.ones(2)).placements == (Replicate(),)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.down(F.silu(self.up(self.norm(x))))


def test_a_parallel_module_computes_what_it_computed(mesh):
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Embedding(5, 4), Block(), nn.Linear(4, 5))
    made = copy.deepcopy(plain)
    parallelize_module(made, mesh, {
        "0": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)), "1": PrepareModuleInput(
            input_layouts=(Shard(1),), desired_input_layouts=(Shard(1),)), "1.norm": SequenceParallel(), "1.up": ColwiseParallel(),
        "1.down": RowwiseParallel(output_layouts=Shard(1)), "2": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
    x = torch.randint(5, (2, 3))
    for net in (plain, made):
        net(x).square().mean().backward()
    out = made(x)
    assert type(out) is torch.Tensor and torch.equal(out, plain(x))
    assert [str(p.placements[0]) for p in made.parameters()] == ["S(0)", "R", "R", "S(0)", "S(0)", "S(1)", "R", "S(0)", "S(0)"]
    for p, q in zip(plain.parameters(), made.parameters()):
        assert torch.equal(p.grad, q.grad.full_tensor())
    assert (repr(ColwiseParallel())
            == "ColwiseParallel(input_layouts=(Replicate(),), output_layouts=(Shard(dim=-1),), use_local_output=True)")
    with pytest.raises(NotImplementedError, match="ColwiseParallel currently only support nn.Linear and nn.Embedding!"):
        parallelize_module(nn.ReLU(), mesh, ColwiseParallel())
    with pytest.warns(UserWarning, match="no submodule matching token 'nowhere'"):
        parallelize_module(nn.Sequential(), mesh, {"nowhere.x": ColwiseParallel()})


def test_functions_of_parts(mesh):
    f = local_map(lambda a, b: a @ b, out_placements=[Shard(0)], in_placements=([Shard(0)], [Replicate()]))
    a, b = distribute_tensor(torch.ones(2, 3), mesh, [Shard(0)]), distribute_tensor(torch.ones(3, 2), mesh, [Replicate()])
    assert f(a, b).placements == (Shard(0),) and f(a, b).full_tensor().tolist() == [[3., 3.]] * 2
    with pytest.raises(ValueError, match="mismatched placements"):
        f(b.t(), b)
    net = distribute_module(nn.Linear(2, 2), mesh)
    assert net.weight.placements == (Replicate(),) and isinstance(net.weight, nn.Parameter)
