"""A character RNN with a cell by hand, over lines of changing length."""
import torch

torch.manual_seed(0)
text = [torch.randint(0, 30, (n,)) for n in (7, 12, 9, 15, 7, 11)]
emb = torch.nn.Embedding(30, 16)
cell, out = torch.nn.Linear(16 + 32, 32), torch.nn.Linear(32, 30)
optimizer = torch.optim.Adam([*emb.parameters(), *cell.parameters(), *out.parameters()], lr=0.01)
for epoch in range(6):
    total = 0.0
    for line in text:
        h, loss = torch.zeros(1, 32), 0
        for a, b in zip(line[:-1], line[1:]):
            h = torch.tanh(cell(torch.cat([emb(a.view(1)), h], 1)))
            loss = loss + torch.nn.functional.cross_entropy(out(h), b.view(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total)
