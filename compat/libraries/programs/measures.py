"""torchmetrics, pytorch_metric_learning and entmax: what measures predictions, and losses over embeddings."""
import inspect

import entmax
import torch
import torchmetrics
import torchmetrics.functional as M
from _telling import case
from pytorch_metric_learning import losses, miners

draw = torch.Generator().manual_seed(1)
chance, truth = torch.rand(40, generator=draw), torch.randint(2, (40,), generator=draw)
chances, kinds = torch.randn(40, 5, generator=draw).softmax(-1), torch.randint(5, (40,), generator=draw)
marks, marked = torch.rand(40, 3, generator=draw), torch.randint(2, (40, 3), generator=draw)
a = torch.randn(40, generator=draw)
b = a + 0.3 * torch.randn(40, generator=draw)
images = torch.rand(2, 3, 32, 32, generator=draw)
#: What a measure is tried with: arguments and options.
TRIED = {"binary": ((chance, truth), dict(task="binary")), "kinds": ((chances, kinds), dict(task="multiclass", num_classes=5)),
         "marks": ((marks, marked), dict(task="multilabel", num_labels=3)), "numbers": ((a, b), {}), "sizes": ((a.abs() + 0.1, b.abs() + 0.1), {}),
         "images": ((images, images.flip(0)), {}), "found": ((chance, truth), {}), "groups": ((kinds, (kinds + truth) % 5), {})}
# they load networks, or take minutes, or lie where rounding decides (150 dB), or are of words
SKIPPED = {"bert_score", "infolm", "signal_distortion_ratio", "pairwise_euclidean_distance", "learned_perceptual_image_patch_similarity",
           "multiscale_structural_similarity_index_measure", "match_error_rate", "word_error_rate", "word_information_lost",
           "word_information_preserved"}
points, classes = torch.randn(12, 8, generator=torch.Generator().manual_seed(2)), torch.arange(12) % 4


def slope(f):
    x = points.clone().requires_grad_()
    value = f(x)
    value.sum().backward()
    return value, x.grad


def loss_of(kind):
    known = inspect.signature(kind.__init__).parameters
    loss = kind(**{k: v for k, v in dict(num_classes=4, embedding_size=8).items() if k in known})
    return slope(lambda x: loss(x, classes))


for name in sorted(dir(M)):
    f = getattr(M, name)
    if inspect.isfunction(f) and name not in SKIPPED:
        for how, (args, options) in TRIED.items():
            known = inspect.signature(f).parameters
            if set(options) <= set(known):
                case(f"{name} {how}", lambda: f(*args, **options))
for name in ("Accuracy", "F1Score", "AUROC", "ConfusionMatrix", "CalibrationError"):
    metric = getattr(torchmetrics, name)(task="multiclass", num_classes=5)
    case(name, lambda: [metric(chances.roll(k, 0), kinds) for k in range(3)] + [metric.compute()])
for name in sorted(dir(losses)):
    if name.endswith("Loss") and inspect.isclass(getattr(losses, name)):
        case(f"losses.{name}", lambda: loss_of(getattr(losses, name)))
for name in sorted(dir(miners)):
    if name.endswith("Miner") and inspect.isclass(getattr(miners, name)):
        case(f"miners.{name}", lambda: getattr(miners, name)()(points, classes))
for name in ("sparsemax", "entmax15", "entmax_bisect", "sparsemax_bisect"):
    case(f"entmax.{name}", lambda: slope(lambda x: getattr(entmax, name)(x, dim=1) ** 2))
