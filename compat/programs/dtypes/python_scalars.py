# Python numbers against tensors, by operation.
import torch

for dtype in (torch.bool, torch.uint8, torch.int32, torch.float16, torch.float32, torch.float64, torch.complex64):
    x = torch.ones(1, dtype=dtype)
    row = []
    for scalar in (True, 2, 2.5) if dtype is torch.float16 else (True, 2, 2.5, 1j):
        for op in ("+", "*", "/", "**", "//"):
            try:
                row.append(str(eval(f"x {op} s", {"x": x, "s": scalar}).dtype)[6:])
            except Exception as e:
                row.append(type(e).__name__)
    print(dtype, row)
print((2 ** torch.tensor([1, 2])).dtype, (2.0 ** torch.tensor([1, 2])).dtype, (1 / torch.tensor([2])).dtype, (7 // torch.tensor([2])))
print(torch.tensor([1]) / 1, torch.tensor([7]) % 2.5, torch.tensor([True]) + True, torch.tensor([200], dtype=torch.uint8) + 100)
print(torch.tensor(1) + 1.5, torch.tensor(1.5, dtype=torch.float64) + torch.tensor([1.0]))
