# Sequential, ModuleList, ParameterList, ModuleDict.
import torch
from torch import nn

torch.manual_seed(0)
s = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
s.append(nn.Linear(2, 1))
print(s, len(s), s[0:2], [type(m).__name__ for m in s], s(torch.ones(1, 2)))
from collections import OrderedDict
print(nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Identity())), nn.Sequential(OrderedDict(a=nn.ReLU())).a)
l = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
l.append(nn.ReLU())
l.insert(0, nn.Identity())
l.extend([nn.Tanh()])
print(l, len(l), l[1], [n for n, _ in l.named_parameters()])
d = nn.ModuleDict({"x": nn.ReLU()})
d["y"] = nn.Linear(1, 1)
print(d, list(d), "x" in d, list(d.keys()))
p = nn.ParameterList([torch.ones(1), nn.Parameter(torch.zeros(2))])
print(p, len(list(p.parameters())))
try:
    nn.ModuleList([1])
except TypeError as e:
    print(e)
