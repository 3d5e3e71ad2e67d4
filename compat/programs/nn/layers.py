# Linear, Embedding, LayerNorm, activations, losses as modules: forward and gradients.
import torch
from torch import nn

torch.manual_seed(0)
x = torch.tensor([[1.0, -2.0, 0.5]])
net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2))
y = net(x)
print(y)
nn.CrossEntropyLoss()(y, torch.tensor([1])).backward()
for n, p in net.named_parameters():
    print(n, p.grad)
e = nn.Embedding(5, 2, padding_idx=0)
out = e(torch.tensor([[0, 3, 3]]))
out.sum().backward()
print(out, e.weight.grad, e)
for m in (nn.ReLU(), nn.Sigmoid(), nn.Tanh(), nn.GELU(), nn.SiLU(), nn.Softmax(dim=-1), nn.LogSoftmax(dim=1), nn.LeakyReLU(0.2), nn.ELU(), nn.Softplus(), nn.Identity(), nn.Flatten(), nn.Hardtanh()):
    print(m, m(x))
for m in (nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(), nn.HuberLoss(), nn.BCEWithLogitsLoss(), nn.MSELoss(reduction="sum")):
    print(m, m(x, torch.ones(1, 3)))
print(nn.NLLLoss()(x.log_softmax(1), torch.tensor([2])), nn.BCELoss()(x.sigmoid(), torch.ones(1, 3)), nn.KLDivLoss(reduction="batchmean")(x.log_softmax(1), torch.ones(1, 3) / 3))
print(nn.Linear(3, 2, dtype=torch.float64).weight.dtype, nn.LayerNorm((2, 3), elementwise_affine=False), nn.LayerNorm(3, bias=False), nn.Linear(1, 2, device="meta").weight)
try:
    net(torch.ones(2, 5))
except RuntimeError as err:
    print(err)
