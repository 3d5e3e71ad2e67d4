# lists, long tensors, masks, numpy arrays and mixtures with slices.
import numpy as np
import torch

x = torch.arange(24).reshape(2, 3, 4)
t = torch.tensor
cases = {
    "list": [1, 0, 1], "tensor": t([1, 0]), "2d": t([[0, 1], [1, 1]]), "pair": ([0, 1], [2, 0]), "broadcast": (t([[0], [1]]), t([0, 2])),
    "slice+tensor": (slice(None), t([2, 0])), "tensor+slice": (t([1]), slice(None), t([3])), "int+tensor": (0, t([1, 2])),
    "tensor,int": (t([0, 1]), 1), "split": (t([0, 1]), slice(None), t([1, 2])), "ellipsis": (Ellipsis, t([3, 0])),
    "none": (None, t([0])), "negative": t([-1, -2]), "mask": x > 20, "mask1": t([True, False]), "mask2": (slice(None), t([True, False, True])),
    "mask+int": (t([True, True]), 1), "mask empty": x > 100, "empty": t([], dtype=torch.long), "numpy": np.array([1, 0]), "numpy mask": np.array([True, False]),
    "int32": t([1], dtype=torch.int32), "uint8": t([1, 0], dtype=torch.uint8), "nested": [[0, 1], [1, 0]], "bools": [True, False], "range": range(2),
    "mask 2d": (t([[True, False, True], [False, True, False]]),), "mask 2d + int": (t([[True, False, True], [False, True, False]]), 2),
    "two masks": (t([True, True]), t([True, False, True]).nonzero()[:, 0]), "0-d": t(1), "three": (t([0, 1]), t([1, 1]), t([2, 3])),
}
for name, i in cases.items():
    try:
        y = x[i]
        print(name, tuple(y.shape), y.flatten().tolist(), y._is_view())
    except Exception as e:
        print(name, type(e).__name__, str(e).split("\n")[0])
print(x.T.shape, x[:, t([0, 1])][:, :, t([0])].shape)
