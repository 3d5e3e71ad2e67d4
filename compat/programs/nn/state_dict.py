# state_dict, load_state_dict: keys, strictness, sharing, errors.
import torch
from torch import nn

torch.manual_seed(0)
a, b = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3)), nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
sd = a.state_dict()
print(list(sd.items()))
print(type(sd).__name__, sd["0.weight"].requires_grad, sd["0.weight"].data_ptr() == a[0].weight.data_ptr(), b.load_state_dict(sd))
print(torch.equal(a[0].weight, b[0].weight), a[0].weight is b[0].weight)
del sd["1.bias"]
sd["new"] = torch.zeros(1)
print(b.load_state_dict(sd, strict=False))
for f in (lambda: b.load_state_dict(sd), lambda: b.load_state_dict({**a.state_dict(), "0.weight": torch.zeros(5, 5)}), lambda: nn.Linear(1, 1).load_state_dict({"weight": torch.zeros(1, 1)})):
    try:
        f()
    except Exception as e:
        print(type(e).__name__, e)
tied = nn.ModuleDict({"e": nn.Embedding(3, 2), "h": nn.Linear(2, 3, bias=False)})
tied["h"].weight = tied["e"].weight
print(len(list(tied.parameters())), list(tied.state_dict()), [n for n, _ in tied.named_parameters()])
