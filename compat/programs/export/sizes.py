"""Programs whose inputs' sizes may differ."""
import logging
import warnings

import torch
import torch.nn as nn
from torch.export import Dim, export
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
D, T, b, c = Dim.DYNAMIC, torch.ones, Dim("b"), Dim("c", min=3, max=9)


def go(f, args, shapes):
    class One(nn.Module):
        def forward(self, x):
            return f(x)

    class Two(nn.Module):
        def forward(self, x, y):
            return f(x, y)
    try:
        ep = export((One if len(args) == 1 else Two)(), args, dynamic_shapes=shapes)
    except Exception as e:
        print(type(e).__name__, str(e).split("\n\nThe error above")[0])
        return None
    print("\n".join([line for line in ep.graph_module.print_readable(print_output=False).split("\n") if "# File" not in line and line.strip()]))
    print(ep.range_constraints)
    return ep


same = go(lambda x, y: x + y, (T(4, 3), T(4, 3)), ({0: b}, {0: b}))
go(lambda x, y: x + y, (T(4, 3), T(4, 3)), ({0: D}, {0: D}))
go(lambda x, y: x.view(x.shape[0] * x.shape[1] + 0) * y.shape[0], (T(4, 3), T(5)), ({0: b, 1: D}, {0: D}))
go(lambda x: torch.zeros(x.size(0) + 1, x.size(1) * 2).sum() + torch.arange(x.size(0)).sum(), (T(4, 6),), ({0: b, 1: D},))
go(lambda x: x.unfold(0, 2, 1) if x.shape[0] == 4 else x, (T(4, 6),), ({0: b},))
go(lambda x: nn.functional.conv1d(x, T(1, 3, 3), stride=2, padding=1), (T(2, 3, 16),), ({0: b, 2: D},))
go(lambda x, y: torch.cat([x, y]), (T(4, 3), T(5, 3)), ({0: D}, {0: D}))
go(lambda x: x.reshape(-1, 3)[1:], (T(4, 6),), ({0: D},))
go(lambda x: x * x.numel(), (T(4, 6),), ({0: D},))
go(lambda x: [x[k] for k in range(x.shape[0])], (T(4, 6),), ({0: D},))
go(lambda x: x * 2, (T(1, 6),), ({0: D},))
go(lambda x: x.view(3, 4), (T(3, 4),), ({0: b},))
go(lambda x: x.view(3, 4), (T(3, 4),), ({0: D},))
go(lambda x: x.view(3, 4), (T(3, 4),), ({0: Dim.AUTO},))
go(lambda x: x if x.shape[0] > 5 else x * 2, (T(3, 4),), ({0: D},))
layer = nn.Linear(4, 2)
ep = go(lambda x: nn.functional.linear(x, T(2, 4)).softmax(-1).mean(0), (T(3, 4),), ({0: c},))
for n in (3, 7, 2, 10):
    try:
        print(ep.module()(T(n, 4)).shape)
    except Exception as e:
        print(type(e).__name__, e)
for s in ((5, 4), (3, 3)):
    try:
        print(same.module()(T(s[0], 3), T(s[1], 3)).shape)
    except Exception as e:
        print(type(e).__name__, e)
try:
    same.module()(T(3, 4), T(3, 4))
except Exception as e:
    print(type(e).__name__, e)
