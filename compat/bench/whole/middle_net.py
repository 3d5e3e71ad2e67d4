"""A network of middle size, 300 steps."""
import torch

torch.manual_seed(0)
x, y = torch.randn(512, 256), torch.randint(0, 10, (512,))
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.GELU(),
                            torch.nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for k in range(300):
    i = (k * 128) % 512
    loss = torch.nn.functional.cross_entropy(model(x[i:i + 128]), y[i:i + 128])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if k % 100 == 0:
        print(k, round(loss.item(), 3))
