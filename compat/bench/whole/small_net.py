"""A small classifier, its loss looked at in every step."""
import torch

torch.manual_seed(0)
x, y = torch.randn(256, 20), torch.randint(0, 3, (256,))
model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for k in range(500):
    i = (k * 64) % 256
    loss = torch.nn.functional.cross_entropy(model(x[i:i + 64]), y[i:i + 64])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    value = loss.item()
print(value)
