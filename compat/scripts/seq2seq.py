"""Trains a GRU encoder and an attending GRU decoder to reverse sequences: teacher forcing by chance, greedy decoding with early ends."""
import argparse
import random

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class Decoder(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.wa, self.ua, self.va = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.gru = nn.GRU(2 * width, width, batch_first=True)
        self.out = nn.Linear(width, tokens)

    def forward(self, token, hidden, memory):
        query = hidden.permute(1, 0, 2)
        scores = self.va(torch.tanh(self.wa(query) + self.ua(memory))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, memory)
        out, hidden = self.gru(torch.cat((self.embedding(token), context), dim=2), hidden)
        return F.log_softmax(self.out(out), dim=-1), hidden, weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    encoder, decoder = Encoder(12, 24), Decoder(12, 24)
    optimizers = [torch.optim.Adam(m.parameters(), lr=5e-3) for m in (encoder, decoder)]
    criterion = nn.NLLLoss()
    for step in range(args.steps):
        x = torch.randint(2, 12, (16, 6))
        y = x.flip(1)
        for o in optimizers:
            o.zero_grad()
        memory, hidden = encoder(x)
        token, forced, outs = torch.ones(16, 1, dtype=torch.long), random.random() < 0.7, []
        for t in range(6):
            out, hidden, _ = decoder(token, hidden, memory)
            outs.append(out)
            token = y[:, t:t + 1] if forced else out.topk(1)[1].squeeze(-1).detach()
        loss = criterion(torch.cat(outs, dim=1).view(-1, 12), y.reshape(-1))
        loss.backward()
        for o in optimizers:
            o.step()
        print(f"step {step:4d} loss {loss.item():.5f} {'forced' if forced else 'free'}")
    with torch.no_grad():
        memory, hidden = encoder(torch.tensor([[2, 3, 4, 5, 6, 7]]))
        token, decoded = torch.ones(1, 1, dtype=torch.long), []
        for t in range(8):
            out, hidden, weights = decoder(token, hidden, memory)
            token = out.argmax(-1)
            decoded.append(token.item())
            if decoded[-1] == 2:
                break
        print("decoded", decoded, f"attention {weights.max().item():.4f}")


if __name__ == "__main__":
    main()
