"""The programs of the second kind: other dtypes and layouts, and what surrounds autograd in torch, between the statements of the first kind."""
from __future__ import annotations

import math

from .programs import SHAPES, Program

MORE_SHAPES = SHAPES + [(2, 2), (2, 3, 4), (5,), (1, 1), (0, 3), (3, 0), (1, 2, 3, 2), (2, 4), (6,)]
DTYPES = ["float64"] * 14 + ["float32", "complex128", "complex128", "int64", "bool", "bfloat16", "float16", "int32", "uint8", "complex64"]
LAYOUTS = ["{x}"] * 6 + ["{x}.t().clone().t()", "{x}.repeat(2, *[1] * {x}.dim())[::2]", "{x}[None].expand(2, *{x}.shape)[1]",
                        "torch.stack([{x}, {x}], -1)[..., 0]", "{x}.flip(0)"]

# {a}, {b}, {c}: tensors; {d}: a dimension; {n}: a number
ARITHMETIC = [
    "{a} + {n}", "{a} * {n}", "{n} - {a}", "{n} / ({a} + 9)", "{a} // 2", "{a} % 2", "{a} & {b}", "{a} | {b}", "{a} ^ {b}", "~{a}",
    "{a} << 1", "{a} >> 1", "2 ** {a}", "{a}.pow({n})", "{a} + 1j", "{a} * 2j", "{a} != {b}", "{a} <= {n}", "{a}.logical_and({b})",
    "{a}.logical_not()", "torch.add({a}, {b}, alpha={n})", "torch.sub({a}, {b}, alpha=2)", "torch.true_divide({a}, {b} + 9)",
    "torch.floor_divide({a}, 2)", "torch.div({a}, 3, rounding_mode='trunc')", "torch.float_power({a}.abs() + 1, 2)", "{a}.exp2()",
    "{a}.clip({n}, 3)", "torch.clamp({a}, {b}, {c})", "{a}.long()", "{a}.half()", "{a}.bfloat16()", "{a}.to({b})", "{a}.to({b}.dtype)",
    "torch.ones(2, dtype=torch.result_type({a}, {b}))", "{a}.to(torch.promote_types({a}.dtype, {b}.dtype))",
    "{a} * torch.can_cast({a}.dtype, {b}.dtype)", "{a}.addcmul({b}, {c}, value=2)", "{a}.addcdiv({b}, {c} + 9, value=0.5)",
    "{a}.lerp({b}, {c})", "{a}.isfinite()", "{a}.isnan()", "torch.isclose({a}, {b})", "{a}.signbit()", "{a}.positive()", "{a}.trunc()",
    "{a}.ceil()", "torch.special.entr({a}.abs())", "torch.special.i0e({a})", "{a}.digamma()", "{a}.lgamma()", "{a}.erfinv()", "{a}.asinh()",
    "{a}.acosh()", "{a}.sinh()", "{a}.cosh()", "{a}.tan()", "{a}.asin()", "{a}.log2()", "{a}.log10()", "{a}.deg2rad()", "{a}.mvlgamma(1)",
    "torch.special.expit({a})", "torch.special.ndtr({a})", "torch.special.log_ndtr({a})", "torch.special.xlog1py({a}, {b}.abs())",
    "torch.polar({a}.abs(), {b})", "torch.view_as_complex(torch.stack([{a}, {b}], -1))", "{a}.real + {a}.imag", "{a}.conj().imag", "{a}.H",
    "{a}.mH", "{a}.isreal()", "torch.abs({a})", "{a}.sgn() * {b}", "torch.ldexp({a}, {b})", "torch.nextafter({a}, {b})",
    "{a}.bitwise_not()", "torch.gcd({a}, {b})", "{a}.threshold(0.1, 2.)", "torch.threshold({a}, 0.1, 2.)", "torch.celu({a})",
    "{a}.prelu(torch.tensor(0.25, dtype={a}.dtype))", "torch.scalar_tensor({n}, dtype={a}.dtype) * {a}", "torch.where({a} > 0, {a}, {n})",
    "torch.where({b} > 0, 1, {a})", "torch.clamp_min({a}, {n})", "{a}.square().sum().sqrt()", "{a}.rad2deg()", "torch.logaddexp2({a}, {b})",
    "torch.nan_to_num({a} / 0, 1., 2., 3.)", "torch.frac({a})", "{a}.type(torch.float32)", "{a}.view(torch.int64)",
    "{a}.view(torch.float32)", "{a}.fmin({b})", "{a}.abs() ** {b}", "{a}.sinc() * {b}", "torch.softmax({a}, {d}, dtype=torch.float64)",
    "{a}.sum({d}, dtype=torch.float32)", "{a}.softmax({d}).log()", "{a}.addr({b}, {c})", "{a}.item() * {b}", "float({a}) + {b}",
    "{a}.tolist()", "bool({a})", "len({a})", "{a}.numpy().sum()", "{a}.detach().numpy().sum()", "torch.tensor({a}) * {b}",
    "torch.as_tensor({a}) * 2", "torch.asarray({a}).mul(2)",
]
REDUCTIONS = [
    "{a}.sum((0, -1))", "{a}.mean((0, 1), keepdim=True)", "{a}.amax((0, -1))", "{a}.std()", "{a}.var(unbiased=False)",
    "{a}.var({d}, correction=0)", "{a}.norm(1)", "{a}.norm(3, {d})", "{a}.norm(float('inf'))", "{a}.norm(0)",
    "torch.linalg.vector_norm({a}, 2, {d})", "torch.linalg.norm({a})", "{a}.logsumexp((0, -1))", "{a}.any()", "{a}.all({d})",
    "{a}.count_nonzero()", "{a}.argmin({d}, keepdim=True)", "{a}.argsort({d})", "{a}.nanmean()", "{a}.nanmedian()", "{a}.median()",
    "{a}.mode({d})[0]", "{a}.quantile(0.3)", "{a}.quantile(torch.tensor([0.25, 0.5], dtype=torch.float64), {d})", "{a}.cummin({d})[0]",
    "{a}.max({d}, keepdim=True)[0]", "{a}.aminmax()[1]", "torch.trapezoid({a}, dim={d})", "torch.cumulative_trapezoid({a})",
    "{a}.sum({d}, keepdim=True)", "{a}.prod({d}, keepdim=True)", "{a}.sort({d}, descending=True)[0]", "{a}.topk(2, {d}, largest=False)[0]",
    "{a}.msort()", "{a}.unique()", "{a}.bincount()", "{a}.histc(3, -2, 2)", "{a}.cov()", "torch.corrcoef({a})", "{a}.dist({b}, 1)",
    "torch.std_mean({a}, {d})[0]", "torch.var_mean({a})[1]", "{a}.sum_to_size({b}.shape)", "{a}.logcumsumexp({d}).exp()",
    "{a}.renorm(1, 0, 0.5)", "{a}.diff(2, {d})", "torch.linalg.matrix_norm({a})", "torch.linalg.matrix_norm({a}, 'nuc')", "{a}.nonzero()",
    "torch.gradient({a})[0]", "torch.cartesian_prod({a}, {b})", "torch.combinations({a})", "torch.block_diag({a}, {b})", "{a}.nansum({d})",
    "{a}.cumsum({d}).cumprod({d})", "{a}.log_softmax({d}).exp()",
]
SHAPING = [
    "{a}.reshape({b}.shape)", "{a}.reshape(-1, 1)", "{a}.view(-1, 2)", "{a}.unfold({d}, 2, 1)", "{a}.tile(2)", "{a}.repeat(2, 2)",
    "{a}.rot90()", "{a}.fliplr()", "{a}.diag()", "{a}.diag_embed()", "torch.diagonal({a}, 1)", "{a}.squeeze({d})", "{a}.unsqueeze({d})",
    "{a}.movedim(-1, 0)", "{a}.broadcast_to(2, *{a}.shape)", "torch.broadcast_tensors({a}, {b})[0]",
    "torch.meshgrid({a}, {b}, indexing='ij')[0]", "torch.hstack([{a}, {b}])", "torch.vstack([{a}, {b}])", "torch.dstack([{a}, {b}])",
    "torch.cat([{a}, {b}], {d})", "torch.stack([{a}, {b}, {c}], {d})", "torch.cat([{a}.flatten(), {b}.flatten()])",
    "{a}.select_scatter({b}[0], 0, 0)", "{a}.slice_scatter({b}[1:], 0, 1)", "{a}.diagonal_scatter({b}.diagonal())",
    "{a}.as_strided_scatter({b}.flatten()[:1], (1,), (1,))", "{a}.narrow({d}, 0, 1)", "{a}.select({d}, 0)", "{a}[..., None]",
    "{a}[None, ..., 0]", "{a}[[0]]", "{a}[[0, -1]]", "{a}[torch.tensor([0, 0]), ...]", "{a}[torch.tensor([True])]", "{a}[0, ...]",
    "{a}[:, None]", "{a}[::2, ...]", "{a}[torch.arange(len({a}))]", "{a}[..., torch.tensor([0])]", "{a}[torch.tensor([[0]]), 0]",
    "{a}[{b} > 0]", "{a}[({a} > 0).nonzero(as_tuple=True)]", "{a}[True]", "{a}[False]", "{a}[()]", "{a}[torch.tensor(0)]",
    "{a}.take(torch.tensor([0, -1]))", "{a}.take_along_dim({b}.argsort({d}), {d})", "{a}.gather({d}, {b}.argsort({d}))",
    "{a}.index_select({d}, torch.tensor([0, 0]))", "{a}.masked_select({b} > 0)",
    "{a}.scatter_add({d}, torch.zeros_like({b}, dtype=torch.int64), {b})",
    "{a}.scatter({d}, torch.zeros_like({a}, dtype=torch.int64), 1.5)",
    "{a}.scatter({d}, torch.zeros_like({b}, dtype=torch.int64), {b}, reduce='multiply')",
    "{a}.scatter_reduce({d}, torch.zeros_like({b}, dtype=torch.int64), {b}, 'sum')",
    "{a}.scatter_reduce({d}, torch.zeros_like({b}, dtype=torch.int64), {b}, 'mean', include_self=False)",
    "{a}.scatter_reduce({d}, torch.zeros_like({b}, dtype=torch.int64), {b}, 'amax')",
    "{a}.scatter_reduce({d}, torch.zeros_like({b}, dtype=torch.int64), {b}, 'prod')",
    "{a}.index_reduce({d}, torch.zeros({b}.shape[{d}], dtype=torch.int64), {b}, 'prod')",
    "{a}.index_reduce({d}, torch.zeros({b}.shape[{d}], dtype=torch.int64), {b}, 'amin')", "{a}.index_fill({d}, torch.tensor([0]), {n})",
    "{a}.index_add({d}, torch.zeros({b}.shape[{d}], dtype=torch.int64), {b}, alpha=2)",
    "{a}.index_copy({d}, torch.tensor([0]), {b}.narrow({d}, 0, 1))", "{a}.index_put((torch.tensor([0, 0]),), {b}, accumulate=True)",
    "{a}.masked_fill({b} > 0, {c})", "{a}.masked_fill({a} > 0, {n})", "{a}.put(torch.tensor([0]), {b}.flatten()[:1])",
    "{a}.contiguous(memory_format=torch.channels_last)", "torch.nn.functional.pad({a}, (1, 1))",
    "torch.nn.functional.pad({a}, (1, 0), value={n})", "torch.nn.functional.pad({a}[None], (1, 1), mode='reflect')", "{a}.expand(-1, 3)",
    "{a}.expand(2, *{a}.shape).sum(0)", "{a}.tril(-1)", "{a}.triu(1)", "{a}.repeat_interleave(torch.tensor(2), 0)",
    "{a}.unflatten(-1, (-1, 1))", "{a}.swapdims(0, 1)", "{a}.roll((1, 1), (0, -1))", "{a}.chunk(2, -1)[-1]", "{a}.split([1, 1], {d})[1]",
    "{a}.unbind({d})[0]", "{a}.vsplit(2)[0]", "{a}.tensor_split((1,), {d})[0]", "torch.searchsorted({a}, {b})",
    "torch.bucketize({a}, torch.tensor([0., 1.], dtype=torch.float64))", "torch.atleast_2d({a})", "torch.ravel({a})", "{a}.flatten(0, 1)",
    "torch.tril_indices(2, 2)", "torch.vander({a})", "{a}.positive().clone()", "torch.empty_like({a}).copy_({b})",
    "torch.full_like({a}, {n})", "{a}.new_tensor([1, 2])", "{a}.new_full((2,), {n})", "torch.zeros(2, 3, out=torch.empty(0))",
    "torch.linspace(0, 1, 3) * {a}", "torch.arange(3) + {a}", "torch.eye(2) @ {a}",
]
LINEAR = [
    "torch.bmm({a}[None], {b}[None])", "torch.addmm({a}, {b}, {c})", "torch.addmv({a}, {b}, {c})",
    "torch.baddbmm({a}[None], {b}[None], {c}[None])", "torch.einsum('ij,jk->ik', {a}, {b})", "torch.einsum('ii->i', {a})",
    "torch.einsum('ij->ji', {a})", "torch.einsum('ij,ij->', {a}, {b})", "torch.einsum('...i,...i->...', {a}, {b})",
    "torch.einsum('bi,bj->bij', {a}, {b})", "torch.tensordot({a}, {b}, 1)", "torch.kron({a}, {b})", "torch.chain_matmul({a}, {b})",
    "torch.linalg.multi_dot([{a}, {b}, {c}])", "{a}.mv({b})", "{a}.mm({b})", "{a}.t() @ {a}", "{a} @ {a}.mT", "torch.cdist({a}, {b})",
    "torch.pdist({a})", "torch.nn.functional.bilinear({a}, {b}, torch.ones(1, 3, 3, dtype=torch.float64))", "torch.cross({a}, {b}, dim=-1)",
    "torch.vdot({a}, {b})", "torch.linalg.det({a})", "torch.det({a} + torch.eye({a}.shape[-1]))",
    "torch.linalg.inv({a} + 5 * torch.eye({a}.shape[-1]))", "torch.linalg.solve({a} + 5 * torch.eye({a}.shape[-1]), {b})",
    "torch.linalg.cholesky({a} @ {a}.mT + torch.eye({a}.shape[-2]))", "torch.linalg.qr({a})[1].abs()", "torch.linalg.svdvals({a})",
    "torch.linalg.eigvalsh({a} + {a}.mT)", "torch.linalg.matrix_exp({a})", "torch.linalg.matrix_power({a}, 2)",
    "torch.linalg.slogdet({a})[1]", "torch.logdet({a} @ {a}.mT + torch.eye({a}.shape[-2]))", "torch.linalg.pinv({a})",
    "torch.linalg.lu_factor({a} + 5 * torch.eye({a}.shape[-1]))[0]",
    "torch.linalg.solve_triangular({a}.tril() + 5 * torch.eye({a}.shape[-1]), {b}, upper=False)", "torch.linalg.vecdot({a}, {b})",
    "torch.trace({a} @ {b})", "torch.linalg.diagonal({a})", "torch.linalg.vander({a})", "torch.fft.fft({a})", "torch.fft.rfft({a})",
    "torch.fft.ifft({a}).real", "torch.fft.fft2({a}).abs()", "torch.nn.functional.linear({a}, {b}, {c})", "torch.linalg.cond({a})",
    "torch.linalg.lstsq({a}, {b})[0]", "torch.addbmm({a}, {b}[None], {c}[None])", "torch.mul({a}, {b}).sum(-1)",
    "torch.linalg.tensorsolve({a}, {b})", "torch.cumulative_trapezoid({a}, {b})", "torch.linalg.eigh({a} + {a}.mT)[0]",
]
FUNCTIONAL = [
    "torch.nn.functional.cross_entropy({a}, torch.zeros({a}.shape[:1], dtype=torch.int64))",
    "torch.nn.functional.cross_entropy({a}, {b}.softmax(-1), label_smoothing=0.1)",
    "torch.nn.functional.nll_loss({a}, torch.zeros({a}.shape[:1], dtype=torch.int64), reduction='{red}')",
    "torch.nn.functional.kl_div({a}, {b}, reduction='{red}')",
    "torch.nn.functional.kl_div({a}, {b}, log_target=True, reduction='batchmean')",
    "torch.nn.functional.binary_cross_entropy({a}.sigmoid(), {b}.sigmoid(), reduction='{red}')",
    "torch.nn.functional.mse_loss({a}, {b}, reduction='{red}')", "torch.nn.functional.l1_loss({a}, {b}, reduction='{red}')",
    "torch.nn.functional.smooth_l1_loss({a}, {b}, reduction='{red}', beta=0.5)",
    "torch.nn.functional.huber_loss({a}, {b}, delta=0.7, reduction='{red}')",
    "torch.nn.functional.poisson_nll_loss({a}, {b}, reduction='{red}')", "torch.nn.functional.gaussian_nll_loss({a}, {b}, {c}.abs() + 1)",
    "torch.nn.functional.hinge_embedding_loss({a}, {b}.sign(), reduction='{red}')",
    "torch.nn.functional.margin_ranking_loss({a}, {b}, {c}.sign())",
    "torch.nn.functional.cosine_embedding_loss({a}, {b}, torch.ones({a}.shape[0]))",
    "torch.nn.functional.triplet_margin_loss({a}, {b}, {c})", "torch.nn.functional.soft_margin_loss({a}, {b}.sign(), reduction='{red}')",
    "torch.nn.functional.multi_margin_loss({a}, torch.zeros({a}.shape[:1], dtype=torch.int64))",
    "torch.nn.functional.multilabel_soft_margin_loss({a}, {b})",
    "torch.nn.functional.binary_cross_entropy_with_logits({a}, {b}, pos_weight={c}, reduction='{red}')",
    "torch.nn.functional.layer_norm({a}, {a}.shape[-1:])", "torch.nn.functional.layer_norm({a}, {a}.shape, {b}, {c})",
    "torch.nn.functional.rms_norm({a}, {a}.shape[-1:])", "torch.nn.functional.group_norm({a}, 1)",
    "torch.nn.functional.batch_norm({a}, None, None, training=True)", "torch.nn.functional.instance_norm({a}[None])",
    "torch.nn.functional.normalize({a}, dim={d})", "torch.nn.functional.conv1d({a}[None], {b}[None])",
    "torch.nn.functional.conv1d({a}[None], {b}[None], padding=1)", "torch.nn.functional.conv2d({a}[None, None], {b}[None, None])",
    "torch.nn.functional.avg_pool1d({a}[None], 2)", "torch.nn.functional.max_pool1d({a}[None], 2)",
    "torch.nn.functional.max_pool2d({a}[None], 2, 1)", "torch.nn.functional.adaptive_avg_pool1d({a}[None], 1)",
    "torch.nn.functional.adaptive_max_pool1d({a}[None], 2)", "torch.nn.functional.lp_pool1d({a}[None], 2, 2)",
    "torch.nn.functional.embedding(torch.tensor([0, 0, -1]).abs(), {a})", "torch.nn.functional.embedding_bag(torch.tensor([[0, 0]]), {a})",
    "torch.nn.functional.one_hot({a}.long().abs())", "torch.nn.functional.interpolate({a}[None, None], scale_factor=2)",
    "torch.nn.functional.interpolate({a}[None], size=3, mode='linear')", "torch.nn.functional.glu({a}, {d})",
    "torch.nn.functional.softmin({a}, {d})", "torch.nn.functional.prelu({a}, {b})", "torch.nn.functional.selu({a})",
    "torch.nn.functional.mish({a})", "torch.nn.functional.hardswish({a})", "torch.nn.functional.hardsigmoid({a})",
    "torch.nn.functional.softshrink({a})", "torch.nn.functional.hardshrink({a})", "torch.nn.functional.tanhshrink({a})",
    "torch.nn.functional.softsign({a})", "torch.nn.functional.relu6({a})", "torch.nn.functional.gelu({a}, approximate='tanh')",
    "torch.nn.functional.elu({a}, 0.5)", "torch.nn.functional.rrelu({a})", "torch.nn.functional.threshold({a}, 0., 1.)",
    "torch.nn.functional.logsigmoid({a})", "torch.nn.functional.scaled_dot_product_attention({a}[None], {b}[None], {c}[None])",
    "torch.nn.functional.pixel_shuffle({a}, 1)", "torch.nn.functional.unfold({a}[None, None], 2)",
    "torch.nn.functional.pairwise_distance({a}, {b})", "torch.nn.functional.local_response_norm({a}[None], 2)",
    "torch.nn.functional.relu({a}, inplace=True)", "torch.nn.functional.leaky_relu({a}, inplace=True)",
    "torch.nn.functional.dropout({a}, 0.0, inplace=True)", "(torch.manual_seed(0), torch.nn.functional.dropout({a}, 0.5))[1]",
    "(torch.manual_seed(1), torch.randn_like({a}))[1]", "(torch.manual_seed(2), torch.bernoulli({a}.sigmoid()))[1]",
    "(torch.manual_seed(3), {a}.clone().normal_())[1]", "net({a})", "net[0]({a})", "torch.nn.Softmax(-1)({a})", "torch.nn.Flatten(0)({a})",
    "torch.nn.Identity()({a})", "torch.nn.Dropout(0.5).eval()({a})", "torch.nn.MSELoss()({a}, {b})",
    "torch.nn.LayerNorm({a}.shape[-1:], dtype=torch.float64)({a})", "torch.func.functional_call(net, {'0.weight': {a}}, ({b},))",
    "hooked({a})",
]
OTHERS = [
    "pickle.loads(pickle.dumps({a}))", "copy.copy({a})", "copy.deepcopy([{a}, {a}])[1]", "copy.deepcopy(({a}, {a}.detach()))[1]",
    "stored({a})", "torch.utils.data.default_collate([{a}, {a}])", "torch.from_numpy({a}.detach().numpy())",
    "torch.from_dlpack({a}.detach())", "torch.tensor({a}.tolist(), dtype=torch.float64)", "torch.Tensor.add({a}, {b})",
    "torch.ops.aten.mul({a}, {b})", "torch.ops.aten.sin.default({a})", "{a}.as_subclass(Named)", "{a}.as_subclass(Named) * 2",
    "Named.made({a}) + {b}", "torch.nn.Parameter({a}.detach()) * {b}", "torch.nn.Buffer({a}) * 2", "torch._foreach_mul([{a}, {b}], 2)[1]",
    "torch._foreach_add([{a}, {b}], [{b}, {c}], alpha=2)[0]", "torch._foreach_exp([{a}])[0]", "torch._foreach_norm([{a}, {b}])[1]",
    "torch._foreach_lerp([{a}], [{b}], 0.5)[0]", "torch._foreach_pow([{a}.abs() + 1], 2)[0]",
    "torch._foreach_addcdiv([{a}], [{b}], [{c}.abs() + 1])[0]", "torch._foreach_maximum([{a}, {b}], 0.5)[0]",
    "torch.nn.utils.parameters_to_vector([{a}, {b}])", "torch.nn.utils.get_total_norm([{a}, {b}])",
    "torch.utils.checkpoint.checkpoint(lambda x, k=1: (x * k, x + 1), {a}, use_reentrant=False)[0]",
    "torch.utils.checkpoint.checkpoint(lambda x: x.mul_(2) if not x.is_leaf else x, {a}, use_reentrant=False)",
    "torch.utils.checkpoint.checkpoint(lambda x: x.detach() * x, {a}, use_reentrant=True)",
    "torch.utils.checkpoint.checkpoint(lambda x: net(x), {a}, use_reentrant=False)",
    "torch.utils.checkpoint.checkpoint(lambda x: 1 / 0, {a}, use_reentrant=False)",
    "torch.utils.checkpoint.checkpoint(lambda x: torch.nn.functional.dropout(x.exp(), 0.0), {a}, use_reentrant=False, preserve_rng_state=False)",
    "torch.func.vmap(lambda x: torch.func.vmap(torch.sin)(x))({a})", "torch.func.vmap(lambda x, y: x @ y, in_dims=(0, 1))({a}, {b})",
    "torch.func.vmap(lambda x: x.sum(-1), out_dims=-1)({a})",
    "torch.func.vmap(lambda x, y: torch.stack([x, y]), in_dims=(0, None), out_dims=1)({a}, {b})", "torch.func.vmap(lambda x: {b} * x)({a})",
    "torch.func.vmap(lambda x: x.view(-1))({a})", "torch.func.vmap(lambda x: x.cumsum(0).flip(0))({a})",
    "torch.func.vmap(lambda x: x[0])({a})", "torch.func.vmap(lambda x: x.softmax(-1))({a})",
    "torch.func.vmap(lambda x: torch.nn.functional.layer_norm(x, x.shape))({a})", "torch.func.vmap(lambda x: x.item())({a})",
    "torch.func.vmap(lambda x: x if x > 0 else -x)({a})", "torch.func.vmap(lambda x: (x, 2 * x)[1], in_dims=({d},))({a})",
    "torch.func.vmap(lambda x: {'k': x * 2})({a})['k']",
    "torch.func.vmap(torch.func.grad(lambda x, y: (x * y).sum()), in_dims=(0, None))({a}, {b})", "torch.func.vmap(lambda x: x.norm())({a})",
    "torch.func.vmap(lambda x: x.sort()[0])({a})", "torch.func.vmap(lambda x: x.clamp(min=0).prod())({a})",
    "torch.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))({a}, {b})[1]",
    "torch.func.grad(lambda x: (x.sum(), x), has_aux=True)({a})[1]", "torch.func.grad(lambda x: (x * {b}).sum())({a})",
    "torch.func.grad(lambda x: x.detach().sum())({a})", "torch.func.grad(lambda x: x)({a})",
    "torch.func.grad(lambda x: x.clone().mul_(2).sum())({a})", "torch.func.grad(lambda x: x.mul_(2).sum())({a})",
    "torch.func.grad(lambda x: torch.autograd.grad((x * x).sum(), x, create_graph=True)[0].sum())({a})",
    "torch.func.vjp(lambda x: (x.sin(), x.cos()), {a})[1]((torch.ones_like({a}), {b}))[0]", "torch.func.vjp(torch.sin, {a})[0]",
    "torch.func.jvp(lambda x, y: x * y, ({a}, {b}), ({b}, {a}))[1]", "torch.func.jvp(lambda x: (x, x.exp()), ({a},), ({b},))[1][1]",
    "torch.func.jacrev(lambda x, y: x * y.sum(), argnums=(0, 1))({a}, {b})[1]", "torch.func.jacfwd(lambda x: (x ** 2).sum())({a})",
    "torch.func.jacrev(torch.func.jacfwd(lambda x: (x ** 3).sum()))({a})", "torch.func.jacrev(lambda x: x.softmax(-1), chunk_size=1)({a})",
    "torch.func.hessian(lambda x: x.prod())({a})", "torch.func.functionalize(lambda x: x.view(-1) * 2)({a})",
    "torch.autograd.functional.jacobian(lambda x, y: x * y, ({a}, {b}))[1]",
    "torch.autograd.functional.jacobian(lambda x: x.sum(), {a}, strategy='forward-mode', vectorize=True)",
    "torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), {a}, vectorize=True)",
    "torch.autograd.functional.vjp(lambda x: x.exp(), {a}, {b}, create_graph=True)[1]",
    "torch.autograd.functional.jvp(lambda x: x.exp(), {a}, {b}, strict=True)[1]", "pushed(lambda x: torch.cat([x, x]), {a})",
    "pushed(lambda x: x.max(), {a})", "pushed(lambda x: x.softmax(-1), {a})", "pushed(lambda x: torch.where(x > 0, x, {b}), {a})",
    "pushed(lambda x: x.clone().index_fill_(0, torch.tensor([0]), 2.), {a})", "pushed(lambda x: x.detach(), {a})",
    "pushed(torch.relu, {a})", "pushed(lambda x: torch.nn.functional.layer_norm(x, x.shape), {a})", "pushed(lambda x: x.norm(), {a})",
    "pushed(lambda x: x.std(), {a})", "pushed(lambda x: x.view(-1)[1:].exp(), {a})", "pushed(lambda x: x.logsumexp(0), {a})",
    "pushed(lambda x: x.sort()[0], {a})", "Dirty.apply({a}, {b})[0]", "Dirty.apply({a}, {b})[1]", "Second.apply({a})",
    "Second.apply(Second.apply({a}))", "Mixed.apply({a}, 'text', [{b}])[0]", "Nones.apply({a}, {b})", "Nones.apply({b}, {a})",
    "Saving.apply({a})", "Inner.apply({a})", "Whole.apply({a}, {b})", "Listed.apply(*[{a}, {b}, {c}])[1]", "Forgot.apply({a})",
    "Counted.apply({a})", "Marked.apply({a})", "torch.autograd.Function.apply({a})", "torch.vmap(lambda x: x + 1, in_dims=5)({a})",
    "torch.overrides.is_tensor_like({a})", "torch.is_grad_enabled()",
    "torch.autograd.gradcheck(lambda x: x.sin() * x, {a}, raise_exception=False)",
    "torch.autograd.gradcheck(Twice.apply, {a}, raise_exception=False)", "torch.nn.utils.parametrize.is_parametrized(net)",
    "{a}.apply_(lambda x: x + 1) if not {a}.requires_grad else {a}", "{a}.map_({b}, lambda x, y: x + y) if not {a}.requires_grad else {a}",
    "torch.squeeze_copy({a})", "torch.t_copy({a})", "torch.view_copy({a}, (-1,))", "torch.unbind_copy({a})[0]", "torch.slice_copy({a})",
    "torch.expand_copy({a}, {a}.shape)", "torch.select_copy({a}, 0, 0)",
]
SEVERAL = [
    ("{a}.chunk(2)", 2), ("{a}.split(1)[:2]", 2), ("{a}.unbind()[:2]", 2), ("{a}.max({d})", 2), ("{a}.sort({d})", 2),
    ("{a}.topk(1, {d})", 2), ("{a}.aminmax()", 2), ("torch.std_mean({a})", 2), ("{a}.tensor_split(2)", 2),
    ("torch.broadcast_tensors({a}, {b})", 2), ("torch.meshgrid({a}, {b}, indexing='xy')", 2), ("{a}.cummax({d})", 2),
    ("torch.linalg.qr({a} + 3 * torch.eye({a}.shape[-1]))", 2), ("torch.linalg.slogdet({a})", 2), ("torch.frexp({a})", 2), ("{a}, {b}", 2),
    ("{b}, {a}.detach()", 2), ("torch.var_mean({a}, {d})", 2), ("{a}.median({d})", 2), ("torch._foreach_sin([{a}, {b}])", 2),
    ("[g if g is None else g.clone() for g in torch.autograd.grad({a}.sum(), [{b}, {c}], allow_unused=True, create_graph=True)]", 2),
    ("torch.func.vjp(torch.sin, {a})[0], {b}", 2), ("Kept.apply({a}, {b})[:2]", 2), ("Several.apply({a})", 2), ("Halves.apply({a})", 2),
    ("Dirty.apply({a}, {b})", 2), ("torch.func.grad_and_value(lambda x: (x ** 2).sum())({a})", 2), ("{a}.unique(return_counts=True)", 2),
    ("torch.unsafe_chunk({a}, 2)", 2), ("{a}.hsplit(2)", 2), ("torch.atleast_1d({a}, {b})", 2), ("copy.deepcopy([{a}, {b}])", 2),
    ("copy.deepcopy([{a}.detach(), {a}.detach()[:1]])", 2), ("torch.autograd.functional.vjp(lambda x: x * 2, {a}, {b})", 2),
    ("{a}.real, {a}.imag", 2), ("torch.triangular_solve({b}, {a})", 2), ("torch.nn.utils.rnn.pad_sequence([{a}, {b}], True), {c}", 2),
    ("torch.utils.checkpoint.checkpoint(lambda x, y: (x * y, x + y), {a}, {b}, use_reentrant=False)", 2),
]
ACTIONS = [
    "{a}[0, ...] = {b}", "{a}[..., 0] = {n}", "{a}[[0]] = {b}", "{a}[[0, 0]] = {b}", "{a}[torch.tensor([0, -1])] += {b}",
    "{a}[{a} > 0] *= 2", "{a}[{b} > 0] = {c}", "{a}[{a} > 0] = {b}.flatten()[:1]", "{a}[:, 0] = {b}", "{a}[::2] = {b}[::2]",
    "{a}[1:] = {a}[:-1]", "{a}[None] = {b}", "{a}[:] = {b}", "{a}[0][0] = 1", "{a}[-1] -= {b}",
    "{a}.index_put_((torch.tensor([0, 0]),), {b}, accumulate=True)", "{a}.index_put_(({a} > 0,), {b})",
    "{a}.scatter_add_({d}, torch.zeros_like({b}, dtype=torch.int64), {b})",
    "{a}.scatter_reduce_({d}, torch.zeros_like({b}, dtype=torch.int64), {b}, 'amax')",
    "{a}.scatter_({d}, torch.zeros_like({a}, dtype=torch.int64), {n})",
    "{a}.index_reduce_(0, torch.zeros({b}.shape[0], dtype=torch.int64), {b}, 'mean')",
    "{a}.index_add_({d}, torch.zeros({b}.shape[{d}], dtype=torch.int64), {b})", "{a}.index_fill_({d}, torch.tensor([0]), {b}.sum())",
    "{a}.put_(torch.tensor([0]), {b}.flatten()[:1], accumulate=True)", "{a}.masked_fill_({b} > 0, {n})",
    "{a}.masked_fill_({a} > 0, {b}.sum())", "{a}.copy_({b} > 0)", "{a}.fill_({b}.sum())", "{a}.add_({n})", "{a}.mul_({n})",
    "{a}.sub_({b}, alpha=2)", "{a}.div_({b}.abs() + 1)", "{a}.pow_({n})", "{a}.addcdiv_({b}, {c}.abs() + 1)", "{a}.addmm_({b}, {c})",
    "{a}.addr_({b}, {c})", "{a}.addmv_({b}, {c})", "{a}.baddbmm_({b}, {c})", "{a}.lerp_({b}, {c})", "{a}.clamp_({b}, {c})",
    "{a}.remainder_(2)", "{a}.fmod_(2)", "{a}.round_()", "{a}.trunc_()", "{a}.sign_()", "{a}.log_()", "{a}.erf_()", "{a}.erfinv_()",
    "{a}.cos_()", "{a}.atan2_({b})", "{a}.hypot_({b})", "{a}.xlogy_({b}.abs() + 1)", "{a}.logit_(0.1)", "{a}.cumprod_({d})", "{a}.triu_()",
    "{a}.renorm_(2, 0, 1.)", "{a}.squeeze_({d})", "{a}.unsqueeze_({d})", "{a}.t_().add_(1)", "{a}.swapdims_(0, -1)",
    "{a}.resize_as_({b}) if {b}.numel() <= {a}.numel() else None", "{a}.set_({b})",
    "{a}.data = {b}.data if {b}.shape == {a}.shape and {b}.dtype == {a}.dtype else {a}.data", "{a}.data = {a}.data.clone()",
    "{a}.data, {b}.data = ({b}.data, {a}.data) if {a}.shape == {b}.shape and {a}.dtype == {b}.dtype else ({a}.data, {b}.data)",
    "{a}.detach_()", "{a}.requires_grad_(False)", "{a}.requires_grad = False", "{a}.grad = {b}",
    "{a}.grad = {b}.detach() if {b}.shape == {a}.shape else None", "{a}.grad = torch.zeros_like({a})", "del {a}.grad",
    "{a}.grad.detach_().zero_()", "{a}.grad.add_(1)", "{a}.grad = {a}.grad.clone()", "{a}.retain_grad()", "{a}.data.add_(1)",
    "{a}.data.zero_()", "{a}.data.t_()", "{a}.real.mul_(2)", "{a}.imag.add_(1)", "torch.view_as_real({a})[..., 0].mul_(2)",
    "{a}.conj().add_(1)", "{a}.conj_physical_()", "{a}.imag = {b}", "{a}.real = {b}", "{a}.diagonal().copy_({b}.flatten()[:1])",
    "{a}.chunk(2)[1].copy_({b}.chunk(2)[0])", "{a}.unfold(0, 1, 1).add_(1)", "{a}.expand(2, *{a}.shape).add_(1)", "{a}.T.mul_({b})",
    "{a}.flatten()[0].add_(1)", "{a}.view(-1).copy_({b}.reshape(-1))", "{a}.narrow(0, 0, 1).zero_()", "{a}.split(1)[0].copy_({b})",
    "[x.mul_(2) for x in {a}.split(1)]", "{a}.detach()[0].fill_(1)", "torch.sum({a}, {d}, out={b}) if apart({b}, {a}) else None",
    "torch.sub({a}, {b}, out={c}) if apart({c}, {a}, {b}) else None", "torch.matmul({a}, {b}, out={c}) if apart({c}, {a}, {b}) else None",
    "torch.cat([{a}, {b}], out={c}) if apart({c}, {a}, {b}) else None", "torch.stack([{a}], out={b}) if apart({b}, {a}) else None",
    "torch.sin({a}, out={a})", "torch.where({a} > 0, {a}, {b}, out={c}) if apart({c}, {a}, {b}) else None",
    "torch.gt({a}, {b}, out={c}) if apart({c}, {a}, {b}) else None", "torch.clamp({a}, 0, 1, out={b}) if apart({b}, {a}) else None",
    "torch.index_select({a}, 0, torch.tensor([0]), out={b}) if apart({b}, {a}) else None",
    "torch.mean({a}, {d}, out={b}) if apart({b}, {a}) else None", "torch._foreach_mul_([{a}, {b}], {n}) if apart({a}, {b}) else None",
    "torch._foreach_add_([{a}, {b}], [{b}, {c}]) if apart({a}, {b}) else None",
    "torch._foreach_copy_([{a}, {b}], [{b}, {c}]) if apart({a}, {b}) else None", "torch._foreach_lerp_([{a}], [{b}], 0.5)",
    "torch._foreach_exp_([{a}, {b}]) if apart({a}, {b}) else None", "torch._foreach_clamp_max_([{a}], 1.)",
    "torch._foreach_div_([{a}, {b}], [{b}, {c}]) if apart({a}, {b}) else None", "torch._foreach_sub_([{a}], [{b}], alpha=2)",
    "torch._foreach_addcdiv_([{a}, {b}], [{b}, {c}], [{c}, {a}], 0.5) if apart({a}, {b}) else None",
    "torch.autograd.graph.increment_version({a})", "torch.nn.init.ones_({a})", "torch.nn.init.eye_({a})", "torch.nn.functional.relu_({a})",
    "torch.nn.functional.elu_({a})", "torch.relu_({a})", "torch.nn.functional.hardtanh_({a})",
    "torch.nn.functional.dropout({a}, 1.0, inplace=True)", "torch.nn.functional.silu({a}, inplace=True)",
    "torch.nn.functional.threshold_({a}, 0., 1.)", "torch.nn.functional.leaky_relu_({a}, 0.2)", "Dirty.apply({a}, {b})",
    "Dirty.apply({a}[0], {b})", "Written.apply({a}.view(-1))", "torch.manual_seed(0); {a}.normal_()",
    "torch.manual_seed(0); {a}.uniform_(-1, 1)", "torch.manual_seed(0); {a}.bernoulli_(0.5)",
    "torch.manual_seed(0); torch.nn.init.xavier_uniform_({a})", "{a}.requires_grad_(); {a}.requires_grad_()",
    "{a}.untyped_storage().fill_(0)", "{a}.numpy()[...] = 1", "{a}.detach().numpy()[...] = 2",
    "{a} = {a}.detach().requires_grad_({a}.is_floating_point())", "{a} = {b}", "{a} += {b}", "{a} *= {n}", "{a} **= {n}", "{a} //= 2",
    "{a} %= 2", "{a} &= {b}", "{a} @= {b}", "{a} <<= 1",
]
MODULES = [
    "net.zero_grad()", "net.zero_grad(set_to_none=False)", "net(torch.ones(2, 3, dtype=torch.float64)).sum().backward()",
    "net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()})", "net.requires_grad_(False)", "net.requires_grad_(True)",
    "net[0].weight.data.mul_(0.5)", "net.state_dict()['0.weight'].add_(1)", "net.eval()", "net.train()", "optimizer.step()",
    "optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)", "net[0].weight.grad.mul_(2)", "net.double()",
    "net.float(); net.double()", "net.apply(lambda m: None)", "net[0].weight = torch.nn.Parameter({a})", "net[0].bias = None",
    "net[0].bias.requires_grad_(False)", "net.register_forward_hook(lambda m, given, made: made * 2)",
    "net.register_forward_pre_hook(lambda m, given: (given[0] * 2,))",
    "net.register_full_backward_hook(lambda m, given, made: say('module', [given, made]))",
    "net[0].register_full_backward_hook(lambda m, given, made: (given[0] * 2 if given[0] is not None else None,))",
    "net[0].register_full_backward_pre_hook(lambda m, made: (made[0] * 2,))", "net[0].weight.register_hook(lambda g: say('weight', g))",
    "adam.step()", "[p.register_post_accumulate_grad_hook(lambda p: say('ready', p.grad)) for p in net.parameters()]",
    "torch.nn.utils.clip_grad_norm_(net.parameters(), 1.)", "net[0].weight.grad = None",
    "net.load_state_dict(copy.deepcopy(net.state_dict()), assign=True)", "net.load_state_dict({'0.weight': {a}})", "net.share = net[0]",
    "torch.nn.utils.parametrizations.weight_norm(net[0])", "adam.zero_grad(); net({a}).sum().backward(); adam.step()",
    "optimizer.zero_grad(); net({a}).pow(2).mean().backward(); optimizer.step()",
    "torch.nn.utils.vector_to_parameters(torch.ones(8, dtype=torch.float64), net.parameters())",
    "optimizer.load_state_dict(optimizer.state_dict())", "copy.deepcopy(net)({a})",
]
REGIONS = [
    "with torch.no_grad():\n    {s}", "with torch.inference_mode():\n    {s}",
    "with torch.inference_mode():\n    with torch.inference_mode(False):\n        {s}",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), torch.from_numpy):\n    {s}",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: say('packed', t) or t, lambda t: say('unpacked', t) or t):\n    {s}",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):\n    {s}",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: None):\n    {s}",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.float()):\n    {s}",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 1 / 0):\n    {s}",
    "with torch.autograd.set_detect_anomaly(True, check_nan=True), warnings.catch_warnings(action='ignore'):\n    {s}",
    "with torch.autograd.forward_ad.dual_level():\n    {s}", "with torch.autocast('cpu', dtype=torch.float16):\n    {s}",
    "with torch.autocast('cpu', enabled=False):\n    {s}", "with torch.random.fork_rng():\n    {s}", "with Counting():\n    {s}",
    "with torch.device('cpu'):\n    {s}", "with torch.autograd.profiler.record_function('here'):\n    {s}",
    "with torch.set_grad_enabled(True):\n    {s}", "with torch.autograd.graph.save_on_cpu(pin_memory=False), torch.no_grad():\n    {s}",
    "torch.set_default_dtype(torch.float64)\n{s}\ntorch.set_default_dtype(torch.float32)",
    "with torch.utils._python_dispatch._disable_current_modes():\n    {s}",
    "torch.no_grad()(lambda: say('grad', torch.is_grad_enabled()))()\n{s}",
]
LOOKS = [
    "say('flags', [{a}.is_leaf, {a}.is_contiguous(), {a}.is_conj(), {a}.is_neg(), {a}._is_view(), {a}.is_inference(), {a}.retains_grad])",
    "say('same memory', [{a}.data_ptr() == {b}.data_ptr(), {a}.is_set_to({b}), {a}.untyped_storage().nbytes()])",
    "say('printed', repr({a}))", "say('printed', repr({a}.grad))",
    "say('next', [(type(f).__name__, k) for f, k in {a}.grad_fn.next_functions])", "say('version', [{a}._version, {b}._version])",
    "say('metadata', {a}.grad_fn.metadata)", "say('equal', [torch.equal({a}, {b}), torch.allclose({a}, {b})])",
    "say('gradient', [{a}.grad is None, {a}.grad_fn is {a}.grad_fn])", "say('base', {a}._base is {b})",
    "say('hooks', {a}._backward_hooks and len({a}._backward_hooks))",
    "say('sizes', [{a}.nbytes, {a}.itemsize, {a}.element_size(), {a}.nelement(), {a}.ndimension(), {a}.storage_offset()])",
    "say('order', {a}.dim_order())", "say('format', '{:.2f}'.format({a}))", "say('hash', {a} in [{b}])",
    "say('iterated', [x for x in {a}][:1])", "say('state', [list(net.state_dict()), [p.requires_grad for p in net.parameters()]])",
    "say('net', [p for p in net.parameters()])", "say('net', [p.grad for p in net.parameters()])",
    "say('raw', type({a}.grad_fn._raw_saved_self).__name__)",
    "say('mode', [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()])", "say('index', {a}.__index__())",
    "say('contains', 1.0 in {a})", "say('repr', repr({a}.grad_fn)[:14])", "say('shape', [{a}.shape, {a}.T.shape, {a}.mT.stride()])",
    "say('output', {a}.output_nr)", "say('edge', torch.autograd.graph.get_gradient_edge({a}).node.name())",
    "say('optimizer', [[v for v in s.values()] for s in adam.state.values()])",
]
PASSES = [
    "{a}.sum().backward(create_graph=True); {b}.grad.sum().backward()",
    "torch.autograd.grad({a}.sum(), {b}, create_graph=True)[0].pow(2).sum().backward()",
    "torch.autograd.backward([{a}, {b}], [torch.ones_like({a}), torch.ones_like({b})], inputs=[{c}])",
    "torch.autograd.grad([{a}, {b}], [{c}], [torch.ones_like({a}), None], allow_unused=True)", "{a}.backward({b})",
    "{a}.backward(torch.ones_like({a}), retain_graph=True); {a}.backward(torch.ones_like({a}))", "{a}.sum().backward(inputs=({b}, {c}))",
    "torch.autograd.backward({a}.mean())",
    "say('gradients', torch.autograd.grad({a}.sum(), [{b}, {c}], allow_unused=True, materialize_grads=True))",
    "say('gradients', torch.autograd.grad({a}.sum(), {'k': {b}}))",
    "say('batched', torch.autograd.grad({a}, {b}, torch.eye({a}.numel(), dtype={a}.dtype).view(-1, *{a}.shape), is_grads_batched=True))",
    "say('penalty', torch.autograd.grad((torch.autograd.grad({a}.sum(), {b}, create_graph=True)[0].norm() - 1) ** 2, {b}))",
    "{a}.abs().sum().backward()", "({a} * {b}).sum().backward()", "{a}.real.sum().backward()",
    "torch.autograd.backward(({a}.sum(), {b}.sum()), inputs={c})", "({a}.sum() + net({b}).sum()).backward()",
    "with torch.no_grad(): {a}.sum().backward()", "{a}.sum().backward(gradient=torch.tensor(2.))",
    "{a}.sum().backward(gradient=torch.tensor(2., dtype=torch.float64, requires_grad=True), create_graph=True)",
]
HOOKS = [
    "{a}.register_hook(lambda g: g[:1])", "{a}.register_hook(lambda g: g.float())", "{a}.register_hook(lambda g: g.mul_(2))",
    "{a}.register_hook(lambda g: torch.zeros_like(g))", "{a}.register_hook(lambda g: 'text')", "{a}.register_hook(lambda g: {b})",
    "{a}.register_hook(lambda g: {b}.mul_(2) and None)", "{a}.register_hook(lambda g: {a}.sum().backward() if 0 else say('g', g))",
    "{a}.register_hook(lambda g: torch.autograd.grad({b}.sum(), {c}, allow_unused=True, retain_graph=True) and None)",
    "{a}.register_hook(lambda g: say('enabled', torch.is_grad_enabled()))",
    "{a}.register_post_accumulate_grad_hook(lambda t: t.data.sub_(t.grad))", "{a}.register_post_accumulate_grad_hook(lambda t: 1 / 0)",
    "{a}.grad_fn.register_hook(lambda made, given: (None,) * len(made))", "{a}.grad_fn.register_hook(lambda made, given: made[:-1])",
    "{a}.grad_fn.register_prehook(lambda gs: (None,) * len(gs))", "{a}.grad_fn.register_prehook(lambda gs: 'text')",
    "torch.autograd.graph.register_multi_grad_hook(({a}, {b}, {c}), told)",
    "h = {a}.register_hook(lambda g: g * 3); {b}.register_hook(lambda g: h.remove())",
    "{a}.register_hook(lambda g: {a}.register_hook(lambda g: say('new', g)) and None)",
    "{a}.register_hook(lambda g: threaded(lambda: {b}.detach().mul_(1)))", "{a}._backward_hooks.clear()",
    "{a}.register_hook(lambda g: g.expand(2, *g.shape))", "{a}.register_hook(lambda g: g.t())",
    "{a}.register_hook(lambda g: g.to(torch.complex128))", "{a}.register_hook(hook := lambda g: g + 1); {a}.register_hook(hook)",
]

TRANSFORMING = ("torch.func.", "torch.autograd.functional.", "pushed(", "torch.utils.checkpoint.checkpoint(")
FUNCTIONS = '''
import io, pickle, warnings
import numpy

torch.set_default_dtype(torch.float32)           # one before may have left another

def apart(*xs):
    """Whether no two lie in the same memory: what is resized is read as it lies then."""
    return len({x.untyped_storage().data_ptr() or id(x) for x in xs}) == len(xs)

def stored(x):
    file = io.BytesIO()
    torch.save([x, x.detach()], file)
    file.seek(0)
    return torch.load(file)[0]

class Named(torch.Tensor):
    @staticmethod
    def made(x):
        return x.as_subclass(Named)

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()).double()
hooked = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Identity())
hooked[0].register_forward_hook(lambda m, given, made: made + given[0])
hooked.register_full_backward_hook(lambda m, given, made: say('module', [given, made]))
optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
adam = torch.optim.Adam(net.parameters(), 0.01)

class Counting(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, f, types, args=(), kwargs=None):
        return f(*args, **(kwargs or {}))

class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        ctx.mark_dirty(x)
        return x.mul_(2), y * 3
    @staticmethod
    def backward(ctx, g, h):
        y, = ctx.saved_tensors
        say('dirty', ctx.needs_input_grad)
        say('dirty', g)
        say('dirty', h)
        return g * 2, h * 3

class Second(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        return SecondBack.apply(g, *ctx.saved_tensors)

class SecondBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return g * 3 * x ** 2
    @staticmethod
    def backward(ctx, h):
        g, x = ctx.saved_tensors
        return h * 3 * x ** 2, h * g * 6 * x

class Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, text, others):
        ctx.text, ctx.others = text, others
        return x * 2, text, None
    @staticmethod
    def backward(ctx, g, *rest):
        say('mixed', rest)
        return g * 2, None, None

class Nones(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, None, y)
        return x + y
    @staticmethod
    def backward(ctx, g):
        x, nothing, y = ctx.saved_tensors
        say('nothing', nothing)
        return None, g.sum_to_size(y.shape)

class Saving(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        ctx.mark_non_differentiable(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return g

class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = Twice.apply(x) + x.sin()
        ctx.save_for_backward(x)
        say('inner', [y.requires_grad, torch.is_grad_enabled()])
        return y
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        say('inner', [x.requires_grad, torch.is_grad_enabled()])
        return Twice.apply(g) * x

class Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x, y
    @staticmethod
    def backward(ctx, g, h):
        return g * 2, h * 3

class Listed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *xs):
        ctx.set_materialize_grads(False)
        return tuple([x * 2 for x in xs])
    @staticmethod
    def backward(ctx, *gs):
        return tuple([None if g is None else g * 2 for g in gs])

class Forgot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3
    @staticmethod
    def backward(ctx, g):
        return g

class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g, g

class Marked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        ctx.mark_dirty(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return g
'''


class WiderProgram(Program):
    """The statements of one seed, about half of them of the second kind."""

    def leaf(self, k):
        r = self.r
        dtype, shape = r.choice(DTYPES), r.choice(MORE_SHAPES)
        values = [r.randint(-8, 8) / 4 for _ in range(math.prod(shape))]
        if "complex" in dtype:
            values = [complex(v, r.randint(-4, 4) / 4) for v in values]
        elif dtype == "bool":
            values = [v > 0 for v in values]
        elif "int" in dtype:
            values = [int(abs(v) * 2) for v in values]
        elif r.random() < 0.04 and values:
            values = [*values[:-1], r.choice((math.inf, -math.inf, math.nan, 0.0))]
        x = f"torch.tensor({values}, dtype=torch.{dtype}).reshape({shape})".replace("inf", "float('inf')").replace("nan", "float('nan')")
        layout, wants = r.choice(LAYOUTS), r.random() < 0.75 and dtype not in ("int64", "int32", "uint8", "bool")
        x = layout.replace("{x}", f"v{k}") if layout != "{x}" else f"v{k}.clone()"
        self.emit(f"v{k} = torch.tensor({values}, dtype=torch.{dtype}).reshape({shape})".replace("inf", "math.inf").replace("nan", "math.nan")
                  + f"; v{k} = {x}; v{k}.requires_grad_({wants})", f"v{k}")
        self.names.append(f"v{k}")

    def wide(self, form):
        a, b, c = self.name(), self.name(), self.name()
        for key, text in (("a", a), ("b", b), ("c", c), ("d", str(self.r.choice((0, -1, 0, 1, -2)))), ("red", self.r.choice(("none", "sum", "mean"))),
                          ("n", self.r.choice(("2", "0.5", "-1", "1.5", "3", "True", "0")))):
            form = form.replace("{" + key + "}", text)
        return form

    def expression(self):
        if self.r.random() < 0.4:
            return super().expression()
        form = self.r.choice(self.r.choices((ARITHMETIC, REDUCTIONS, SHAPING, LINEAR, FUNCTIONAL, OTHERS), (3, 2, 4, 2, 3, 4))[0])
        return self.wide(f"({form}).clone()" if form.startswith(TRANSFORMING) else form)      # the name of its last node is its own affair

    def step(self):
        r = self.r
        what = r.choices(("old", "several", "action", "module", "region", "look", "pass", "hook"), (9, 2, 4, 0.8, 1.5, 0.9, 0.7, 0.7))[0]
        if what == "old":
            super().step()
        elif what == "several":
            form, n = r.choice(SEVERAL)
            text = self.wide(form)
            names = [f"v{len(self.names) + k}" for k in range(n)]
            self.names += names
            self.emit(f"{', '.join(names)} = {text}", *names)
        elif what == "region":
            if r.random() < 0.6:
                name, text = self.new(self.expression())
                names = [name]
            else:
                text, names = self.wide(r.choice(ACTIONS)), self.names
            self.emit(r.choice(REGIONS).replace("{s}", text), *names)
        elif what == "action":
            self.emit(self.wide(r.choice(ACTIONS)), *self.names)
        elif what == "look":
            self.emit(self.wide(r.choice(LOOKS)))
        else:
            self.emit(self.wide(r.choice({"module": MODULES, "pass": PASSES, "hook": HOOKS}[what])), *self.names)
