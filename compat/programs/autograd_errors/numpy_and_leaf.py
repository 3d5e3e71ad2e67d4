# numpy(), deepcopy and .grad of tensors in the graph.
import copy
import warnings
import torch

x = torch.ones(2, requires_grad=True)
y = x * 2
for f in (lambda: x.numpy(), lambda: y.numpy(), lambda: copy.deepcopy(y), lambda: x.detach().numpy(), lambda: y.tolist(),
          lambda: copy.deepcopy(x), lambda: y.sum().item(), lambda: float(y[0]), lambda: x.__array__(), lambda: x.numpy(force=True)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(y.grad)
    print([str(w.message).split(".")[0] for w in caught], [w.category.__name__ for w in caught])
