# Default weights of layers for a seed.
import torch
from torch import nn

torch.manual_seed(0)
for layer in (nn.Linear(3, 2), nn.Linear(2, 2, bias=False), nn.Embedding(4, 3), nn.LayerNorm(3), nn.Embedding(3, 2, padding_idx=0)):
    for name, p in layer.named_parameters():
        print(layer, name, p)
t = torch.empty(3, 4)
torch.manual_seed(1)
for f in (nn.init.xavier_uniform_, nn.init.xavier_normal_, nn.init.kaiming_uniform_, nn.init.kaiming_normal_, nn.init.normal_,
          nn.init.uniform_, nn.init.zeros_, nn.init.ones_, nn.init.trunc_normal_):
    print(f.__name__, f(t) is t, t)
print(nn.init.constant_(t, 3).sum(), nn.init.eye_(torch.empty(2, 2)), nn.init.calculate_gain("relu"))
