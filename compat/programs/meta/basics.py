# The meta device: shapes and dtypes without values.
import torch

x = torch.empty(2, 3, device="meta")
y = torch.ones(3, 4, device="meta", dtype=torch.float32)
z = x @ y
print(z.shape, z.device, z.dtype, (x + 1).dtype, (x > 0).dtype, x.sum(0).shape, x.view(6).stride(), x.t().stride(), x[0].shape, torch.cat([x, x]).shape, x.is_meta, z)
print(x.to(torch.float64).dtype, torch.zeros(2).to("meta"), torch.empty_like(x, device="cpu").shape, x.numel(), x.softmax(1).shape, x.expand(4, 2, 3).stride())
for f in (lambda: x.item(), lambda: x.tolist(), lambda: x.sum().item(), lambda: x + torch.ones(2, 3), lambda: x.to("cpu"), lambda: bool(x.sum() > 0), lambda: x.numpy()):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0][:90])
p = torch.ones(2, device="meta", requires_grad=True)
(p * 2).sum().backward()
print(p.grad)
