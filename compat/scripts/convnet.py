"""Trains a convolutional classifier on small images: batch norm, dropout, pooling, DataLoader, Adadelta with StepLR, a checkpoint."""
import argparse
import io

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(16 * 7 * 7, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout(x), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def bars(count):
    """Images with a bright bar in one of four directions, in noise."""
    label = torch.randint(0, 4, (count,))
    image = torch.randn(count, 1, 16, 16) * 0.5
    for i in range(count):
        k = i % 16
        if label[i] == 0:
            image[i, 0, k] += 1.5
        elif label[i] == 1:
            image[i, 0, :, k] += 1.5
        elif label[i] == 2:
            image[i, 0].diagonal(k - 8).add_(1.5)
        else:
            image[i, 0].flip(1).diagonal(k - 8).sub_(1.5)
    return image, label


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train = DataLoader(TensorDataset(*bars(256)), batch_size=32, shuffle=True)
    test = DataLoader(TensorDataset(*bars(128)), batch_size=64)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    step = 0
    while step < args.steps:
        model.train()
        for data, target in train:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            print(f"step {step:4d} loss {loss.item():.5f}")
            step += 1
            if step == args.steps:
                break
        scheduler.step()
        model.eval()
        with torch.no_grad():
            out = [(model(data), target) for data, target in test]
            total = sum(F.nll_loss(o, t, reduction="sum").item() for o, t in out)
            right = sum(o.argmax(1).eq(t).sum().item() for o, t in out)
        print(f"test loss {total / 128:.4f} right {right}/128")
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = Net()
    print(again.load_state_dict(torch.load(file)), f"norm {sum(p.norm() for p in again.parameters()).item():.4f}")


if __name__ == "__main__":
    main()
