"""Trains a recurrent cell written by hand on names and samples from it: 0-d looks, cat, multinomial, updates without an optimizer."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

NAMES = "ada alan alonzo barbara claude donald edsger emmy frances grace haskell john kurt leslie niklaus ole radia robin tony vint".split()
LETTERS = "." + "abcdefghijklmnopqrstuvwxyz"


class RNN(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.hidden = hidden
        self.i2h = nn.Linear(len(LETTERS) + hidden, hidden)
        self.h2o = nn.Linear(hidden, len(LETTERS))

    def forward(self, x, h):
        h = torch.tanh(self.i2h(torch.cat((x, h), 1)))
        return F.log_softmax(self.h2o(h), dim=1), h


def one_hot(letter):
    x = torch.zeros(1, len(LETTERS))
    x[0][LETTERS.find(letter)] = 1
    return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rnn, criterion = RNN(), nn.NLLLoss()
    for step in range(args.steps):
        name = NAMES[torch.randint(len(NAMES), (1,)).item()]
        h, loss = torch.zeros(1, rnn.hidden), 0
        rnn.zero_grad()
        for a, b in zip("." + name, name + "."):
            out, h = rnn(one_hot(a), h)
            loss = loss + criterion(out, torch.tensor([LETTERS.find(b)]))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-0.02)
        print(f"step {step:4d} {name} loss {loss.item() / (len(name) + 1):.5f}")
    with torch.no_grad():
        for _ in range(3):
            text, h, letter = "", torch.zeros(1, rnn.hidden), "."
            for _ in range(12):
                out, h = rnn(one_hot(letter), h)
                letter = LETTERS[torch.multinomial(out.exp(), 1).item()]
                if letter == ".":
                    break
                text += letter
            print("sample", text)


if __name__ == "__main__":
    main()
