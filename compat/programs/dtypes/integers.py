# Integer arithmetic: division kinds, remainders, wrap-around, shifts, bits.
import torch

a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([2, 2, -2, -2])
print(a / b, a // b, a % b, torch.remainder(a, b), torch.fmod(a, b))
for mode in (None, "trunc", "floor"):
    print(mode, torch.div(a, b, rounding_mode=mode), torch.div(a.float(), b, rounding_mode=mode))
print(torch.tensor([127], dtype=torch.int8) + 1, torch.tensor([0], dtype=torch.uint8) - 1, torch.tensor([2 ** 62]) * 4)
print(a << 1, a >> 1, a & 3, a | 8, a ^ 5, ~a, -a, abs(a), a ** 2, a.float() ** 0.5)
print(torch.tensor([5, 3]).bitwise_and(torch.tensor([6])), torch.bitwise_not(torch.tensor([True])), torch.tensor([1, 2]).bitwise_left_shift(3))
for f in (lambda: torch.tensor([1]) // 0, lambda: torch.tensor([1]) % 0, lambda: torch.tensor([1.0]) // 0, lambda: torch.tensor([1]) / 0):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
print(torch.gcd(torch.tensor(12), torch.tensor(18)), torch.lcm(torch.tensor(4), torch.tensor(6)), torch.tensor([3, -3]).sign())
print(torch.arange(5).sum().dtype, torch.arange(5, dtype=torch.int8).sum().dtype, torch.ones(2, dtype=torch.bool).sum(), torch.arange(1, 6, dtype=torch.uint8).prod())
