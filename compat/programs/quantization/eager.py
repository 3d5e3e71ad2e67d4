"""Models that are observed and quantized in eager mode: statically, dynamically, in training."""
import copy
import io
import re
import warnings

import torch
from torch import nn
from torch.ao import quantization as tq

warnings.simplefilter("ignore")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.conv, self.bn, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.conv2 = nn.Conv2d(8, 8, 3, stride=2, groups=2, bias=False)
        self.skip = nn.quantized.FloatFunctional()
        self.pool, self.fc1, self.relu1, self.fc2 = nn.AdaptiveAvgPool2d(2), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 5)

    def forward(self, x):
        x = self.quant(x)
        x = self.relu(self.bn(self.conv(x)))
        x = self.conv2(x)
        x = self.skip.add_relu(x, x)
        x = self.pool(x).flatten(1)
        return self.dequant(self.fc2(self.relu1(self.fc1(x))))


def levels(model):
    for name, x in model.state_dict().items():
        if isinstance(x, tuple):
            print(name, x[0].int_repr().long().sum(), None if x[1] is None else x[1].sum())
        elif isinstance(x, torch.Tensor):
            print(name, x.int_repr().long().sum() if x.is_quantized else x)
        else:
            print(name, x)


torch.manual_seed(0)
data = [torch.randn(4, 3, 10, 10) for _ in range(3)]
for engine in ("x86", "fbgemm", "qnnpack"):
    torch.manual_seed(1)
    model = Net().eval()
    model.bn.running_mean.normal_()
    model.bn.running_var.uniform_(0.5, 2)
    fused = tq.fuse_modules(model, [["conv", "bn", "relu"], ["fc1", "relu1"]])
    fused.qconfig = tq.get_default_qconfig(engine)
    prepared = tq.prepare(fused)
    if engine == "x86":
        print(prepared)
    for x in data:
        prepared(x)
    converted = tq.convert(prepared)
    if engine == "x86":
        print(re.sub(r"scale=([0-9.e-]+)", lambda m: f"scale={float(m[1]):.5g}", str(converted)))
    levels(converted)
    print(converted(data[0]), torch.equal(converted(data[1]), converted(data[1])))
    again = copy.deepcopy(converted)
    print(torch.equal(again(data[2]), converted(data[2])))
    file = io.BytesIO()
    torch.save(converted.state_dict(), file)
    file.seek(0)
    other = tq.convert(tq.prepare(fused))
    other.load_state_dict(torch.load(file))
    print(torch.equal(other(data[0]), converted(data[0])))

torch.manual_seed(2)
small = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
x = torch.randn(5, 6)
for dtype in (torch.qint8, torch.float16):
    dynamic = tq.quantize_dynamic(small, dtype=dtype)
    print(dynamic, dynamic(x))
    levels(dynamic) if dtype is torch.qint8 else None
dynamic = tq.quantize_dynamic(small, {nn.Linear: tq.per_channel_dynamic_qconfig})
print(dynamic, dynamic(x), dynamic(x * 3).dtype)
dynamic = tq.quantize_dynamic(small, {"0"}, dtype=torch.qint8)
print(dynamic, dynamic(x))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = getattr(nn, kind)(6, 4, **options)
        self.out = nn.Linear(4 * (2 if options.get("bidirectional") else 1), 2)

    def forward(self, x):
        y, state = self.layer(x)
        return self.out(y), state


for kind in ("LSTM", "GRU"):
    for options in ({}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}):
        torch.manual_seed(3)
        model = tq.quantize_dynamic(Recurrent(kind, **options), dtype=torch.qint8)
        y, state = model(torch.randn(5, 3, 6))
        print(model, y, state)
    torch.manual_seed(4)
    layer = tq.quantize_dynamic(Recurrent(kind), dtype=torch.qint8).layer
    packed = nn.utils.rnn.pack_sequence([torch.randn(n, 6) for n in (4, 2, 3)], enforce_sorted=False)
    y, state = layer(packed)
    print(y.data, state)
for kind in ("LSTMCell", "GRUCell", "RNNCell"):
    torch.manual_seed(5)
    cell = nn.Sequential(getattr(nn, kind)(6, 4))
    made = tq.quantize_dynamic(cell, {nn.LSTMCell, nn.GRUCell, nn.RNNCell}, dtype=torch.qint8)
    print(made, made(torch.randn(3, 6)), sorted(made[0].get_weight()))
for dtype in (torch.quint8, torch.quint4x2):
    torch.manual_seed(6)
    bag = tq.quantize_dynamic(nn.Sequential(nn.EmbeddingBag(10, 6, mode="sum")), dtype=dtype)
    print(bag, bag(torch.tensor([[1, 2, 3], [4, 5, 9]])))
torch.manual_seed(6)
rows = nn.Sequential(nn.Embedding(10, 6))
rows.qconfig = tq.float_qparams_weight_only_qconfig
rows = tq.convert(tq.prepare(rows))
print(rows, rows(torch.tensor([1, 7])))
wrapped = tq.QuantWrapper(nn.Sequential(nn.Linear(6, 4), nn.Sigmoid()))
print(wrapped)
for bad in (lambda: tq.QConfig(tq.MinMaxObserver(), tq.MinMaxObserver), lambda: tq.quantize_dynamic(small, dtype=torch.int8),
            lambda: tq.prepare_qat(small.eval()), lambda: tq.get_default_qconfig("none"), lambda: tq.fuse_modules(small, ["0", "2"])):
    try:
        bad()
    except Exception as e:
        print(type(e).__name__, str(e)[:80])
