# Wrong calls: unknown names, missing or wrong arguments.
import torch

x = torch.ones(2, 2)
for f in (lambda: x.no_such_method(), lambda: x.item(), lambda: torch.zeros(0).item(),
          lambda: bool(x), lambda: bool(torch.zeros(0)), lambda: int(x), lambda: float(torch.ones(3)), lambda: len(torch.tensor(1)),
          lambda: iter(torch.tensor(1)), lambda: torch.tensor("text"), lambda: torch.tensor(None), lambda: torch.tensor([1, "a"]),
          lambda: x.to("no_device"), lambda: torch.device("nope"), lambda: torch.device("cpu", -2), lambda: hash(x) == hash(x),
          lambda: x.type("torch.NoTensor"), lambda: range(torch.tensor(3)), lambda: [10, 20, 30][torch.tensor(1)],
          lambda: [1, 2][torch.tensor(1.0)], lambda: torch.from_numpy([1]), lambda: torch.Size(["a"]),
          lambda: torch.tensor([1, 2]).__index__(), lambda: x.reshape(2, 2, -3), lambda: torch.arange(0, 5, 0), lambda: torch.arange(5, 0),
          lambda: torch.linspace(0, 1, -1), lambda: torch.eye(-1), lambda: torch.full((2,), "a"), lambda: setattr(x, "shape", 3)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
try:
    torch.no_such_function(1)
except AttributeError as e:                     # this library adds that it lacks the function
    print(str(e).startswith("module 'torch' has no attribute 'no_such_function'"))
