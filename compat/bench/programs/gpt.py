"""Four transformer blocks written with functions: layer_norm, linear, masked softmax attention, gelu, cross_entropy."""
import math
import torch
import torch.nn.functional as F


def setup(variant, vocab=65, width=64, heads=4, layers=4, length=32, batch=8):
    torch.manual_seed(0)
    tokens = [torch.randint(0, vocab, (batch, length + 1)) for _ in range(8)]
    mask = torch.tril(torch.ones(length, length)) == 0

    def weight(*shape):
        return (torch.randn(*shape) * 0.02).requires_grad_()

    wte, wpe, head = weight(vocab, width), weight(length, width), weight(vocab, width)
    gain, bias = torch.ones(width, requires_grad=True), torch.zeros(width, requires_grad=True)
    blocks = [{"g1": torch.ones(width, requires_grad=True), "b1": torch.zeros(width, requires_grad=True),
               "qkv": weight(3 * width, width), "bqkv": torch.zeros(3 * width, requires_grad=True),
               "out": weight(width, width), "bout": torch.zeros(width, requires_grad=True),
               "g2": torch.ones(width, requires_grad=True), "b2": torch.zeros(width, requires_grad=True),
               "up": weight(4 * width, width), "bup": torch.zeros(4 * width, requires_grad=True),
               "down": weight(width, 4 * width), "bdown": torch.zeros(width, requires_grad=True)} for _ in range(layers)]
    params = [wte, wpe, head, gain, bias] + [p for block in blocks for p in block.values()]
    optimizer = torch.optim.SGD(params, lr=0.1)
    count = 0
    kept = None

    def attention(x, p):
        q, k, v = F.linear(x, p["qkv"], p["bqkv"]).split(width, dim=2)
        q, k, v = (t.view(batch, length, heads, width // heads).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
        scores = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
        y = (scores @ v).transpose(1, 2).reshape(batch, length, width)
        return F.linear(y, p["out"], p["bout"])

    def model(ids):
        x = F.embedding(ids, wte) + wpe
        for p in blocks:
            x = x + attention(F.layer_norm(x, (width,), p["g1"], p["b1"]), p)
            h = F.gelu(F.linear(F.layer_norm(x, (width,), p["g2"], p["b2"]), p["up"], p["bup"]))
            x = x + F.linear(h, p["down"], p["bdown"])
        return F.linear(F.layer_norm(x, (width,), gain, bias), head)

    def loss_of(ids):
        return F.cross_entropy(model(ids[:, :-1]).view(-1, vocab), ids[:, 1:].reshape(-1))

    def step():
        nonlocal count, kept
        if variant == "lr":
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + 0.001 * count)
        loss = loss_of(tokens[count % 8])
        if variant == "item_before":
            loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if variant == "item_after":
            loss.item()
        if variant == "keep":
            kept = loss
        if variant == "eval" and count % 10 == 0:
            with torch.no_grad():
                loss_of(tokens[0]).item()
        count += 1

    def look():
        return blocks[0]["qkv"].detach().pow(2).sum().item()

    return step, look
