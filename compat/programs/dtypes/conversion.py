# Casting: truncation, overflow, bool, rounding of half types.
import torch

x = torch.tensor([-1.9, -0.5, 0.0, 0.5, 1.9])
for d in (torch.int32, torch.int64, torch.bool, torch.float16, torch.bfloat16, torch.float64, torch.complex64):
    print(x.to(d))
i = torch.tensor([-1, 0, 1, 255, 256, 300])
for d in (torch.uint8, torch.int8, torch.int16, torch.bool, torch.float32):
    print(i.to(d))
print(x.int(), x.long(), x.bool(), x.half(), x.double().dtype, x.type(torch.int16), x.type(), i.type(), x.type("torch.DoubleTensor").dtype)
print(torch.tensor([1e10, 3.4e38]).to(torch.float16), torch.tensor([1.0, 2.0]).to(x) is x, x.to(torch.float32) is x)
print(torch.tensor([70000.0, 1e-8, 0.1]).to(torch.bfloat16), torch.tensor([1 / 3]).half(), torch.tensor([1 / 3]).bfloat16())
print(x.to(i).dtype, x.to("cpu") is x, x.to(torch.device("cpu"), torch.float64).dtype, x.to(torch.float32, copy=True) is x, x.type_as(i).dtype)
y = torch.tensor([1.5, 2.5], requires_grad=True)
(y.double() * 2).sum().backward()
print(y.grad, y.double().grad_fn.name(), y.long().requires_grad)
