"""Protects copies by tiles: they are NumPy's."""
import itertools

import numpy as np
import pytest

from torchshim.engine.interpret import copies


@pytest.mark.parametrize("shape", ((700, 600), (3, 300, 520), (520, 3, 300), (2, 257, 3, 300)))
def test_turned_arrays_are_copied_as_numpy_does(shape, monkeypatch):
    monkeypatch.setattr(copies, "_LARGE", 1)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    for axes in itertools.permutations(range(len(shape))):
        for y in (x.transpose(axes), x.transpose(axes)[::-1], x.transpose(axes)[..., ::2]):
            made = copies.contiguous(y)
            assert made.flags.c_contiguous and np.array_equal(made, y)
            assert np.array_equal(copies.reshaped(y, (-1,)), y.reshape(-1)) and np.array_equal(copies.reshaped(y, y.shape + (1,)),
                                                                                               y[..., None])


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("size", (3, 8191, 8192, 10001))
def test_large_arrays_for_what_is_computed_on_the_way_begin_with_a_line_of_memory(size, dtype):
    rooms = copies.scratch(3, size, np.dtype(dtype))
    for k, room in enumerate(rooms):
        assert room.shape == (size,) and room.dtype == dtype and room.flags.c_contiguous and room.flags.writeable
        assert room.nbytes < 1 << 15 or room.ctypes.data % 64 == 0
        room[...] = k
    assert [set(room.tolist()) for room in rooms] == [{0}, {1}, {2}]
