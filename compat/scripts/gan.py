"""Trains a small convolutional GAN: transposed convolutions, two optimizers, detached samples, weights initialised by `apply`."""
import argparse

import torch
from torch import nn


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh())
    discriminator = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4, 1, 0, bias=False), nn.Sigmoid())
    generator.apply(weights_init), discriminator.apply(weights_init)
    criterion = nn.BCELoss()
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    real = torch.sin(torch.linspace(0, 6, 16)).expand(16, 16)
    for step in range(args.steps):
        discriminator.zero_grad()
        batch = (real + 0.1 * torch.randn(16, 16, 16)).unsqueeze(1)
        label = torch.full((16,), 1.0)
        loss_real = criterion(discriminator(batch).view(-1), label)
        loss_real.backward()
        fake = generator(torch.randn(16, 8, 1, 1))
        label.fill_(0.0)
        loss_fake = criterion(discriminator(fake.detach()).view(-1), label)
        loss_fake.backward()
        opt_d.step()
        generator.zero_grad()
        label.fill_(1.0)
        loss_g = criterion(discriminator(fake).view(-1), label)
        loss_g.backward()
        opt_g.step()
        print(f"step {step:4d} loss {(loss_real + loss_fake).item():.5f} loss {loss_g.item():.5f}")
    generator.eval()
    with torch.no_grad():
        print(f"mean {generator(torch.randn(4, 8, 1, 1)).mean().item():.4f}")


if __name__ == "__main__":
    main()
