"""Trains a character-level GPT on a text that the program makes up, and lets it write a few lines."""
import argparse
import math
import random
import resource
import statistics
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F


def make_text(lines, seed):
    """Short sentences and sums."""
    rng = random.Random(seed)
    subjects, verbs, objects = ("the cat", "a dog", "my friend", "the old man", "she"), ("sees", "finds", "likes", "paints"), ("a tree",
        "the moon", "two birds", "an apple", "the sea")
    parts = []
    for _ in range(lines):
        if rng.random() < 0.5:
            parts.append(f"{rng.choice(subjects)} {rng.choice(verbs)} {rng.choice(objects)}.\n")
        else:
            a, b = rng.randrange(50), rng.randrange(50)
            parts.append(f"{a}+{b}={a + b};\n")
    return "".join(parts)


class Attention(nn.Module):
    def __init__(self, width, heads, length, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = self.dropout(F.softmax(att, dim=-1)) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, length, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, length, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.dropout(self.down(self.act(self.up(self.norm2(x)))))


class GPT(nn.Module):
    def __init__(self, vocab, width, heads, layers, length, dropout):
        super().__init__()
        self.length = length
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(width, heads, length, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids, targets=None):
        positions = torch.arange(ids.size(1))
        x = self.dropout(self.tokens(ids) + self.positions(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    @torch.no_grad()
    def generate(self, ids, count):
        """The most likely continuation; the context always has full length."""
        self.eval()
        for _ in range(count):
            logits, _ = self(ids[:, -self.length:])
            ids = torch.cat([ids, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        self.train()
        return ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--length", type=int, default=48)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    text = make_text(800, args.seed)
    chars = sorted(set(text))
    index = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([index[c] for c in text])
    split = int(0.9 * len(data))
    train, test = data[:split], data[split:]
    print(f"text of {len(text)} characters, {len(chars)} different")

    def batch(source):
        starts = torch.randint(0, len(source) - args.length - 1, (args.batch, 1))
        window = source[starts + torch.arange(args.length + 1)]
        return window[:, :-1], window[:, 1:].contiguous()

    model = GPT(len(chars), args.width, args.heads, args.layers, args.length, args.dropout)
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps, eta_min=args.lr / 10)
    seconds = []
    for step in range(args.steps):
        start = time.perf_counter()
        x, y = batch(train)
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        value = loss.item()
        seconds.append(time.perf_counter() - start)
        print(f"step {step:4d} loss {value:.6f} norm {norm.item():.4f} lr {scheduler.get_last_lr()[0]:.6f}", flush=step == 0)
        if step % 40 == 39:
            model.eval()
            with torch.no_grad():
                _, held_out = model(*batch(test))
            model.train()
            print(f"test after {step + 1}: loss {held_out.item():.6f}")
    written = model.generate(train[None, :args.length], 60)[0, args.length:]
    print("written:", repr("".join(chars[i] for i in written.tolist())))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"median {statistics.median(seconds) * 1e3:.3f} ms a step, peak {peak:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
