"""kornia and captum: colours, filters, geometry, augmentation, losses and features of images; attributions of a network."""
import inspect

import captum.attr as A
import kornia
import kornia.augmentation as aug
import kornia.geometry as geometry
import torch
from _telling import case
from torch import nn

x = torch.rand(2, 3, 16, 20, generator=torch.Generator().manual_seed(5))
other, scores = x.flip(0), torch.randn(2, 4, 5, 5, generator=torch.Generator().manual_seed(1))
labels = torch.randint(4, (2, 5, 5), generator=torch.Generator().manual_seed(1))
#: Functions with their arguments after the image.
FUNCTIONS = {
    "filters": dict(gaussian_blur2d=((3, 3), (1.0, 1.0)), box_blur=(3,), median_blur=(3,), sobel=(), laplacian=(3,), canny=(),
                    spatial_gradient=(), motion_blur=(3, 35.0, 0.5), unsharp_mask=((3, 3), (1.0, 1.0)),
                    bilateral_blur=((3, 3), 0.1, (1.0, 1.0)), blur_pool2d=(3,), max_blur_pool2d=(3,)),
    "enhance": dict(adjust_brightness=(0.2,), adjust_contrast=(0.7,), adjust_gamma=(0.7,), adjust_hue=(0.3,), adjust_saturation=(0.4,),
                    equalize=(), equalize_clahe=(), posterize=(3,), sharpness=(0.5,), solarize=(0.4,), invert=(), normalize_min_max=(),
                    add_weighted=(0.3, other, 0.5, 0.1), integral_image=()),
    "morphology": {name: (torch.ones(3, 3),) for name in "dilation erosion opening closing gradient top_hat bottom_hat".split()},
    "losses": dict(ssim_loss=(other, 5), psnr_loss=(other, 1.0), total_variation=(), charbonnier_loss=(other,), welsch_loss=(other,),
                   cauchy_loss=(other,), geman_mcclure_loss=(other,), js_div_loss_2d=(other.softmax(1),))}
OF_LABELS = dict(dice_loss=(), focal_loss=(0.5,), tversky_loss=(0.3, 0.7), lovasz_softmax_loss=())
turned = torch.tensor([[1.0, 0.1, 2.0], [0.0, 0.9, 1.0], [0.001, 0.0, 1.0]]).repeat(2, 1, 1)
GEOMETRY = dict(
    warp_perspective=lambda: geometry.warp_perspective(x, turned, (16, 20)),
    warp_affine=lambda: geometry.warp_affine(x, turned[:, :2], (16, 20), padding_mode="reflection"),
    rotate=lambda: geometry.rotate(x, torch.tensor([30.0, 60.0])), scale=lambda: geometry.scale(x, torch.tensor([0.5, 2.0])),
    resize=lambda: geometry.resize(x, (8, 9), antialias=True), pyrdown=lambda: geometry.pyrdown(x), pyrup=lambda: geometry.pyrup(x),
    remap=lambda: geometry.remap(x, torch.rand(2, 16, 20) * 20, torch.rand(2, 16, 20) * 16),
    elastic=lambda: geometry.elastic_transform2d(x, torch.rand(2, 2, 16, 20) * 2 - 1, (7, 7), (4.0, 4.0)),
    quaternions=lambda: geometry.conversions.quaternion_to_rotation_matrix(torch.rand(3, 4)),
    homography=lambda: geometry.find_homography_dlt(torch.rand(1, 6, 2), torch.rand(1, 6, 2)))
#: What an augmentation has to be told.
TOLD = dict(size=(8, 8), kernel_size=3, sigma=(0.1, 2.0), degrees=30.0, angle=35.0, direction=0.5, mean=torch.tensor([0.5] * 3),
            std=torch.tensor([0.2] * 3), max_size=12, roughness=(0.1, 0.7))


def augmented(kind):
    known = inspect.signature(kind).parameters
    options = {k: TOLD.get(k, 0.5) for k, p in known.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
    return kind(**options, **({"p": 1.0} if "p" in known else {}))(x.clone())


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 8 * 10, 5))


net, areas = network(), (torch.arange(320).reshape(1, 1, 16, 20) // 80).expand(1, 3, 16, 20)
ATTRIBUTIONS = dict(
    IntegratedGradients={}, Saliency={}, InputXGradient={}, DeepLift={}, GuidedBackprop={}, Deconvolution={}, LRP={},
    DeepLiftShap=dict(baselines=torch.zeros(2, 3, 16, 20)), Occlusion=dict(sliding_window_shapes=(3, 8, 8)),
    FeatureAblation=dict(feature_mask=areas), ShapleyValueSampling=dict(feature_mask=areas, n_samples=3), KernelShap=dict(feature_mask=areas),
    FeaturePermutation=dict(feature_mask=areas))

for name in dir(kornia.color):
    f = getattr(kornia.color, name)
    if inspect.isfunction(f) and "_to_" in name:
        case(f"color.{name}", lambda: f(x[:, :1] if name.startswith(("grayscale", "raw")) else x))
for area, functions in FUNCTIONS.items():
    for name, args in functions.items():
        case(f"{area}.{name}", lambda: getattr(getattr(kornia, area), name)(x, *args))
for name, args in OF_LABELS.items():
    case(f"losses.{name}", lambda: getattr(kornia.losses, name)(scores, labels, *args))
for name, f in GEOMETRY.items():
    case(f"geometry.{name}", f)
for name in sorted(dir(aug)):
    kind = getattr(aug, name)
    if inspect.isclass(kind) and name.startswith(("Random", "Color", "Center")) and "3D" not in name and not inspect.isabstract(kind):
        case(f"augmentation.{name}", lambda: augmented(kind))
for name in ("harris_response", "gftt_response", "hessian_response"):
    case(f"feature.{name}", lambda: getattr(kornia.feature, name)(x[:, :1]))
case("feature.SIFT", lambda: kornia.feature.SIFTDescriptor(16)(torch.rand(3, 1, 16, 16)))
case("feature.HardNet", lambda: kornia.feature.HardNet(False)(torch.rand(2, 1, 32, 32)))
for name, options in ATTRIBUTIONS.items():
    case(f"captum.{name}", lambda: getattr(A, name)(net).attribute(x, target=1, **options))
for name in ("LayerConductance", "LayerGradCam", "InternalInfluence"):
    case(f"captum.{name}", lambda: getattr(A, name)(net, net[0]).attribute(x, target=1))
