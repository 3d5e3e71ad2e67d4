# bernoulli, multinomial, exponential_ and friends.
import torch

torch.manual_seed(0)
print(torch.bernoulli(torch.tensor([0.0, 0.3, 0.7, 1.0])), torch.empty(6).bernoulli_(0.5), torch.bernoulli(torch.rand(2, 3)))
print(torch.zeros(3).bernoulli_(torch.tensor([0.0, 0.5, 1.0])))
torch.manual_seed(1)
print(torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 5, replacement=True))
print(torch.multinomial(torch.tensor([[0.0, 1.0, 3.0], [5.0, 1.0, 0.0]]), 2))
torch.manual_seed(2)
print(torch.empty(4).exponential_(), torch.empty(4).exponential_(2.0))
print(torch.empty(3).cauchy_(), torch.empty(3).log_normal_(), torch.empty(4).geometric_(0.3))
for f in (lambda: torch.bernoulli(torch.tensor([1.5])), lambda: torch.multinomial(torch.tensor([0.5, 0.5]), 3),
          lambda: torch.multinomial(torch.tensor([-1.0, 1.0]), 1), lambda: torch.empty(2).normal_(0, -1)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
