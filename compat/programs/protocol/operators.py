# Every operator, both sides, with tensors, numbers and None.
import torch

x = torch.tensor([5, 2])
for e in ("x + 1", "1 + x", "x - 1", "1 - x", "x * 2", "2 * x", "x / 2", "2 / x", "x // 2", "11 // x", "x % 3", "11 % x", "x ** 2", "2 ** x", "-x", "+x", "~x", "abs(x)",
          "x & 3", "3 & x", "x | 8", "8 | x", "x ^ 1", "1 ^ x", "x << 1", "1 << x", "x >> 1", "64 >> x", "x == 5", "5 == x", "x != 5", "x < 3", "3 < x", "x <= 5", "x >= 5",
          "x + None", "x == None", "x != 'a'", "x < 'a'", "x + 'a'", "x @ x", "x @ 2", "x + [1, 2]", "x * (1,)", "divmod(x, 2)", "round(x)", "x.float().__round__(1)",
          "x and 1", "x.__add__('a')", "x.__radd__(1)", "x + 1.5", "x * 1j", "x ** 0.5", "x ** -1.0", "True + x", "x - True", "torch.tensor(3) < 4 < 5"):
    try:
        print(e, "->", eval(e))
    except Exception as err:
        print(e, "->", type(err).__name__, str(err).split("\n")[0])
