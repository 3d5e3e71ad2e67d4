# reshape, view, flatten, unflatten, squeeze, unsqueeze, permute, movedim with negative dims and zero sizes.
import torch

x = torch.arange(24).reshape(2, 3, 4)
for name, y in {"reshape -1": x.reshape(-1), "reshape 4,-1": x.reshape(4, -1), "tuple": x.reshape((6, 4)), "view dtype": x.view(torch.int32), "flatten 1": x.flatten(1), "flatten 0 1": x.flatten(0, 1), "flatten -2": x.flatten(-2), "unflatten": x.unflatten(-1, (2, -1)),
                "squeeze": x[:1].squeeze(), "squeeze 0": x[:1].squeeze(0), "squeeze 1": x.squeeze(1), "squeeze tuple": x[:1, :1].squeeze((0, 1)), "unsqueeze -1": x.unsqueeze(-1), "unsqueeze -4": x.unsqueeze(-4), "permute": x.permute(-1, 0, 1), "permute tuple": x.permute((2, 1, 0)),
                "transpose": x.transpose(-1, -2), "T": x[0].T, "mT": x.mT, "movedim": x.movedim((0, 1), (1, 0)), "swapdims": x.swapdims(0, 2), "empty": torch.zeros(0, 3).reshape(3, 0), "empty -1": torch.zeros(0, 3).view(-1, 3), "0-d flatten": torch.tensor(1).flatten(),
                "atleast": torch.atleast_2d(torch.tensor(1)), "ravel": x.mT.ravel(), "expand": x[:, :1].expand(-1, 5, -1), "expand_as": torch.ones(4).expand_as(x), "broadcast_to": torch.ones(3, 1).broadcast_to(2, 3, 4), "narrow": x.narrow(-1, 1, 2), "select": x.select(-1, 0)}.items():
    print(name, tuple(y.shape), y.stride(), y.flatten().tolist()[:6])
print([t.shape for t in torch.broadcast_tensors(torch.ones(3, 1), torch.ones(2))], torch.broadcast_shapes((2, 1), (3,)), [t.shape for t in torch.atleast_1d(torch.tensor(1), torch.ones(2))])
