# Assignment in every form.
import torch

t = torch.tensor


def fresh():
    return torch.zeros(3, 4)


def show(name, x):
    print(name, x.tolist(), x._version)


x = fresh(); x[0] = 1; show("int", x)
x = fresh(); x[0, 1] = 2.5; show("ints", x)
x = fresh(); x[:, 1] = t([1.0, 2.0, 3.0]); show("column", x)
x = fresh(); x[1:, ::2] = t([[1.0], [2.0]]); show("broadcast", x)
x = fresh(); x[...] = 7; show("all", x)
x = fresh(); x[:] = torch.arange(4); show("cast", x)
x = fresh(); x[[0, 2]] = t([1.0, 2.0, 3.0, 4.0]); show("list", x)
x = fresh(); x[t([0, 1]), t([1, 2])] = t([5.0, 6.0]); show("pairs", x)
x = fresh(); x[x == 0] = 3; show("mask", x)
x = fresh(); x[t([True, False, True])] = t(9.0); show("row mask", x)
x = fresh(); x[torch.eye(3, 4) > 0] = t([1.0, 2.0, 3.0]); show("mask values", x)
x = fresh(); x[:, t([3, 0])] = t([[1.0, 2.0]]); show("slice and tensor", x)
x = fresh(); x[0][1] = 4; show("chain", x)
x = fresh(); x[None, 0, None] = 6; show("None", x)
x = fresh(); x[1] += 2; show("augmented", x)
x = fresh(); x[[0, 0]] += 1; show("augmented twice", x)
x = fresh(); x[t([1, 1]), t([1, 1])] = t([3.0, 4.0]); show("last wins", x)
x = fresh(); x[True] = 8; show("True", x)
x = fresh(); x[False] = 8; show("False", x)
x = fresh(); x[5:] = 8; show("nothing", x)
x = fresh(); x[-1, -1] = t(2); show("0-d", x)
x = fresh(); x.t()[0] = 5; show("through view", x)
x = fresh(); x[0] = t([1, 2, 3, 4]); show("int values", x)
i = torch.zeros(3, dtype=torch.int64); i[0] = 2.9; i[1:] = t([1.5, -1.5]); print(i)
b = torch.zeros(3, dtype=torch.bool); b[1] = 5; b[2:] = t([0.5]); print(b)
for f in (lambda: fresh().__setitem__(0, t([1.0, 2.0])), lambda: fresh().__setitem__(3, 1), lambda: fresh().__setitem__([0, 3], 1.0),
          lambda: fresh().__setitem__(torch.ones(3, 4) > 0, torch.ones(5)), lambda: fresh().__setitem__(0, "a"),
          lambda: fresh().__setitem__((0, 0), torch.ones(2)), lambda: fresh().__setitem__(0, 1j), lambda: fresh().__setitem__(slice(0, 2), torch.ones(3, 4))):
    try:
        f()
        print("fine")
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
