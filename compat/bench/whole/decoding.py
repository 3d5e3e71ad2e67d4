"""Greedy decoding: everything computed again for each token, then with a growing cache."""
import torch

torch.manual_seed(0)
emb, head = torch.nn.Embedding(50, 32), torch.nn.Linear(32, 50)
q, k, v = (torch.nn.Linear(32, 32) for _ in range(3))
with torch.no_grad():
    tokens = torch.tensor([[1, 2, 3]])
    for _ in range(100):
        h = emb(tokens)
        mask = torch.triu(torch.ones(tokens.shape[1], tokens.shape[1]), 1).bool()
        a = (q(h) @ k(h).transpose(1, 2) / 32 ** 0.5).masked_fill(mask, float("-inf")).softmax(-1) @ v(h)
        tokens = torch.cat([tokens, head(a[:, -1]).argmax(-1, keepdim=True)], 1)
    print(tokens[0, -5:].tolist())
    token, keys, values, said = torch.tensor([1]), torch.zeros(0, 32), torch.zeros(0, 32), []
    for _ in range(200):
        h = emb(token)
        keys, values = torch.cat([keys, k(h)]), torch.cat([values, v(h)])
        a = (q(h) @ keys.t() / 32 ** 0.5).softmax(-1) @ values
        token = head(a).argmax(-1)
        said.append(token.item())
    print(said[-5:])
