"""Protects torch.nn.functional: values, gradients, grad_fn names and errors as PyTorch 2.13 has them."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.engine.compile import policy

LOGITS = [[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]]


def logits():
    return torch.tensor(LOGITS, requires_grad=True)


def near(t, expected, tolerance=1e-6):
    return torch.allclose(t.detach(), torch.tensor(expected), atol=tolerance, rtol=1e-5)


@pytest.mark.parametrize("call, value, gradient, name", [
    (lambda x: F.cross_entropy(x, torch.tensor([1, 2])), 0.7331558465957642,
     [[0.11561194062232971, -0.18573415279388428, 0.07012218981981277], [0.15030479431152344, 0.16611248254776, -0.31641730666160583]],
     "NllLossBackward0"),
    (lambda x: F.cross_entropy(x, torch.tensor([1, 2]), weight=torch.tensor([1.0, 2.0, 0.5]), label_smoothing=0.1), 0.6117897033691406,
     [[0.16393828392028809, -0.2647923529148102, 0.10085401684045792], [0.05480483919382095, 0.04863765463232994, -0.10344249755144119]],
     "AddBackward0"),
    (lambda x: F.cross_entropy(x, torch.tensor([1, -100]), reduction="none"), [0.4643687903881073, 0.0],
     [[0.23122388124465942, -0.37146830558776855, 0.14024437963962555], [0.0, 0.0, 0.0]], "NllLossBackward0"),
    (lambda x: F.cross_entropy(x, torch.tensor([[0.2, 0.5, 0.3], [1.0, 0, 0]])), 1.158155918121338,
     [[0.015611939132213593, 0.06426584720611572, -0.0798778161406517], [-0.34969520568847656, 0.16611248254776, 0.18358269333839417]],
     "DivBackward1"),
    (lambda x: F.binary_cross_entropy_with_logits(x, torch.tensor([[0.0, 1, 0.5], [1, 0, 0]]), pos_weight=torch.tensor(2.0)),
     0.9115867614746094,
     [[0.12184309959411621, -0.03973432257771492, -0.011051833629608154], [-0.15834027528762817, 0.09163898974657059, 0.0957404151558876]],
     "BinaryCrossEntropyWithLogitsBackward0"),
    (lambda x: F.layer_norm(x, (3,), torch.tensor([1.0, 2.0, 0.5])) * torch.arange(6.0).reshape(2, 3),
     [[-0.0, 2.6725783348083496, -1.0690311193466187], [-3.6714816093444824, 0.0, 3.059568405151367]],
     [[-1.3744746446609497, 0.4581853449344635, 0.9162890911102295], [-21.412391662597656, 42.833953857421875, -21.42156219482422]],
     "MulBackward0"),
])
def test_values_and_gradients(call, value, gradient, name):
    x = logits()
    y = call(x)
    assert near(y, value) and y.grad_fn.name() == name
    y.sum().backward()
    assert near(x.grad, gradient, 2e-5)


def test_no_recompile_for_changing_numbers(free_compiles):
    """eps, p and label_smoothing are run-time inputs of the compiled program."""
    x, y = logits(), torch.tensor([1, 2])

    def step(k):
        loss = F.cross_entropy(F.layer_norm(F.dropout(x, 0.1 + k / 100), (3,), eps=1e-5 * (k + 1)), y, label_smoothing=0.01 * (k + 1))
        loss.backward()
        return loss.item()
    for k in range(12):
        step(k)
    before = torch.stats()["compiles"]
    for k in range(12, 20):
        step(k)
    assert torch.stats()["compiles"] == before


def test_attention():
    q = torch.arange(8.0).reshape(1, 1, 4, 2) / 4
    causal = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    assert near(causal, [[[[0.0, 0.25], [0.3043608069419861, 0.5543608069419861], [0.7405549883842468, 0.990554928779602],
                           [1.2883877754211426, 1.5383877754211426]]]])
    blind = F.scaled_dot_product_attention(q[0, 0], q[0, 0], q[0, 0], attn_mask=torch.tensor([[False] * 4] + [[True] * 4] * 3))
    assert blind[0].tolist() == [0.0, 0.0] and near(blind[1], [1.0119872093200684, 1.2619872093200684])


def test_dropout_draws_torchs_mask():
    torch.manual_seed(0)
    assert F.dropout(torch.ones(8), 0.5).tolist() == [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 2.0]
    assert near(F.alpha_dropout(torch.ones(4), 0.5, True),
                [-0.7791939377784729, 1.6655988693237305, 1.6655988693237305, 1.6655988693237305])
    for dtype, scaled in ((torch.float16, 1.4287109375), (torch.bfloat16, 1.4296875)):      # 1 / 0.7 is rounded once, 0.7 is not
        assert set(F.dropout(torch.ones(64, dtype=dtype), 0.3).tolist()) == {0.0, scaled}
    x = torch.ones(3)
    assert F.dropout(x, 0.5, training=False) is x and F.dropout(x, 0.0) is x


def test_embedding_padding_row_gets_no_gradient():
    w = torch.arange(6.0).reshape(3, 2).requires_grad_()
    y = F.embedding(torch.tensor([[1, 2], [1, 1]]), w, padding_idx=2)
    assert y.grad_fn.name() == "EmbeddingBackward0" and y[0, 1].tolist() == [4.0, 5.0]
    y.sum().backward()
    assert w.grad.tolist() == [[0, 0], [3, 3], [0, 0]]


@pytest.mark.parametrize("call, kind, text", [
    (lambda: F.cross_entropy(logits(), torch.tensor([1, 5])), IndexError, "Target 5 is out of bounds."),
    (lambda: F.cross_entropy(logits(), torch.tensor([1])), ValueError, r"Expected input batch_size \(2\) to match target batch_size \(1\)"),
    (lambda: F.cross_entropy(logits(), torch.tensor([1.0, 2.0])), RuntimeError, "expected target dtype to be Long or Byte, but got Float"),
    (lambda: F.embedding(torch.tensor([7]), logits()), IndexError, "index out of range in self"),
    (lambda: F.embedding(torch.tensor([0]) + 7, logits()).sum().item(), IndexError, "index out of range in self"),
    (lambda: F.layer_norm(logits(), (2,)), RuntimeError, r"expected input with shape \[\*, 2\], but got input of size\[2, 3\]"),
    (lambda: F.mse_loss(logits(), logits(), reduction="bad"), ValueError, "bad is not a valid value for reduction"),
    (lambda: F.binary_cross_entropy(logits() * 3, torch.ones(2, 3)).item(), RuntimeError, "all elements of input should be between 0 and "
     "1"),
    (lambda: F.dropout(logits(), 1.5), ValueError, "dropout probability has to be between 0 and 1, but got 1.5"),
    (lambda: F.softmax(torch.ones(2).long(), 0), NotImplementedError, "softmax_lastdim_kernel_impl"),
])
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_double_backward_of_softmax_and_losses():
    """Against finite differences of the first gradient."""
    for f in (lambda x: F.softmax(x, 1).pow(2).sum(), lambda x: F.cross_entropy(x, torch.tensor([1, 2]).clone()),
              lambda x: F.layer_norm(x, (3,)).pow(3).sum()):
        x = torch.tensor(LOGITS, dtype=torch.float64, requires_grad=True)
        g, = torch.autograd.grad(f(x), x, create_graph=True)
        v = torch.tensor([[0.3, -1.0, 0.5], [1.0, 0.2, -0.7]], dtype=torch.float64)
        h, = torch.autograd.grad((g * v).sum(), x)
        e = 1e-6
        up, down = (x.detach() + s * e * v for s in (1, -1))
        gs = [torch.autograd.grad(f(y), y)[0] for y in (up.requires_grad_(), down.requires_grad_())]
        assert torch.allclose(h, (gs[0] - gs[1]) / (2 * e), atol=1e-5)


def test_batch_norm_of_one_dimension_has_no_channels():
    for training in (False, True):
        with pytest.raises(RuntimeError, match="running_mean should contain 0 elements not 3"):
            F.batch_norm(torch.ones(3), torch.zeros(3), torch.ones(3), training=training)


def test_grid_sample_of_a_single_voxel():
    """Its gathers read no position from the indices: all batch elements still get their value."""
    x, grid = torch.rand(2, 3, 1, 1, 1, requires_grad=True), torch.zeros(2, 3, 2, 4, 3)
    y = torch.nn.functional.grid_sample(x, grid, align_corners=True)
    assert torch.equal(y, x.expand(2, 3, 3, 2, 4))
    y.sum().backward()
    assert x.grad.flatten().tolist() == [24.0] * 6


def test_what_batch_norm_and_fold_refuse():
    import torchshim.autograd.forward_ad as fwAD
    F = torch.nn.functional
    with fwAD.dual_level():
        x, m = fwAD.make_dual(torch.rand(3, 2), torch.ones(3, 2)), fwAD.make_dual(torch.zeros(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="batch_norm is not differentiable wrt running_mean and running_var"):
            F.batch_norm(x, m, torch.ones(2))
    with pytest.raises(RuntimeError, match=r"sliding blocks as \(-4, -3\), which is too small"):
        F.fold(torch.rand(1, 12, 12), (4, 5), 2, dilation=8)


def test_grouped_products():
    a, b = torch.arange(128.0).view(8, 16) / 50, torch.arange(1152.0).view(3, 16, 24) / 50
    offs = torch.tensor([2, 5, 7], dtype=torch.int32)
    a.requires_grad_()
    y = F.grouped_mm(a, b, offs=offs)
    torch.testing.assert_close(y, torch.cat([a[:2] @ b[0], a[2:5] @ b[1], a[5:7] @ b[2], torch.zeros(1, 24)]))
    y.sum().backward()
    assert a.grad[7].eq(0).all() and torch.allclose(a.grad[0], b[0].sum(1))
    assert torch.equal(F.grouped_mm(a.mT, a @ b[0], offs=offs),
                       torch.stack([a.mT[:, s:e] @ (a @ b[0])[s:e] for s, e in ((0, 2), (2, 5), (5, 7))]))
    for bad, said in ((lambda: F.grouped_mm(a, b), "Have to provide offsets"),
                      (lambda: F.grouped_mm(a, b, offs=offs.long()), "Offsets have to be int32"),
                      (lambda: F.grouped_mm(a, b[:2], offs=offs), "batch sizes have to match"),
                      (lambda: F.grouped_mm(a.int(), b, offs=offs), "got Int")):
        with pytest.raises(RuntimeError, match=said):
            bad()


def test_scaled_products():
    a = (torch.arange(512.0).view(16, 32) / 100).to(torch.float8_e4m3fn)
    b, two, whole, rows = a.t(), torch.tensor(2.0), F.ScalingType.TensorWise, F.ScalingType.RowWise
    expected = a.float() @ b.float()
    assert torch.equal(F.scaled_mm(a, b, two, whole, two, whole, output_dtype=torch.float32), 4 * expected)
    assert torch.equal(F.scaled_mm(a, b, torch.ones(16, 1) * 2, rows, torch.ones(1, 16), rows), (2 * expected).bfloat16())
    with pytest.raises(NotImplementedError, match="scales for blocks"):
        F.scaled_mm(a, b, two, F.ScalingType.BlockWise1x128, two, whole)


def test_a_threshold_may_be_written_where_elements_coincide():
    x = torch.tensor([[1.5, -0.25]]).expand(3, 2)
    assert F.threshold(x, 0.5, 0.25, inplace=True) is x and F.threshold_(x, 0.5, 0.75).tolist() == [[1.5, 0.75]] * 3
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        F.relu_(x)


MIXED = "mixed dtype \\(CPU\\): all inputs must share same datatype."
FLOAT = "mixed dtype \\(CPU\\): expect parameter to have scalar type of Float"


@pytest.mark.parametrize("call, said", [
    (lambda x, t: F.layer_norm(x, (4,), t(4), t(4)), MIXED),
    (lambda x, t: F.group_norm(x, 2, t(4), t(4)), MIXED),
    (lambda x, t: F.batch_norm(x, None, None, t(4), t(4), True), MIXED),
    (lambda x, t: F.batch_norm(x, t(4), t(4) + 1), MIXED),
    (lambda x, t: F.layer_norm(x.float(), (4,), t(4).double()), FLOAT),
    (lambda x, t: F.linear(x, t(3, 4), t(3)), "mat1 and mat2 must have the same dtype, but got Double and Float"),
    (lambda x, t: F.linear(x, t(3, 4)), "expected m1 and m2 to have the same dtype, but got: double != float"),
    (lambda x, t: torch.nn.GRUCell(4, 2)(x), "mat1 and mat2 must have the same dtype, but got Double and Float"),
    (lambda x, t: torch.nn.LSTMCell(4, 2, bias=False)(x), "expected m1 and m2 to have the same dtype, but got: double != float"),
    (lambda x, t: F.bilinear(x, x, t(2, 4, 4)), "All tensors must have the same dtype, got input1: double, input2: double, weight: float"),
    (lambda x, t: F.conv1d(x[None], t(3, 7, 2), t(3)), "Input type \\(double\\) and bias type \\(float\\) should be the same"),
    (lambda x, t: F.kl_div(x, t(5, 4).long()), "kl_div: Integral inputs not supported."),
])
def test_layers_refuse_parameters_of_another_dtype(call, said):
    with pytest.raises(RuntimeError, match=said):
        call(torch.ones(5, 4, dtype=torch.float64), lambda *shape: torch.ones(shape))


def test_half_inputs_take_float_parameters():
    x = torch.ones(2, 4, 3, dtype=torch.bfloat16)
    for y in (F.layer_norm(x, (3,), torch.ones(3)), F.group_norm(x, 2, torch.ones(4)), F.batch_norm(x, torch.zeros(4), torch.ones(4))):
        assert y.dtype is torch.bfloat16


@pytest.mark.parametrize("f, kernel", [
    (lambda x: F.max_pool1d(x, 2), "max_pool1d_impl"), (lambda x: F.max_pool1d(x, 2, return_indices=True), "max_pool2d"),
    (lambda x: F.avg_pool2d(x, 2), "avg_pool2d"), (lambda x: F.max_pool2d(x, 2), "max_pool2d"),
    (lambda x: F.fractional_max_pool2d(x, 2, 2), "fractional_max_pool2d_out_frame"),
])
def test_pooling_refuses_complex_numbers(f, kernel):
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'ComplexFloat'"):
        f(torch.ones(2, 4, 4, dtype=torch.complex64))


def test_losses_with_targets_of_another_dtype():
    x = logits()
    assert F.binary_cross_entropy_with_logits(x.double(), torch.ones(2, 3)).dtype is torch.float32
    assert F.cross_entropy(x, torch.softmax(x.detach().double(), 1)).dtype is torch.float64


def test_padding_and_pooling_of_too_few_dimensions():
    with pytest.raises(RuntimeError, match="two times the input dimension but got padding length 4 and input of dimension 1"):
        F.pad(torch.ones(3), (1, 1, 1, 1), "reflect")
    with pytest.raises(ValueError, match="expected 3D or 4D input \\(got 2D input\\)"):
        torch.nn.CircularPad2d(1)(torch.ones(3, 3))
    with pytest.raises(ValueError, match="Input dimension should be at least 3"):
        F.adaptive_avg_pool2d(torch.ones(3, 3), (2, None))
    with pytest.raises(TypeError, match="Conv2d.forward"):
        torch.nn.Conv2d(1, 1, 1)()


@pytest.mark.parametrize("align_corners", [True, False])
def test_the_identity_of_affine_grid_lies_where_torch_puts_it(align_corners):
    theta = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]])
    for n in (2, 5, 28):
        line = torch.linspace(-1, 1, n)
        grid = F.affine_grid(theta, (1, 1, n, n), align_corners=align_corners)
        assert torch.equal(grid[0, 0, :, 0], line if align_corners else line * (n - 1) / n)


@pytest.mark.parametrize("tier", policy.TIERS[1:])
@pytest.mark.parametrize("dtype, align_corners, n, expected", [
    (torch.float32, False, 7, [-4916.0, -515.0, -2495.5, 275.0, -3318.0, -7462.0]),
    (torch.float32, False, 10, [-3029.5, -55.5, -14305.0, -1008.5, -3091.5, -25165.0]),
    (torch.float32, True, 10, [-6988.0, 2011.0, -8514.0, -5356.5, -6941.5, -11164.5]),
    (torch.float64, False, 7, [-2010.0, -1104.0, -5260.5, -703.0, -1610.0, -8708.0]),
    (torch.float64, False, 10, [-8110.0, -2962.0, -4980.0, 383.5, -10723.5, -10805.0]),
    (torch.float64, True, 7, [-1940.0, -418.0, -5217.0, -1021.0, -4806.0, -3390.0]),
])
def test_a_spatial_transformer_begins_with_torchs_gradient(dtype, align_corners, n, expected, tier):
    """Its first map is the identity, whose points lie on the pixels: there the gradient jumps, so that the last bit of a place decides."""
    policy.pin(tier)
    try:
        x = torch.arange(n * n, dtype=dtype).reshape(1, 1, n, n) ** 2 % 17
        theta = torch.eye(2, 3, dtype=dtype)[None].requires_grad_()
        y = F.grid_sample(x, F.affine_grid(theta, (1, 1, n, n), align_corners=align_corners), align_corners=align_corners)
        (y * x).sum().backward()
        assert [round(g, 2) for g in theta.grad.flatten().tolist()] == expected
    finally:
        policy.pin(None)


@pytest.mark.parametrize("shape, target, dtype, error, text", [
    ((1, 4), (), torch.long, ValueError, r"Expected input batch_size \(1\) to match target batch_size \(0\)\."),
    ((2, 4, 5), (), torch.float, ValueError, r"Expected input batch_size \(2\) to match target batch_size \(0\)\."),
    ((4,), (2,), torch.long, ValueError, "For 1D input, 1D target must have size 1, but got target size: 2"),
    ((4,), (2,), torch.float, RuntimeError, "expected target dtype to be Long or Byte, but got Float"),
    ((2, 4, 3, 3), (2, 3, 4), torch.float, RuntimeError, "expected target dtype to be Long or Byte, but got Float"),
    ((2, 4, 3, 3), (2, 3, 4), torch.long, RuntimeError, r"size mismatch \(got input: \[2, 4, 3, 3\] , target: \[2, 3, 4\]"),
    ((0, 4), (), torch.long, IndexError, "Dimension specified as 0 but tensor has no dimensions"),
])
def test_class_targets_of_wrong_shapes(shape, target, dtype, error, text):
    """Old scripts give a 0-d target for a batch of one: the error says what torch's says."""
    for loss in (F.cross_entropy, F.nll_loss):
        with pytest.raises(error, match=text):
            loss(torch.zeros(shape), torch.zeros(target, dtype=dtype))


def test_losses_of_torch_itself_reduce_nothing_unless_told():
    x = torch.tensor([0.5, 1.0, -1.0])
    for loss in (torch.kl_div, torch.hinge_embedding_loss, torch.binary_cross_entropy_with_logits):
        name = loss.__name__
        assert loss(x, x.abs()).shape == (3,) and loss(x, x.abs(), reduction=1).shape == ()        # as the binding has it
        assert getattr(torch.ops.aten, name)(x, x.abs()).item() == loss(x, x.abs(), reduction=1).item()        # as the schema has it
    assert torch.margin_ranking_loss(x, x, x).shape == (3,) and torch.ops.aten.margin_ranking_loss(x, x, x, 0.0, 2).shape == ()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions_are_told_by_their_name(dims):
    x, w = torch.randn(1, 2, *[4] * dims, requires_grad=True), torch.randn(3, 2, *[3] * dims, requires_grad=True)
    y = getattr(torch.nn.functional, f"conv{dims}d")(x, w)
    g = torch.ones_like(y).requires_grad_()
    made = [*torch.autograd.grad(y, (x, w), g, create_graph=True), getattr(torch.nn.grad, f"conv{dims}d_input")(x.shape, w, g),
            getattr(torch.nn.grad, f"conv{dims}d_weight")(x, w.shape, g)]
    assert [t.grad_fn.name() for t in made] == ["ConvolutionBackwardBackward0"] * 4


def test_affine_grids_of_one_element_warn():
    theta = torch.ones(1, 2, 3)
    with pytest.warns(UserWarning, match="affine_grid behavior has changed for unit-size grids when align_corners=True"):
        assert F.affine_grid(theta, (1, 1, 2, 1), align_corners=True).tolist() == [[[[0, 0]], [[2, 2]]]]


def test_sizes_that_are_no_integers():
    for size in (2.0, torch.tensor(2.0)):
        with pytest.raises(TypeError, match=r"expected size to be one of int or Tuple\[int\]"):
            F.interpolate(torch.ones(1, 1, 4), size=(size,))
    assert F.interpolate(torch.ones(1, 1, 4), size=(torch.tensor(2),)).shape == (1, 1, 2)


def test_bags_that_begin_elsewhere_are_refused_at_once():
    weight, ids, offsets = torch.ones(3, 2), torch.tensor([0, 1, 2]), torch.arange(0, 2)
    offsets[0] = 1                             # still to be computed
    with pytest.raises(RuntimeError, match=r"offsets\[0\] has to be 0, .* However, got 1"):
        F.embedding_bag(ids, weight, offsets)
    offsets[0], offsets[1] = 0, 9
    with pytest.raises(RuntimeError, match=r"offsets\[-1\] can not be greater than input's length 3 but got offsets\[-1\] of 9"):
        F.embedding_bag(ids, weight, offsets)


def test_ids_of_bags_that_are_no_rows():
    weight, begin = torch.ones(3, 2), torch.tensor([0])
    for how in ({"mode": "max"}, {"mode": "sum", "padding_idx": 0}, {"mode": "mean", "padding_idx": 0}):
        with pytest.raises(RuntimeError, match="embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be -1"):
            F.embedding_bag(torch.tensor([-1]), weight, begin, **how)
    with pytest.raises(RuntimeError, match=r"Index 1 of input takes value 3 which is not in the valid range \[0, 3\)"):
        F.embedding_bag(torch.tensor([0, 3]), weight, begin)


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax, F.softmin])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_softmax_in_another_dtype_is_that_of_the_cast_input(f, dtype):
    x = torch.linspace(-3, 3, 100).to(dtype).requires_grad_()
    y, z = f(x, 0, dtype=torch.float32), x.detach().float().requires_grad_()
    assert y.grad_fn.next_functions[0][0].name() == "ToCopyBackward0" and torch.equal(y, f(z, 0))
    weights = torch.linspace(0, 1, 100)
    (y * weights).sum().backward(), (f(z, 0) * weights).sum().backward()
    assert torch.equal(x.grad, z.grad.to(dtype))


def test_dtypes_that_convolutions_refuse_or_add():
    """A transposed convolution adds a bias of another dtype in place where it is torch's own kernel; complex inputs are compared first."""
    F, x, w = torch.nn.functional, torch.ones(1, 2, 5), torch.ones(2, 3, 2)
    for dtype in (torch.float64, torch.int64, torch.bfloat16, torch.bool):
        y = F.conv_transpose1d(x, w, torch.ones(3, dtype=dtype))
        assert y.dtype is torch.float32 and y.tolist() == F.conv_transpose1d(x, w, torch.ones(3)).tolist()
    of = "should be the same or input should be a MKLDNN tensor"
    for f, error, text in (
            (lambda: F.conv_transpose1d(x, w, torch.ones(3, dtype=torch.complex64)), RuntimeError, "result type ComplexFloat can't be cast to"),
            (lambda: F.conv_transpose3d(torch.ones(1, 2, 2, 2, 2), torch.ones(2, 3, 1, 1, 1), torch.ones(3).double()), RuntimeError,
             "expected scalar type Float but found Double"),
            (lambda: F.conv_transpose1d(x.bfloat16(), w.bfloat16(), torch.ones(3)), RuntimeError,
             rf"Input type \(CPUBFloat16Type\) and bias type \(torch.FloatTensor\) {of}"),
            (lambda: F.conv1d(x.cfloat(), w), RuntimeError, r"Input type \(CPUComplexFloatType\) and weight type \(torch.FloatTensor\)"),
            (lambda: F.conv1d(x.cfloat(), w, stride=0), RuntimeError, r"Input type \(CPUComplexFloatType\) and weight type"),
            (lambda: F.conv1d(x.bool(), torch.ones(3, 2, 2)), NotImplementedError, "\"slow_conv2d_cpu\" not implemented for 'Bool'")):
        with pytest.raises(error, match=f"^{text}"):
            f()
