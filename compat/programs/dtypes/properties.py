# dtype objects, iinfo, finfo, defaults.
import torch

for d in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
    f = torch.finfo(d)
    print(d, f.bits, f.eps, f.max, f.min, f.tiny, f.dtype, f.resolution)
for d in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
    i = torch.iinfo(d)
    print(d, i.bits, i.max, i.min, i.dtype)
print(torch.float is torch.float32, torch.long is torch.int64, torch.half is torch.float16, torch.double is torch.float64, torch.cfloat is torch.complex64)
print(torch.float32.is_floating_point, torch.complex64.is_complex, torch.int8.is_signed, torch.uint8.is_signed, torch.float64.itemsize)
print(torch.get_default_dtype(), torch.tensor([1.0]).dtype, torch.tensor([1]).dtype, torch.tensor([True]).dtype, torch.tensor([1j]).dtype)
torch.set_default_dtype(torch.float64)
print(torch.tensor([1.0]).dtype, torch.zeros(1).dtype, torch.rand(1).dtype, torch.arange(3.0).dtype, torch.tensor([1j]).dtype, torch.zeros(1))
torch.set_default_dtype(torch.float32)
print(torch.tensor([1, 2.5, True]), torch.tensor([True, 2]), torch.tensor([]).dtype, torch.tensor([[]]).shape, repr(torch.int64))
print(torch.is_floating_point(torch.ones(1)), torch.is_complex(torch.ones(1)), torch.is_tensor(1), torch.ones(1).is_signed())
try:
    torch.set_default_dtype(torch.int32)
except TypeError as e:
    print(e)
