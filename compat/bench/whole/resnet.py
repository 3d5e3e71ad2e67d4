"""A residual network of eighteen layers on small images, made by the program: six steps of SGD with momentum."""
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
                                  nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters))
        self.shortcut = nn.Identity() if stride == 1 and channels == filters else nn.Sequential(
            nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def network(classes=10):
    layers, channels = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for filters, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        layers.append(Block(channels, filters, stride))
        channels = filters
    return nn.Sequential(*layers, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(channels, classes))


torch.manual_seed(0)
model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
for step in range(6):
    images, labels = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}")
