# ints, slices, None, ellipsis: shapes, strides and values.
import torch

x = torch.arange(24).reshape(2, 3, 4)
for i in (0, -1, (0, 1), (0, -1, 2), slice(1, None), (slice(None), slice(None, None, 2)), (Ellipsis, 1), (0, Ellipsis), None,
          (None, 0, None), (slice(None), None, 1), (slice(5, 9),), (slice(2, 1),), (Ellipsis,), (), (slice(-1, None), Ellipsis, slice(0, 3, 2)),
          (slice(None), slice(-2, None), slice(None, -1)), True, False, (torch.tensor(1), 2), (slice(None), torch.tensor(-1)), (0, True)):
    y = x[i]
    print(i, tuple(y.shape), y.stride(), y.storage_offset(), y.flatten().tolist())
print(x[1][2][3], x[1, 2, 3].item(), x[0:1, 1:2, 2:3])
