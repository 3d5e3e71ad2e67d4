# How floats are laid out: fixed, scientific, widths, negative zero, large and tiny.
import torch

for values in ([1.0, 2.0], [1.5, -2.25], [1e-5, 1.0], [1e5, 1.0], [1e8, 2e8], [123456.0, 0.5], [0.1, 0.22, 0.333], [1e-10], [1e10], [-0.0, 0.0],
               [float("nan"), 1.0], [float("inf"), -1.5], [float("nan")], [float("-inf"), float("inf")], [99999.0], [100000000.0], [0.0001], [0.00009], [1234567.0, 3.0],
               [1e38, 1e-38], [3.14159265, 100.0], [1000.5], [9999.5, 1.0], [12345.678]):
    print(torch.tensor(values), torch.tensor(values[0]))
print(torch.tensor([1.0, float("nan"), 1e6]), torch.tensor([1e-3, 1e3]), torch.tensor([1e-4, 1e4]), torch.tensor([[1.0, 200.0], [-3.5, 4.0]]))
print(torch.tensor([1.5], dtype=torch.float64), torch.tensor(2.5, dtype=torch.float16), str(torch.tensor(1.0)), repr(torch.tensor([1])), f"{torch.tensor(1.5)}", "%s" % torch.tensor(2))
