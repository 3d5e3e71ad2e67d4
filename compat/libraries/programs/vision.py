"""torchvision, timm, segmentation_models_pytorch, open_clip, ultralytics, piq, pytorch_msssim, lpips, grad-cam, lightly: operators on boxes
and regions, transforms, networks, losses, explanations. In double precision where batch norms of few values would tell of rounding."""
import timm.optim
import torch
from _telling import case, learned
from torch import nn
from torchvision import models, ops, tv_tensors
from torchvision.transforms import v2

torch.set_default_dtype(torch.float64)
g = torch.Generator().manual_seed(5)
x, other = torch.rand(2, 3, 32, 32, generator=g), torch.rand(2, 3, 32, 32, generator=g)
labels, bytes_ = torch.randint(3, (2, 32, 32), generator=g), (torch.rand(3, 20, 24, generator=g) * 255).to(torch.uint8)
boxes, rois = torch.rand(8, 4, generator=g) * 10, torch.tensor([[0, 1.0, 1, 10, 12], [1, 3, 2, 20, 18], [0, 0, 0, 5, 30]])
boxes[:, 2:] += boxes[:, :2]


def graded(f, *inputs):
    """What `f` makes, and the gradients of its sines' sum."""
    inputs = [t.clone().requires_grad_() for t in inputs]
    made = f(*inputs)
    made.sin().sum().backward()
    return made, [t.grad for t in inputs]


for name, f in dict(
        nms=lambda: [ops.nms(boxes, torch.rand(8), 0.3), ops.batched_nms(boxes, torch.rand(8), torch.arange(8) // 3, 0.3)],
        nms_of_rows_of_three=lambda: ops.nms(boxes[:, :3], torch.rand(8), 0.3),
        complete_box_iou=lambda: graded(ops.complete_box_iou_loss, boxes[:4], boxes[4:]),
        roi_align=lambda: graded(lambda t: ops.roi_align(t, rois, (3, 4), 0.5, 2, True), x),
        roi_pool=lambda: graded(lambda t: ops.roi_pool(t, rois, 3, 0.5), x),
        ps_roi_align=lambda: graded(lambda t: ops.ps_roi_align(t, rois, 2), torch.cat([x, other, x[:, :2]], 1)),
        deform_conv2d=lambda: graded(lambda t, o, w, m: ops.deform_conv2d(t, o, w, padding=1, mask=m), x, torch.randn(2, 18, 32, 32),
                                     torch.randn(4, 3, 3, 3), torch.rand(2, 9, 32, 32))).items():
    case(f"torchvision.ops.{name}", f)


def annotated():
    return dict(image=tv_tensors.Image(bytes_), masks=tv_tensors.Mask((torch.rand(3, 20, 24) > 0.5).to(torch.uint8)),
                boxes=tv_tensors.BoundingBoxes(boxes[:3], format="XYXY", canvas_size=(20, 24)))


for name, args in dict(Resize=(12,), RandomResizedCrop=(8,), ColorJitter=(0.3, 0.3, 0.3, 0.2), RandomRotation=(30,),
                       RandomAffine=(20, (0.1, 0.1)), RandomPerspective=(0.5, 1.0), RandomErasing=(1.0,), GaussianBlur=(3,),
                       RandomPosterize=(3, 1.0), RandomEqualize=(1.0,),
                       RandomPhotometricDistort=(), RandomZoomOut=(), RandomIoUCrop=(), ScaleJitter=((16, 16),)).items():
    case(f"torchvision.v2.{name}", lambda: [[type(t).__name__, t] for t in getattr(v2, name)(*args)(annotated()).values()])


def detected():
    model = models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=3, min_size=64,
                                                                   max_size=96)
    pictures, told = [torch.rand(3, 64, 80), torch.rand(3, 70, 60)], dict(boxes=torch.tensor([[5.0, 5, 30, 40]]), labels=torch.tensor([1]))
    losses = model(pictures, [told, told])
    sum(losses.values()).backward()
    return losses, model.rpn.head.cls_logits.weight.grad, model.eval()(pictures)


case("torchvision.swin", lambda: learned(models.SwinTransformer([2, 2], 16, [2, 2], [2, 2], [4, 4], num_classes=5), x))
case("torchvision.googlenet", lambda: learned(models.googlenet(num_classes=5, init_weights=False, aux_logits=False), x))

TOKENS = dict(img_size=32, depth=2, embed_dim=32, num_heads=4, patch_size=8)
NETS = {name: TOKENS for name in ("vit_tiny_patch16_224", "beit_base_patch16_224", "cait_xxs24_224", "vit_small_patch14_reg4_dinov2",
                                  "vit_relpos_small_patch16_224")}
NETS.update(swinv2_tiny_window8_256=dict(img_size=32, depths=(2, 2), embed_dim=16, num_heads=(2, 2), window_size=4), test_resnet={},
            convnextv2_atto=dict(depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)), test_efficientnet={}, test_nfnet={}, test_byobnet={},
            lambda_resnet26t=dict(img_size=64), ghostnet_050={},
            mobilevit_xxs={}, repvit_m0_9={}, xcit_nano_12_p16_224=dict(img_size=32), edgenext_xx_small={})
for name, options in NETS.items():
    case(f"timm.{name}", lambda: learned(timm.create_model(name, num_classes=5, **options),
                                         x.repeat(1, 1, *[options.get("img_size", 64) // 32] * 2)))


def stepped(name):
    model = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(3600, 3))
    optimizer, told = timm.optim.create_optimizer_v2(model, name, lr=0.01, weight_decay=0.05), []
    for _ in range(3):
        optimizer.zero_grad()
        told.append(nn.functional.cross_entropy(model(x), torch.tensor([0, 1])))
        told[-1].backward()
        optimizer.step()
    return told, list(model.parameters())


for name in "adafactorbv adan cadamw lamb laprop lion lookahead_radam madgrad mars muon nadamw rmsproptf sgdw".split():
    case(f"timm.optim.{name}", lambda: stepped(name))


def told_of_smp(name):
    import segmentation_models_pytorch as smp
    return learned(getattr(smp, name)("resnet18", encoder_weights=None, classes=3), x.repeat(1, 1, 2, 2))


for name in "Unet UnetPlusPlus MAnet Linknet FPN DeepLabV3Plus UPerNet Segformer".split():
    case(f"smp.{name}", lambda: told_of_smp(name))


def loss_of_smp(name):
    import segmentation_models_pytorch as smp
    return graded(lambda t: getattr(smp.losses, name)("multiclass")(t, labels), x.float())


for name in "DiceLoss JaccardLoss TverskyLoss FocalLoss LovaszLoss".split():
    case(f"smp.{name}", lambda: loss_of_smp(name))


def quality(name):
    import piq
    return graded(getattr(piq, name), x.repeat(1, 1, 6, 6), other.repeat(1, 1, 6, 6))


for name in "ssim multi_scale_ssim psnr vif_p fsim gmsd vsi haarpsi mdsi dss srsim".split():
    case(f"piq.{name}", lambda: quality(name))


def case_msssim():
    import pytorch_msssim
    return graded(lambda a, b: pytorch_msssim.ms_ssim(a, b, data_range=1), x.repeat(1, 1, 6, 6), other.repeat(1, 1, 6, 6))


def case_lpips():
    import lpips
    return learned(lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False, eval_mode=False).double(), x, other)


def case_cams():
    import pytorch_grad_cam as C
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
    net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 5))
    told = []
    for kind in (C.GradCAM, C.HiResCAM, C.GradCAMPlusPlus, C.ScoreCAM, C.AblationCAM, C.XGradCAM, C.LayerCAM, C.FullGrad, C.EigenGradCAM):
        with kind(model=net.eval(), target_layers=[net[2]]) as cam:
            told.append([kind.__name__, torch.from_numpy(cam(input_tensor=x, targets=[ClassifierOutputTarget(1)] * 2).copy())])
    return told


def case_clip():
    from open_clip import tokenize
    from open_clip.loss import ClipLoss, SigLipLoss
    from open_clip.model import CLIP
    model = CLIP(16, dict(image_size=32, layers=2, width=32, patch_size=8, head_width=8), dict(vocab_size=49408, width=16, heads=2, layers=2))
    image, text, scale = model(x, tokenize(["a cat", "the dog runs"]))
    loss = ClipLoss()(image, text, scale) + SigLipLoss()(image, text, scale, torch.tensor(-10.0))
    loss.backward()
    return image, text, loss, model.visual.conv1.weight.grad


def case_self_supervised():
    import lightly.loss as losses
    a, b = torch.randn(8, 16), torch.randn(8, 16)
    return {name: graded(getattr(losses, name)(), a, b) for name in (
        "NTXentLoss", "BarlowTwinsLoss", "VICRegLoss", "NegativeCosineSimilarity", "DCLLoss", "TiCoLoss", "HypersphereLoss", "CO2Regularizer")}


for name in ("msssim", "lpips", "cams", "clip", "self_supervised"):
    case(name, globals()[f"case_{name}"])
torch.set_default_dtype(torch.float32)
case("torchvision.faster_rcnn", detected)


def yolo(kind, file, more):
    from ultralytics.cfg import get_cfg
    from ultralytics.nn import tasks
    model = getattr(tasks, kind)(file, ch=3, nc=4, verbose=False)
    model.args = get_cfg()
    batch = dict(img=torch.rand(2, 3, 64, 64), batch_idx=torch.tensor([0.0, 0, 1]), cls=torch.tensor([[1.0], [2.0], [3.0]]),
                 bboxes=torch.tensor([[0.5, 0.5, 0.4, 0.3], [0.2, 0.3, 0.2, 0.2], [0.6, 0.6, 0.5, 0.5]]), **more())
    loss, parts = model(batch)
    loss.sum().backward()
    last = [p.grad for p in model.parameters() if p.grad is not None][-1]
    return loss, parts, last, model.eval().fuse(verbose=False)(batch["img"])[0], len(model.state_dict())


for kind, file, more in (("DetectionModel", "yolov8n.yaml", dict), ("DetectionModel", "yolo11n.yaml", dict),
                         ("DetectionModel", "yolo12n.yaml", dict),
                         ("SegmentationModel", "yolo11n-seg.yaml", lambda: dict(masks=(torch.rand(2, 16, 16) * 3).floor()))):
    case(f"ultralytics.{file}", lambda: yolo(kind, file, more))
