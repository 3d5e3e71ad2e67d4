# Comparisons with numbers and tensors, isclose, allclose, equal, logical functions.
import torch

x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3, 2, 1])
print(x == y, x != y, x < y, x <= 2, x > 2.5, 2 >= x, x.eq(2), x.ne(y), x.lt(2), x.ge(y), torch.gt(x, y), torch.le(x, 1))
print(torch.equal(x, x.clone()), torch.equal(x, y), torch.allclose(x, x + 1e-9), torch.isclose(x, x + 0.1), torch.isclose(x, torch.tensor([1.0, 2.1, 3.0]), rtol=0.1), (x == x.t()).all())
b, c = torch.tensor([True, True, False]), torch.tensor([True, False, False])
print(b & c, b | c, b ^ c, ~b, b.logical_and(c), b.logical_or(c), b.logical_xor(c), b.logical_not(), torch.logical_and(x, y - 1), b == c, b > c, b + c, b * c)
print(torch.isin(y, torch.tensor([1, 3])), torch.isreal(x), x.clip(1.5, 2.5), x.clamp(min=2), torch.clamp(x, max=torch.tensor([0.0, 5.0, 1.0])), torch.max(x, y.float()), torch.minimum(y, torch.tensor(2)), torch.where(x > y, x, y))
for f in (lambda: x == torch.ones(2), lambda: x > "a", lambda: bool(x == x), lambda: x < None, lambda: torch.equal(x, 1), lambda: (x > 1) < 2, lambda: torch.allclose(x, y), lambda: 1 < x < 3):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
print(x.eq_(2), torch.tensor([1, 0]).logical_not_(), x.gt(0).dtype, (torch.zeros(0) == 1), torch.tensor(1) == 1, torch.tensor([1]) == True, torch.tensor([1j]) == 1j, torch.tensor([0.1]) == 0.1, torch.tensor([0.1], dtype=torch.float64) == 0.1)
