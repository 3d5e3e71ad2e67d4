# format specifications and f-strings.
import torch

x = torch.tensor(3.14159)
print(f"{x:.2f} {x:8.3f} {x:e} {x:g} {torch.tensor(7):d} {torch.tensor(7):04d} {torch.tensor(255):x} {torch.tensor(0.5):.0%}")
print("{:.3f} {}".format(x, x), f"{x.item():.4f}", f"{x!r}", f"{torch.ones(2)}", f"{torch.tensor(1.5, requires_grad=True):.1f}")
for f in (lambda: f"{torch.ones(2):.2f}", lambda: f"{x:d}", lambda: "%.2f" % torch.ones(2)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
print("%.2f %d %s" % (x, torch.tensor(3), torch.tensor([1])), str(x.dtype), f"{x.dtype} {x.device} {x.shape}", f"{torch.tensor(2.0) * 3:>10}|")
