"""What the golden files hold, and how it is described in text; runs under PyTorch and under torchshim."""
from collections import OrderedDict


def content(torch):
    """Tensors of all dtypes, shared storages and views, a Parameter, containers, a module's and an optimizer's state."""
    x = torch.arange(24.).reshape(2, 3, 4)
    d = OrderedDict(x=x, t=x.transpose(0, 1), s=x[1:, ::2], e=x[0, 0].expand(5, 4), empty=torch.zeros(0, 3), scalar=torch.tensor(3.5))
    d["channels_last"] = torch.arange(24.).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    for name in ("float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64", "complex128"):
        d[name] = torch.tensor([0, 1, 2, 3]).to(getattr(torch, name))
    d["conjugate"] = torch.tensor([1 + 2j, 3 - 1j]).conj()
    d["leaf"] = torch.ones(2, requires_grad=True)
    d["parameter"] = torch.nn.Parameter(torch.ones(3))
    d["others"] = [x.view(-1)[3:7], (1, "a", None, 2.5, b"q", {1, 2}, True, 2 ** 80), torch.float16, torch.device("cpu"),
                   torch.Size([2, 3])]
    m = torch.nn.Linear(2, 1)
    with torch.no_grad():
        m.weight.fill_(0.5), m.bias.fill_(0.25)
    o = torch.optim.SGD(m.parameters(), lr=0.5, momentum=0.5)
    m(torch.ones(3, 2)).sum().backward()
    o.step()
    d["state"], d["optimizer"] = m.state_dict(), o.state_dict()
    return d


def describe(torch, o, name=""):
    """Lines that say everything about an object."""
    if isinstance(o, torch.Tensor):
        v = o.detach().to(torch.complex128 if o.is_complex() else torch.float64)
        yield (f"{name} {type(o).__name__} {o.dtype} {tuple(o.shape)} {o.stride()} {o.storage_offset()} {o.requires_grad} {o.is_conj()} "
               f"{v.flatten().tolist()}")
    elif isinstance(o, dict):
        for k, v in o.items():
            yield from describe(torch, v, f"{name}.{k}")
    elif isinstance(o, (list, tuple)) and not isinstance(o, torch.Size):
        for k, v in enumerate(o):
            yield from describe(torch, v, f"{name}.{k}")
    else:
        yield f"{name} {o!r}"
