# grad_fn: names, next_functions, node hooks and prehooks, AccumulateGrad.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * 3 + 1).exp().sum()


def walk(node, depth=0):
    print("  " * depth + node.name(), type(node).__name__, len(node.next_functions))
    for parent, index in node.next_functions:
        if parent is not None:
            walk(parent, depth + 1)


walk(y.grad_fn)
print(y.grad_fn, y.grad_fn.next_functions[0][1], x.grad_fn)
node = y.grad_fn.next_functions[0][0]
handle = node.register_hook(lambda grad_inputs, grad_outputs: print("hook", grad_inputs, grad_outputs))
node.register_prehook(lambda grad_outputs: print("prehook", grad_outputs))
y.backward()
leaf = x.view_as(x).grad_fn.next_functions[0][0]
print(leaf.name(), leaf.variable is x)
print((x + x).grad_fn.next_functions[0][0] is (x * 2).grad_fn.next_functions[0][0], (x + 1).grad_fn == (x + 1).grad_fn)
