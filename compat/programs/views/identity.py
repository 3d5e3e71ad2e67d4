# What is a view: _base, _is_view, data_ptr, storage_offset.
import torch

x = torch.zeros(2, 3, 4)
for name, v in {
    "view": x.view(6, 4), "reshape": x.reshape(4, 6), "transpose": x.transpose(0, 2), "permute": x.permute(2, 0, 1),
    "slice": x[:, 1:], "int": x[1], "None": x[None], "ellipsis": x[..., 0], "expand": x[:, :1].expand(2, 3, 4),
    "squeeze": x.squeeze(), "unsqueeze": x.unsqueeze(-1), "flatten": x.flatten(), "narrow": x.narrow(2, 1, 2),
    "unfold": x.unfold(2, 2, 1), "diagonal": x.diagonal(), "detach": x.detach(), "contiguous": x.contiguous(),
    "clone": x.clone(), "index": x[[0, 1]], "mask": x[x == 0], "mT": x.mT, "movedim": x.movedim(0, -1),
    "swapaxes": x.swapaxes(0, 1), "unflatten": x.unflatten(2, (2, 2)), "to": x.to(torch.float32), "double": x.double(),
    "alias": x.view_as(x), "real": x.real,
}.items():
    same = v.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    print(name, tuple(v.shape), v.stride(), v.storage_offset(), v._is_view(), v._base is x, same, v is x)
