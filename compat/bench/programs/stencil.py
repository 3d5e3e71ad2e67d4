"""Heat on a plate: ten sweeps of in-place slice updates with copied edges."""
import torch


def setup(variant, size=128, sweeps=10):
    torch.manual_seed(0)
    u = torch.rand(size, size)
    k = 0.1

    def step():
        nonlocal k
        if variant == "lr":
            k = 0.1 if k != 0.1 else 0.09
        for _ in range(sweeps):
            u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
            u[0] = u[1]
            u[-1] = u[-2]
            u[:, 0] = u[:, 1]
            u[:, -1] = u[:, -2]
        if variant == "item_after":
            u[size // 2, size // 2].item()

    def look():
        return u.sum().item()

    return step, look
