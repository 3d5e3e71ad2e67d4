"""Transforms in inference mode, and of tensors made there. Expectations hold for PyTorch 2.13."""
import pytest

import torchshim as torch
from torchshim.func import grad, hessian, jacfwd, jacrev, jvp, vmap

with torch.inference_mode():
    MADE = torch.tensor([1.0, 2.0])
ONES = torch.ones(2)


def cube(q):
    return (q ** 3).sum()


TRANSFORMS = {
    "jvp": (lambda x: jvp(torch.square, (x,), (ONES,))[1], [2, 4]), "jacfwd": (lambda x: jacfwd(torch.square)(x).diag(), [2, 4]),
    "jvp with one of them": (lambda x: jvp(lambda q: q ** 2 * MADE, (x,), (ONES,))[1], [2, 8]),
    "jvp of grad": (lambda x: jvp(grad(cube), (x,), (ONES,))[1], [6, 12]), "hessian": (lambda x: hessian(cube)(x).diag(), [6, 12]),
    "jacfwd of jacfwd": (lambda x: jacfwd(jacfwd(cube))(x).diag(), [6, 12]), 
    "jacrev of jacfwd": (lambda x: jacrev(jacfwd(cube))(x).diag(), [6, 12]),
    "vmap of grad": (vmap(grad(cube)), [3, 12]), "vmap of hessian": (vmap(hessian(cube)), [6, 12]),
    "vmap of jvp": (vmap(lambda x: jvp(lambda q: q ** 3, (x,), (torch.ones_like(x),))[1]), [3, 12]),
}


@pytest.mark.parametrize("made_there", [False, True])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_know_nothing_of_inference_mode(name, inside, made_there):
    f, expected = TRANSFORMS[name]
    with torch.inference_mode(inside):
        assert f(MADE if made_there else torch.tensor([1.0, 2.0])).tolist() == expected


def test_tangents_beside_inference_tensors():
    forward_ad = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(forward_ad.make_dual(x, ONES) ** 2 * MADE).tangent.tolist() == [2, 8]
        with torch.inference_mode():
            assert forward_ad.unpack_dual(forward_ad.make_dual(x, ONES) * 2).tangent is None
