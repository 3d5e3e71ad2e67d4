"""skorch, ignite, fastai, monai, torchensemble, vit_pytorch, denoising_diffusion_pytorch: what fits models, and models that come with it."""
import importlib
import random
import tempfile

import torch
from _telling import case, cases, learned
from torch import nn

x = torch.randn(64, 4, generator=torch.Generator().manual_seed(1))
y = (x.sum(1) > 0).long()
image, volume = torch.arange(1024.0).sin().double().view(1, 1, 32, 32), torch.arange(4096.0).sin().double().view(1, 1, 16, 16, 16)


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))


def batches(size=16):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), size, shuffle=True)


def case_skorch():
    import numpy as np
    from sklearn.model_selection import GridSearchCV
    from skorch import NeuralNetClassifier
    from skorch.callbacks import GradientNormClipping, LRScheduler
    np.random.seed(0)
    model = NeuralNetClassifier(net, criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.1, verbose=0, iterator_train__shuffle=True,
                                callbacks=[GradientNormClipping(1.0), LRScheduler("StepLR", step_size=1)]).fit(x.numpy(), y.numpy())
    search = GridSearchCV(model, {"lr": [0.1, 0.01]}, cv=2, scoring="accuracy", refit=False).fit(x.numpy(), y.numpy())
    with tempfile.TemporaryDirectory() as folder:
        model.save_params(f_params=folder + "/p.pt", f_optimizer=folder + "/o.pt")
        again = NeuralNetClassifier(net, criterion=nn.CrossEntropyLoss).initialize()
        again.load_params(f_params=folder + "/p.pt")
    return model.history[:, "train_loss"], search.cv_results_["mean_test_score"].tolist(), torch.from_numpy(again.predict_proba(x.numpy()[:3]))


def case_ignite():
    from ignite import metrics
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.handlers import CosineAnnealingScheduler, EMAHandler
    model, losses = net(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    trainer, averaged = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss()), EMAHandler(model, momentum=0.1)
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))
    trainer.add_event_handler(Events.ITERATION_STARTED, CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, 8))
    averaged.attach(trainer)
    trainer.run(batches(), 2)
    judge = create_supervised_evaluator(model, dict(accuracy=metrics.Accuracy(), f=metrics.Fbeta(1.0), counts=metrics.ConfusionMatrix(2)))
    return losses, judge.run(batches()).metrics, list(averaged.ema_model.parameters())[0]


def case_fastai():
    from fastai.callback.schedule import fit_one_cycle  # noqa: F401 (gives Learner the method)
    from fastai.callback.training import GradientClip
    from fastai.data.core import DataLoaders
    from fastai.data.load import DataLoader
    from fastai.learner import Learner
    from fastai.metrics import accuracy
    random.seed(0)
    rows = list(zip(x, y))
    with tempfile.TemporaryDirectory() as folder:
        learner = Learner(DataLoaders(DataLoader(rows, bs=16, shuffle=True, num_workers=0), DataLoader(rows, bs=16, num_workers=0)), net(),
                          loss_func=nn.CrossEntropyLoss(), metrics=[accuracy], cbs=[GradientClip(1.0)], path=folder)
        with learner.no_bar(), learner.no_logging():
            learner.fit_one_cycle(2, 1e-2)
        return [float(v) for v in learner.recorder.losses], [[float(v) for v in row] for row in learner.recorder.values]


def case_torchensemble():
    import logging

    import torchensemble
    logging.disable(logging.CRITICAL)
    told = []
    for name in ("GradientBoostingClassifier", "FusionClassifier", "SnapshotEnsembleClassifier", "SoftGradientBoostingClassifier"):
        torch.manual_seed(0)
        model = getattr(torchensemble, name)(estimator=net, n_estimators=2, cuda=False)
        model.set_optimizer("Adam", lr=0.01)
        model.set_criterion(nn.CrossEntropyLoss())
        model.fit(batches(), epochs=2, save_model=False, log_interval=1000)
        told.append([name, torch.as_tensor(model.predict(x[:3]))])
    return told


def case_diffusion():
    from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D
    model = GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2)), image_size=16, timesteps=10, sampling_timesteps=4)
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-3), []
    for _ in range(3):
        losses.append(model(torch.rand(2, 3, 16, 16)))
        losses[-1].backward()
        optimizer.step()
        optimizer.zero_grad()
    other = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=6)
    return losses, model.sample(batch_size=1), other.sample(batch_size=1)


TWO = dict(spatial_dims=2, in_channels=1, out_channels=2)
for name, options, given in (
        ("UNet", dict(TWO, channels=(4, 8, 16), strides=(2, 2), num_res_units=1), image), ("SegResNet", dict(spatial_dims=2), image),
        ("AttentionUnet", dict(TWO, channels=(4, 8), strides=(2, 2)), image), ("VNet", dict(spatial_dims=2), image),
        ("DynUNet", dict(TWO, kernel_size=[3, 3, 3], strides=[1, 2, 2], upsample_kernel_size=[2, 2], filters=[4, 8, 8]), image),
        ("UNETR", dict(TWO, img_size=32, feature_size=4, hidden_size=24, mlp_dim=32, num_heads=2), image),
        ("UNet", dict(spatial_dims=3, in_channels=1, out_channels=2, channels=(2, 4), strides=(2,)), volume)):
    case(f"monai.{name}.{given.ndim - 2}",
         lambda: learned(getattr(importlib.import_module("monai.networks.nets"), name)(**options).double(), given))


def changed(name, options):
    from monai import transforms
    from monai.data import MetaTensor
    change = getattr(transforms, name)(**options)
    if hasattr(change, "set_random_state"):
        change.set_random_state(1)
    made = change(MetaTensor(torch.rand(1, 16, 20)))
    return type(made).__name__, torch.as_tensor(made), made.affine


for name, options in dict(Rotate=dict(angle=0.4), Zoom=dict(zoom=1.3), Spacing=dict(pixdim=(1.5, 0.7)), GaussianSmooth={}, MedianSmooth={},
                          NormalizeIntensity={}, CropForeground={}, RandAffine=dict(prob=1.0, rotate_range=0.4, scale_range=0.2),
                          Rand2DElastic=dict(spacing=(5, 5), magnitude_range=(1, 2), prob=1.0), RandBiasField=dict(prob=1.0)).items():
    case(f"monai.{name}", lambda: changed(name, options))


def case_losses_of_monai():
    from monai import losses, metrics
    scores, labels = torch.randn(2, 3, 16, 16), torch.randint(3, (2, 1, 16, 16))
    told = [getattr(losses, name)(to_onehot_y=True, softmax=True)(scores, labels) for name in (
        "DiceLoss", "DiceCELoss", "DiceFocalLoss", "GeneralizedDiceLoss", "TverskyLoss", "HausdorffDTLoss")]
    picked, wanted = (nn.functional.one_hot(t, 3).movedim(-1, 1).float() for t in (scores.argmax(1), labels[:, 0]))
    for kind in (metrics.DiceMetric, metrics.MeanIoU, metrics.HausdorffDistanceMetric, metrics.SurfaceDistanceMetric):
        metric = kind()
        metric(picked, wanted)
        told.append(metric.aggregate())
    return told


VIT = dict(image_size=32, patch_size=8, num_classes=5, dim=16, depth=2, heads=2, mlp_dim=32)
for name, options in {
        "vit.ViT": VIT, "simple_vit.SimpleViT": VIT, "deepvit.DeepViT": VIT, "cait.CaiT": dict(VIT, cls_depth=1), "rvt.RvT": VIT,
        "simple_vit_with_fft.SimpleViT": dict(VIT, freq_patch_size=8), "vit_with_patch_merger.ViT": dict(VIT, patch_merge_layer=0),
        "xcit.XCiT": dict(VIT, cls_depth=1, local_patch_kernel_size=3), "ats_vit.ViT": dict(VIT, max_tokens_per_depth=(8, 4)),
        "normalized_vit.nViT": VIT,
        "levit.LeViT": dict(image_size=32, num_classes=5, dim=(16, 32), depth=(1, 1), heads=(2, 2), mlp_mult=2, stages=2),
        "cct.CCT": dict(img_size=32, embedding_dim=16, num_layers=2, num_heads=2, mlp_ratio=2, num_classes=5)}.items():
    file, kind = name.split(".")
    case(f"vit_pytorch.{name}", lambda: learned(getattr(importlib.import_module(f"vit_pytorch.{file}"), kind)(**options).double(),
                                                torch.randn(2, 3, 32, 32, dtype=torch.float64)))

cases(globals())
