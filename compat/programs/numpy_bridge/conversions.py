# numpy(), from_numpy, __array__, ufuncs and mixed arithmetic.
import numpy as np
import torch

x = torch.arange(6.0).reshape(2, 3)
a = x.numpy()
print(a, a.dtype, a.shape, type(a).__name__, np.asarray(x.t()).strides != a.strides, np.array(x, dtype=np.float64).dtype)
for d in (torch.float64, torch.int32, torch.int64, torch.uint8, torch.bool, torch.float16, torch.complex64):
    print(d, torch.zeros(2, dtype=d).numpy().dtype, torch.from_numpy(np.zeros(2, dtype=torch.zeros(1, dtype=d).numpy().dtype)).dtype)
print(torch.from_numpy(np.arange(4)), torch.tensor(np.array([1.5, 2.5])), torch.as_tensor(np.float32(3)), torch.tensor(np.int64(3)), torch.from_numpy(np.ones((2, 2), dtype=np.float32)).dtype)
print(np.sum(x.numpy()), x + torch.tensor(np.ones(3)), torch.tensor([np.float64(1.5), 2]), torch.tensor([np.array([1, 2]), np.array([3, 4])]))
print(np.mean(x.tolist()), x.numpy().tolist() == x.tolist(), torch.tensor(5).numpy(), torch.tensor(5).numpy().shape, np.float32(2) * torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]) * np.float64(2))
for f in (lambda: torch.from_numpy(np.array(["a"])), lambda: torch.ones(2, dtype=torch.bfloat16).numpy(), lambda: torch.tensor(np.array([object()])),
          lambda: torch.ones(1, requires_grad=True).numpy(), lambda: torch.empty(1, device="meta").numpy(), lambda: torch.from_numpy(np.arange(3)[::-1]), lambda: torch.tensor(np.arange(3)[::-1].copy())):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split(".")[0])
print(torch.tensor(np.array([[1, 2]], dtype=np.int16)), torch.tensor(np.uint8(200)))
print(np.stack([t.numpy() for t in torch.ones(2, 2)]), np.array([torch.tensor(1.0).item()]), np.allclose(x, x.numpy()), len(np.array(x)))
