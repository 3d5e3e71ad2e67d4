"""Process-wide switches answer what is so; a change of the product's precision makes other programs, and changing back finds the first."""
import pytest

import torchshim as torch
from torchshim import settings


def test_matmul_precision():
    a = torch.ones(2, 2)
    assert torch.get_float32_matmul_precision() == "highest"
    try:
        torch.set_float32_matmul_precision("medium")
        assert torch.get_float32_matmul_precision() == "medium" and (a @ a).tolist() == [[2, 2], [2, 2]]
        with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
            torch.set_float32_matmul_precision("x")
    finally:
        torch.set_float32_matmul_precision("highest")
    assert (a @ a).tolist() == [[2, 2], [2, 2]]


def test_tensorfloat32_is_for_convolutions_unless_it_is_allowed_or_forbidden():
    """Each switch changes what is compiled for a GPU: there the operators' products ask for that precision."""
    conv, cudnn, matmul = torch.backends.cudnn.conv, torch.backends.cudnn, torch.backends.cuda.matmul

    def precisions():
        from torchshim.ops.nn.conv import _precision
        from torchshim.ops.products import precision
        return precision().name, _precision(torch.float32.np).name

    assert precisions() == ("HIGHEST", "HIGH") and cudnn.allow_tf32 and not matmul.allow_tf32
    assert (matmul.fp32_precision, conv.fp32_precision) == ("none", "tf32")
    try:
        with cudnn.flags(allow_tf32=False):
            assert precisions() == ("HIGHEST", "HIGHEST") and conv.fp32_precision == "none" and not cudnn.allow_tf32
        assert precisions() == ("HIGHEST", "HIGH")
        conv.fp32_precision, matmul.allow_tf32 = "ieee", True
        assert precisions() == ("HIGH", "HIGHEST") and torch.get_float32_matmul_precision() == "high" and matmul.fp32_precision == "tf32"
        for switch in (conv, matmul):
            with pytest.raises(RuntimeError, match="^Unknown precision: bad$"):
                switch.fp32_precision = "bad"
        with pytest.raises(RuntimeError, match="^set_allow_tf32_cublas expects a bool, but got int$"):
            cudnn.allow_tf32 = 3
    finally:
        cudnn.allow_tf32, matmul.allow_tf32 = True, False
    assert torch.get_float32_matmul_precision() == "highest" and matmul.fp32_precision == "ieee"


def test_every_float32_product_says_how_it_rounds():
    """An operator that leaves the precision to XLA is rounded to TensorFloat32 on a GPU."""
    from jax.lax import Precision
    F, nn, t = torch.nn.functional, torch.nn, torch.ones
    seen = []

    def check(jaxpr, name):
        for e in jaxpr.eqns:
            if e.primitive.name in ("dot_general", "conv_general_dilated"):
                seen.append(name)
                wanted = Precision.HIGH if e.primitive.name == "conv_general_dilated" else Precision.HIGHEST
                assert e.params["precision"] == (wanted, wanted), name
            for p in e.params.values():
                for q in p if isinstance(p, (tuple, list)) else (p,):
                    if hasattr(q, "eqns") or hasattr(q, "jaxpr"):
                        check(getattr(q, "jaxpr", q), name)

    def jaxpr(name, f, *args):
        import jax
        args = [torch.to_jax(a) for a in args]
        check(jax.make_jaxpr(lambda *a: torch.to_jax(f(*[torch.from_jax(x) for x in a])))(*args).jaxpr, name)

    jaxpr("matmul", torch.matmul, t(2, 3), t(3, 2))
    jaxpr("linear", F.linear, t(2, 3), t(2, 3))
    jaxpr("einsum", lambda a, b: torch.einsum("ij,jk->ik", a, b), t(2, 3), t(3, 2))
    jaxpr("bilinear", F.bilinear, t(2, 3), t(2, 3), t(4, 3, 3))
    jaxpr("attention", F.scaled_dot_product_attention, *[t(1, 2, 3, 4)] * 3)
    jaxpr("conv2d", F.conv2d, t(1, 2, 4, 4), t(2, 2, 3, 3))
    jaxpr("conv_transpose1d", F.conv_transpose1d, t(1, 2, 4), t(2, 2, 3))
    jaxpr("conv_tbc", torch.conv_tbc, t(4, 1, 2), t(3, 2, 2), t(2))
    jaxpr("affine_grid", lambda a: F.affine_grid(a, (1, 1, 2, 2), align_corners=False), t(1, 2, 3))
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        m = kind(2, 3)
        jaxpr(kind.__name__, lambda x: m(x)[0], t(4, 1, 2))
    for kind in (nn.RNNCell, nn.GRUCell):
        m = kind(2, 3)
        jaxpr(kind.__name__, lambda x: m(x), t(1, 2))
    assert len(set(seen)) == 14


def test_threads_that_the_environment_allows(monkeypatch):
    """MKL's variable before OpenMP's, as far as they are numbers, and never more than there are processors."""
    for name in ("MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("_threads", "_interop_threads"):          # what a test before this one asked for
        monkeypatch.setattr(settings, name, None)
    n = torch.get_num_threads()
    for mkl, omp, threads in (("", "1", 1), ("1", "1000", 1), ("", "1000", n), ("", "0", n), ("1000", "1", n), ("some", "1", 1)):
        monkeypatch.setenv("MKL_NUM_THREADS", mkl)
        monkeypatch.setenv("OMP_NUM_THREADS", omp)
        assert (torch.get_num_threads(), torch.get_num_interop_threads()) == (threads, n)


def test_threads():
    n = torch.get_num_threads()
    torch.set_num_threads(n + 1)
    assert torch.get_num_threads() == n + 1
    torch.set_num_threads(n)
    with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
        torch.set_num_threads(0)
    assert torch.set_flush_denormal(True) is False and not torch.is_warn_always_enabled()
