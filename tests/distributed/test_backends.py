"""Protects which backends a process group may have: those that are not built raise in torch's words, at `init_process_group` and
`new_group` alike."""
import datetime
import warnings

import jax
import pytest
import torchshim as torch
import torchshim.distributed as dist

pytestmark = pytest.mark.skipif(any([d.platform == "gpu" for d in jax.devices()]), reason="a GPU is there")


def begin(backend, **how):
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1, **how)


@pytest.fixture
def group():
    begin("gloo")
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("backend, error, text, said", [
    ("nccl", RuntimeError, "Distributed package doesn't have NCCL built in", "Attempted to get default timeout for nccl backend"),
    ("mpi", RuntimeError, "Distributed package doesn't have MPI built in. MPI is only included", "For MPI backend, world_size \\(1\\)"),
    ("xccl", RuntimeError, "Distributed package doesn't have XCCL built in", None),
    ("ucc", AssertionError, "Unknown c10d backend type UCC", None),
    ("cpu:gloo,cuda:nccl", RuntimeError, "Distributed package doesn't have NCCL built in", None),
    ("cpu:foo", AssertionError, "Unknown c10d backend type FOO", None),
    ("foo", AssertionError, "Unknown backend type foo", "Device capability of foo unknown"),
    (3, ValueError, "Backend constructor parameter must be string-ish", None),
])
def test_what_is_not_built(backend, error, text, said):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises(error, match=f"^{text}"):
            begin(backend)
    assert not dist.is_initialized() and len(found) == (said is not None)
    if said:
        with pytest.warns(UserWarning, match=said), pytest.raises(error):
            begin(backend)


@pytest.mark.parametrize("backend, name, serves", [
    (None, "gloo", "cpu:gloo"), ("GLOO", "gloo", "cpu:gloo,cuda:gloo"), ("cpu:gloo", "undefined", "cpu:gloo"),
    ("fake", "custom", "cpu:fake,cuda:fake,hpu:fake,xpu:fake")])
def test_what_is(backend, name, serves):
    begin(backend)
    try:
        asked = "undefined" if backend is None else backend.lower()
        assert (dist.get_backend(), dist.group.WORLD.name(), dist.get_backend_config()) == (asked, name, serves)
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("device, text", [
    (0, "device_id is an int, but no accelerator support is found"), (torch.device("cuda:0"), "device_id cuda:0 does not match"),
    (torch.device("cpu"), "init_process_group device_id parameter must be an accelerator")])
def test_devices_that_are_not_there(device, text):
    with pytest.raises(ValueError, match=f"^{text}"):
        begin("gloo", device_id=device)


def test_further_groups(group):
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="NCCL built in"):
        dist.new_group(backend="nccl")
    assert dist.get_backend(dist.new_group()) == "gloo" and dist.get_default_backend_for_device("cuda") == "nccl"
    assert [dist.is_backend_available(b) for b in ("gloo", "nccl", "mpi", "fake", "foo")] == [True, False, False, True, False]
    with pytest.raises(ValueError, match="^Group 3 is not registered"):
        dist.get_rank(3)
    with pytest.raises(ValueError, match="^Process group 3 is not initialized"):
        dist.get_backend(3)
    with pytest.raises(ValueError, match="^Invalid destination rank"):
        dist.send(torch.ones(1), 0)
    with pytest.raises(TypeError, match="^Expected timeout argument to be of type datetime.timedelta, got 3$"):
        dist.destroy_process_group(), begin("gloo", timeout=3)
    begin("gloo", timeout=datetime.timedelta(3))


def test_old_names_say_so(group):
    with pytest.warns(FutureWarning, match="reduce_op. is deprecated"):
        assert dist.reduce_op.SUM is dist.ReduceOp.SUM
    with pytest.warns(FutureWarning, match="all_reduce_coalesced. will be deprecated"):
        dist.all_reduce_coalesced([torch.ones(1)])


def test_a_mesh_begins_what_was_not_begun():
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        dist.init_device_mesh("cpu", (1,))
