"""Trains a two-layer LSTM language model with truncated backpropagation: states are carried on and detached, gradients clipped."""
import argparse
import math

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, tokens, width=32, layers=2):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(tokens, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=0.2)
        self.decoder = nn.Linear(width, tokens)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, x, state):
        out, state = self.rnn(self.drop(self.encoder(x)), state)
        return self.decoder(self.drop(out)).view(-1, self.decoder.out_features), state

    def start(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(2, batch, 32), weight.new_zeros(2, batch, 32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    text = (torch.arange(4000) * torch.randint(1, 4, (4000,))).cumsum(0) % 23
    data = text.view(8, -1).t().contiguous()
    model, criterion = Model(23), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    state, at, total = model.start(8), 0, 0.0
    for step in range(args.steps):
        if at + 21 >= len(data):
            at, state = 0, model.start(8)
        x, y = data[at:at + 20], data[at + 1:at + 21].reshape(-1)
        at += 20
        state = tuple(s.detach() for s in state)
        model.zero_grad()
        out, state = model(x, state)
        loss = criterion(out, y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        total += loss.item()
        print(f"step {step:4d} loss {loss.item():.5f} norm {norm.item():.4f}")
        if step % 10 == 9:
            scheduler.step(total / 10)
            print(f"lr {optimizer.param_groups[0]['lr']:g} perplexity {math.exp(total / 10):.3f}")
            total = 0.0


if __name__ == "__main__":
    main()
