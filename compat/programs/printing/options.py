# set_printoptions: precision, threshold, edgeitems, linewidth, sci_mode, profiles.
import torch

x = torch.tensor([0.123456789, 123.456, 1e-6])
for options in ({"precision": 2}, {"precision": 8}, {"sci_mode": False}, {"sci_mode": True}, {"profile": "short"}, {"profile": "full"}, {"profile": "default"}):
    torch.set_printoptions(**options)
    print(options, x)
torch.set_printoptions(profile="default")
torch.set_printoptions(threshold=5, edgeitems=1)
print(torch.arange(10), torch.zeros(4, 4))
torch.set_printoptions(profile="default", linewidth=40)
print(torch.arange(20))
torch.set_printoptions(profile="default")
print(torch.arange(5.0) / 3)
