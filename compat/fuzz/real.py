"""The programs of the third kind: as people write them. Models that are trained, saved and differentiated by transforms, and tensors
whose shapes are known, so that most statements have a result."""

from __future__ import annotations

import random

ACTIVATIONS = ["ReLU()", "GELU()", "SiLU()", "Tanh()", "ELU()", "LeakyReLU(0.2)", "Softplus()", "Hardswish()", "Mish()", "PReLU()",
"Sigmoid()",
               "GELU('tanh')", "ReLU(inplace=True)", "SiLU(inplace=True)", "Hardtanh()", "LogSigmoid()", "SELU()", "CELU(0.7)",
               "Softsign()", "Threshold(0.1, 0.3)", "ReLU6()", "Hardsigmoid()", "Tanhshrink()", "Softshrink(0.1)", "Identity()"]
SCHEDULERS = ["StepLR(opt, 2, 0.5)", "CosineAnnealingLR(opt, 4)", "ExponentialLR(opt, 0.9)", "LambdaLR(opt, lambda k: 1 / (1 + k))",
              "OneCycleLR(opt, 0.1, total_steps=10)", "MultiStepLR([opt][0], [1, 3])", "LinearLR(opt, 0.3, total_iters=3)",
              "CyclicLR(opt, 0.01, 0.1, 2, cycle_momentum=False)", "CosineAnnealingWarmRestarts(opt, 2)", "PolynomialLR(opt, 5)",
              "ConstantLR(opt, 0.5, 2)", "SequentialLR(opt, [S.ConstantLR(opt, 0.1, 2), S.ExponentialLR(opt, 0.9)], [2])",
              "ChainedScheduler([S.ConstantLR(opt, 0.1, 2), S.ExponentialLR(opt, 0.9)])", "MultiplicativeLR(opt, lambda k: 0.9)"]
OPTIMIZERS = [
    "SGD({p}, 0.1)", "SGD({p}, 0.1, momentum=0.9)", "SGD({p}, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "SGD({p}, 0.1, momentum=0.5, dampening=0.2, maximize=True)", "Adam({p}, 0.01)", "Adam({p}, 0.01, betas=(0.8, 0.9), weight_decay=0.1)",
    "Adam({p}, 0.01, amsgrad=True, foreach=False)", "AdamW({p}, 0.01)", "AdamW({p}, 0.01, amsgrad=True, maximize=True)",
    "Adam({p}, 0.01, fused=True)",
    "RMSprop({p}, 0.01)", "RMSprop({p}, 0.01, momentum=0.9, centered=True)", "Adagrad({p}, 0.05, lr_decay=0.1)", "Adadelta({p})",
    "Adamax({p}, 0.01)", "NAdam({p}, 0.01)", "NAdam({p}, 0.01, decoupled_weight_decay=True, weight_decay=0.1)", "RAdam({p}, 0.01)",
    "ASGD({p}, 0.05)", "Rprop({p}, 0.01)", "SGD([{'params': {p}, 'lr': 0.05}], 0.1)", "Adam({p}, torch.tensor(0.01))",
    "Adafactor({p}, 0.01)",
    "AdamW([{'params': [x for x in {p} if x.dim() > 1], 'weight_decay': 0.1}, {'params': [x for x in {p} if x.dim() < 2], 'lr': 0.1}], "
    "0.01)",
    "SGD({p}, 0.1, foreach=True, momentum=0.3)", "SGD({p}, 0.1, fused=True)", "LBFGS({p}, 0.1, max_iter=3)",
]
LOSSES = [
    "F.mse_loss(out, torch.zeros_like(out))", "out.pow(2).mean()",
    "F.cross_entropy(out.flatten(1), torch.zeros(len(out), dtype=torch.int64))",
    "F.smooth_l1_loss(out, torch.ones_like(out), beta=0.5)", "F.binary_cross_entropy_with_logits(out, torch.full_like(out, 0.3))",
    "F.nll_loss(out.flatten(1).log_softmax(1), torch.ones(len(out), dtype=torch.int64))", "F.huber_loss(out, out.detach() + 0.7)",
    "F.cross_entropy(out.flatten(1), out.flatten(1).detach().softmax(1), label_smoothing=0.1)",
    "(out.flatten(1).logsumexp(1) - out.mean()).sum()",
    "F.kl_div(out.flatten(1).log_softmax(1), torch.full_like(out.flatten(1), 0.2), reduction='batchmean')",
    "F.l1_loss(out, torch.ones_like(out))",
    "F.gaussian_nll_loss(out, torch.zeros_like(out), torch.ones_like(out))",
    "torch.cdist(out.flatten(1), out.flatten(1).detach() + 1).mean()",
    "F.cosine_embedding_loss(out.flatten(1), out.flatten(1).detach().roll(1, 0), -torch.ones(len(out)))", "out.norm() + out.std()",
    "F.multi_margin_loss(out.flatten(1), torch.zeros(len(out), dtype=torch.int64))", "F.soft_margin_loss(out, torch.ones_like(out))",
    "F.triplet_margin_loss(out, out.detach() * 2, out.detach() - 1)",
    "F.multilabel_soft_margin_loss(out.flatten(1), torch.ones_like(out.flatten(1)))",
    "F.cross_entropy(out.flatten(1), torch.tensor([0, -100, 1] * 4)[:len(out)], weight=torch.arange(out.flatten(1).shape[1], "
    "dtype=out.dtype) + 1)",
]
AFTER = [
    "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)", "torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)",
    "say('norm', torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]))",
    "[p.grad.mul_(0.5) for p in model.parameters() if p.grad is not None]",
    "with torch.no_grad():\n    [p.add_(p.grad, alpha=-0.1) for p in "
    "model.parameters() if p.grad is not None]", "say('names', [n for n, p in model.named_parameters() if p.grad is None])",
    "sched.step()", "say('lr', [g['lr'] for g in opt.param_groups])", "say('lr', sched.get_last_lr())",
    "opt.param_groups[0]['lr'] = 0.02", "average.update_parameters(model)", "for p in model.parameters(): p.grad = None",
]
BETWEEN = [
    "model.load_state_dict(copy.deepcopy(model.state_dict()))", "opt.load_state_dict(copy.deepcopy(opt.state_dict()))",
    "model.load_state_dict(stored(model.state_dict()))", "opt.load_state_dict(stored(opt.state_dict()))",
    "sched.load_state_dict(sched.state_dict())",
    "model.eval(); say('eval', model(x))", "model.eval()", "model.train()", "say('printed', repr(model))", "say('printed', repr(opt))",
    "say('state', [[k, list(v.shape), str(v.dtype)] for k, v in model.state_dict().items()])", "model = copy.deepcopy(model)",
    "for p in list(model.parameters())[:1]: p.requires_grad_(False)", "for p in model.parameters(): p.requires_grad_(True)",
    "x = x.detach() * 0.9", "x = x.detach().clone().requires_grad_()", "model.to(x.dtype)", "model.zero_grad()",
    "say('printed', str(list(model.parameters())[-1]))", "say('grad', str(list(model.parameters())[0].grad))",
    "model.to(memory_format=torch.channels_last); x = x.detach().contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x",
    "handles = [m.register_forward_hook(lambda m, given, made: say(type(m).__name__, made) if isinstance(made, torch.Tensor) else None) "
    "for m in model]", "model.register_full_backward_hook(lambda m, given, made: say('module', made[0]))",
    "[p.register_post_accumulate_grad_hook(lambda p: say('ready', p.grad.sum())) for p in list(model.parameters())[-1:]]",
    "opt.add_param_group({'params': [torch.nn.Parameter(torch.ones(2))]})",
    "say('opt', [[k, v] for s in opt.state.values() for k, v in s.items()][:2])",
    "say('flat', torch.nn.utils.parameters_to_vector(model.parameters()))", "model.bfloat16().to(x.dtype)",
    "opt.zero_grad(set_to_none=False)",
    "say('output lies', model(x).stride())", "say('grads lie', [p.grad.stride() for p in model.parameters() if p.grad is not None])",
    "torch.manual_seed(7); [torch.nn.init.kaiming_normal_(p) for p in model.parameters() if p.dim() > 1]",
    "torch.manual_seed(8); [torch.nn.init.trunc_normal_(p, std=0.1) for p in model.parameters() if p.dim() > 1]",
    "for h in list(model[0]._forward_hooks): model[0]._forward_hooks.pop(h)", "say('buffers', [b for b in model.buffers()])",
]
FORWARD = [
    "out = model(x)", "out = model(x)", "out = model(x)", "with torch.autocast('cpu', dtype=torch.bfloat16):\n    out = model(x)",
    "out = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)",
    "out = torch.utils.checkpoint.checkpoint(model, x, use_reentrant=True)",
    "out = torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)", "out = model(x) + 0.1 * model(x * 0.5)",
    "out = torch.func.functional_call(model, dict(model.named_parameters()), (x,))", "out = model(x).clone(); out[0] *= 2",
    "with torch.autograd.graph.save_on_cpu():\n    out = model(x)", "out = torch.stack([model(x[k:k + 1])[0] for k in range(len(x))])",
    "out = model(x); out.register_hook(lambda g: g * 0.5)", "out = model(x); out.retain_grad()", "out = model(x.detach())",
    "with torch.autograd.detect_anomaly(check_nan=False):\n    out = model(x)",
]
BACKWARD = [
    "loss.backward()", "loss.backward()", "loss.backward(retain_graph=True); loss.backward()", "(loss * 128).backward()",
    "[p.backward(g) if 0 else setattr(p, 'grad', g) for p, g in zip(model.parameters(), torch.autograd.grad(loss, "
    "list(model.parameters()), "
    "allow_unused=True))]",
    "gs = torch.autograd.grad(loss, [p for p in model.parameters() if p.requires_grad], create_graph=True, allow_unused=True); "
    "(loss + 0.1 * sum([g.pow(2).sum() for g in gs if g is not None])).backward()", "loss.backward(inputs=list(model.parameters())[:1])",
    "torch.autograd.backward([loss, out.sum()])",
]
TRANSFORMS = [
    "say('per sample', torch.func.vmap(torch.func.grad(lambda p, v: torch.func.functional_call(model, p, (v[None],)).pow(2).sum()), "
    "(None, 0), "
    "randomness='same')({k: v.detach() for k, v in model.named_parameters()}, x.detach()))",
    "say('jacrev', torch.func.jacrev(lambda v: model(v).flatten(1).sum(1))(x.detach()))",
    "say('jacfwd', torch.func.jacfwd(lambda v: model(v).sum())(x.detach()))",
    "say('jvp', torch.func.jvp(model, (x.detach(),), (x.detach() * 2,))[1])",
    "say('hvp', torch.func.jvp(torch.func.grad(lambda v: model(v).pow(2).mean()), (x.detach(),), (torch.ones_like(x.detach()),))[1])",
    "say('vjp', torch.func.vjp(lambda v: model(v).sum(0), x.detach())[1](torch.ones_like(model(x).sum(0)))[0])",
    "say('batch', torch.func.vmap(lambda v: model(v[None])[0], randomness='same')(x.detach()))",
    "say('grad of grad', torch.func.grad(lambda v: torch.func.grad(lambda u: model(u).pow(3).mean())(v).pow(2).sum())(x.detach()))",
    "say('jacobian', torch.autograd.functional.jacobian(lambda v: model(v).sum(0), x.detach(), vectorize=True))",
    "say('hvp', torch.autograd.functional.hvp(lambda v: model(v).pow(2).sum(), x.detach(), torch.ones_like(x.detach()))[1])",
    "say('linear', torch.func.linearize(copy.deepcopy(model).eval().requires_grad_(False), x.detach())[1](torch.ones_like(x.detach())))",
    "say('hessian', torch.func.hessian(lambda v: model(x.detach() * v).mean())(torch.tensor(0.7)))",
    "fmodel = torch.func.stack_module_state([model, copy.deepcopy(model)]); say('ensemble', torch.func.vmap(lambda p, b, v: torch.func."
    "functional_call(model, (p, b), (v,)), (0, 0, None), randomness='same')(fmodel[0], fmodel[1], x.detach()))",
    "with torch.autograd.forward_ad.dual_level():\n    say('dual', "
    "torch.autograd.forward_ad.unpack_dual(model(torch.autograd.forward_ad.make_dual("
    "x.detach(), torch.ones_like(x.detach())))).tangent)",
    "say('exported', torch.fx.symbolic_trace(model)(x))",
]
#: Modules that whole scripts use, too.
MODULES = '''
class Recurrent(nn.Module):
    """What a recurrent layer gives at each step."""
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
    def forward(self, x):
        return self.layer(x)[0]

class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.body, self.scale = nn.Sequential(*layers), nn.Parameter(torch.tensor(0.5))
    def forward(self, x):
        return x + self.scale * self.body(x)

class Own(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
    def forward(self, x):
        return self.function(x)
'''

FUNCTIONS = '''
import io, warnings
warnings.simplefilter("ignore")
one = say

def say(what, x):
    """What is in lists and dicts is told one by one."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        [say(what, y) for y in x]
    else:
        one(what, x)

F, S, nn = torch.nn.functional, torch.optim.lr_scheduler, torch.nn

def steady(model):
    """Gradients that are nothing but roundings, of which optimizers make whole steps, are zeros from here on."""
    with torch.no_grad():
        [p.grad.mul_(p.grad.abs() > 1e-9) for p in model.parameters() if p.grad is not None]

def stored(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)

class Attending(nn.Module):
    def __init__(self, size, heads, **options):
        super().__init__()
        self.layer = nn.MultiheadAttention(size, heads, batch_first=True, **options)
    def forward(self, x):
        return self.layer(x, x, x, need_weights=False)[0]

class Scaled(torch.autograd.Function):
    """With everything that transforms ask for."""
    generate_vmap_rule = True
    @staticmethod
    def forward(x, k):
        return x * k, x.sin()
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
    @staticmethod
    def backward(ctx, g, h):
        x, = ctx.saved_tensors
        return g * ctx.k + h * x.cos(), None
    @staticmethod
    def jvp(ctx, t, _):
        x, = ctx.saved_tensors
        return t * ctx.k, t * x.cos()

class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x ** 3
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x ** 2 * g
    @staticmethod
    def vmap(info, in_dims, x):
        return Cubed.apply(x), in_dims[0]
''' + MODULES
IMAGES = [
    ("nn.Conv2d({c}, {d}, 3, padding=1)", "d"), ("nn.Conv2d({c}, {d}, 3, padding=1, bias=False)", "d"), ("nn.Conv2d({c}, {d}, 1)", "d"),
    ("nn.Conv2d({c}, {d}, 3, padding='same', padding_mode='reflect')", "d"), ("nn.Conv2d({c}, {c}, 3, padding=1, groups={c})", "c"),
    ("nn.Conv2d({c}, {d}, 3, padding=2, dilation=2)", "d"), ("nn.Conv2d({c}, {d}, (3, 1), padding=(1, 0))", "d"), ("nn.BatchNorm2d({c})",
    "c"),
    ("nn.GroupNorm(1, {c})", "c"), ("nn.InstanceNorm2d({c}, affine=True)", "c"), ("nn.BatchNorm2d({c}, track_running_stats=False)", "c"),
    ("nn.MaxPool2d(3, 1, 1)", "c"), ("nn.AvgPool2d(3, 1, 1, count_include_pad=False)", "c"), ("nn.Dropout(0.2)", "c"),
    ("nn.Dropout2d(0.3)", "c"),
    ("nn.ConvTranspose2d({c}, {d}, 3, padding=1)", "d"), ("nn.LocalResponseNorm(2)", "c"),
    ("nn.Upsample(scale_factor=2), nn.AvgPool2d(2)", "c"),
    ("nn.Upsample(scale_factor=2, mode='bilinear'), nn.MaxPool2d(2)", "c"), ("nn.PixelUnshuffle(2), nn.PixelShuffle(2)", "c"),
    ("Residual(nn.Conv2d({c}, {c}, 3, padding=1), nn.BatchNorm2d({c}), nn.ReLU())", "c"), ("nn.Softmax2d()", "c"),
    ("nn.ZeroPad2d(1), nn.AvgPool2d(3, 1)", "c"),
    ("nn.utils.parametrizations.weight_norm(nn.Conv2d({c}, {d}, 1))", "d"),
    ("Own(lambda v: v.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2))", "c"),
    ("Own(lambda v: v.transpose(2, 3) * 0.5)", "c"), ("Own(lambda v: v + v.mean((2, 3), keepdim=True))", "c"),
    ("nn.LPPool2d(2, 3, 1), nn.ZeroPad2d(1)", "c"),
    ("Own(lambda v: torch.fft.ifft2(torch.fft.fft2(v) * 0.5).real)", "c"), ("nn.ReflectionPad2d(1), nn.MaxPool2d(3, 1)", "c"),
    ("Own(lambda v: F.interpolate(v, size=(4, 4), mode='bicubic'))", "c"),
    ("Own(lambda v: F.grid_sample(v, F.affine_grid(torch.eye(2, 3).expand(len(v), 2, 3)"
     " * 0.9, list(v.shape), align_corners=False), align_corners=False))", "c"), ("nn.ChannelShuffle(1)", "c"),
]
SEQUENCES = [
    ("nn.Linear({c}, {d})", "d"), ("nn.Linear({c}, {d}, bias=False)", "d"), ("nn.LayerNorm({c})", "c"), ("nn.RMSNorm({c})", "c"),
    ("Recurrent(nn.LSTM({c}, {d}, batch_first=True))", "d"), ("Recurrent(nn.GRU({c}, {d}, 2, batch_first=True))", "d"),
    ("Recurrent(nn.RNN({c}, {d}, batch_first=True, nonlinearity='relu'))", "d"), ("Attending({c}, 1)", "c"), ("nn.Dropout(0.1)", "c"),
    ("nn.TransformerEncoderLayer({c}, 1, 5, dropout=0.0, batch_first=True)", "c"),
    ("nn.TransformerEncoderLayer({c}, 1, 4, 0.0, 'gelu', norm_first=True, batch_first=True)", "c"),
    ("Residual(nn.LayerNorm({c}), nn.Linear({c}, {c}))", "c"),
    ("Own(lambda v: v.transpose(1, 2)), nn.Conv1d({c}, {d}, 3, padding=1), Own(lambda v: v.transpose(1, 2))", "d"),
    ("Own(lambda v: v - v.mean(1, keepdim=True))", "c"), ("Own(lambda v: v.cumsum(1))", "c"), ("Own(lambda v: v.softmax(1) * v)", "c"),
    ("Own(lambda v: torch.einsum('bij,bkj->bik', v, v) @ v)", "c"),
    ("Own(lambda v: v.masked_fill(torch.ones(v.shape[1:]).triu(1).bool(), 0.5))", "c"),
    ("Own(lambda v: F.scaled_dot_product_attention(v, v, v, is_causal=True))", "c"),
    ("nn.utils.parametrizations.spectral_norm(nn.Linear({c}, {d}))", "d"),
    ("Own(lambda v: Scaled.apply(v, 0.5)[0] + Scaled.apply(v, 2.0)[1])", "c"), ("Own(lambda v: Cubed.apply(v.tanh()))", "c"),
    ("nn.utils.parametrizations.orthogonal(nn.Linear({c}, {c}))", "c"),
    ("Own(lambda v: v.flip(1) + v.roll(1, 1))", "c"), ("Own(lambda v: v.gather(1, v.argsort(1)))", "c"), ("Own(lambda v: v.sort(1)[0])",
    "c"),
    ("Own(lambda v: torch.cat([v[:, 1:], v[:, :1]], 1))", "c"), ("Own(lambda v: v.unfold(1, 2, 1).mean(-1))", "c"),
    ("nn.Bilinear({c}, {c}, {d}) if 0 else nn.Linear({c}, {d})", "d"),
    ("Recurrent(nn.LSTM({c}, {d}, batch_first=True, proj_size=1)), nn.Linear(1, {d})", "d"), ("nn.BatchNorm1d(3)", "c"),
    ("Own(lambda v: v / v.norm(dim=-1, keepdim=True).clamp(min=0.1))", "c"),
]


class RealProgram:
    """The statements of one seed: [(text, names to be described)]."""

    def __init__(self, seed):
        self.r, self.made = random.Random(seed), []
        r = self.r
        kind = r.choice(("images", "sequences", "rows"))
        # in single precision layers and steps make roundings visible
        self.emit("torch.manual_seed(0); torch.set_default_dtype(torch.float64)")
        self.model(kind)
        shape = {"images": (3, 2, 4, 4), "sequences": (3, 3, 3), "rows": (4, 3)}[kind]
        self.emit(f"x = torch.randn({shape}).requires_grad_({r.random() < 0.4})", "x")
        self.emit(f"opt = torch.optim.{r.choice(OPTIMIZERS).replace('{p}', 'list(model.parameters())')}")
        self.emit(f"sched = S.{r.choice(SCHEDULERS)}")
        self.emit("average = torch.optim.swa_utils.AveragedModel(model)" if r.random() < 0.2 else "average = model")
        loss = r.choice(LOSSES)
        for _ in range(r.randint(2, 4)):
            for form, p in ((TRANSFORMS, 0.25), (BETWEEN, 0.5), (BETWEEN, 0.3)):
                if r.random() < p and not (form is TRANSFORMS and self.untransformed):
                    self.emit(r.choice(form))
            self.emit(f"torch.manual_seed({r.randint(1, 9)}); {r.choice(('opt.zero_grad()', 'opt.zero_grad()', 'model.zero_grad()', '0'))}")
            self.emit(r.choice(FORWARD), "out")
            self.emit(f"loss = {loss}", "loss")
            self.emit(r.choice([b for b in BACKWARD if not (self.untransformed and "create_graph" in b)]), "x")
            self.emit("say('gradients', [p.grad for p in model.parameters()])")
            if r.random() < 0.4:
                self.emit(r.choice(AFTER))
            self.emit("steady(model)")
            self.emit("opt.step(lambda: loss.detach())" if r.random() < 0.05 else
                      "opt.step(*([lambda: (opt.zero_grad(), l := model(x.detach()).pow(2).mean(), l.backward())[1]] if 'LBFGS' in "
                      "repr(opt)[:9] else []))")
            self.emit("say('parameters', [p for p in model.parameters()])")
            if r.random() < 0.5:
                self.emit(r.choice(AFTER))
        self.emit("model.eval(); say('end', model(x.detach()))")

    def emit(self, text, *names):
        self.made.append((text, names))

    def model(self, kind):
        r, c, layers = self.r, 2 if kind == "images" else 3, []
        for _ in range(r.randint(1, 4)):
            form, width = r.choice(IMAGES if kind == "images" else SEQUENCES if kind == "sequences" else
                                   [s for s in SEQUENCES if s[0].startswith(("nn.Linear", "nn.LayerNorm", "nn.RMS", "nn.Drop",
                                   "Residual", "nn.util"))])
            d = r.choice((2, 3, 4))
            layers.append(form.replace("{c}", str(c)).replace("{d}", str(d)))
            c = d if width == "d" else c
            if r.random() < 0.6:
                # torch's layers on more than two dimensions give views, of which those in place have other names
                layers.append(f"nn.{r.choice([a for a in ACTIVATIONS if kind == 'images' or 'inplace' not in a])}")
        if kind == "images" and r.random() < 0.6:
            layers += [r.choice(("nn.AdaptiveAvgPool2d(1)", "nn.AdaptiveMaxPool2d(1)", "nn.AdaptiveAvgPool2d(2)")), "nn.Flatten()"]
        # torch has no second derivatives of attention, its transforms take no recurrent layers, and how often they run what counts its runs
        # is their affair
        self.untransformed = any([name in layer for layer in layers for name in ("Recurrent", "Attending", "Transformer", "dot_product",
        "spectral")])
        self.emit(f"model = nn.Sequential({', '.join(layers)})")
        self.emit("say('parameters', [p for p in model.parameters()])")

    def text(self):
        return "\n".join([text for text, _ in self.made])
