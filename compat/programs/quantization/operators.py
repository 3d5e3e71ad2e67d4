"""torch.ops.quantized: levels of the results."""
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")
ops = torch.ops.quantized


def show(name, f):
    try:
        y = f()
        if isinstance(y, torch.Tensor) and y.is_quantized:
            w = torch.arange(1, y.numel() + 1)
            print(name, y.dtype, tuple(y.shape), round(y.q_scale(), 7), y.q_zero_point(), (y.int_repr().flatten().long() * w).sum().item())
        else:
            print(name, y)
    except Exception as e:
        print(name, type(e).__name__, str(e)[:50])


g = torch.Generator().manual_seed(0)
for dtype, z in ((torch.quint8, 100), (torch.qint8, -10), (torch.quint8, 0)):
    for n in (50, 128, 1000):
        a = torch.quantize_per_tensor(torch.randn(n, generator=g) * 2, 0.05, z, dtype)
        b = torch.quantize_per_tensor(torch.randn(n, generator=g) * 2, 0.05, z + 5, dtype)
        for scale, zero in ((0.1, 50), (0.0731, 3)):
            show("add", lambda: ops.add(a, b, scale, zero))
            show("add_relu", lambda: ops.add_relu(a, b, scale, zero))
            show("mul", lambda: ops.mul(a, b, scale, zero))
            show("mul_relu", lambda: ops.mul_relu(a, b, scale, zero))
            show("cat", lambda: ops.cat([a, b], 0, scale, zero))
            show("cat_relu", lambda: ops.cat_relu([a, b], 0, scale, zero))
            show("leaky", lambda: ops.leaky_relu(a, 0.1, False, scale, zero))
            show("sigmoid", lambda: ops.sigmoid(a, 1 / 255, 0))
            show("hardswish", lambda: ops.hardswish(a, scale, zero))
            show("elu", lambda: ops.elu(a, scale, zero, 1.0))
            show("celu", lambda: ops.celu(a, scale, zero, 1.5))
        for x in (0.5, -3.0, 20.0, -20.0):
            show("add_scalar", lambda: ops.add_scalar(a, x))
            show("mul_scalar", lambda: ops.mul_scalar(a, x))
        show("add_scalar_relu", lambda: ops.add_scalar_relu(a, -0.4))
        show("mul_scalar_relu", lambda: ops.mul_scalar_relu(a, 0.4))
        show("clamp", lambda: ops.clamp(a, -0.5, 1.0))
        show("relu6", lambda: ops.relu6(a))
x = torch.quantize_per_tensor(torch.randn(2, 6, 5, 7, generator=g), 0.03, 120, torch.quint8)
w6, b6 = torch.rand(6, generator=g) + 0.5, torch.randn(6, generator=g)
show("batch_norm2d", lambda: ops.batch_norm2d(x, w6, b6, b6 / 3, w6, 1e-5, 0.05, 60))
show("batch_norm2d_relu", lambda: ops.batch_norm2d_relu(x, w6, b6, b6 / 3, w6, 1e-5, 0.05, 60))
show("group_norm", lambda: ops.group_norm(x, 3, w6, b6, 1e-5, 0.03, 100))
show("instance_norm", lambda: ops.instance_norm(x, w6, b6, 1e-5, 0.03, 100))
show("layer_norm", lambda: ops.layer_norm(x, [7], torch.ones(7), torch.zeros(7), 1e-5, 0.03, 100))
show("softmax", lambda: ops.softmax(x, 1, 1 / 256, 0))
show("matmul", lambda: ops.matmul(x, x.transpose(2, 3).contiguous(), 0.1, 50))
for engine in ("x86", "fbgemm"):
    torch.backends.quantized.engine = engine
    for d, size in ((1, (9,)), (2, (7, 6)), (3, (5, 4, 6))):
        x = torch.quantize_per_tensor(torch.randn(2, 4, *size, generator=g), 0.04, 110, torch.quint8)
        w = torch.randn(6, 2, *(3,) * d, generator=g) * 0.3
        bias = torch.randn(6, generator=g)
        for q in (torch.quantize_per_tensor(w, 0.01, 0, torch.qint8), torch.quantize_per_tensor(w, 0.01, 2, torch.qint8),
                  torch.quantize_per_channel(w, torch.rand(6, generator=g) * 0.01 + 0.005, torch.zeros(6).long(), 0, torch.qint8)):
            for b in (bias, None):
                packed = getattr(ops, f"conv{d}d_prepack")(q, b, [2] * d, [1] * d, [1] * d, 2)
                show(f"conv{d}d", lambda: getattr(ops, f"conv{d}d")(x, packed, 0.06, 70))
                packed = getattr(ops, f"conv{d}d_prepack")(q, b, [2] * d, [1] * d, [1] * d, 2)
                show(f"conv{d}d_relu", lambda: getattr(ops, f"conv{d}d_relu")(x, packed, 0.06, 70))
        back = torch.randn(4, 3, *(3,) * d, generator=g) * 0.2
        packed = getattr(ops, f"conv_transpose{d}d_prepack")(torch.quantize_per_tensor(back, 0.01, 0, torch.qint8), bias[:3], [2] * d, [1] * d, [0] * d,
                                                             [1] * d, 1)
        if engine == "fbgemm":
            show(f"conv_transpose{d}d", lambda: getattr(ops, f"conv_transpose{d}d")(x, packed, 0.06, 70))
    x = torch.quantize_per_tensor(torch.randn(5, 3, 40, generator=g), 0.04, 110, torch.quint8)
    w, bias = torch.randn(7, 40, generator=g) * 0.3, torch.randn(7, generator=g)
    for q in (torch.quantize_per_tensor(w, 0.01, 3, torch.qint8),
              torch.quantize_per_channel(w, torch.rand(7, generator=g) * 0.01 + 0.005, torch.arange(7), 0, torch.qint8)):
        for b in (bias, None):
            packed = ops.linear_prepack(q, b)
            show("linear", lambda: ops.linear(x, packed, 0.1, 80))
            show("linear_relu", lambda: ops.linear_relu(x, packed, 0.1, 80))
            show("linear_dynamic", lambda: ops.linear_dynamic(x.dequantize(), packed, True).flatten()[:6].tolist())
            show("linear_relu_dynamic", lambda: ops.linear_relu_dynamic(x.dequantize() * 3, packed).flatten()[:6].tolist())
show("linear", lambda: ops.linear(x.dequantize(), packed, 0.1, 80) and None)
x = torch.randn(3, 4, generator=g)
import torch.ao.quantization.fx._decomposed  # noqa: E402,F401  it declares them

d = torch.ops.quantized_decomposed
q = d.quantize_per_tensor(x, 0.05, 10, 0, 255, torch.uint8)
print(q, d.dequantize_per_tensor(q, 0.05, 10, 0, 255, torch.uint8))
q = d.quantize_per_channel(x, torch.tensor([.1, .2, .3]), torch.tensor([0, 1, 2]), 0, -128, 127, torch.int8)
print(q, d.dequantize_per_channel(q, torch.tensor([.1, .2, .3]), torch.tensor([0, 1, 2]), 0, -128, 127, torch.int8))
print(F.relu(torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)))
