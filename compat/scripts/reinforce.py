"""REINFORCE on a walk along a line: episodes of changing length, sampling from Categorical, returns normalised."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(2, 32)
        self.dropout = nn.Dropout(p=0.2)
        self.affine2 = nn.Linear(32, 2)

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.dropout(self.affine1(x)))), dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=2e-2)
    for episode in range(args.steps):
        place, goal, log_probs, rewards = 0, 4 if episode % 2 else -4, [], []
        for t in range(20):
            probs = policy(torch.tensor([[place / 4, goal / 4]]))
            m = Categorical(probs)
            action = m.sample()
            log_probs.append(m.log_prob(action))
            place += 1 if action.item() == 1 else -1
            rewards.append(1.0 if place == goal else -0.1)
            if place == goal:
                break
        returns, r = [], 0.0
        for reward in reversed(rewards):
            r = reward + 0.95 * r
            returns.insert(0, r)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = torch.cat([-p * r for p, r in zip(log_probs, returns)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"episode {episode:3d} length {len(rewards):2d} loss {loss.item() + 10:.5f}")


if __name__ == "__main__":
    main()
