"""Tables, privacy, constraints, sentences: pytorch_tabnet, rtdl, opacus, cooper, torchcrf, sentence_transformers."""
import os
import tempfile

import torch
import torch.nn.functional as F
from _telling import case, cases, trained
from torch import nn


def case_tabnet():
    from pytorch_tabnet.utils import create_group_matrix
    from pytorch_tabnet.tab_network import TabNet
    x, y = torch.randn(32, 6), torch.randint(3, (32,))
    net = TabNet(6, 3, n_d=4, n_a=4, n_steps=2, cat_idxs=[], cat_dims=[], virtual_batch_size=8,
                 group_attention_matrix=create_group_matrix([], 6))
    return trained(net, lambda m: F.cross_entropy(m(x)[0], y) + m(x)[1]), net.eval()(x), net.forward_masks(x)


def case_tabnet_classifier():
    from pytorch_tabnet.tab_model import TabNetClassifier
    x, y = torch.randn(64, 5).numpy(), torch.randint(2, (64,)).numpy()
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, verbose=0, seed=1, device_name="cpu")
    model.fit(x, y, eval_set=[(x, y)], max_epochs=3, batch_size=16, virtual_batch_size=8)
    return [float(v) for v in model.history["loss"]], torch.tensor(model.predict_proba(x[:3])), torch.tensor(model.feature_importances_)


def case_rtdl():
    from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins
    from rtdl_revisiting_models import MLP, FTTransformer, ResNet
    x, kinds, y = torch.randn(12, 4), torch.randint(3, (12, 2)), torch.randn(12, 1)
    model = FTTransformer(n_cont_features=4, cat_cardinalities=[3, 3], d_out=1, **FTTransformer.get_default_kwargs(1))
    return [trained(model.eval(), lambda m: F.mse_loss(m(x, kinds), y)),
            trained(ResNet(d_in=4, d_out=1, n_blocks=2, d_block=8, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.1, dropout2=0.0),
                    lambda m: F.mse_loss(m(x), y)),
            trained(MLP(d_in=4, d_out=1, n_blocks=2, d_block=8, dropout=0.1), lambda m: F.mse_loss(m(x), y)),
            PeriodicEmbeddings(4, lite=False)(x), PiecewiseLinearEmbeddings(compute_bins(x, n_bins=3), 5, activation=False, version="B")(x)]


def private(net, x, y, **options):
    """The losses of a private training, its epsilon, the gradients of each example in the last step."""
    from opacus import PrivacyEngine
    engine, optimizer = PrivacyEngine(), torch.optim.SGD(net.parameters(), 0.1)
    rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
    loss_of = nn.CrossEntropyLoss()
    made = engine.make_private(module=net, optimizer=optimizer, data_loader=rows, noise_multiplier=1.0, max_grad_norm=1.0,
                               **({"criterion": loss_of} if options.get("grad_sample_mode") == "ghost" else {}), **options)
    (net, optimizer, *loss_of), rows, losses = (*made[:2], *made[2:-1]) if len(made) == 4 else (*made[:2], loss_of), made[-1], []
    for a, b in rows:
        optimizer.zero_grad()
        loss = loss_of[0](net(a), b)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    samples = [p.grad_sample for p in net.parameters() if getattr(p, "grad_sample", None) is not None]
    return losses, engine.get_epsilon(1e-5), samples, [p for p in net.parameters()]


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        from opacus.layers import DPLSTM, DPMultiheadAttention
        self.words, self.rnn = nn.Embedding(9, 8), DPLSTM(8, 8, batch_first=True)
        self.attend, self.last = DPMultiheadAttention(8, 2), nn.Linear(8, 3)

    def forward(self, x):
        h = self.rnn(self.words(x))[0].transpose(0, 1)
        return self.last(self.attend(h, h, h)[0][-1])


def layers():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 8), nn.LayerNorm(8), nn.Linear(8,
        3))


for mode in ("hooks", "ew", "functorch", "ghost"):
    case(f"opacus.{mode}", lambda: private(layers(), torch.randn(32, 1, 6, 6), torch.randint(3, (32,)), grad_sample_mode=mode))
case("opacus.sequences", lambda: private(Sequence(), torch.randint(9, (32, 5)), torch.randint(3, (32,)), poisson_sampling=False))
case("opacus.per_layer", lambda: private(layers(), torch.randn(32, 1, 6, 6), torch.randint(3, (32,)), clipping="flat",
    poisson_sampling=False))


def case_opacus_validator():
    from opacus.validators import ModuleValidator
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.LSTM(4, 4))
    return [str(e) for e in ModuleValidator.validate(net, strict=False)], str(ModuleValidator.fix(net))


def case_cooper():
    import cooper

    class Norm(cooper.ConstrainedMinimizationProblem):
        def __init__(self):
            super().__init__()
            self.kept = cooper.Constraint(cooper.ConstraintType.INEQUALITY, formulation_type=cooper.formulations.Lagrangian,
                                          multiplier=cooper.multipliers.DenseMultiplier(num_constraints=2))

        def compute_cmp_state(self, x):
            state = cooper.ConstraintState(violation=torch.stack([x.sum() - 1, 1 - x[0]]))
            return cooper.CMPState(loss=(x - 3).pow(2).sum(), observed_constraints={self.kept: state})
    problem, x, told = Norm(), nn.Parameter(torch.randn(3)), []
    duals = torch.optim.SGD(problem.dual_parameters(), 0.1, maximize=True)
    optimizer = cooper.optim.SimultaneousOptimizer(cmp=problem, primal_optimizers=torch.optim.Adam([x], 0.1), dual_optimizers=duals)
    for _ in range(4):
        rolled = optimizer.roll(compute_cmp_state_kwargs=dict(x=x))
        told.append(rolled.loss.item())
    return told, x, list(problem.dual_parameters())


def case_torchcrf():
    from torchcrf import CRF
    crf, e, tags, mask = CRF(4), torch.randn(5, 3, 4), torch.randint(4, (5, 3)), torch.arange(5)[:, None] < torch.tensor([5, 3, 2])
    return trained(crf, lambda m: -m(e, tags, mask=mask)), crf.decode(e, mask=mask)


def case_sentences():
    from sentence_transformers import SentenceTransformer, losses, models, util
    from transformers import BertConfig, BertModel, BertTokenizerFast
    with tempfile.TemporaryDirectory() as folder:
        words = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat sat on the mat dog ran home".split()
        with open(os.path.join(folder, "vocab.txt"), "w") as f:
            f.write("\n".join(words))
        BertTokenizerFast(os.path.join(folder, "vocab.txt")).save_pretrained(folder)
        shape = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
        BertModel(BertConfig(**shape, vocab_size=len(words))).save_pretrained(folder)
        body = models.Transformer(folder)
        model = SentenceTransformer(modules=[body, models.Pooling(16), models.Dense(16, 8), models.Normalize()], device="cpu")
        texts, told = ["a cat sat on the mat", "the dog ran home", "a dog"], []
        for kind in ("MultipleNegativesRankingLoss", "CosineSimilarityLoss", "ContrastiveLoss", "CoSENTLoss"):
            loss = getattr(losses, kind)(model)
            features = [model.tokenize(texts), model.tokenize(texts[::-1])]
            told.append(loss(features, torch.tensor([1.0, 0.0, 1.0])))
        told[0].backward()
        told.append(sum([p.grad.abs().sum() for p in model.parameters() if p.grad is not None]))
        made = model.encode(texts, convert_to_tensor=True)
        model.save(os.path.join(folder, "kept"))
        again = SentenceTransformer(os.path.join(folder, "kept"), device="cpu").encode(texts, convert_to_tensor=True)
        return told, made, again, util.semantic_search(made, made, top_k=2), util.community_detection(made, threshold=0.5,
            min_community_size=1)


cases(globals())
