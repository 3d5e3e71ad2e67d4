# dtype errors of everyday ops.
import torch
import torch.nn.functional as F

f32, i64, b = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.bool)
for f in (lambda: f32 @ i64, lambda: f32 @ f32.double(), lambda: b - b, lambda: -b, lambda: i64.mean(), lambda: ~f32, lambda: f32 & f32,
          lambda: i64.softmax(0).dtype, lambda: F.embedding(f32, f32), lambda: f32[f32], lambda: b @ b, lambda: F.linear(i64, f32),
          lambda: F.cross_entropy(f32, f32[0]), lambda: F.nll_loss(f32, torch.tensor([0.0, 1.0])), lambda: F.one_hot(f32),
          lambda: torch.zeros(2).scatter_(0, torch.tensor([0]), torch.tensor([1])), lambda: torch.where(f32, 1, 0),
          lambda: i64 ** -1, lambda: 1 - b, lambda: f32 << 1, lambda: torch.dot(f32[0], i64[0]), lambda: f32.index_select(0, f32[0]),
          lambda: torch.normal(i64, 1.0), lambda: torch.randn(2, dtype=torch.int64), lambda: torch.rand(2, dtype=torch.bool),
          lambda: torch.empty(2, dtype=torch.int32).normal_(), lambda: torch.arange(3).std(), lambda: i64.exp().dtype,
          lambda: torch.bitwise_and(f32, 1), lambda: torch.gather(f32, 0, f32), lambda: (1j * f32) > 0, lambda: torch.logical_not(f32).dtype):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
