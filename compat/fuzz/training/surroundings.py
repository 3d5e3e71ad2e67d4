"""Scenes about one part each: an optimizer alone, schedules, recurrent nets, attention, embeddings, distributions, modules, loaders."""
from . import words


def optimizers(p):
    """One optimizer on parameters of many shapes and dtypes."""
    shapes = [p.t("{(3,)|(2, 3)|()|(1,)|(2, 2)|(0,)|(2, 3, 2)|(4, 1)}") for _ in range(p.r.randint(1, 4))]
    text = p.r.choice(words.OPTIMIZERS)
    dtypes = p.r.choice(["x"] * 5 + ["complex", "float32", "bfloat16", "mixed"]) if "LBFGS" not in text and "Muon" not in text else "x"
    kinds = {"x": [""], "complex": [".to(torch.complex128)"], "float32": [".float()"], "bfloat16": [".bfloat16()"], "mixed": ["",
        ".float()", ".to(torch.complex128)"]}[dtypes]
    p.emit("ps = [" + ", ".join([f"nn.Parameter(torch.randn({s}){p.r.choice(kinds)})" for s in shapes]) + "]")
    if p.likely(0.15):
        p.emit("ps[-1].requires_grad_(False)")
    if p.likely(0.1):
        p.emit("ps[0] = nn.Parameter(torch.randn(3, 2).t())")
    p.emit("model = nn.ParameterList(ps); x = torch.ones(2)")
    groups = p.pick(["ps", "ps", "[{'params': ps[:1], 'lr': 0.03}, {'params': ps[1:]}]", "[{'params': ps, 'weight_decay': 0.2}]",
        "[(f'p{k}', q) for k, q in enumerate(ps)]",
        "[{'params': [('a', ps[0])]}, {'params': [(f'b{k}', q) for k, q in enumerate(ps[1:])]}]"])
    if p.likely(0.15):
        p.emit(f"opt = optim.{p.pick(words.WRONG_OPTIMIZERS, p='ps')}")
    text = f"optim.{p.t(text, p=groups if 'LBFGS' not in text and 'Muon' not in text else 'ps')}"
    p.emit(f"opt = {text}")
    p.emit(
        "def lossf():\n    return sum([(q.abs() ** 2 * 0.5 + (q * (0.3 + k)).real).sum().to(torch.get_default_dtype()) for k, q in "
        "enumerate(ps)])\n" "def closure():\n    opt.zero_grad()\n    loss = lossf()\n    loss.backward()\n    return loss")
    between = ["opt.load_state_dict({stored|copy.deepcopy|pickle.loads}(opt.state_dict()))" if 0 else
        "opt.load_state_dict({stored|copy.deepcopy}(opt.state_dict()))", "say('printed', repr(opt))", "ps[0].grad = None",
        "opt.zero_grad(set_to_none=False)", "opt.param_groups[0]['lr'] = 0.3", "opt.param_groups[-1]['weight_decay'] = 0.3",
        "say('groups', json.dumps([{k: v for k, v in g.items() if k != 'params'} for g in opt.param_groups], default=str))",
        "say('keys', [sorted(map(str, s)) for s in opt.state.values()])",
        "say('state', [[k, v] for s in opt.state.values() for k, v in s.items()])",
        "opt.add_param_group({'params': nn.Parameter(torch.ones(2)){|, 'lr': 0.7|, 'foo': 3}})", "opt.add_param_group({'params': ps[:1]})",
        f"new = {text}; new.load_state_dict(opt.state_dict()); opt = new",
        "opt = copy.deepcopy(opt); ps = [q for g in opt.param_groups for q in g['params']]",
        "opt.register_step_pre_hook(lambda o, a, k: say('before', len(o.state)))",
        "opt.register_step_post_hook(lambda o, a, k: say('after', len(o.state)))",
        "opt.register_state_dict_post_hook(lambda o, s: say('stored', list(s)))",
        "opt.register_load_state_dict_pre_hook(lambda o, s: say('loading', list(s)))",
        "opt = pickle.loads(pickle.dumps(opt)); ps = [q for g in opt.param_groups for q in g['params']]",
        "opt.load_state_dict({'state': {}, 'param_groups': []})",
        "opt.load_state_dict({'state': {}, 'param_groups': [{'params': [0, 1, 2, 3, 4, 5]}]})", "ps[0].data = ps[0].data * 2",
        "opt.state.clear()", "with torch.no_grad(): ps[0].zero_()",
        "ps[0].grad = torch.ones_like(ps[0]).to_sparse() if ps[0].dim() else None", "ps[0].grad = torch.full_like(ps[0], float('nan'))",
        "opt.param_groups[0]['maximize'] = True", "opt.defaults", "say('defaults', json.dumps(opt.defaults, default=str))",
        "opt.step(lambda: 3)", "say('returned', opt.step(closure))", "opt.step(5)", "for g in opt.param_groups: g['lr'] *= 0.5",
        "opt.param_groups[0]['betas'] = (0.5, 0.5)", "ps[0].grad = torch.zeros_like(ps[0])", "say('loss', torch.tensor(closure().item()))",
        "ps[0].data = ps[0].data.clone()",
        "opt.param_groups[0].setdefault('extra', 1); say('extra', opt.state_dict()['param_groups'][0].get('extra'))",]
    for _ in range(p.r.randint(2, 5)):
        p.emit("opt.zero_grad(); loss = lossf(); loss.backward()", "loss")
        if p.likely(0.5):
            p.emit(p.r.choice(between))
        p.emit("steady(ps); " + ("opt.step(closure)" if "LBFGS" in text else p.t("{opt.step()|opt.step()|opt.step(); opt.step()}")))
        p.emit("say('parameters', ps)")
        if p.likely(0.5):
            p.emit(p.r.choice(between))
    p.emit(
        "say('state', [[k, v] for s in opt.state.values() for k, v in s.items() if k != 'state_steps']); say('dict', "
        "json.dumps(opt.state_dict()['param_groups'], default=str))")


def schedulers(p):
    """Schedules of learning rates, and of momentum, alone."""
    p.emit(
        "model = nn.Linear(2, 2); opt = optim.{SGD(model.parameters(), 0.1)|SGD(model.parameters(), 0.1, "
        "momentum=0.9)|Adam(model.parameters(), 0.05)|SGD([{'params': model.weight, 'lr': 0.2}, {'params': model.bias}], 0.1)|"
        "SGD(model.parameters(), torch.tensor(0.1))|Adam([{'params': model.weight, 'initial_lr': 0.3}, {'params': model.bias, 'lr': 0.5, "
        "'initial_lr': 0.2}], 0.1)}")
    plateau = p.likely(0.15)
    simple = [p.pick(words.SIMPLE) for _ in range(2)]
    text = (
        "S.ReduceLROnPlateau(opt{|, mode='max'}{|, factor=0.5}{|, patience=1|, patience=0}{|, threshold=0.1}{|, threshold_mode='abs'}{|, "
        "cooldown=1}{|, min_lr=0.03|, min_lr=[0.01]}{|, eps=0.1})" if plateau else "S." + p.pick(words.SCHEDULERS + [
        "OneCycleLR(opt, 0.5, 8{|, pct_start=0.6}{|, base_momentum=0.5}{|, div_factor=5.})",
        "CyclicLR(opt, 0.01, 0.1, 2, 3, 'exp_range', 0.9)", "CosineAnnealingWarmRestarts(opt, 2, 2)", "SWALR(opt, 0.05)" if 0 else
        "StepLR(opt, step_size=2, gamma=0.1, last_epoch=-1)"], s=simple[0], t=simple[1]))
    text = p.t(text)
    p.emit(f"sched = {text}")
    known = ("say('state', json.dumps({k: v for k, v in sched.state_dict().items() if k not in ('_schedulers', 'lr_lambdas')}, "
             "default=lambda v: type(v).__name__))")
    between = ["sched.load_state_dict(sched.state_dict())", "sched.load_state_dict(copy.deepcopy(sched.state_dict()))",
        "sched.load_state_dict(stored(sched.state_dict()))", known, f"new = {text}; new.load_state_dict(sched.state_dict()); sched = new",
        "opt.param_groups[0]['lr'] *= 0.5", "say('base', sched.base_lrs)", "opt.add_param_group({'params': nn.Parameter(torch.ones(2))})",
        "sched.step({1|3|0.5|7})", "say('count', [sched.last_epoch, sched._step_count])", "opt.load_state_dict(opt.state_dict())",
        "opt.load_state_dict(copy.deepcopy(opt.state_dict()))",
        "sched = optim.swa_utils.SWALR(opt, 0.05{|, 2}{|, anneal_strategy='linear'}); sched.step()", "say('next', sched.get_lr())",
        "say('printed', str(type(sched).__name__), sched.optimizer is opt)", f"sched = {text}",
        "sched = pickle.loads(pickle.dumps(sched)) if 'ambda' not in repr(type(sched)) else sched; opt = sched.optimizer",
        "sched = copy.deepcopy(sched); opt = sched.optimizer", "say('calls', [opt.step.__name__])", "opt.step()",
        "with warnings.catch_warnings(record=True) as w:\n    warnings.simplefilter('always'); sched.step()\nsay('warned', "
        "[str(x.message).split(chr(10))[0][:60] for x in w])", "sched.step(); sched.step()",
        "say('momentum', [[g.get('momentum'), g.get('betas')] for g in opt.param_groups])",]
    for k in range(p.r.randint(4, 9)):
        metric = p.t("{1.0|0.9|0.5|1.5|torch.tensor(0.7)|float('nan')}") if plateau else ""
        p.emit(f"opt.step(); sched.step({metric}); say('lr', [g['lr'] for g in opt.param_groups], sched.get_last_lr())")
        if p.likely(0.35):
            p.emit(p.r.choice(between))
    p.emit(known + "; say('groups', json.dumps([{k: v for k, v in g.items() if k != 'params'} for g in opt.param_groups], default=str))")


def recurrent(p):
    """Recurrent nets: packed sequences, states carried along, cells, generation."""
    kind, c, d = p.t("{LSTM|GRU|RNN}"), 3, p.r.choice((2, 4))
    more = p.t("{|, num_layers=2|, 2, dropout=0.4|, 2, bias=False}{|, bidirectional=True}{|, batch_first=True}") + (p.t("{|, proj_size=1}")
        if kind == "LSTM" else p.t("{|, nonlinearity='relu'}") if kind == "RNN" else "")
    first = "batch_first=True" in more
    p.emit(f"model = nn.{kind}({c}, {d}{more}); head = nn.LazyLinear(3)")
    shape = (3, 5, c) if first else (5, 3, c)
    p.emit(
        f"x = torch.randn{shape}.requires_grad_({p.likely(0.5)}); lengths = "
        f"torch.tensor({p.t('[{5|4}, 5, 2]') if p.likely(0.5) else '[5, 3, 1]'})", "x")
    p.emit(
        "say('printed', repr(model), [n for n, _ in model.named_parameters()], model.all_weights[0][0].shape); t = torch.randint(0, 3, "
        "(3,))")
    p.emit(f"head(model(x)[0]); params = [*model.parameters(), *head.parameters()]; y = torch.randn({'3, 5' if first else '5, 3'}, 3)", "y")
    lbfgs = p.optimizer(parameters="params", wrong=0, known=[o for o in words.OPTIMIZERS if "LBFGS" not in o and "Muon" not in o])
    bf = f"batch_first={first}"
    forms = ["out, h = model(x); out = head(out)", "out, h = model(x, h); out = head(out)",
        "h = tuple(v.detach() for v in h) if isinstance(h, tuple) else h.detach(); out, h = model(x, h); out = head(out)",
        f"packed = pack_padded_sequence(x, lengths, {bf}, enforce_sorted={{True|False|False}}); out, h = model(packed); say('packed', "
        f"out); out, n = pad_packed_sequence(out, {bf}{{|, padding_value=-1.|, total_length=5}}); say('lengths', n); out = head(out)",
        "some = [torch.randn(n, 3) for n in {(4, 2, 1)|(1, 3, 2)}]; out, h = model(pack_sequence(some, enforce_sorted={True|False})); "
        "say('several', unpack_sequence(out)); out = head(out.data)",
        f"some = pad_sequence([torch.randn(n, 3) for n in (4, 2, 1)], {bf}{{|, padding_value=0.5|, padding_side='left'}}); out, h = "
        f"model(some); out = head(out)", f"out, h = model(x{'[0]' if first else '[:, 0]'}); say('unbatched', h); out = head(out)",
        "out, h = model(x); out = head(out) + sum(v.mean() for v in (h if isinstance(h, tuple) else (h,)))",
        "h = None\nfor part in x.chunk(2, %d):\n    out, h = model(part, h)\nout = head(out)" % (1 if first else 0),
        "model.flatten_parameters(); out, h = model(x); out = head(out)",
        "with torch.autocast('cpu', torch.bfloat16): out, h = model(x); out = head(out)",
        "model.eval(); out, h = model(x); out = head(out); model.train()", "out, h = model(x[..., :2])",
        "out, h = model(x, torch.zeros(1, 2, 2))",
        f"cell = nn.{kind}Cell({c}, {d}{{|, bias=False}}); s, made = None, []\nfor v in x.unbind({1 if first else 0}):\n    s = cell(v, "
        f"s); made.append(s[0] if isinstance(s, tuple) else s)\nout = torch.stack(made).mean() + head(model(x)[0])",
        "out = checkpoint(lambda v: head(model(v)[0]), x, use_reentrant=False)",
        "out = torch.func.functional_call(model, {k: v * 0.5 for k, v in model.named_parameters()}, (x,))[0]; out = head(out)",
        f"out, h = model(pack_padded_sequence(x, [5, 4, 4], {bf})); out = head(pad_packed_sequence(out, {bf})[0])",
        "out, h = copy.deepcopy(model)(x); out = head(out)", "out, h = model(x.flip(0)); out = head(out).relu()",
        f"packed = pack_padded_sequence(x, lengths.clamp(max=5), {bf}, enforce_sorted=False); say('order', packed.sorted_indices, "
        f"packed.unsorted_indices, packed.batch_sizes, packed.is_cuda); out, h = model(packed.to(x.dtype)); out = head(out.data)",]
    p.emit("out, h = model(x)", "out", "h")
    for _ in range(p.r.randint(2, 3)):
        p.emit(f"torch.manual_seed({p.r.randint(1, 5)}); opt.zero_grad(); out = loss = 0; del out, loss")
        p.emit(p.r.choice(forms), "out", "h")
        p.emit(
            "loss = {out.pow(2).mean()|F.cross_entropy(out.flatten(0, -2), torch.arange(out.flatten(0, -2).size(0)) % 3)|F.mse_loss(out, "
            "y)|out.std()}", "loss")
        p.emit("loss.backward(); say('gradients', grads(model), grads(head)); steady(params)" + p.t(
            "{|; say('norm', nn.utils.clip_grad_norm_(params, 0.1))}"))
        p.emit("opt.step(" + ("lambda: loss.detach()" if lbfgs else "") + "); say('parameters', params)")
        if p.likely(0.3):
            p.emit(p.r.choice(["model.load_state_dict(stored(model.state_dict()))", "say('state', list(model.state_dict()))",
                "for n, w in model.named_parameters():\n    if 'bias' in n: w.data[w.numel() // 4:w.numel() // 2].fill_(1)",
                "model.reset_parameters()", "nn.init.orthogonal_(model.weight_hh_l0)",
                "nn.utils.parametrizations.weight_norm(model, 'weight_hh_l0')",
                "nn.utils.{weight_norm|spectral_norm}(model, 'weight_hh_l0')", "model = pickle.loads(pickle.dumps(model))",
                "say('inner', model.hidden_size, model.num_layers, model.bidirectional)", "model.half().to(x.dtype)", "x = x.detach()"]))


def attention(p):
    """Attention with masks, transformers, language models that generate."""
    e, h = p.r.choice(((4, 2), (4, 1), (6, 3)))
    bf = p.likely(0.6)
    which = p.r.choice(("mha", "encoder", "decoder", "transformer", "gpt"))
    shape = f"(2, 3, {e})" if bf else f"(3, 2, {e})"
    p.emit(
        f"x, m, pad, causal = torch.randn{shape}.requires_grad_({p.likely(0.4)}), torch.randn{shape}, torch.tensor([[False, False, True], "
        f"[False] * 3]), nn.Transformer.generate_square_subsequent_mask(3)", "causal")
    drop = p.t("{0.0|0.0|0.2}")
    if which == "mha":
        p.emit(
            f"model = nn.MultiheadAttention({e}, {h}, {drop}{{|, bias=False}}{{|, add_bias_kv=True}}{{|, add_zero_attn=True}}{{|, "
            f"kdim={e}, vdim={e}}}, batch_first={bf})")
        calls = [
            "model(x, {x, x|m, m|m, x}{|, key_padding_mask=pad}{|, attn_mask=causal|, attn_mask=causal, is_causal=True|, "
            "attn_mask=torch.eye(3, dtype=torch.bool)|, attn_mask=torch.ones(%d, 3, 3).tril().log()}{|, need_weights=False|, "
            "average_attn_weights=False})" % (2 * h), "model(x[0], m[0], m[0])",
            "model(x, m, m, key_padding_mask=pad.to(x.dtype) * -1e9{|, need_weights=False})", "model.eval()(x, x, x)",
            "model(x, x, x, is_causal=True)", "model(x, m[:, :1], m[:, :1])"]
    elif which == "encoder":
        p.emit(
            f"model = nn.TransformerEncoder(nn.TransformerEncoderLayer({e}, {h}, 5, {drop}{{|, activation='gelu'|, F.silu}}{{|, "
            f"norm_first=True}}{{|, layer_norm_eps=1e-3}}{{|, bias=False}}, batch_first={bf}), {{1|2}}{{|, nn.LayerNorm({e})}}{{|, "
            f"enable_nested_tensor=False}}{{|, mask_check=False}})")
        calls = ["model(x{|, mask=causal|, mask=causal, is_causal=True|, causal}{|, src_key_padding_mask=pad})",
            "model.eval()(x{|, src_key_padding_mask=pad|, mask=causal})", "model(x[0])", "model(x, pad)",
            "model.layers[0](x{|, src_mask=causal}{|, src_key_padding_mask=pad})"]
    elif which == "decoder":
        p.emit(
            f"model = nn.TransformerDecoder(nn.TransformerDecoderLayer({e}, {h}, 5, {drop}{{|, activation='gelu'}}{{|, "
            f"norm_first=True}}{{|, bias=False}}, batch_first={bf}), {{1|2}}{{|, nn.LayerNorm({e})}})")
        calls = [
            "model(x, m{|, tgt_mask=causal|, causal, tgt_is_causal=True}{|, tgt_key_padding_mask=pad}{|, memory_key_padding_mask=pad}{|, "
            "memory_mask=causal})", "model.eval()(x, m)", "model(x[0], m[0])", "model(x)"]
    elif which == "transformer":
        p.emit(f"model = nn.Transformer({e}, {h}, 1, 1, 5, {drop}{{|, 'gelu'}}{{|, norm_first=True}}{{|, bias=False}}, batch_first={bf})")
        calls = ["model(x, m{|, tgt_mask=causal}{|, src_key_padding_mask=pad}{|, src_mask=causal}{|, memory_key_padding_mask=pad})",
            "model.eval()(x, m)", "model(x, m[..., :2])"]
    else:
        p.emit(
            f"class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n1, self.n2, self.qkv, self.out "
            f"= nn.LayerNorm({e}), nn.{{LayerNorm|RMSNorm}}({e}), nn.Linear({e}, {3 * e}, bias={{True|False}}), nn.Linear({e}, {e})\n"
            f"        self.mlp, self.drop = nn.Sequential(nn.Linear({e}, 8), nn.GELU({{|approximate='tanh'}}), nn.Linear(8, {e})), "
            f"nn.Dropout({drop})\n"
            f"    def forward(self, v):\n        b, n, c = v.shape\n        q, k, w = self.qkv(self.n1(v)).{{view(b, n, 3, {h}, c // "
            f"{h}).permute(2, 0, 3, 1, 4).unbind(0)|reshape(b, n, 3, {h}, -1).transpose(1, 3).unbind(2)}}\n"
            "        a = {F.scaled_dot_product_attention(q, k, w, is_causal=True)|(q @ k.mT / q.size(-1) ** "
            "0.5).masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), float('-inf')).softmax(-1) @ w}\n"
            "        v = v + self.drop(self.out(a.transpose(1, 2).{reshape(b, n, c)|contiguous().view(b, n, c)|flatten(2)}))\n        "
            "return v + self.drop(self.mlp(self.n2(v)))")
        p.emit(
            f"class GPT(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.wte, self.wpe = nn.Embedding(9, "
            f"{e}), nn.Embedding(8, {e})\n        self.h = nn.ModuleList([Block() for _ in range({{1|2}})])\n        self.head = "
            f"nn.Linear({e}, 9, bias=False)\n"
            "        {self.wte.weight = self.head.weight|self.head.weight = self.wte.weight|self.apply(self.init)}\n    def init(self, "
            "m):\n        if isinstance(m, (nn.Linear, nn.Embedding)): nn.init.normal_(m.weight, std=0.02)\n"
            "    def forward(self, t):\n        v = self.wte(t) + self.wpe(torch.arange(t.size(1)))\n        for b in self.h: v = "
            "{b(v)|checkpoint(b, v, use_reentrant=False)}\n        return self.head(v)")
        p.emit(
            "model = GPT(); tokens = torch.randint(0, 9, (2, 6)); say('count', sum(w.numel() for w in model.parameters()), "
            "len(model.state_dict()), [n for n, _ in model.named_parameters()])", "tokens")
        calls = ["model(tokens[:, :-1])", "model(tokens[:, 1:])", "model(torch.randint(0, 9, (3, 4)))"]
    p.emit("say('printed', repr(model)); say('parameters', dict(model.named_parameters()))")
    p.optimizer(wrong=0, parameters=p.t(
        "{model.parameters()|model.parameters()|[{'params': [w for w in model.parameters() if w.dim() > 1], 'weight_decay': 0.1}, "
        "{'params': [w for w in model.parameters() if w.dim() < 2], 'weight_decay': 0.}]}"), known=[o for o in words.OPTIMIZERS if "LBFGS"
        not in o and "Muon" not in o])
    p.emit(
        "sched = S.{LambdaLR(opt, lambda k: min((k + 1) ** -0.5, (k + 1) * 2 ** -1.5))|SequentialLR(opt, [S.LinearLR(opt, 0.1, 1.0, 2), "
        "S.CosineAnnealingLR(opt, 4)], [2])|OneCycleLR(opt, 0.1, 10, cycle_momentum=False)}")
    for _ in range(p.r.randint(2, 3)):
        p.emit(f"torch.manual_seed({p.r.randint(1, 5)}); model.train(); opt.zero_grad(); out = loss = 0; del out, loss")
        call = p.r.choice(calls)
        if which == "mha":
            p.emit("out, w = " + call, "out", "w")
        else:
            p.emit(("with torch.autocast('cpu', torch.bfloat16): out = " if p.likely(0.1) else "out = compiled(x) if 0 else " if p.likely(
                0.1) else "out = ") + call, "out")
        p.emit("loss = " + (
            "F.cross_entropy(out.{flatten(0, 1)|view(-1, 9)|reshape(-1, out.size(-1))}, torch.arange(out.numel() // 9) % 9{|, "
            "ignore_index=3|, label_smoothing=0.1})" if which == "gpt" else
            "{out.pow(2).mean()|F.mse_loss(out, torch.ones_like(out))|(out * torch.arange(out.numel()).view_as(out)).mean()}"), "loss")
        p.emit(
            "loss.backward(); say('gradients', grads(model)); steady(model.parameters()){|; nn.utils.clip_grad_norm_(model.parameters(), "
            "1.0)}")
        p.emit("opt.step(); sched.step(); say('parameters', dict(model.named_parameters()))")
    if which == "gpt":
        p.emit(
            "model.eval(); ids = tokens[:1, :2]\nwith torch.{no_grad()|inference_mode()}:\n    for k in range(4):\n        last = "
            "model(ids)[:, -1] / {0.8|1.0}\n        {v, _ = last.topk(4); last[last < v[:, [-1]]] = -float('inf')|pass}\n"
            "        ids = torch.cat([ids, {torch.multinomial(last.softmax(-1), 1)|last.argmax(-1, "
            "keepdim=True)|D.Categorical(logits=last).sample()[:, None]}], 1)", "ids")
    else:
        p.emit("model.eval()\nwith torch.no_grad(): say('end', " + p.r.choice(calls) + ")")


def embeddings(p):
    """Tables of vectors, dense and sparse."""
    sparse = p.likely(0.5)
    bag = p.likely(0.4)
    more = p.t("{|, padding_idx=1}{|, max_norm=1.0|, max_norm=0.5, norm_type=1.0}{|, scale_grad_by_freq=True}") + (", sparse=True" if
        sparse else "")
    p.emit(
        f"model = nn.{'EmbeddingBag' if bag else 'Embedding'}(6, "
        f"3{p.t('{, mode=' + repr('sum') + '||, mode=' + repr('max') + '}') if bag else ''}{more}); head = nn.Linear(3, 2)")
    p.emit(
        "say('printed', repr(model)); say('weight', model.weight); ids = torch.tensor({[[0, 1, 2], [2, 5, 1]]|[[3, 3, 3], [1, 1, 0]]|[[5, "
        "4, 4]]}{|, dtype=torch.int32})", "ids")
    if sparse and p.likely(0.7):
        p.emit(
            "opt = optim.{SparseAdam(model.parameters(), 0.1{|, betas=(0.5, 0.9)|, maximize=True})|SGD(model.parameters(), "
            "0.1)|Adagrad(model.parameters(), 0.1)|SGD(model.parameters(), 0.1, momentum=0.9)|Adam(model.parameters(), "
            "0.1)|SparseAdam([*model.parameters()], eps=1e-3)|SGD(model.parameters(), 0.1, weight_decay=0.1)}")
    else:
        p.optimizer(parameters="model.parameters()", known=[o for o in words.OPTIMIZERS if "LBFGS" not in o])
    calls = (["model(ids)", "model(ids{|, per_sample_weights=torch.ones(ids.shape) * 0.5})",
        "model(ids.flatten(), torch.tensor([0, 2{|, 2}]))", "model(torch.tensor([1, 2, 4]), offsets=torch.tensor([0, 1]))",
        "model(ids, torch.tensor([0]))", "model(ids.flatten())", "model(torch.tensor([[7]]))",
        "F.embedding_bag(ids, model.weight, mode='sum', per_sample_weights=torch.full(ids.shape, 0.3){|.requires_grad_()})",
        "F.embedding_bag(ids.flatten(), model.weight, torch.tensor([0, 1, 3]), mode='{sum|mean|max}', include_last_offset=True)"] if bag
        else ["model(ids)", "model(ids)", "model(ids[:1])", *([] if "scale" in more else ["model(ids[0, 0])"]), "model(ids[:0])",
        "F.embedding(ids, model.weight{|, padding_idx=2|, 0|, scale_grad_by_freq=True|, sparse=True|, max_norm=0.3})",
        "model(torch.tensor([7]))", "model(torch.tensor([0.5]))", "model.weight[ids]", "model(ids) @ model.weight.t()", "model(ids).sum(1)",
        "F.one_hot(ids.long(), 6).to(model.weight.dtype) @ model.weight"])
    p.emit("out = " + calls[0], "out")
    for _ in range(p.r.randint(2, 4)):
        p.emit("opt.zero_grad({||set_to_none=False}); out = loss = 0; del out, loss")
        p.emit("out = " + p.r.choice(calls), "out")
        p.emit("loss = {out.pow(2).sum()|head(out[..., :3]).mean()|out.mean()|(out - 1).abs().sum()}", "loss")
        p.emit("loss.backward(); say('gradients', grads(model))")
        if p.likely(0.3):
            p.emit(p.r.choice(["say('norm', nn.utils.clip_grad_norm_(model.parameters(), 0.5))",
                "model.weight.grad = model.weight.grad.coalesce() if model.weight.grad.is_sparse else model.weight.grad * 2",
                "loss.backward() if 0 else out.sum()", "(model(ids).sum() * 2).backward()",
                "model.weight.grad = model.weight.grad.to_dense()", "model.weight.grad.mul_(0.5)",
                "say('printed', repr(model.weight.grad))", "say('nnz', model.weight.grad._nnz(), model.weight.grad.sparse_dim())",
                "nn.utils.clip_grad_value_(model.parameters(), 0.1)", "F.embedding(ids, model.weight).sum().backward()"]))
        p.emit("opt.step(); say('parameters', model.weight, [[k, v] for s in opt.state.values() for k, v in s.items()])")
        if p.likely(0.3):
            p.emit(p.r.choice(["model.load_state_dict(stored(model.state_dict()))", "opt.load_state_dict(stored(opt.state_dict()))",
                "model = type(model).from_pretrained(model.weight.data{|, freeze=False}{|, padding_idx=0}); opt = "
                "optim.SGD(model.parameters(), 0.1)", "model.reset_parameters()", "model.weight.data[2] = 0", "say('printed', repr(opt))",
                "model.weight.data.renorm_(2, 0, 0.5)", "nn.init.uniform_(model.weight)",
                "softmax = nn.AdaptiveLogSoftmaxWithLoss(3, 6, [2, 4]{|, div_value=2.}{|, head_bias=True}); o, l = softmax(torch.randn(4, "
                "3), torch.tensor([0, 2, 3, 5])); l.backward(); say('adaptive', o, l, grads(softmax), softmax.log_prob(torch.ones(1, 3)), "
                "softmax.predict(torch.ones(1, 3)))"]))


def distributions(p):
    """Losses of distributions whose parameters are learnt."""
    kind = p.likely(0.7)
    p.emit("model = nn.Linear(2, 6); x = torch.randn(2); w = model(x).view(2, 3)", "w")
    known = words.CONTINUOUS if kind else words.DISCRETE
    p.optimizer(parameters="model.parameters()", wrong=0, known=words.OPTIMIZERS[:14])
    q = p.pick(known)
    other = q if p.likely(0.4) else p.pick(known)
    p.emit(f"q = {q}; say('printed', repr(q)); say('shapes', [list(q.batch_shape), list(q.event_shape), q.has_rsample, repr(q.support)])")
    asks = ["q.log_prob(s.detach())", "q.entropy()", "q.mean", "q.variance", "q.stddev", "q.mode", "q.cdf(s.detach())",
        "q.icdf(torch.tensor(0.3))", "q.expand((2,) + tuple(q.batch_shape)).sample()", "q.log_prob(torch.tensor(-7.5))",
        "q.sample((2,)).shape", "q.enumerate_support()", "q.perplexity()", f"D.kl_divergence(q, {other})", f"D.kl_divergence({other}, q)",
        "D.kl_divergence(q, q.expand(q.batch_shape))", "D.transform_to(q.support)(torch.randn({(3,)|(2, 3)|()}))",
        "D.biject_to(q.support)(torch.randn(3))", "D.Independent(q, 1).log_prob(s.detach())", "q.support.check(s)",
        "[[k, v] for k, v in q.__dict__.items() if isinstance(v, torch.Tensor)]",
        "type(q)(**{k: getattr(q, k) for k in q.arg_constraints if k in q.__dict__}).log_prob(s.detach())",
        "D.TransformedDistribution(q, D.{AffineTransform(1., "
        "2.)|ExpTransform()|SigmoidTransform()|PowerTransform(2.)|TanhTransform()}).rsample()", "q.arg_constraints", "q.sample_n(2)",
        "copy.deepcopy(q).log_prob(s.detach())"]
    for _ in range(p.r.randint(2, 3)):
        p.emit(f"torch.manual_seed({p.r.randint(1, 9)}); opt.zero_grad(); w = model(x).view(2, 3); q = {q}")
        p.emit("s = q.sample({||(2,)|torch.Size([4])})", "s")
        for _ in range(2):
            p.emit("say('asked', " + p.r.choice(asks) + ")")
        p.emit("loss = " + p.r.choice(["-q.log_prob(s).mean()", "-q.log_prob(s).mean()", "q.entropy().sum() + 0 * w.sum()",
            "(q.log_prob(s) * s.detach().sum()).mean()", f"D.kl_divergence(q, {other}).sum()",
            "q.rsample((3,)).pow(2).mean() + 0 * w.sum()", "(q.rsample() - 1).abs().sum()", "q.mean.sum() + q.variance.sum()",
            "-(q.log_prob(q.rsample()) - q.entropy()).mean()", "(-q.log_prob(s)).logsumexp(0).sum()", "q.cdf(s).sum()"]), "loss")
        p.emit(
            "loss.backward(); say('gradients', grads(model)); steady(model.parameters()); opt.step(); say('parameters', "
            "dict(model.named_parameters()))")


def modules(p):
    """What modules can be asked and told."""
    p.emit(
        "class Net(nn.Module):\n    {version = 1|_version = 2|pass}\n    def __init__(self, d=4):\n        super().__init__()\n        "
        "self.body = nn.Sequential(collections.OrderedDict(a=nn.Linear(3, d), act=nn.{ReLU|Tanh}(), b=nn.{BatchNorm1d|LayerNorm}(d)))\n"
        "        self.heads = nn.ModuleDict({'x': nn.Linear(d, 2), 'y': nn.Linear(d, 1, bias=False)})\n        self.more = "
        "nn.ModuleList([nn.Dropout({0.2|0.0}), nn.Identity()])\n        self.scale = nn.Parameter(torch.ones(2))\n        self.free = "
        "nn.ParameterList([torch.zeros(2), torch.ones(1)])\n"
        "        self.register_buffer('mean', torch.zeros(2)); self.register_buffer('temp', torch.ones(1), persistent=False); "
        "self.register_parameter('none', None); self.register_buffer('nobuf', None)\n"
        "    def forward(self, x, how='x'):\n        v = self.body(x)\n        for m in self.more: v = m(v)\n        return "
        "self.heads[how](v) * {self.scale|self.scale[:1]} + self.free[0].sum() + self.mean.sum()\n    def extra_repr(self): return "
        "f'd={self.body.a.out_features}'")
    p.emit("world.Net = Net; model = Net({|5}); x, y = torch.randn(4, 3), torch.randn(4, 2); say('printed', repr(model))")
    p.optimizer(wrong=0)
    p.emit("other = Net()")
    asks = [
        "say('params', [[n, list(q.shape), q.requires_grad] for n, q in "
        "model.named_parameters({||prefix='m'|recurse=False|remove_duplicate=False})])",
        "say('modules', [n + ':' + type(m).__name__ for n, m in model.named_modules({|prefix='p'})])",
        "say('children', [n for n, _ in model.named_children()])",
        "say('buffers', [n for n, _ in model.named_buffers({|'p'|recurse=False})])",
        "say('state', list(model.state_dict({|prefix='m.'|keep_vars=True})))", "other.load_state_dict(model.state_dict())",
        "say('loaded', str(other.load_state_dict(model.state_dict(), strict=False)))",
        "s = model.state_dict(); s.pop('scale'); s['new'] = torch.ones(1); model.load_state_dict(s)",
        "s = model.state_dict(); s.pop('scale'); say('loaded', str(model.load_state_dict(s, strict=False)))",
        "s = model.state_dict(); s['scale'] = torch.ones(3); model.load_state_dict(s{|, strict=False})", "model.load_state_dict({})",
        "model.load_state_dict([1])", "s = copy.deepcopy(model.state_dict()); s['scale'] = 3; model.load_state_dict(s)",
        "say('assigned', model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True), "
        "model.scale.requires_grad)", "model.scale = torch.ones(2)", "model.scale = nn.Parameter(torch.full((2,), 0.5))",
        "model.mean = torch.ones(2)", "model.mean = 'a'", "model.body.a.weight = None", "del model.scale", "model.nothing",
        "model.new = nn.Linear(2, 2); say('new', 'new' in dict(model.named_modules()))", "model.scale.data = torch.full((2,), 2.)",
        "model.register_buffer('scale', torch.ones(1))", "model.register_parameter('a.b', nn.Parameter(torch.ones(1)))",
        "model.register_parameter('w', torch.ones(1))", "model.register_parameter('w', nn.Parameter(torch.ones(1)) * 2)",
        "model.add_module('body', 3)", "model.add_module('', nn.ReLU())",
        "say('got', model.get_submodule('body.a').in_features, model.get_parameter('body.a.weight').shape, model.get_buffer('mean'))",
        "model.get_submodule('body.z')", "model.get_parameter('body')", "model.set_submodule('body.act', nn.GELU())",
        "model.body[1] = nn.Sigmoid()", "model.body.append(nn.Linear(model.body.a.out_features, model.body.a.out_features))",
        "model.body.insert(1, nn.Tanh())", "say('slice', repr(model.body[:2]), len(model.body))", "del model.body[1]", "model.body[9]",
        "model.body = nn.Sequential(*[*model.body][::1], nn.Tanh())",
        "model.heads['z'] = nn.Linear(1, 1); say('keys', list(model.heads.keys()), 'z' in model.heads)", "model.heads.pop('y')",
        "model.heads.update({'w': nn.ReLU()})", "model.more.extend([nn.Tanh(), nn.Identity()]); say('n', len(model.more))",
        "model.more += [nn.Identity()]", "model.more[0] = nn.Dropout(0.5)", "model.more.pop(0)", "model.more.append(3)",
        "model.free.append(torch.ones(2)); say('free', repr(model.free))",
        "model.half(); say('dtype', [str(q.dtype) for q in model.parameters()][:2], str(model.mean.dtype)); model.{double()|to(x.dtype)}",
        "model.to({torch.float32|'cpu'|'cpu', torch.float64|x|torch.device('cpu')}).to(x)", "model.to(torch.int64)",
        "model.type(torch.float32).to(x.dtype)", "model.to('meta') if 0 else model.cpu()",
        "model.{eval|train}(); say('training', [m.training for m in model.modules()])", "model.train(3)",
        "model.requires_grad_(False); model.heads.requires_grad_()", "model.body.a.weight.requires_grad = False",
        "model.zero_grad({|set_to_none=False})", "model.apply(lambda m: say('applied', type(m).__name__))", "model = copy.deepcopy(model)",
        "model = {pickle.loads(pickle.dumps(model))|torch.load(io.BytesIO(pickle.dumps(model)))}", "model.share_memory() and None",
        "h = model.register_forward_hook({lambda m, a, made: say('hook', made)|lambda m, a, made: made * 2|lambda m, a, k, made: "
        "say('kw', sorted(k)), with_kwargs=True|heard('first', 0), prepend=True|lambda m, a, made: say('always', 1), always_call=True})",
        "h = model.register_forward_pre_hook({lambda m, a: say('pre', a[0])|lambda m, a: a[0] * 2|lambda m, a, k: (a, {**k, 'how': 'y'}), "
        "with_kwargs=True|lambda m, a: 5})",
        "h = model.heads['x'].register_full_backward_hook({lambda m, g, o: say('back', [v for v in g if v is not None], o[0])|lambda m, "
        "g, o: tuple(v * 2 if v is not None else v for v in g)|heard('b', 0), prepend=True|lambda m, g, o: 5})",
        "h = model.body.register_full_backward_pre_hook({lambda m, o: say('prehook', o[0])|lambda m, o: (o[0] * 3,)})", "h.remove()",
        "h = nn.modules.module.register_module_forward_hook(lambda m, a, made: say('global', type(m).__name__)); model(x); h.remove()",
        "h = nn.modules.module.register_module_full_backward_hook(lambda m, g, o: say('gback', type(m).__name__)); "
        "model(x).sum().backward(); h.remove()",
        "h = nn.modules.module.register_module_forward_pre_hook(lambda m, a: say('gpre', type(m).__name__)); model(x); h.remove()",
        "model.register_state_dict_post_hook(lambda m, s, prefix, meta: say('sd', [prefix, len(s)])); model.state_dict()",
        "model.register_state_dict_pre_hook(lambda m, prefix, keep: say('sdpre', [prefix, keep])); model.state_dict()",
        "model.register_load_state_dict_pre_hook(lambda m, s, prefix, *rest: say('lpre', [prefix, len(s), len(rest)])); "
        "model.load_state_dict(model.state_dict())",
        "model.register_load_state_dict_post_hook(lambda m, keys: {say('lpost', keys.missing_keys, "
        "keys.unexpected_keys)|keys.missing_keys.clear()}); model.load_state_dict({k: v for k, v in model.state_dict().items() if k != "
        "'scale'})", "say('meta', json.dumps(getattr(model.state_dict(), '_metadata', None)))",
        "model.body.register_forward_hook(lambda m, a, o: 1 / 0); model(x)",
        "nn.Linear(2, 3, device='meta').to_empty(device='cpu').reset_parameters()",
        "say('bad', caught(lambda: nn.Linear(2)), caught(lambda: nn.Module()(3)), caught(lambda: nn.Conv2d(3, 4, 3, groups=2)), "
        "caught(lambda: nn.Dropout(2)), caught(lambda: nn.BatchNorm1d(3)(torch.ones(2, 2, 2, 2))))", "model(x, 'q')",
        "model(torch.ones(2, 5))", "model(x, how='y')", "model()", "model(x.int())", "model(x.numpy())",
        "say('same', [a is b for a, b in zip(model.parameters(), model.parameters())])",
        "say('dir', [n for n in dir(model) if n in ('body', 'scale', 'mean', 'none', 'temp')])",
        "say('dict', sorted(k for k in model.__dict__ if 'hook' not in k))",
        "say('printed', repr(nn.utils.parametrizations.weight_norm(model.body.a)))",
        "model.tied = model.body.a; say('tied', len(list(model.parameters())), list(model.state_dict())[-2:])",
        "say('printed', repr(model), model.extra_repr(), model._get_name())",
        "say('printed', str(model.scale), repr(model.free[0]), str(model.scale.grad), repr(model.mean))",
        "say('printed', str(torch.arange(12.).view(3, 4) / 7), str(x.float()), str(x > 0), str(x[:0]), repr(nn.Parameter(x[0])))",
        "nn.utils.skip_init(nn.Linear, 2, 3).weight.shape", "model.compile() if 0 else None", "model.mean += 1",
        "with torch.no_grad(): model.scale *= 2", "model.scale *= 2", "model.scale.mul_(2)", "model.free = [1, 2]",
        "say('bufs', [b is not None for b in model.buffers()])",
        "model.body.a.register_forward_pre_hook(lambda m, a: None); say('hooks', len(model.body.a._forward_pre_hooks))",
        "model.set_extra_state(3)", "model.get_extra_state()",
        "say('in torch.bfloat16', model.bfloat16()(x.bfloat16()).dtype is torch.bfloat16); model.to(x.dtype)",
        "Net.get_extra_state = lambda self: {'n': 3}; Net.set_extra_state = lambda self, s: say('extra', s); "
        "model.load_state_dict(model.state_dict()); say('keys', list(model.state_dict())[-1:]); del Net.get_extra_state, "
        "Net.set_extra_state",
        "nn.utils.parametrize.register_parametrization(model.body.a, 'weight', {Symmetric()|Clipped()|Skew()}{|, unsafe=True}); "
        "say('printed', repr(model.body.a))",
        "say('which', nn.utils.parametrize.is_parametrized(model.body.a){|, "
        "nn.utils.parametrize.type_before_parametrizations(model.body.a).__name__})", "with nn.utils.parametrize.cached(): model(x)",
        "nn.utils.parametrize.remove_parametrizations(model.body.a, 'weight')",
        "nn.utils.prune.l1_unstructured(model.heads['x'], 'weight', {0.5|2}); say('pruned', list(model.heads['x'].state_dict()), "
        "model.heads['x'].weight_mask)", "nn.utils.prune.remove(model.heads['x'], 'weight')",
        "say('pruned', nn.utils.prune.is_pruned(model))",
        "nn.utils.prune.global_unstructured([(model.body.a, 'weight'), (model.heads['x'], 'weight')], "
        "nn.utils.prune.{L1Unstructured|RandomUnstructured}, amount={0.3|4}); say('masks', model.body.a.weight_mask, "
        "model.heads['x'].weight_mask)",]
    for _ in range(p.r.randint(3, 5)):
        for _ in range(p.r.randint(1, 3)):
            p.emit(p.r.choice(asks))
        p.emit(f"torch.manual_seed({p.r.randint(1, 5)}); opt.zero_grad(); out = loss = 0; del out, loss")
        p.emit("out = model(x); loss = F.mse_loss(out, y)", "out", "loss")
        p.emit("loss.backward(); say('gradients', grads(model)); steady(model.parameters())")
        p.emit(
            "opt.step({|||closure=None}) if 'LBFGS' not in type(opt).__name__ else opt.step(lambda: loss.detach()); say('parameters', "
            "dict(model.named_parameters())); say('buffers', dict(model.named_buffers()))")


def data_loading(p):
    """Data sets, samplers, loaders, and a loop over them."""
    p.emit(
        "model = nn.Linear(3, 3); opt = optim.SGD(model.parameters(), 0.1); g = torch.Generator().manual_seed({3|0}); a, b = "
        "torch.randn(11, 3), torch.randint(0, 3, (11,))")
    sets = ["Pairs({10|7|1})", "data.TensorDataset(a, b)", "data.TensorDataset(a, b)", "data.Subset(Pairs(10), [4, 2, 7{|, 2}])",
        "data.ConcatDataset([Pairs(4), Pairs(3)])", "data.random_split(Pairs(10), {[7, 3]|[0.5, 0.5]|[0.7, 0.3]}, g)[{0|1}]",
        "[(a[k], int(b[k])) for k in range(8)]", "Numbers(9)", "data.ChainDataset([Numbers(3), Numbers(4)])", "data.StackDataset(a, b)",
        "data.StackDataset(x=a, y=b)", "[{'x': a[k], 'y': k, 'z': {'n': 0.5 * k, 's': str(k)}} for k in range(5)]", "list(range(7))", "a",
        "a.numpy()", "[torch.arange(k + 1) for k in range(5)]"]
    collate = p.t(
        "{|||||, collate_fn=lambda rows: rows|, collate_fn=lambda rows: pad_sequence([torch.as_tensor(r) if not isinstance(r, tuple) else "
        "r[0] for r in rows], batch_first=True)|, collate_fn=data.default_convert}")
    order = p.t(
        "{||, shuffle=True|, shuffle=True, generator=g|, sampler=data.RandomSampler(ds, replacement=True, num_samples=6, generator=g)|, "
        "sampler=data.SequentialSampler(ds)|, sampler=data.WeightedRandomSampler([0.1, 0.5, 0.4], 5{|, generator=g})|, "
        "sampler=data.SubsetRandomSampler([0, 2, 1])|, sampler=[2, 0, 1]"
        "|, sampler=data.distributed.DistributedSampler(ds, 2, {0|1}{|, shuffle=False}{|, seed=3}{|, drop_last=True})}")
    size = p.t("{batch_size=3|batch_size=2|3|4, drop_last=True|batch_size=None|batch_size=0|1}") if p.likely(0.85) else (
        "batch_sampler=data.BatchSampler(data.{SequentialSampler|RandomSampler}(ds), 3, {True|False})")
    workers = p.t(
        "{|, num_workers=0|, num_workers=0, pin_memory=False|, num_workers=2|, num_workers=1, prefetch_factor=3|, timeout=3|, "
        "prefetch_factor=2|, persistent_workers=True}") if p.likely(0.3) else ""
    p.emit(f"ds = {p.pick(sets)}; say('length', caught(lambda: len(ds)))")
    p.emit(f"loader = data.DataLoader(ds, {size}{order}{collate}{workers}); say('length', caught(lambda: len(loader)))")
    for _ in range(2):
        p.emit(f"torch.manual_seed({p.r.randint(1, 5)})")
        p.emit("for batch in loader:\n    if isinstance(batch, dict): batch = {k: v for k, v in batch.items()}\n    say('batch', batch)")
        p.emit(
            "for k, batch in enumerate(loader):\n    v, c = batch[0], batch[1]\n    opt.zero_grad(); loss = F.cross_entropy(model(v), c); "
            "loss.backward(); opt.step()\nsay('parameters', dict(model.named_parameters()))")
        p.emit(p.pick(["say('rng', torch.rand(2))", "it = iter(loader); say('first', next(it))", "say('item', ds[{0|-1|1|99}])",
            "say('order', list(loader.sampler))", "say('batches', list(loader.batch_sampler))", "loader.sampler.set_epoch(2)",
            "say('collated', data.default_collate([{1, 2|1.5, 2|'a', 'b'|(1, 2.), (3, 4.)|{'a': 1}, {'a': 2}|a[0], a[1]|a[0], a[0, "
            ":2]|None, 1|a.numpy()[0], a.numpy()[1]|[1, 2], [3]|True, False|[a[0], 1], [a[1], 2]}]))",
            "say('split', [list(s.indices) for s in data.random_split(range(10), {[0.3, 0.7]|[3, 7]|[3, 3, 4]|[0.33, 0.33, 0.34]}, "
            "torch.Generator().manual_seed(1))])", "say('perm', torch.randperm(5, generator=g))", "data.random_split(range(10), [3, 3])",
            "loader.batch_size = 5", "loader.dataset = a",
            "say('printed', type(loader.sampler).__name__, loader.batch_size, loader.drop_last, loader.num_workers)"]))
