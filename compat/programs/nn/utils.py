# clip_grad_norm_, clip_grad_value_, parameters_to_vector.
import torch
from torch import nn

a, b = nn.Parameter(torch.tensor([3.0])), nn.Parameter(torch.tensor([[1.0, 2.0]]))
for kw in ({"max_norm": 1.0}, {"max_norm": 100.0}, {"max_norm": 1.0, "norm_type": 1}, {"max_norm": 0.5, "norm_type": float("inf")}):
    a.grad, b.grad = torch.tensor([3.0]), torch.tensor([[4.0, -12.0]])
    print(kw, nn.utils.clip_grad_norm_([a, b], **kw), a.grad, b.grad)
a.grad = torch.tensor([float("nan")])
try:
    nn.utils.clip_grad_norm_([a], 1.0, error_if_nonfinite=True)
except RuntimeError as e:
    print(e)
b.grad = torch.tensor([[4.0, -12.0]])
nn.utils.clip_grad_value_([b], 5)
print(b.grad, nn.utils.clip_grad_norm_([nn.Parameter(torch.ones(1))], 1.0), nn.utils.clip_grad_norm_(b, 1.0))
v = nn.utils.parameters_to_vector([a, b])
print(v)
nn.utils.vector_to_parameters(v * 2, [a, b])
print(a, b)
