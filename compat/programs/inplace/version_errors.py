# Tensors saved for backward and then written are noticed.
import torch


def attempt(make):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    try:
        make(x).sum().backward()
        print("fine", x.grad)
    except RuntimeError as e:
        print(str(e).split("Hint")[0])


def exp(x):
    y = x.exp()
    y += 1
    return y


def mul(x):
    y = x * 2
    z = y * y
    y.zero_()
    return z


def sigmoid_by_view(x):
    y = x.sigmoid()
    y[0] = 5
    return y


def add_is_fine(x):
    y = x * 2
    z = y + y
    y.zero_()
    return z


def matmul(x):
    w = torch.eye(3)
    y = x @ w
    w.mul_(2)
    return y


def saved_input_unchanged(x):
    y = x * 2
    z = y.relu()
    y.add_(1)
    return z


def softmax(x):
    y = torch.softmax(x * 1, 0)
    y.mul_(2)
    return y


def index(x):
    i = torch.tensor([0, 2])
    y = (x * 2)[i]
    i.zero_()
    return y


def mask(x):
    m = torch.tensor([True, False, True])
    y = (x * 2).masked_fill(m, 0)
    m.fill_(False)
    return y


for f in (exp, mul, sigmoid_by_view, add_is_fine, matmul, saved_input_unchanged, softmax, index, mask):
    print(f.__name__)
    attempt(f)
