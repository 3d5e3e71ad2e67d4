# DLPack between tensors and with numpy.
import numpy as np
import torch
from torch.utils.dlpack import from_dlpack, to_dlpack

x = torch.arange(6.0).reshape(2, 3)
print(torch.from_dlpack(x), from_dlpack(to_dlpack(x.t())), np.from_dlpack(x), torch.from_dlpack(np.arange(3)), x.__dlpack_device__()[1])
try:
    torch.ones(1, requires_grad=True).__dlpack__()
except Exception as e:
    print(type(e).__name__, str(e).split(".")[0])
