"""Writes the archives here and what they compute. Run with PyTorch 2.13: ``python tests/jit/goldens/record.py``."""
import json
import pathlib
from typing import Dict, List, Optional, Tuple

import torch
from torch import nn

HERE = pathlib.Path(__file__).parent


class Net(nn.Module):
    factor: int

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2)
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
        self.lstm, self.drop, self.emb = nn.LSTM(2, 3, batch_first=True), nn.Dropout(0.5), nn.Embedding(5, 4)
        self.register_buffer("shift", torch.arange(3.0))
        self.factor, self.steps = 3, [1, 2]

    def forward(self, x, flag: bool = True, y: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        x = nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False).to(torch.float64).float().mean([2, 3])
        out: List[torch.Tensor] = []
        for layer in self.layers:
            x = layer(x)
            out.append(x)
        if flag and x.size(0) > 1:
            x = x * self.factor
        elif y is not None:
            x = x + y
        i = 0
        while i < 3:
            x = x + 1
            i += 1
            if i == 2:
                continue
        for k in range(self.factor):
            x = x + k
            if bool((x.sum() > 1000).item()):
                break
        z, _ = self.lstm(torch.stack(out, 1))
        z = self.drop(z) + self.emb(torch.tensor([0, 1, 2]))[:, :3].sum() + torch.zeros(x.shape[0], 1, 1, dtype=torch.float32)
        return x[:, 1:], {"z": z, "shift": self.shift, "cat": torch.cat(out, dim=-1)}

    @torch.jit.export
    def words(self, s: str, n: int) -> str:
        a = f"{s}-{n}"
        if n // 2 == 1 and n % 2 == 0:
            a = a + "!"
        assert n > 0, "n must be positive"
        return a + str(float(n) / 2) + ",".join(["x", "y"]).upper()


class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Conv2d(1, 2, 3), nn.SiLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 2))
        self.block = nn.TransformerEncoderLayer(4, 2, 4, batch_first=True)

    def forward(self, x):
        y = self.seq(x)
        return torch.softmax(y, -1), self.block(torch.ones(1, 3, 4))[0], x.view(x.size(0), -1)[:, ::2], torch.zeros(len(x),
            2) + torch.arange(2)


@torch.jit.script
class Counter:
    def __init__(self, n: int):
        self.n = n
        self.seen: Dict[str, int] = {}

    def add(self, k: str):
        self.seen[k] = self.seen.get(k, 0) + 1
        self.n += 1
        return self.n


class Values(nn.Module):
    """What is no tensor: lists, dicts, strings, numbers, objects, contexts."""

    def forward(self, x: torch.Tensor):
        c = Counter(3)
        c.add("a")
        s = c.add("a")
        for k in c.seen.keys():
            s += c.seen[k]
        numbers = [1, 2, 3]
        numbers.append(4)
        numbers.insert(0, 9)
        last = numbers.pop()
        o: Optional[int] = None
        if len(numbers) > 3:
            o = 4
        assert o is not None
        with torch.no_grad():
            y = x * 2
        return (y, y.requires_grad, numbers[-2:], [i * 2 for i in numbers], last, s, o, "a,b".split(","), -7 // 2 + -7 % 3 + min(o, 2),
                o / 8,
                x.dtype == torch.float32, x.device.type == "cpu", f"{o}{o / 2}", isinstance(x, torch.Tensor), (x > 0).any().item(),
                torch.nn.functional.adaptive_max_pool2d(x[None], 1), torch.nn.functional.mse_loss(x, y),
                torch.nn.functional.unfold(x[None], 2))


def record():
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 72).reshape(2, 1, 6, 6)
    net = torch.jit.script(Net())
    net.eval()
    net.save(str(HERE / "scripted.pt"), _extra_files={"note": "hello"})
    o, d = net(x)
    traced = torch.jit.trace(Traced().eval(), x, check_trace=False)
    traced.save(str(HERE / "traced.pt"))
    torch.jit.script(Values()).save(str(HERE / "values.pt"))
    values = torch.jit.load(str(HERE / "values.pt"))(x[0].clone().requires_grad_())
    want = {"values": [v.tolist() if isinstance(v, torch.Tensor) else v for v in values], "x": x.flatten().tolist(), "o": o.tolist(),
            "d": {k: v.tolist() for k, v in d.items()}, "words": net.words("q", 2),
            "other": net(x[:1], False, torch.ones(2))[0].tolist(), "traced": [t.tolist() for t in traced(torch.cat([x, x[:1]]))],
            "print": str(torch.jit.load(str(HERE / "scripted.pt")))}
    (HERE / "want.json").write_text(json.dumps(want))


if __name__ == "__main__":
    record()
