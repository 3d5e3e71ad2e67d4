"""Quantized tensors: how they are made, seen, changed and compared, and what is refused."""
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")


def show(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:60])


x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
scales, points = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 5, -3])
odd = torch.tensor([-1., 2.5, float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.05, 0.15, 0.25])

for dtype in (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2):
    for zero_point in (0, 3, 10):
        q = torch.quantize_per_tensor(odd.repeat(2), 0.1, zero_point, dtype)
        print(dtype, q.int_repr().tolist(), q.dequantize().tolist(), q)
for dtype in (torch.quint8, torch.qint8, torch.qint32):
    q = torch.quantize_per_channel(odd.repeat(3).reshape(3, 10), scales, points if dtype != torch.quint8 else points.abs(), 0, dtype)
    print(q.int_repr().tolist(), q.q_per_channel_scales(), q.q_per_channel_zero_points(), q.q_per_channel_axis())
for dtype in (torch.quint8, torch.quint4x2):
    q = torch.quantize_per_channel(x, scales, torch.tensor([0.1, 0.2, 0.3]), 0, dtype)
    print(q, q.int_repr(), q.qscheme(), q.element_size())
show(lambda: torch.quantize_per_tensor(x, torch.tensor(0.1), torch.tensor(3), torch.quint8))
show(lambda: torch.quantize_per_tensor([x, x], torch.tensor([0.1, .2]), torch.tensor([3, 4]), torch.quint8))
for args in ((x, 0.1, 300, torch.quint8), (x, 0.1, -1, torch.quint8), (x, -0.1, 3, torch.quint8), (x, 0.1, 3, torch.uint8), (x.double(), 0.1, 3, torch.quint8),
             (torch.tensor([1, 2]), 0.1, 3, torch.quint8), (torch.zeros(0, 2), 0.1, 3, torch.quint8), (torch.tensor(1.), 0.1, 3, torch.quint8)):
    show(lambda: torch.quantize_per_tensor(*args))
for args in ((x, torch.quint8, False), (x, torch.qint8, True), (x, torch.float16, True), (torch.zeros(3), torch.quint8, True), (x.abs(), torch.quint8, False),
             (-x.abs(), torch.qint8, False), (x * 1e-6, torch.quint8, False), (x.abs() * 1e-6, torch.quint8, True), (x * 1e30, torch.qint8, False)):
    show(lambda: torch.quantize_per_tensor_dynamic(*args))
for args in ((1, scales, points), (0, scales, points[:2]), (3, scales, points), (-1, scales, points), (0, scales.double(), points.int())):
    show(lambda: torch.quantize_per_channel(x, args[1], args[2], args[0], torch.qint8))
show(lambda: torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2], dtype=torch.uint8), 0.5, 1))
show(lambda: torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2]), 0.5, 1))
show(lambda: torch._make_per_channel_quantized_tensor(torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor([.1, .2]), torch.tensor([0, 1]), 0))
show(lambda: torch._empty_affine_quantized([2], scale=0.1, zero_point=2, dtype=torch.quint8).shape)

SEEN = """q.t() q.transpose(0,1) q.view(12) q.view(3,2,2) q.reshape(12) q.flatten() q[0] q[:,1] q[0:2] q[1:,None] q.clone() q.permute(1,0) q.unsqueeze(0)
 q.unsqueeze(2) q.dequantize() q.int_repr() q.contiguous() q.relu() q.expand(2,3,4) torch.equal(q,q) q==q q.split(1) torch.cat([q,q]) q.detach()
 q.select(0,1) q.index_select(0,torch.tensor([1])) q.unbind() q.narrow(0,0,2) q.max() q.min(0) q.sort() q.argsort() q.mean() q.mean(1) q.squeeze()
 q.to('cpu') q.clamp(0,1) q.topk(1) q.q_scale() q.q_zero_point() q.q_per_channel_axis() q.qscheme() q.stride() q.is_quantized q.dtype q.type()
 q.float() q.to(torch.int32) q.numpy() q.tolist() q[0,1].item() q.is_signed() q.requires_grad_() q.storage_offset() q.nbytes q.layout q.device q.fill_(1.)
 q.copy_(x) q.copy_(q.clone()) q.masked_fill(x>0,.5) q.t_() q.unsqueeze_(0) q.repeat(2,1) q.flip(0) q.movedim(0,1) q.diagonal() q.chunk(2)
 torch.stack([q,q]) torch.sigmoid(q) torch.tanh(q) F.relu6(q) F.hardtanh(q,0.,.5) F.leaky_relu(q,.1) F.threshold(q,.1,.2) F.gelu(q)
 F.hardsigmoid(q) F.dropout(q,.5,False) q+q q*2 q>0.1 x<q q.equal(x) torch.ones_like(q) torch.full_like(q,.3) torch.empty_like(q).qscheme()
 torch.empty_quantized((2,),q).shape F.pad(q,(1,1)) q.std() torch.allclose(q,q) q[x>0] q[torch.tensor([0,2])]""".split()
for how in range(4):
    for said in SEEN:
        q = (torch.quantize_per_tensor(x, 0.1, 3, torch.quint8) if how == 0 else torch.quantize_per_tensor(x, 0.15, -7, torch.qint8) if how == 1 else
             torch.quantize_per_tensor(x, 0.01, 5, torch.qint32) if how == 2 else torch.quantize_per_channel(x, scales, points, 0, torch.qint8))
        print(said)
        show(lambda: eval(said))

for key, value in ((0, 1.), (0, "row"), ((slice(None), slice(0, 2)), "corner"), (torch.tensor([True, False, True]), 0.3), ((0, 0), 0.7)):
    q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
    q[key] = {"row": q[1], "corner": q[:, 1:3]}[value] if isinstance(value, str) else value
    print(q)
q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
y = q[1:].t()
q[1] = 2.
print(q, y, q._version, y.is_contiguous(), y.stride(), q.data_ptr() == y.T.data_ptr())
z = x.clone()
show(lambda: z.copy_(q))
show(lambda: x + q)
p = torch.nn.Parameter(q, requires_grad=False)
print(p, isinstance(p, torch.nn.Parameter))
m = torch.nn.Module()
m.register_buffer("w", q)
print(list(m.state_dict().items()))
big = torch.randn(1000, generator=torch.Generator().manual_seed(1)) * 3
for s, zp, dtype in ((0.05, 60, torch.quint8), (0.037, -20, torch.qint8), (0.001, 11, torch.qint32)):
    q = torch.quantize_per_tensor(big, s, zp, dtype)
    print(q.int_repr().long().sum(), q.dequantize().double().sum())
    for f in (torch.sigmoid, torch.tanh, F.hardsigmoid, F.leaky_relu, F.gelu, torch.relu, F.relu6):
        if dtype != torch.qint32 or f not in (torch.sigmoid, torch.tanh):
            print(f.__name__, f(q).int_repr().long().sum())
images = torch.randn(2, 3, 6, 8, generator=torch.Generator().manual_seed(2))
for dtype in (torch.quint8, torch.qint8):
    q = torch.quantize_per_tensor(images, 0.05, 30, dtype)
    for f in (lambda: F.max_pool2d(q, 2), lambda: F.max_pool2d(q, 3, 2, 1), lambda: F.avg_pool2d(q, 2), lambda: F.avg_pool2d(q, (2, 3), ceil_mode=True, padding=(1, 0)), lambda: F.avg_pool2d(q, 3, 2, 1),
              lambda: F.avg_pool2d(q, 3, 2, 1, count_include_pad=False), lambda: F.adaptive_avg_pool2d(q, 1), lambda: F.adaptive_avg_pool2d(q, (2, 3)),
              lambda: F.interpolate(q, scale_factor=2), lambda: F.interpolate(q, size=(4, 5), mode="bilinear"),
              lambda: F.interpolate(q, size=(9, 9), mode="bilinear", align_corners=True), lambda: q.mean((2, 3)), lambda: q.mean(3, keepdim=True),
              lambda: F.pad(q, (1, 2, 0, 1)), lambda: q.flatten(1), lambda: F.max_pool1d(q[0], 2)):
        show(lambda: f().int_repr().flatten(1).tolist())
