"""The scenes: what a training script is about."""
from . import layers, words
from .surroundings import (attention, data_loading, distributions, embeddings, modules, optimizers, recurrent, schedulers)

BEFORE = ["[{h}.register_forward_hook(heard('forward', model)) for {h} in [*model][:2]]",
    "model.register_forward_pre_hook(lambda m, a: (a[0]{| * 0.5| + 0},))",
    "model[-1].register_forward_hook(lambda m, a, made: made * {2|0.5})", "model.register_full_backward_hook(heard('backward', model))",
    "model[-1].register_full_backward_pre_hook(lambda m, g: (g[0] * {0.5|2},))",
    "[p.register_hook(lambda g: g.clamp(-0.1, 0.1)) for p in model.parameters() if p.requires_grad]",
    "[p.register_post_accumulate_grad_hook(lambda p: say('ready', p.grad.sum())) for p in [*model.parameters()][:2]]",
    "[*model.parameters()][0].requires_grad_(False)", "model[0].requires_grad_(False)",
    "model.apply(lambda m: nn.init.{xavier_uniform_|kaiming_normal_|orthogonal_|trunc_normal_}(m.weight) if isinstance(m, nn.Linear) else "
    "None)", "say('printed', repr(model))", "say('printed', str(model[-1].weight){|, str(x[0])|, repr(model[-1].bias)})",
    "say('names', [n for n, _ in model.named_modules()])", "say('count', sum(p.numel() for p in model.parameters() if p.requires_grad))",
    "model = copy.deepcopy(model)", "model.load_state_dict(stored(model.state_dict()))",
    "[nn.init.{zeros_|constant_(p, 0.1) if 0 else nn.init.ones_}(p) for n, p in model.named_parameters() if n.endswith('bias')]",
    "model = torch.compile(model{||, fullgraph=False}) if 0 else model",
    "nn.utils.prune.{l1_unstructured|random_unstructured}(model[-1], 'weight', 0.4)",
    "nn.utils.prune.global_unstructured([(model[-1], 'weight'), (model[-1], 'bias')], nn.utils.prune.L1Unstructured, amount=0.5)",
    "nn.utils.parametrizations.{weight_norm|spectral_norm|orthogonal}(model[-1])",
    "P.register_parametrization(model[-1], 'weight', {Clipped()|Positive()})", "model.train(False); model.train()",
    "torch.nn.utils.vector_to_parameters(torch.nn.utils.parameters_to_vector(model.parameters()) * 0.5, model.parameters())",
    "nn.Module.register_buffer(model, 'extra', torch.ones(2){|, persistent=False})",
    "say('in torch.float16', 1); model.half().to(torch.get_default_dtype())",
    "say('in torch.bfloat16', 1); model.bfloat16().{double()|to(torch.get_default_dtype())}",
    "with torch.device('meta'): say('meta', caught(lambda: model[0](x.to('meta')).shape))",]
FORWARD = ["out = model(x)", "out = model(x)", "out = model(x)", "out = model(x)",
    "with torch.autocast('cpu', {dtype=torch.bfloat16|torch.bfloat16, cache_enabled=False}):\n    out = model(x)",
    "out = checkpoint(model, x, use_reentrant={False|True}{|, preserve_rng_state=False})",
    "out = checkpoint_sequential(model, 2, x, use_reentrant=False)", "out = compiled(x)", "out = compiled(x)",
    "out = torch.func.functional_call(model, dict(model.named_parameters()), (x,))",
    "out = torch.func.functional_call(model, {k: v * 0.9 for k, v in model.named_parameters()}, x)",
    "out = torch.func.functional_call(model, {n: torch.zeros_like(p) for n, p in model.named_parameters() if n.endswith('bias')}, x)",
    "out = nn.DataParallel(model)(x)", "with torch.autograd.graph.save_on_cpu():\n    out = model(x)",
    "with torch.autograd.graph.saved_tensors_hooks(lambda v: v.{clone()|numpy()}, lambda v: torch.as_tensor(v)):\n    out = model(x)",
    "out = model(x); out.register_hook(lambda g: say('of output', g))", "out = model(x); out.retain_grad()",
    "with torch.no_grad(): y = model(x).{softmax(-1)|clone()}\nout = model(x)",
    "for m in model: m.train(not isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)))\nout = model(x)",
    "out = torch.cat([model(c) for c in x.chunk({2|3})])", "out = model[:-1](x); out = model[-1](out)",
    "model.eval(); out = model(x); model.train()", "out = 0.5 * (model(x) + model(x))",
    "with torch.autocast('cpu', enabled=False): out = model(x)", "out = nn.Sequential(*model)(x)",
    "out = torch.vmap(model[-1])(model[:-1](x))",]
BACKWARD = ["loss.backward()", "loss.backward()", "loss.backward()", "loss.backward()",
    "loss.backward(retain_graph=True); (loss * 0.5).backward()", "(loss / 2).backward(); (model(x).mean() / 2).backward()",
    "for p, g in zip(model.parameters(), torch.autograd.grad(loss, [*model.parameters()], allow_unused=True)): p.grad = g",
    "scaler.scale(loss).backward()", "scaler.scale(loss).backward(); scaler.unscale_(opt)",
    "(loss + 0.01 * sum(p.abs().sum() for p in model.parameters())).backward()",
    "(loss + sum(p.pow(2).sum() for p in model.parameters() if p.requires_grad)).backward()", "loss.backward(torch.tensor(2.0))",
    "gs = torch.autograd.grad(loss, [p for p in model.parameters() if p.requires_grad], create_graph=True, allow_unused=True); (loss + "
    "0.1 * sum(g.pow(2).sum() for g in gs if g is not None)).backward()",]
CLIP = [
    "say('norm', nn.utils.clip_grad_norm_(model.parameters(), {0.5|0.01}{|, norm_type=1|, float('inf')|, foreach=False|, "
    "error_if_nonfinite=True}))", "nn.utils.clip_grad_value_(model.parameters(), {0.1|0.01}{|, foreach=True})",
    "say('norm', nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]{|, 1}))",
    "nn.utils.clip_grads_with_norm_(model.parameters(), 0.3, torch.tensor(0.6))",
    "for p in model.parameters():\n    if p.grad is not None: p.grad.{mul_(0.5)|add_(p.detach(), alpha=0.01)|clamp_(-0.1, 0.1)|div_(2)}",
    "torch._foreach_mul_([p.grad for p in model.parameters() if p.grad is not None], 0.5)",
    "say('dead', [n for n, p in model.named_parameters() if p.grad is None])", "for p in [*model.parameters()][:1]: p.grad = None",]
STEP = ["opt.step()", "opt.step()", "opt.step()", "opt.step()", "scaler.step(opt); scaler.update(); say('scale', scaler.get_scale())",
    "say('loss', opt.step(lambda: loss.detach()))",
    "with torch.no_grad():\n    for p in model.parameters():\n        if p.grad is not None: p -= 0.1 * p.grad", "opt.step(closure)",
    "opt.step(); ema.update_parameters(model)", "opt.step(); opt.zero_grad(); opt.step()",]
AFTER = ["sched.step()", "sched.step()", "sched.step(); say('lr', sched.get_last_lr())", "say('lr', [g['lr'] for g in opt.param_groups])",
    "opt.zero_grad(set_to_none=False)", "ema.update_parameters(model)", "say('eval', model.eval()(x)); model.train()",
    "say('ema', ema.module.eval()(x))", "with torch.inference_mode(): say('inferred', model(x))",
    "opt.param_groups[0]['lr'] {= 0.02|*= 0.5}", "say('opt', json.dumps(opt.state_dict()['param_groups'], default=str))",
    "model.load_state_dict(stored(model.state_dict()))", "opt.load_state_dict(stored(opt.state_dict()))",
    "sched.load_state_dict({stored|copy.deepcopy}(sched.state_dict()))", "opt.load_state_dict(copy.deepcopy(opt.state_dict()))",
    "scaler.load_state_dict(scaler.state_dict()); say('scaler', scaler.state_dict())",
    "say('opt', [[k, v] for s in opt.state.values() for k, v in s.items()][:3])",
    "model = copy.deepcopy(model); opt.param_groups[0]['params']",
    "say('state', [[k, list(v.shape), str(v.dtype), v.requires_grad] for k, v in model.state_dict().items() if isinstance(v, "
    "torch.Tensor)])", "say('buffers', dict(model.named_buffers()))", "say('printed', repr(opt))",
    "opt.add_param_group({'params': [nn.Parameter(torch.ones(2))]{|, 'lr': 0.5}})", "say('rng', torch.rand(2))",
    "state = torch.get_rng_state(); model(x); torch.set_rng_state(state)", "with torch.random.fork_rng(): model(x); torch.rand(3)",
    "say('grad', grads(model))", "model.zero_grad()", "model.{float().to(x.dtype)|to(torch.float64).to(x.dtype)}",
    "torch.manual_seed(5); model.apply(lambda m: m.reset_parameters() if isinstance(m, nn.Linear) else None)",
    "[nn.utils.parametrize.remove_parametrizations(m, 'weight'{|, leave_parametrized=False}) for m in model if "
    "nn.utils.parametrize.is_parametrized(m, 'weight')]", "say('printed', repr(model))", "say('loss', f'{loss.item():.4f} {loss:.3f}')",
    "[nn.utils.prune.remove(m, 'weight') for m in model if hasattr(m, 'weight_mask')]",
    "torch.optim.swa_utils.update_bn([x, x], {ema|model})", "model = pickle.loads(pickle.dumps(model))",
    "say('sched', json.dumps({k: v for k, v in sched.state_dict().items() if k[0] != '_'}, default=str))",
    "say('accuracy', (out.argmax(-1) == t).float().mean().item())",
    "model[-1].weight.data.{mul_(0.9)|clamp_(-1, 1)|copy_(torch.ones_like(model[-1].weight))}",
    "model.requires_grad_({True|False}); model.requires_grad_(True)", "say('hash', [p.is_leaf for p in model.parameters()])",
    "optim.swa_utils.SWALR(opt, {0.05|0.3}{|, anneal_epochs=2}{|, anneal_strategy='linear'}).step()",
    "sched = S.ReduceLROnPlateau(opt{|, 'max'}{|, patience=0}{|, factor=0.5}{|, threshold_mode='abs'}); sched.step(loss.detach()); "
    "sched.step(loss.item() + 1)",]


def setting(p, closure="loss = F.mse_loss(model(x), y)"):
    """What stands between the model and its loop."""
    for often in (0.5, 0.3):
        if p.likely(often):
            p.emit(p.r.choice(BEFORE).replace("{h}", "h"))
    lbfgs = p.optimizer()
    if p.likely(0.1):
        p.emit("opt.register_step_{pre|post}_hook(lambda o, a, k: say('step', [type(o).__name__, len(a)]))")
    p.scheduler()
    p.emit(
        "ema = optim.swa_utils.AveragedModel(model{||, avg_fn=lambda a, m, n: 0.5 * a + 0.5 * m|, "
        "multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9)|" ", use_buffers=True|, avg_fn=optim.swa_utils.get_ema_avg_fn(0.8)})")
    p.emit(
        "scaler = torch.amp.GradScaler('cpu'{|, init_scale=8.|, growth_interval=1|, enabled=False}); compiled = torch.compile(model, "
        "backend='eager'{||, dynamic=True|, fullgraph=True})")
    p.emit(f"def closure():\n    opt.zero_grad()\n    {closure}\n    loss.backward()\n    return loss")
    return lbfgs


def supervised(p):
    """A classifier or a regression."""
    p.model(p.r.choice([*layers.KINDS, "rows", "images", "sequences"]))
    lbfgs = setting(p)
    loss = p.pick(words.LOSSES)
    for _ in range(p.r.randint(2, 4)):
        p.emit(f"torch.manual_seed({p.r.randint(1, 9)})" + p.t(
            "{; opt.zero_grad()|; opt.zero_grad()|; model.zero_grad()|}; out = loss = 0; del out, loss"))
        # torch's attention reads what was packed as if it lay as before
        p.emit(p.r.choice([f for f in FORWARD if not ("saved_tensors_hooks" in f and p.once)]), "out")
        p.emit(f"loss = {loss}", "loss")
        p.emit(p.r.choice([b for b in BACKWARD if "create_graph" not in b or not p.once]))
        p.emit("say('gradients', grads(model))")
        if p.likely(0.4):
            p.emit(p.r.choice(CLIP))
        p.emit("steady(model.parameters())")
        p.emit("opt.step(closure)" if lbfgs else p.r.choice(STEP))
        p.emit("say('parameters', dict(model.named_parameters()))")
        for often in (0.6, 0.3):
            if p.likely(often):
                p.emit(p.r.choice(AFTER))
    p.emit("model.eval(); say('end', model(x))")


def resumed(p):
    """Training stops, is stored, and goes on with new objects."""
    p.model(p.r.choice([*layers.KINDS]), most=2)
    built = p.made[1][0]
    first = len(p.made)
    lbfgs = p.optimizer(wrong=0)
    p.scheduler()
    again = "; ".join([text for text, _ in p.made[first:]])
    loop = ("for k in range({n}):\n    opt.zero_grad(){|; out = 0}\n    out = model(x)\n    loss = " + p.pick(words.LOSSES) +
        "\n    loss.backward()\n    steady(model.parameters())\n    opt.step(" + ("lambda: loss.detach()" if lbfgs else "") +
        ")\n    sched.step()\n    say('loss', loss.detach())")
    p.emit(loop.replace("{n}", "2"))
    p.emit(
        "kept = {'model': model.state_dict(), 'opt': opt.state_dict(), 'sched': sched.state_dict(), 'rng': torch.get_rng_state(), "
        "'epoch': 2, 'loss': loss.detach()}")
    p.emit(
        "kept = {stored(kept)|copy.deepcopy(kept)|stored(kept, _use_new_zipfile_serialization=False)|pickle.loads(pickle.dumps(kept))}; "
        "say('kept', list(kept), list(kept['model']), len(kept['opt']['state']))")
    p.emit(
        "say('groups', json.dumps(kept['opt']['param_groups'], default=str)); say('sched', json.dumps(kept['sched'], default=lambda v: "
        "type(v).__name__))")
    p.emit(loop.replace("{n}", "1"))
    p.emit("torch.manual_seed(3); " + built + "; model(x)")
    p.emit(again)
    p.emit(
        "say('loaded', str(model.load_state_dict(kept['model']{|, strict=False|, assign=True}))); opt.load_state_dict(kept['opt']); "
        "sched.load_state_dict(kept['sched']); torch.set_rng_state(kept['rng'])")
    p.emit(loop.replace("{n}", "2"))
    p.emit("say('parameters', dict(model.named_parameters())); say('lr', sched.get_last_lr())")


def generative(p):
    """GANs, autoencoders, flows, diffusion."""
    which = p.r.choice(("gan", "vae", "flow", "diffusion"))
    if which == "gan":
        p.emit("model = nn.Sequential(nn.Linear(2, 8), " + p.t("{nn.BatchNorm1d(8), |}nn.{ReLU|LeakyReLU|Tanh}(), nn.Linear(8, 3))"))
        p.emit(
            "critic = nn.Sequential({nn.utils.parametrizations.spectral_norm(nn.Linear(3, 8))|nn.Linear(3, 8)}, nn.LeakyReLU(0.2{|, "
            "inplace=True}), {nn.Dropout(0.3), |}nn.Linear(8, 1))")
        p.optimizer("opt", known=words.OPTIMIZERS[:14], wrong=0)
        p.optimizer("copt", parameters="critic.parameters()", known=words.OPTIMIZERS[:14], wrong=0)
        loss = p.r.choice(("bce", "wasserstein", "hinge"))
        penalty = ("u = torch.rand(6, 1); m = (u * real + (1 - u) * fake.detach()).requires_grad_(); "
                   "g, = torch.autograd.grad(critic(m).sum(), m, create_graph=True); ")
        for _ in range(p.r.randint(2, 3)):
            p.emit("real = torch.randn(6, 3) * 0.5 + 1; fake = model(torch.randn(6, 2))", "fake")
            p.emit({"bce":
                "closs = F.binary_cross_entropy_with_logits(critic(real), torch.full((6, 1), {1.|0.9})) + "
                "F.binary_cross_entropy_with_logits(critic(fake.detach()), torch.zeros(6, 1))", "wasserstein": penalty +
                "closs = critic(fake.detach()).mean() - critic(real).mean() + 10 * (g.norm(2, dim=1) - 1).pow(2).mean()", "hinge":
                "closs = F.relu(1 - critic(real)).mean() + F.relu(1 + critic(fake.detach())).mean()"}[loss], "closs")
            p.emit("copt.zero_grad(); closs.backward(); steady(critic.parameters()); copt.step()" + p.t(
                "{|; [w.data.clamp_(-0.1, 0.1) for w in critic.parameters()]}"))
            p.emit("gloss = " + ("F.binary_cross_entropy_with_logits(critic(fake), torch.ones(6, 1))" if loss == "bce" else
                "-critic(fake).mean()"), "gloss")
            p.emit(
                "opt.zero_grad(); gloss.backward(); say('gradients', grads(model), grads(critic)); steady(model.parameters()); opt.step()")
            p.emit("say('parameters', dict(model.named_parameters()), dict(critic.named_parameters()))")
    elif which == "vae":
        p.emit(
            "model = nn.ModuleDict({'encode': nn.Sequential(nn.Linear(6, 8), nn.{ReLU|SiLU|GELU}(), nn.Linear(8, 4)), 'decode': "
            "nn.Sequential(nn.Linear(2, 8), nn.{ReLU|Tanh}(), nn.Linear(8, 6))})")
        p.emit("x = torch.rand(5, 6){|.round()}", "x")
        p.optimizer(parameters="model.parameters()", wrong=0, known=words.OPTIMIZERS[:14])
        how = p.t(
            "{D.Normal(mu, (0.5 * logvar).exp())|D.Independent(D.Normal(mu, F.softplus(logvar)), 1)|D.MultivariateNormal(mu, "
            "logvar.exp().diag_embed())|D.Laplace(mu, logvar.exp())}")
        prior = ("D.MultivariateNormal(torch.zeros(2), torch.eye(2))" if "Multi" in how else
            "D.Independent(D.Normal(torch.zeros(2), 1.), 1)" if "Indep" in how else "D.Laplace(0., 1.)" if "Laplace" in how else
            "D.Normal(0., 1.)")
        for _ in range(p.r.randint(2, 3)):
            p.emit("mu, logvar = model['encode'](x).chunk(2, -1)", "mu")
            p.emit(f"q = {how}; z = " + p.t("{q.rsample()|mu + torch.randn_like(mu) * (0.5 * logvar).exp()}"), "z")
            p.emit("recon = " + p.t(
                "{F.binary_cross_entropy_with_logits(model['decode'](z), x, reduction='sum')|-D.Bernoulli(logits=model['decode'](z), "
                "validate_args=False).log_prob(x).sum()|F.mse_loss(model['decode'](z).sigmoid(), x)}"), "recon")
            p.emit(
                f"kl = {{D.kl_divergence(q, {prior}).sum()|-0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())|(q.log_prob(z) - "
                f"({prior}).log_prob(z)).sum()}}", "kl")
            p.emit(
                "opt.zero_grad(); (recon + {0.5|1} * kl).backward(); say('gradients', grads(model)); steady(model.parameters()); "
                "opt.step(); say('parameters', dict(model.named_parameters()))")
        p.emit("with torch.no_grad(): say('samples', model['decode'](torch.randn(2, 2)).sigmoid())")
    elif which == "flow":
        p.emit(
            "class Coupling(nn.Module):\n    def __init__(self, flip):\n        super().__init__()\n        self.net, self.flip = "
            "nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2)), flip\n"
            "    def forward(self, x):\n        a, b = (x.flip(-1) if self.flip else x).chunk(2, -1)\n        s, t = self.net(a).chunk(2, "
            "-1)\n"
            "        y = torch.cat([a, b * s.tanh().exp() + t], -1)\n        return (y.flip(-1) if self.flip else y), s.tanh().sum(-1)")
        p.emit("model = nn.ModuleList([Coupling(k % 2) for k in range({2|3})]); x = torch.randn(8, 2)", "x")
        p.optimizer(parameters="model.parameters()", wrong=0, known=words.OPTIMIZERS[:14])
        p.emit(
            "for k in range(3):\n    z, logdet = x, 0\n    for layer in model:\n        z, d = layer(z)\n        logdet = logdet + d\n    "
            "loss = -(D.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(z) + logdet).mean()\n"
            "    opt.zero_grad(); loss.backward(); steady(model.parameters()); opt.step(); say('loss', loss, grads(model))")
        p.emit(
            "say('jacobian', torch.func.vmap(torch.func.jacrev(lambda v: model[0](v)[0]))(x[:2]), "
            "torch.func.vmap(torch.func.jacfwd(lambda v: model[0](v)[0]))(x[:2]))")
    else:
        p.emit("model = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 2)); x = torch.randn(8, 2)", "x")
        p.emit(
            "beta = torch.linspace(1e-2, 0.2, 10); keep = {(1 - beta).cumprod(0)|torch.cumprod(1.0 - beta, dim=0)|(1 - "
            "beta).log().cumsum(-1).exp()}", "keep")
        p.optimizer(parameters="model.parameters()", wrong=0, known=words.OPTIMIZERS[:14])
        p.emit("ema = optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))")
        p.emit(
            "for k in range(3):\n    at, noise = torch.randint(0, 10, (8,)), torch.randn_like(x)\n    a = keep[at][:, None]\n    noisy = "
            "a.sqrt() * x + (1 - a).sqrt() * noise\n"
            "    loss = F.mse_loss(model(torch.cat([noisy, at[:, None] / 10], 1)), noise)\n    opt.zero_grad(); loss.backward(); "
            "nn.utils.clip_grad_norm_(model.parameters(), 1.0); steady(model.parameters()); opt.step(); "
            "ema.update_parameters(model); say('loss', loss, grads(model))")
        p.emit(
            "@torch.no_grad()\ndef sample():\n    v = torch.randn(4, 2)\n    for k in reversed(range(10)):\n        e = ema(torch.cat([v, "
            "torch.full((4, 1), k / 10)], 1))\n"
            "        v = (v - beta[k] / (1 - keep[k]).sqrt() * e) / (1 - beta[k]).sqrt() + (beta[k].sqrt() * torch.randn_like(v) if k "
            "else 0)\n    return v\nsay('samples', sample())")


def reinforced(p):
    """Policy gradients, value learning, replay."""
    p.emit(
        "model = nn.Sequential(nn.Linear(4, 8), nn.{Tanh|ReLU}(), nn.Linear(8, 3)); target = "
        "copy.deepcopy(model){|.eval()|.requires_grad_(False)}; value = nn.Linear(4, 1)")
    p.emit(
        "def env(s, a):\n    s = (s + 0.1 * torch.tensor([a.item() - 1.0, 0.5, -0.2, 0.1]).to(s.dtype)).clamp(-1, 1)\n    return s, "
        "s.sum().item() - 0.1 * a.item(), bool(s[0] > 0.9)")
    p.optimizer(parameters="[*model.parameters(), *value.parameters()]", wrong=0, known=words.OPTIMIZERS[:14])
    which = p.r.choice(("reinforce", "q", "ppo"))
    for _ in range(p.r.randint(2, 3)):
        if which == "q":
            p.emit(
                "memory = collections.deque(maxlen=20); s = torch.zeros(4)\nfor k in range(8):\n    with torch.no_grad():\n        a = "
                "model(s).argmax() if torch.rand(()) > 0.3 else torch.randint(0, 3, ())\n"
                "    n, r, done = env(s, a); memory.append((s, a, r, n, done)); s = torch.zeros(4) if done else n")
            p.emit(
                "rows = [memory[k] for k in torch.randint(0, len(memory), (6,)).tolist()]; s, a, r, n, done = zip(*rows); s, n, a, r, "
                "done = torch.stack(s), torch.stack(n), torch.stack(a), torch.tensor(r), torch.tensor(done)", "s", "a", "r")
            p.emit(
                "q = model(s).gather(1, a[:, None]).squeeze(1)\nwith torch.no_grad(): goal = r + 0.9 * "
                "{target(n).max(1).values|target(n).gather(1, model(n).argmax(1, keepdim=True)).squeeze(1)} * {~done|(1 - "
                "done.to(r.dtype))|done.logical_not()}", "q", "goal")
            p.emit("loss = F.{smooth_l1_loss|mse_loss|huber_loss}(q, goal)", "loss")
        else:
            p.emit(
                "s, logs, rewards, states, actions = torch.zeros(4), [], [], [], []\nfor k in range(6):\n    d = "
                "D.Categorical(logits=model(s)); a = d.sample(); logs.append(d.log_prob(a)); states.append(s); actions.append(a)\n    s, "
                "r, done = env(s, a); rewards.append(r)")
            p.emit(
                "returns, g = [], 0.\nfor r in reversed(rewards):\n    g = r + 0.9 * g; returns.insert(0, g)\nreturns = "
                "torch.tensor(returns); returns = (returns - returns.mean()) / (returns.std() + 1e-6)", "returns")
            if which == "reinforce":
                p.emit(
                    "base = value(torch.stack(states)).squeeze(-1); loss = {torch.stack([-l * (g - b.detach()) for l, g, b in zip(logs, "
                    "returns, base)]).sum()|-(torch.stack(logs) * (returns - base.detach())).sum()} + F.mse_loss(base, returns)", "loss")
            else:
                p.emit(
                    "states, actions, old = torch.stack(states), torch.stack(actions), torch.stack(logs).detach(); d = "
                    "D.Categorical(logits=model(states)); ratio = (d.log_prob(actions) - old).exp(); adv = returns - "
                    "value(states).squeeze(-1).detach(); "
                    "loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() - 0.01 * d.entropy().mean() + "
                    "F.mse_loss(value(states).squeeze(-1), returns)", "loss")
        p.emit(
            "opt.zero_grad(); loss.backward(); say('gradients', grads(model)); steady(model.parameters()); opt.step(); say('parameters', "
            "dict(model.named_parameters()))")
        p.emit(
            "for a, b in zip(target.parameters(), model.parameters()): {a.data.lerp_(b.data, 0.5)|a.data.copy_(b.data * 0.1 + a.data * "
            "0.9)}" if p.likely(0.5) else "say('loaded', str(target.load_state_dict(model.state_dict())))")


def meta(p):
    """Learning to learn, per-example gradients, penalties of gradients, distillation."""
    p.emit(
        "model = nn.Sequential(nn.Linear(3, 5), nn.{Tanh|Softplus|SiLU|GELU}(), nn.Linear(5, 3)); x, y, t = torch.randn(6, 3), "
        "torch.randn(6, 3), torch.randint(0, 3, (6,)); params = {k: v.detach() for k, v in model.named_parameters()}")
    p.optimizer(parameters="model.parameters()", wrong=0, known=words.OPTIMIZERS[:14])
    for _ in range(p.r.randint(2, 3)):
        p.emit("opt.zero_grad()")
        p.emit(p.r.choice([
            "fast = dict(model.named_parameters())\nfor k in range(2):\n    inner = F.mse_loss(torch.func.functional_call(model, fast, "
            "(x[:3],)), y[:3])\n    fast = {n: w - 0.1 * g for (n, w), g in zip(fast.items(), torch.autograd.grad(inner, "
            "[*fast.values()], create_graph={True|False}))}\n"
            "loss = F.mse_loss(torch.func.functional_call(model, fast, (x[3:],)), y[3:])",
            "x.requires_grad_(); g, = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True); loss = F.cross_entropy(model(x), "
            "t) + g.pow(2).sum(-1).{sqrt().|}mean()",
            "z = x.detach().clone().requires_grad_(); F.cross_entropy(model(z), t).backward(); opt.zero_grad(); loss = "
            "F.cross_entropy(model((z + 0.1 * z.grad.sign()).detach()), t)",
            "f = lambda w, v, c: F.cross_entropy(torch.func.functional_call(model, w, (v[None],)), c[None])\neach = "
            "torch.func.vmap(torch.func.{grad(f)|grad_and_value(f)}, (None, 0, 0))(dict(model.named_parameters()), x.detach(), t)\n"
            "loss = sum(v.pow(2).sum() for v in torch.utils._pytree.tree_leaves(each))",
            "with torch.no_grad(): soft = copy.deepcopy(model)(x).div(2).softmax(-1)\nloss = F.kl_div(model(x).div(2).log_softmax(-1), "
            "soft, reduction='batchmean') * 4 + F.cross_entropy(model(x), t)",
            "v = {n: torch.randn_like(w) for n, w in params.items()}; f = lambda w: torch.func.functional_call(model, w, "
            "(x.detach(),)).pow(2).mean(); say('hvp', torch.func.jvp(torch.func.grad(f), (params,), (v,))[1]); loss = "
            "f(dict(model.named_parameters()))",
            "lam = {0.3|D.Beta(0.4, 0.4).sample()}; at = torch.randperm(6); out = model(lam * x.detach() + (1 - lam) * x.detach()[at]); "
            "loss = lam * F.cross_entropy(out, t) + (1 - lam) * F.cross_entropy(out, t[at])",
            "say('fisher', torch.func.vmap(torch.func.grad(lambda w, v: torch.func.functional_call(model, w, v).logsumexp(-1)), (None, "
            "0))(params, x.detach())); loss = model(x).logsumexp(-1).mean()",
            "eps = torch.randn_like(x); g = torch.autograd.functional.jvp(lambda v: model(v), x.detach(), eps, create_graph=True)[1]; "
            "loss = (g * eps).sum(-1).mean() + 0.5 * model(x).pow(2).mean()",
            "loss = torch.func.jacrev(lambda v: model(v).sum(0))(x.detach()).pow(2).sum() + torch.autograd.functional.jacobian(lambda v: "
            "model(v).sum(0), x.detach(), create_graph=True).abs().sum()",]), "loss")
        p.emit(
            "loss.backward(); say('gradients', grads(model)); steady(model.parameters()); opt.step({|closure=None}); say('parameters', "
            "dict(model.named_parameters()))")


SCENES = [(supervised, 8), (resumed, 3), (generative, 2), (reinforced, 1), (meta, 2), (optimizers, 4), (schedulers, 2), (recurrent, 3), (
    attention, 2), (embeddings, 2), (distributions, 3), (modules, 4), (data_loading, 2)]
