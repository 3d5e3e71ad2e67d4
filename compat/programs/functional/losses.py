# Losses: values and gradients with each reduction, weights, ignore_index, label smoothing, soft targets.
import torch
import torch.nn.functional as F

logits = torch.tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]], requires_grad=True)
target = torch.tensor([1, 2])
weight = torch.tensor([1.0, 2.0, 0.5])
soft = torch.tensor([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
p = torch.tensor([0.2, 0.7, 0.9], requires_grad=True)
q = torch.tensor([0.0, 1.0, 0.5])


def show(name, f, leaf):
    leaf.grad = None
    y = f()
    y.sum().backward()
    print(name, y.detach(), leaf.grad + 0, y.grad_fn.name())


for r in ("mean", "sum", "none"):
    show("cross_entropy " + r, lambda: F.cross_entropy(logits, target, reduction=r), logits)
    show("nll " + r, lambda: F.nll_loss(F.log_softmax(logits, 1), target, reduction=r), logits)
    show("mse " + r, lambda: F.mse_loss(p, q, reduction=r), p)
    show("l1 " + r, lambda: F.l1_loss(p, q, reduction=r), p)
    show("bce " + r, lambda: F.binary_cross_entropy(p, q, reduction=r), p)
    show("bce logits " + r, lambda: F.binary_cross_entropy_with_logits(p, q, reduction=r), p)
    show("smooth_l1 " + r, lambda: F.smooth_l1_loss(p, q * 3, reduction=r), p)
    show("huber " + r, lambda: F.huber_loss(p, q * 3, reduction=r, delta=0.5), p)
show("ce weight", lambda: F.cross_entropy(logits, target, weight=weight), logits)
show("ce ignore", lambda: F.cross_entropy(logits, torch.tensor([1, -100])), logits)
show("ce smoothing", lambda: F.cross_entropy(logits, target, label_smoothing=0.1), logits)
show("ce soft", lambda: F.cross_entropy(logits, soft), logits)
show("bce pos_weight", lambda: F.binary_cross_entropy_with_logits(p, q, pos_weight=torch.tensor(2.0)), p)
show("kl", lambda: F.kl_div(p.log(), torch.tensor([0.3, 0.3, 0.4]), reduction="batchmean"), p)
show("cosine", lambda: F.cosine_similarity(logits, soft), logits)
show("nll 2d", lambda: F.nll_loss(logits.reshape(1, 3, 2).log_softmax(1), torch.tensor([[0, 2]])), logits)
show("gaussian", lambda: F.gaussian_nll_loss(p, q, torch.ones(3)), p)
show("poisson", lambda: F.poisson_nll_loss(p, q), p)
show("hinge", lambda: F.hinge_embedding_loss(p, torch.tensor([1.0, -1.0, 1.0])), p)
show("margin", lambda: F.margin_ranking_loss(p, q, torch.ones(3)), p)
show("triplet", lambda: F.triplet_margin_loss(logits, soft, soft.flip(0)), logits)
print(F.cross_entropy(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long)), F.cross_entropy(logits[0], target[0]), F.cross_entropy(logits.detach(), torch.tensor([-100, -100])))
for f in (lambda: F.cross_entropy(logits, torch.tensor([1])), lambda: F.mse_loss(p, q, reduction="bad"), lambda: F.binary_cross_entropy(p * 3, q), lambda: F.binary_cross_entropy(p, torch.ones(2)), lambda: F.cross_entropy(logits, torch.tensor([1, 5]))):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
