"""Memory shared with NumPy, both ways: what torch 2.13 prints for the same programs; NumPy's own views are the model."""
import copy
import ctypes
import random

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import counters
from torchshim.tensor.core.host import HostStorage
from torchshim.tensor.core.storage import Storage


@pytest.mark.parametrize("seed", range(25))
def test_random_writes_by_both_sides_through_all_kinds_of_views(seed):
    rng = random.Random(seed)
    base = np.arange(24, dtype=rng.choice([np.float32, np.int64, np.float64])).reshape(4, 6)
    base = rng.choice([base, base.T, base[::2, 1::2]])
    own = rng.random() < 0.3
    pairs = [(torch.tensor(base), np.array(base)) if own else (torch.from_numpy(base), base)]
    if own:
        pairs[0] = (pairs[0][0], pairs[0][0].numpy())
    pending = []
    for _ in range(25):
        (t, n), k = rng.choice(pairs), rng.randrange(50)
        what = rng.choice(["numpy", "element", "export", "mul", "row", "select", "slice", "turn", "use"])
        if what == "numpy":
            n += k
        elif what == "element":
            n.flat[k % n.size] = k
        elif what == "export":
            assert np.shares_memory(t.numpy(), n)
        elif what == "mul":
            t.mul_(2)
        elif what == "row":
            t[k % len(t)] = k
        elif what == "select" and n.ndim > 1:
            pairs.append((t[k % len(t)], n[k % len(n)]))
        elif what == "slice" and len(n) > 2:
            pairs.append((t[1:], n[1:]))
        elif what == "turn":
            pairs.append((t.t(), n.T))
        elif what == "use":
            pending.append((t * 3 + 1, n * 3 + 1))
    for t, n in pairs + pending:
        assert t.tolist() == n.tolist()


def test_what_was_recorded_before_a_write_keeps_what_it_saw():
    a = np.ones(3, np.float32)
    t = torch.from_numpy(a)
    y = t * 2
    a[:] = 5
    z = t * 2
    assert y.tolist() == [2, 2, 2] and z.tolist() == [10, 10, 10]


def test_a_gradient_sees_the_memory_as_torch_does():
    w, a = torch.ones(3, requires_grad=True), np.ones(3, np.float32)
    y = (w * torch.from_numpy(a)).sum()
    a[:] = 5
    y.backward()
    assert w.grad.tolist() == [5, 5, 5]


def test_optimizer_steps_write_through_and_see_writes():
    p = torch.nn.Parameter(torch.ones(2))
    opt, seen, last = torch.optim.SGD([p], lr=0.5, momentum=0.9), p.detach().numpy(), []
    for k in range(4):
        opt.zero_grad()
        (p * 3).sum().backward()
        opt.step()
        last.append(float(seen[0]))
        seen[1] = k
        assert p.tolist() == seen.tolist()
    assert last == pytest.approx([-0.5, -3.35, -7.415, -12.5735])


def test_a_storage_is_ordinary_again_when_the_last_array_is_gone():
    t = torch.zeros(4)
    n = t[1:].numpy()[::2]
    t.add_(1)
    assert type(t._ts_st) is HostStorage and n.tolist() == [1, 1]
    del n
    v = t[2:]
    t.add_(1)
    assert type(t._ts_st) is Storage
    assert v.tolist() == [2, 2]
    t.add_(1)
    assert v.tolist() == [3, 3]


def test_a_training_loop_that_prints_its_weights_compiles_as_one_that_does_not(free_compiles):
    def compiles(look):
        w = torch.zeros(5, requires_grad=True)
        opt = torch.optim.SGD([w], lr=0.1)
        before = counters["compiles"]
        for _ in range(6):
            opt.zero_grad()
            ((w - 3) ** 2).sum().backward()
            opt.step()
            look(w)
        return counters["compiles"] - before, w.tolist()
    compiles(lambda w: w.tolist())             # its first round is compiled when it comes again
    plain = compiles(lambda w: w.tolist())
    assert compiles(lambda w: str(w.detach().numpy())) == (0, plain[1])


def test_copies_own_their_memory():
    a = np.zeros(3, np.float32)
    t = torch.from_numpy(a)
    others = [copy.deepcopy(t), t.clone(), torch.tensor(a), torch.asarray(a, copy=True), torch.from_numpy(np.array(t))]
    a[0] = 1
    assert [x.tolist()[0] for x in others] == [0] * 5 and t.tolist() == [1, 0, 0]


def test_every_way_in_shares():
    a, b = np.zeros(4, np.float32), bytearray(8)
    ways = [torch.from_numpy(a), torch.as_tensor(a), torch.asarray(a), torch.from_dlpack(a), torch.from_dlpack(torch.from_numpy(a))]
    buffer = torch.frombuffer(b, dtype=torch.int32)
    a[0], b[0] = 3, 7
    assert [t[0].item() for t in ways] == [3] * 5 and buffer.tolist() == [7, 0]
    ways[0].add_(1)
    assert a[0] == 4 and np.from_dlpack(ways[1])[0] == 4 and np.asarray(ways[2])[0] == 4
    assert ways[0].data_ptr() == a.ctypes.data and ways[0][1:].data_ptr() == a.ctypes.data + 4


def test_special_layouts_and_dtypes():
    z = torch.zeros(2, dtype=torch.complex64)
    z.imag.numpy()[1] = 4
    half = torch.zeros(2, dtype=torch.bfloat16)
    half.view(torch.int16).numpy()[0] = 0x3F80
    wide = torch.zeros(3).expand(2, 3).numpy()
    last = torch.zeros(1, 2, 3, 4).contiguous(memory_format=torch.channels_last).numpy()
    assert z.tolist() == [0, 4j] and half.tolist() == [1, 0] and wide.strides == (0, 4) and last.strides == (96, 4, 32, 8)
    assert torch.zeros(0, 3).numpy().shape == (0, 3) and torch.tensor(2.0).numpy().shape == ()
    nan = np.array([np.nan, 0.0])
    t = torch.from_numpy(nan)
    t + 1
    nan[1] = -0.0                              # equal to 0.0, and another number
    assert (1 / t)[1].item() == -np.inf


@pytest.mark.parametrize("make, kind, text", [
    (lambda: torch.from_numpy([1]), TypeError, "expected np.ndarray (got list)"),
    (lambda: torch.from_numpy(np.array(["a"])), TypeError, "can't convert np.ndarray of type numpy.str_. The only supported types are:"),
    (lambda: torch.from_numpy(np.zeros(2, "M8[s]")), TypeError, "can't convert np.ndarray of type numpy.datetime64."),
    (lambda: torch.from_numpy(np.zeros(3, ">f4")), ValueError, "given numpy array has byte order different from the native byte order."),
    (lambda: torch.from_numpy(np.arange(3)[::-1]), ValueError, "At least one stride in the given numpy array is negative"),
    (lambda: torch.from_numpy(np.zeros(3, [("a", "f4"), ("b", "i1")])["a"]), ValueError, "given numpy array strides not a multiple"),
    (lambda: torch.ones(2, requires_grad=True).numpy(), RuntimeError, "Can't call numpy() on Tensor that requires grad. Use "
     "tensor.detach()"),
    (lambda: torch.zeros(2, dtype=torch.bfloat16).numpy(), TypeError, "Got unsupported ScalarType BFloat16"),
    (lambda: torch.zeros(2, device="meta").numpy(), TypeError, "can't convert meta device type tensor to numpy."),
    (lambda: torch.zeros(2, dtype=torch.complex64).conj().numpy(), RuntimeError, "Can't call numpy() on Tensor that has conjugate bit "
     "set."),
    (lambda: torch.zeros(2, dtype=torch.complex64).conj().imag.numpy(), RuntimeError, "Can't call numpy() on Tensor that has negative bit"),
    (lambda: torch.frombuffer(b"", dtype=torch.int32), ValueError, "both buffer length (0) and count (-1) must not be 0"),
    (lambda: torch.frombuffer(b"abc", dtype=torch.int32), ValueError, "buffer length (3 bytes) after offset (0 bytes) must be a multiple "
     "of"),
    (lambda: torch.frombuffer(bytearray(8), dtype=torch.int32, offset=8), ValueError, "offset (8 bytes) must be non-negative and no "
     "greater"),
    (lambda: torch.frombuffer(bytearray(8), dtype=torch.int32, count=5), ValueError, "requested buffer length (5 * 4 bytes) after offset"),
    (lambda: torch.frombuffer([1], dtype=torch.int32), ValueError, "object does not implement Python buffer protocol."),
])
def test_refusals(make, kind, text):
    with pytest.raises(kind) as e:
        make()
    assert str(e.value).startswith(text)


def test_read_only_arrays_are_read_and_never_written():
    a = np.arange(3.0)
    b = a[:]
    b.flags.writeable = False
    t = torch.as_tensor(b)
    a[0] = 9
    assert t.tolist() == [9, 1, 2]
    t.add_(1)
    assert t.tolist() == [10, 2, 3] and a.tolist() == [9, 1, 2]


def test_picking_from_large_memory_reads_what_is_there_and_takes_no_snapshot_of_it():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3000, 32)).astype(np.float32)
    t, i = torch.from_numpy(a), np.array([5, -1, 2999, 5])
    at, mask = torch.from_numpy(i), np.arange(3000) % 700 == 3
    columns = np.arange(4 * 32).reshape(4, 32) % 32
    for k in range(3):
        a[5] = k
        pairs = [(t[at], a[i]), (t[[0, 7]], a[[0, 7]]), (t[:, at[:1] % 32], a[:, i[:1] % 32]), (t[torch.from_numpy(mask)], a[mask]),
                 (t[1:, 3:][at[:1]], a[1:, 3:][i[:1]]), (t.t()[3, at], a.T[3, i]), (t.index_select(0, at % 3000), a[i % 3000]),
                 (t.gather(1, torch.from_numpy(columns)), np.take_along_axis(a[:4], columns, 1)), (t.take(at), a.take(i)),
                 (t.masked_select(torch.from_numpy(mask)[:, None]), a[mask].ravel()),
                 (torch.nn.functional.embedding(at % 3000, t), a[i % 3000])]
        assert t._ts_st.value.extra.last is None
        for picked, there in pairs:
            assert np.array_equal(picked.tolist(), there.tolist())
    row = t[at[:1]]
    a[5] = 9
    assert row[0, 0].item() == 2 and t[at[:1]].add_(1).tolist() == [[10.0] * 32] and a[5, 0] == 9
    with pytest.raises(IndexError, match="index 3000 is out of bounds for dimension 0 with size 3000"):
        t[at + 1]
    t.requires_grad_()
    t[at].sum().backward()
    assert t.grad[5].tolist() == [2.0] * 32


def at(t):
    """What lies at a tensor's address."""
    kind = {4: ctypes.c_float, 8: ctypes.c_double}[t.element_size()]
    return np.ctypeslib.as_array(ctypes.cast(t.data_ptr(), ctypes.POINTER(kind)), (t.numel(),)).tolist()


def test_an_address_can_be_read_and_stays():
    """Libraries written in other languages (safetensors) read tensors by `data_ptr()`."""
    t = torch.arange(6.0).reshape(2, 3)
    where = t.data_ptr()
    assert where % 64 == 0 and at(t) == [0, 1, 2, 3, 4, 5] and at(t[1]) == [3, 4, 5] and t[1].data_ptr() == where + 12
    t += 1
    assert t.data_ptr() == where and at(t) == [1, 2, 3, 4, 5, 6]
    a = t.numpy()
    assert a.ctypes.data == where
    a[0, 0] = 9
    t[0, 1] = 8
    assert at(t)[:2] == [9, 8]
    del a
    t *= 2
    assert t.data_ptr() == where and at(t)[:2] == [18, 16]
    w = torch.nn.Linear(2, 1, bias=False).weight
    where = w.data_ptr()
    torch.optim.SGD([w], 1.0).step(lambda: w.sum().backward())
    assert w.data_ptr() == where and at(w) == w.flatten().tolist()


def test_an_address_changes_with_the_memory():
    t = torch.zeros(3)
    a, where = t.numpy(), t.data_ptr()
    t.set_(torch.ones(5))
    assert t.data_ptr() != where and at(t) == [1] * 5 and a.tolist() == [0] * 3
    s = torch.ones(2, dtype=torch.float64)
    s.numpy()
    s.data_ptr()
    s.set_(torch.full((4,), 3.0, dtype=torch.float64))
    assert at(s) == [3] * 4 and torch.zeros(0).data_ptr() == 0


def test_channels_last_memory_is_read_as_it_lies():
    t = torch.arange(8.0).reshape(1, 2, 2, 2).to(memory_format=torch.channels_last)
    assert at(t) == [0, 4, 1, 5, 2, 6, 3, 7]


def test_memory_that_nobody_else_knows_is_shown_as_it_is_and_other_memory_is_copied():
    """An array of `numpy()` is the result's own one where no view, graph or recorded operator holds that."""
    t = torch.ones(4) * 2
    t.sum().item()
    own = id(t._ts_st.value.array)
    u, a = t.detach(), t.numpy()
    assert id(a.base) == own
    a[0] = 7
    assert t.tolist() == u.tolist() == [7, 2, 2, 2] and np.shares_memory(u.numpy(), a)
    later = t * 1
    a[1] = 8
    assert later.tolist() == [7, 2, 2, 2] and t.tolist() == [7, 8, 2, 2]
    del a
    assert t.numpy().tolist() == t.tolist() == [7, 8, 2, 2]
    pending, b = t + 1, t.numpy()              # what is recorded reads what there was
    b[0] = 0
    assert pending.tolist() == [8, 9, 3, 3] and t.tolist() == [0, 8, 2, 2]
    row = t[1:]
    t.add_(1)
    b[1] = 0
    assert row.tolist() == [0, 3, 3]
    w = torch.ones(3, requires_grad=True)
    y = w.exp()                                # which backward reads
    kept = y.detach().clone()
    c = y.detach().numpy()
    z = y * 1
    c[:] = 0
    z.sum().backward()
    assert kept.tolist() != [0, 0, 0] and y.tolist() == [0, 0, 0] and w.grad.tolist() == [0, 0, 0]


def test_the_address_of_memory_shown_as_it_is_stays():
    t = torch.ones(3) + 1
    a = t.numpy()
    where = t.data_ptr()
    assert a.ctypes.data == where
    saved = t * 1
    del a
    saved.tolist()
    t *= 2
    assert t.data_ptr() == where and at(t) == [4, 4, 4] and saved.tolist() == [2, 2, 2]
    b = t.numpy()
    b[0] = 1
    assert b.ctypes.data == where and at(t) == [1, 4, 4] and t.tolist() == [1, 4, 4]


def test_a_capsule_shares_memory_both_ways():
    t = torch.arange(4)
    other = torch.from_dlpack(torch.utils.dlpack.to_dlpack(t))
    other[0] = -9
    t[1] = 7
    assert t.tolist() == other.tolist() == [-9, 7, 2, 3]


@pytest.mark.parametrize("write", [
    lambda x: x.__setitem__(3, 5.0), lambda x: x[3:4].add_(5), lambda x: x[3].fill_(5), lambda x: x.__setitem__([3], 5.0),
    lambda x: x.masked_fill_(torch.arange(8) == 3, 5.0), lambda x: x.view(2, 4)[0].__setitem__(3, torch.tensor(5.0)),
    lambda x: x.index_add_(0, torch.tensor([3]), torch.tensor([5.0]))])
def test_a_write_to_a_part_touches_nothing_else(write, monkeypatch):
    """What somebody else writes beside it, between the look at the memory and the write, stays."""
    from torchshim.tensor.core import write as writes
    a = np.zeros(8, np.float32)
    x = torch.from_numpy(a)

    def meanwhile(value, of=writes.array_of):
        found = of(value)
        a[6] = 7
        return found
    monkeypatch.setattr(writes, "array_of", meanwhile)
    write(x)
    assert a.tolist() == [0, 0, 0, 5, 0, 0, 7, 0] and x.tolist() == a.tolist()
    assert x._version == 1


def test_bfloat16_goes_through_dlpack_as_memory():
    """NumPy, which shares the memory of others, has no such dtype."""
    x = torch.arange(4.0).to(torch.bfloat16)
    y = torch.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    assert y.dtype is torch.bfloat16 and y.data_ptr() == x.data_ptr()
    y[0] = 7
    x[1] = 9
    assert x.tolist() == y.tolist() == [7, 9, 2, 3]
    z = torch.utils.dlpack.to_dlpack(x.reshape(2, 2).t())
    assert torch.from_dlpack(z).stride() == (1, 2)
    assert torch.asarray(torch.utils.dlpack.to_dlpack(x)).tolist() == [7, 9, 2, 3]


def test_the_address_of_memory_that_was_seen_as_another_dtype():
    for shape in ((3,), ()):
        x = torch.ones(shape, dtype=torch.bfloat16)
        seen = x.view(torch.int16).numpy()
        assert x.data_ptr() == seen.ctypes.data
    y = torch.ones(())
    assert y.numpy().ctypes.data == y.data_ptr()


def test_a_tensor_from_dlpack_counts_its_own_writes():
    x = torch.ones(3)
    y = torch.from_dlpack(x)
    y.add_(1)
    x.mul_(2)
    assert (x._version, y._version, y.tolist()) == (1, 1, [4, 4, 4])
