# Buffers written in place for many steps, views of them kept, versions counted.
import torch

state = torch.zeros(4)
window = state[1:3]
history = []
for i in range(50):
    state += 1
    window *= 0.5
    state[i % 4] = i
    history.append(state.sum())
    if i % 10 == 9:
        print(i, state, window, state._version, history[-1])
print(torch.stack(history[:5]), len(history))
acc = torch.zeros(2, 2)
rows = list(acc)
for i, row in enumerate(rows * 3):
    row.add_(i)
print(acc, acc._version)
buffer = torch.empty(0)
for i in range(3):
    buffer = torch.cat([buffer, torch.tensor([float(i)])])
    print(buffer)
