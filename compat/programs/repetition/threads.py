# Tensors cross threads; grad modes belong to the thread.
import threading
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
results = {}


def work(name):
    results[name] = (torch.is_grad_enabled(), (y * 3).detach().tolist(), (x + 1).requires_grad)
    if name == "a":
        (x ** 2).sum().backward()


with torch.no_grad():
    threads = [threading.Thread(target=work, args=(n,)) for n in ("a", "b")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
print(sorted(results.items()), x.grad)
