# Losses and layers.
import torch
import torch.nn.functional as F


def inputs():
    torch.manual_seed(2)
    return torch.randn(4, 5), torch.tensor([0, 4, 2, 2]), torch.rand(4, 5), torch.randn(7, 5)


def compute(x, y, p, e):
    return (F.cross_entropy(x, y), F.nll_loss(x.log_softmax(1), y), F.mse_loss(x, p), F.l1_loss(x, p, reduction="sum"), F.binary_cross_entropy_with_logits(x, p), F.binary_cross_entropy(p, p), F.smooth_l1_loss(x, p),
            F.layer_norm(x, (5,)), F.embedding(y, e), F.one_hot(y, 5), F.normalize(x), F.softplus(x), F.silu(x) + 1, F.leaky_relu(x, 0.2), F.pad(x, (1, 2)), F.cosine_similarity(x, p), F.cross_entropy(x, p, label_smoothing=0.1))


print(compute(*inputs()))
