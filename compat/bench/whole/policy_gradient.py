"""Policy gradient with episodes of changing length."""
import torch

torch.manual_seed(0)
policy = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
lengths = []
for episode in range(30):
    state, logs = torch.randn(4) * 0.1, []
    while len(logs) < 60 and state[0].abs().item() < 1.0:
        logp = torch.log_softmax(policy(state), 0)
        action = torch.multinomial(logp.exp(), 1).item()
        logs.append(logp[action])
        state = state * 0.95 + torch.randn(4) * 0.1 + (0.1 if action else -0.1)
    reward = torch.arange(len(logs), 0, -1, dtype=torch.float32)
    loss = -(torch.stack(logs) * (reward - reward.mean())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(len(logs))
print(lengths)
