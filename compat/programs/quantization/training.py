"""Training with rounded numbers, and conversion after it."""
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
        self.conv, self.bn, self.relu = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        self.fc = nn.Linear(4 * 16, 3)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        return self.dequant(self.fc(x.flatten(1)))


for version in (0, 1):
    torch.manual_seed(0)
    model = tq.fuse_modules_qat(Net().train(), [["conv", "bn", "relu"]])
    model.qconfig = tq.get_default_qat_qconfig("x86", version)
    model = tq.prepare_qat(model)
    print(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(16, 1, 6, 6), torch.randint(0, 3, (16,))
    for step in range(6):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, round(loss.item(), 4))
        if step == 3:
            model.apply(tq.disable_observer)
            model.apply(nn.intrinsic.qat.freeze_bn_stats)
    print(model.conv.bn.running_mean, model.conv.weight_fake_quant.scale, model.fc.activation_post_process.zero_point)
    model.eval()
    before = model(x)
    made = tq.convert(model)
    print(re.sub(r"scale=([0-9.e-]+)", lambda m: f"scale={float(m[1]):.5g}", str(made)), made(x)[:3], before[:3])
