"""The programs of the first kind: what they are made of, and how one is made from its seed."""
from __future__ import annotations

import math
import random
import re

SHAPES = [(), (1,), (2,), (3,), (2, 3), (3, 2), (3, 3), (1, 3), (2, 1), (2, 2, 3), (0,), (4,)]
UNARY = ["{}.exp()", "{}.sin()", "{}.tanh()", "torch.relu({})", "{}.abs()", "{}.sigmoid()", "-{}", "{} * 2", "2 - {}", "{} / 3",
         "1 / ({} + 5)", "{} ** 2", "{} ** 3", "{}.clamp(-1, 1)", "{}.square()", "torch.nn.functional.softplus({})", "{}.clone()",
         "{}.neg()", "{}.cos()", "torch.where({} > 0, {}, {} * 0.5)", "{}.sign()", "{}.detach()", "{}.abs().add(1).log()",
         "{}.abs().add(1).sqrt()", "{}.clamp(min=0)", "torch.nn.functional.gelu({})", "torch.nn.functional.leaky_relu({}, 0.1)",
         "{}.masked_fill({} > 1, 0.5)", "{}.contiguous()", "({} + 0.137).round()", "{}.expm1()", "{}.erf()", "{}.to(torch.float64)",
         "torch.nn.functional.elu({})", "{}.reciprocal()", "({} + 0.137).floor()", "{} * {}", "{} + {}.detach()", "torch.zeros_like({})",
         "torch.nn.functional.hardtanh({})", "{}.atan()", "{}.log1p()", "{}.rsqrt()", "{} > 0", "{}.flip(0)", "{}.cumsum(0)", "{}.tril()",
         "{}.sgn()", "{}.abs().nan_to_num()", "{}.logit(0.1)", "{}.fill(2.)", "torch.complex({}, {} * 0.5)", "{}.angle()", "{}.conj() * 2",
         "torch.view_as_real({})", "{}.imag", "{}.conj_physical()", "{}.resolve_conj()", "{}.float()", "{}.to(torch.int64)", "{}.bool()",
         "{}.to(torch.complex128)", "{}.double()", "{}.grad", "{}.grad * 2", "torch.nn.Parameter({}.detach())", "copy.deepcopy({})",
         "{}.clone().detach().requires_grad_()", "{}.type_as({})", "torch.ones_like({}, requires_grad=True)", "{}.new_zeros(2)",
         "{}.repeat(2, 1)", "{}.roll(1)", "{}.triu()", "torch.nn.functional.silu({})", "torch.nn.functional.logsigmoid({})", "{}.frac()",
         "{}.clamp(max=torch.tensor(0.5, dtype=torch.float64))", "torch.nn.functional.dropout({}, 0.0)", "{}.repeat_interleave(2)",
         "{}.nan_to_num()", "{}.sinc()", "{}.gather(0, torch.zeros_like({}, dtype=torch.int64))", "{}.masked_select({} > 0)"]
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / ({}.abs() + 1)", "torch.maximum({}, {})", "torch.minimum({}, {})",
          "torch.where({} > {}, {}, {})", "torch.addcmul({}, {}, {})", "{}.lerp({}, 0.25)", "torch.atan2({}, {} + 3)",
          "torch.hypot({}, {})", "{}.add({}, alpha=2)", "{} == {}", "torch.nn.functional.mse_loss({}, {})", "{}.mul({}).add_({})",
          "torch.stack([{}, {}])", "torch.fmod({}, {}.abs() + 1)", "{}.sub({})", "torch.logaddexp({}, {})", "({}.abs() + 1) ** {}",
          "torch.cat([{}, {}])", "torch.rsub({}, {})", "torch.nn.functional.l1_loss({}, {})",
          "torch.nn.functional.smooth_l1_loss({}, {})", "torch.dist({}, {})", "torch.copysign({}, {}.nan_to_num())", "{}.heaviside({})",
          "{}.xlogy({}.abs() + 1)", "{}.index_add(0, torch.tensor([0]), {}[:1])", "{}.expand_as({}) * 2",
          "{}.masked_scatter({} > 0, torch.ones(40, dtype=torch.float64))",
          "{}.index_put((torch.tensor([0]),), {}[0])", "{}.fmax({})", "torch.nn.functional.huber_loss({}, {})",
          "{}.remainder({}.abs() + 1)",
          "torch.nn.functional.binary_cross_entropy_with_logits({}, {})", "{}.scatter(0, torch.zeros_like({}, dtype=torch.int64), {})",
          "torch.nn.functional.cosine_similarity({}, {}, -1)", "torch.addcdiv({}, {}, {}.abs() + 1)", "{}.inner({})"]
REDUCE = ["{}.sum({d})", "{}.mean({d})", "{}.amax({d})", "{}.prod({d})", "{}.logsumexp({d})", "{}.softmax({d})", "{}.cumsum({d})",
          "{}.norm()", "{}.var({d})", "{}.max({d})[0]", "{}.log_softmax({d})", "{}.sort({d})[0]", "{}.cumprod({d})", "{}.sum()",
          "{}.mean()", "{}.max()", "{}.prod()", "{}.std({d}, keepdim=True)", "{}.contiguous().median({d})[0]", "{}.amin({d})", "{}.logcumsumexp({d})",
          "{}.norm(dim={d})", "{}.flip({d})", "{}.min()", "{}.argmax({d})", "{}.nansum()", "{}.cummax({d})[0]", "{}.topk(1, {d})[0]",
          "{}.kthvalue(1, {d})[0]", "{}.renorm(2, {d}, 1.0)", "{}.diff(dim={d})", "{}.roll(1, {d})",
          "{}.index_select({d}, torch.tensor([0]))", "{}.unfold({d}, 1, 1).sum(-1)", "{}.trace()"]
VIEWS = ["{}.t()", "{}.transpose(0, -1)", "{}.reshape(-1)", "{}.view(-1)", "{}.unsqueeze(0)", "{}.unsqueeze(-1)", "{}.squeeze()", "{}[0]",
         "{}[-1]", "{}[1:]", "{}[..., 0]", "{}[:, 1:]", "{}[::2]", "{}.narrow(0, 0, 1)", "{}.expand(2, *{}.shape)", "{}.diagonal()",
         "{}.flatten()", "{}.chunk(2)[0]", "{}.split(1)[-1]", "{}.unbind()[0]", "{}.movedim(0, -1)", "{}.select(0, 0)", "{}.view_as({})",
         "{}[None]", "{}.detach()", "({} if {}.numel() > 1 else torch.zeros(2)).as_strided((2,), (1,))",
         "{}.permute(tuple(range({}.dim() - 1, -1, -1)))", "{}.T",
         "{}.squeeze(0)", "{}.mT", "{}.real", "{}.data", "{}[:]", "{}.view({}.shape)", "{}.swapaxes(0, -1)", "{}.tensor_split(2)[1]",
         "{}.unflatten(0, (1, -1))", "{}[torch.tensor([0])]", "{}[{} > 0]", "{}.expand_as({})", "{}.ravel()", "{}.conj()",
         "{}.alias_copy() if hasattr({}, 'alias_copy') else {}.clone()", "{}.chunk(2)[-1]", "{}.split([1, 1])[0]", "{}.unbind(-1)[-1]",
         "{}.hsplit(2)[0]", "{}.tensor_split(2, -1)[0]", "{}.unsafe_chunk(2)[0]", "{}.adjoint()"]
INPLACE = ["{}.add_(1)", "{}.mul_(2)", "{}.zero_()", "{}.exp_()", "{}.relu_()", "{}.clamp_(-1, 1)", "{}.neg_()", "{}.sub_({})",
           "{}.mul_({})", "{}.copy_({})", "{}.fill_(0.5)", "{}.sigmoid_()", "{}.masked_fill_({} > 0, 1.)", "{}.div_(2)", "{}.tanh_()",
           "{}.sin_()", "{}.t_()", "{}.unsqueeze_(0)", "{}.squeeze_()", "{}.detach_()", "{}.requires_grad_()", "{}.add_({}, alpha=2)",
           "{}.pow_(2)", "{}.addcmul_({}, {})", "{}.transpose_(0, -1)", "{}.abs_()", "{}.sqrt_()", "{}.lerp_({}, 0.5)",
           "{}.index_fill_(0, torch.tensor([0]), 2.)", "{}.cumsum_(0)", "{}.requires_grad_(False)", "{}.reciprocal_()",
           "{}.clamp_(min=0)", "{}.tril_()", "{}.chunk(2)[0].mul_(2)", "{}.split(1)[-1].add_({})", "{}.unbind()[0].zero_()",
           "{}[0].mul_(3)", "{}.view(-1)[:1].exp_()", "{}[0][None][0].mul_(2)", "{}.view(-1)[1:][::2].add_(1)", "{}.t().t()[0].exp_()",
           "[x.add_(1) for x in {}.unbind()]", "{}.index_put_((torch.tensor([0]),), {}[0])", "{}.index_add_(0, torch.tensor([0]), {}[:1])",
           "{}.scatter_(0, torch.zeros_like({}, dtype=torch.int64), {})", "{}.masked_scatter_({} > 0, torch.ones(40).double())",
           "{}.index_copy_(0, torch.tensor([0]), {}[:1])",
           "{}.expand(2, *{}.shape)[0].mul_(2)", "{}.unsqueeze(0).squeeze(0).sin_()", "{}.view_as({}).detach_()",
           "{}.diagonal()[:1].add_(1)",
           "{}.add_({}.sum())", "{}.permute(tuple(range({}.dim() - 1, -1, -1)))[..., 0].mul_({}.sum())",
           "{}.index_put_((torch.tensor([0, 0]),), {}[0], accumulate=True)", "{}.copysign_({}.nan_to_num())",
           "{}.diagonal().fill_(2.)", "{}.narrow(0, 0, 1).copy_({})", "{}.conj_physical_()",
           "{}.detach().mul_(2)", "{}.retain_grad()", "{}.add_(0.137).floor_()", "{}.fill_diagonal_(1.)"]
WRITES = ["{}[0] = {}", "{}[0] = 1.5", "{}[1:] = 0", "{}[...] = {}", "{} += {}", "{} *= 2", "{} -= 1", "{} /= 2", "{}[0] += 1",
          "{}[{} > 0] = 0", "{}.data = {like}", "{}.grad = None", "{}.grad = torch.ones_like({})", "{}.data.mul_(2)", "{}[0] *= {}",
          "{}.requires_grad = True", "{}.grad.zero_()", "{}.data[0] = 1", "{}[torch.tensor([0])] = {}", "{} **= 2"]
OUT = ["torch.add({}, {}, out={})", "torch.mul({}, 2, out={})", "torch.exp({}, out={})", "torch.maximum({}, {}, out={})",
       "torch._foreach_add_([{}, {}], 1)", "torch._foreach_mul_([{}, {}], [2., 3.])", "torch._foreach_neg_([{}])",
       "torch._foreach_addcmul_([{}], [{}], [{}])", "torch._foreach_zero_([{}.detach(), {}.detach()])",
       "{}.resize_(min(2, {}.numel()))", "{}.set_({}.detach().clone())",
       "{}.swapaxes_(0, -1)", "{}.as_strided_((1,), (1,))", "{}.copy_({}.t())",
       "torch.nn.init.uniform_({}, 0.5, 0.5)", "torch.nn.utils.clip_grad_norm_([{}], 1.0)",
       "torch.nn.utils.clip_grad_value_([{}, {}], 0.5)"]
REGIONS = ["with torch.no_grad(): {}", "with torch.enable_grad(): {}", "with torch.no_grad():\n    with torch.enable_grad(): {}",
           "with torch.inference_mode(): {}", "with torch.set_grad_enabled(False): {}", "with torch.autograd.graph.save_on_cpu(): {}",
           "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t): {}",
           "with torch.autograd.graph.saved_tensors_hooks(lambda t: (t * 1, 0), lambda kept: kept[0].view_as(kept[0])): {}",
           "with torch.autograd.graph.disable_saved_tensors_hooks('not here'): {}", "with torch.autograd.set_detect_anomaly(False): {}",
           "with torch.autocast('cpu', dtype=torch.bfloat16): {}", "with torch.autograd.graph.allow_mutation_on_saved_tensors(): {}",
           "with torch.autograd.forward_ad.dual_level(): {}", "with torch.no_grad(), torch.inference_mode(False): {}",
           "with torch.autograd.set_multithreading_enabled(False): {}"]
HOOKS = ["{}.register_hook(lambda g: {how})", "{}.register_post_accumulate_grad_hook(lambda t: say('accumulated', t.grad))",
         "{}.grad_fn.register_prehook(lambda gs: say('pre', gs[0]))", "{}.grad_fn.register_hook(lambda made, given: say('post', given[0]))",
         "{}.grad_fn.register_prehook(lambda gs: tuple([g if g is None else g * 2 for g in gs]))",
         "{}.register_hook(lambda g: {how}).remove()", "torch.autograd.graph.register_multi_grad_hook(({}, {other}), told)",
         "torch.autograd.graph.register_multi_grad_hook(({}, {other}), lambda g: say('any', g), mode='any')",
         "{}.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(2))",
         "{}.grad_fn.next_functions[0][0].register_hook(lambda made, given: say('below post', given[0]))",
         "{}.grad_fn.next_functions[0][0].register_prehook(lambda gs: say('below pre', gs[0]))",
         "{}.grad_fn.register_hook(lambda made, given: tuple([g if g is None else g * 2 for g in made]))",
         "torch.autograd.graph.get_gradient_edge({}).node.register_prehook(lambda gs: say('at the edge', gs[0]))",
         "{}.register_post_accumulate_grad_hook(lambda t: setattr(t, 'grad', None))", "{}.register_hook(lambda g: (g * g.detach().sum()))",
         "{}.grad_fn.register_hook(lambda made, given: [say('made', g) for g in made] and None)"]
LOOKS = ["say('next', [f and f.name() for f, _ in {}.grad_fn.next_functions])", "say('saved', {}.grad_fn._saved_self)",
         "say('saved', {}.grad_fn._saved_result)", "say('saved', {}.grad_fn._saved_other)",
         "say('layout', [{}.stride(), {}.storage_offset()])",
         "say('base', {}._base)", "say('flags', [{}._is_view(), {}.is_contiguous(), {}.retains_grad, {}.is_inference()])",
         "say('edge', torch.autograd.graph.get_gradient_edge({}).output_nr)", "say('printed', str({}))", "say('same', {}.grad is {}.grad)",
         "say('gradient lies', {}.grad.stride())"]
CUSTOM = ["Twice.apply({})", "Written.apply({})", "Viewed.apply({})", "Pair.apply({})", "Several.apply({})[0]", "Several.apply({})[1]",
          "Late.apply({})", "Passed.apply({})", "Scaled.apply({}, 3.0)", "Scaled.apply(2.0, {})", "Kept.apply({}, {other})[0]",
          "Kept.apply({}, {other})[1]", "Kept.apply({}, {other})[2]", "Filled.apply({})", "Pushing.apply({})", "Part.apply({})",
          "Halves.apply({})[0]", "Halves.apply({})[1]", "Raising.apply({})", "Reading.apply({})", "Wrong.apply({})", "Defaults.apply({})",
          "Defaults.apply({}, 3)", "Nested.apply({})", "Vjp.apply({})"]
TRANSFORMS = ["pushed(Pushing.apply, {})", "torch.func.grad(lambda x: (x * x).sum().real)({})", "torch.func.vmap(Pushing.apply)({})",
              "torch.func.grad(lambda x: Pushing.apply(x).sum())({})", "torch.func.jacfwd(Pushing.apply)({})",
              "torch.func.grad(lambda x: (x * x).sum())({})", "torch.func.vmap(lambda x: x.sin())({}.detach())",
              "torch.func.jvp(torch.sin, ({},), (torch.ones_like({}),))[1]", "torch.func.jacrev(lambda x: x ** 2)({})",
              "torch.autograd.functional.vjp(lambda x: x ** 2, {}, torch.ones_like({}))[1]", "torch.func.jacfwd(torch.tanh)({})",
              "torch.func.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)({})", "torch.func.hessian(lambda x: (x ** 3).sum())({})",
              "torch.func.grad(lambda x: torch.func.grad(lambda y: (y ** 3).sum())(x).sum())({})",
              "torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))({})", "torch.func.vmap(torch.sum, in_dims=-1)({})",
              "torch.autograd.functional.jacobian(torch.exp, {}, create_graph=True)",
              "torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), {}, torch.ones_like({}))[1]",
              "torch.func.linearize(torch.sin, {}.detach())[1](torch.ones_like({}))",
              "torch.func.functionalize(lambda x: x.clone().mul_(x))({})",
              "torch.utils.checkpoint.checkpoint(lambda x: x.sin() * x, {}, use_reentrant=False)",
              "torch.utils.checkpoint.checkpoint(lambda x: x.sin() * x, {}, use_reentrant=True)",
              "pushed(torch.sin, {})", "pushed(torch.square, {})", "pushed(lambda x: x.tanh() * x, {})", "pushed(lambda x: x.sum(0), {})",
              "pushed(lambda x: (x * x).cumsum(0)[0], {})", "pushed(lambda x: x.clone().mul_(x), {})",
              "pushed(lambda x: x.view(-1)[::2], {})", "torch.func.functional_call(layer, {'weight': {}}, ({other},))",
              "torch.func.functional_call(layer, {}, ({other},)) if 0 else layer({})",
              "torch.func.vjp(lambda x: x.sin() * {other}, {})[1](torch.ones_like({}))[0]",
              "torch.func.grad_and_value(lambda x: x.cos().sum())({})[0]",
              "torch.func.vmap(lambda x, y: x * y, in_dims=(0, None))({}, {other})", "torch.func.vmap(torch.sin, chunk_size=1)({})",
              "torch.func.vmap(lambda x: x.clone().add_(1))({})", "torch.func.jvp(lambda x: x.exp() * {other}, ({},), ({other},))[1]",
              "torch.func.jacrev(lambda x: x * {other})({})",
              "torch.func.jacfwd(lambda x: torch.func.grad(lambda y: y.exp().sum())(x))({})",
              "torch.autograd.functional.hessian(lambda x: x.sin().sum(), {})",
              "torch.autograd.functional.vhp(lambda x: x.exp().sum(), {}, torch.ones_like({}))[1]",
              "torch.autograd.functional.jvp(lambda x: x ** 2, {}, torch.ones_like({}), create_graph=True)[1]",
              "torch.autograd.functional.jacobian(lambda x: x * {other}, {}, vectorize=True)",
              "torch.utils.checkpoint.checkpoint(lambda x, y: x * y.exp(), {}, {other}, use_reentrant=False)",
              "torch.utils.checkpoint.checkpoint(lambda x, y: x * y.exp(), {}, {other}, use_reentrant=True)",
              "torch.utils.checkpoint.checkpoint(lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x.exp(), use_reentrant=False), {}, "
              "use_reentrant=False)",
              "torch.utils.checkpoint.checkpoint_sequential([torch.sin, torch.exp, torch.tanh], 2, {}, use_reentrant=False)"]


class Program:
    """The statements of one seed: [(text, names to be described)]."""

    def __init__(self, seed):
        self.r, self.names, self.made, self.own = random.Random(seed), [], [], set()
        for k in range(self.r.randint(1, 4)):
            self.leaf(k)
        for _ in range(self.r.randint(4, 14)):
            self.step()
        self.finish()

    def emit(self, text, *names):
        self.made.append((text, names))

    def leaf(self, k):
        r, shape = self.r, self.r.choice(SHAPES)
        n = math.prod(shape)
        values = [r.randint(-8, 8) / 4 for _ in range(n)]
        text = f"torch.tensor({values}, dtype=torch.float64).reshape({shape}).clone().requires_grad_({r.random() < 0.75})"
        self.emit(f"v{k} = {text}", f"v{k}")
        self.names.append(f"v{k}")

    def name(self):
        """A name, more often a late one."""
        return self.names[max(self.r.randrange(len(self.names)), self.r.randrange(len(self.names)))]

    def filled(self, form):
        one, other = self.name(), self.name()
        form = form.replace("{like}", f"{other} if {other}.shape == {one}.shape else {one}.detach() * 2")
        texts = form.format(*["\0"] * form.count("{}"), d=self.r.choice((0, -1, 0, 1, -2)))
        first = True
        while "\0" in texts:
            same = first or form in UNARY or form in VIEWS or "resize_" in form      # memory that grows holds anything
            texts = texts.replace("\0", one if same else self.r.choice((one, other, other)), 1)
            first = False
        return texts

    def expression(self):
        kind = self.r.choices((UNARY, BINARY, REDUCE, VIEWS), (3, 4, 2, 4))[0]
        return self.filled(self.r.choice(kind))

    def new(self, expression):
        name = f"v{len(self.names)}"
        self.names.append(name)
        return name, f"{name} = {expression}"

    def step(self):
        r = self.r
        what = r.choices(("new", "inplace", "write", "region", "hook", "retain", "grad", "backward", "matmul", "function",
                          "transform", "out", "thread", "look"),
                         (12, 5, 3, 2, 1.7, 1, 1.5, 1.2, 0.7, 0.9, 1.2, 0.8, 0.2, 0.8))[0]
        if what == "new":
            name, text = self.new(self.expression())
            self.emit(text, name)
        elif what == "inplace":
            text = self.filled(r.choice(INPLACE))
            self.emit(text, *self.names)
        elif what == "out":
            self.emit(self.filled(r.choice(OUT)), *self.names)
        elif what == "look":
            text = self.filled(r.choice(LOOKS))
            if not (text.startswith("say('next'") and self.own.intersection(re.findall(r"v\d+", text))):
                self.emit(text)
        elif what == "thread":
            self.emit(f"threaded(lambda: {self.name()}.sum().backward({r.choice(('', 'retain_graph=True'))}))", *self.names)
        elif what == "write":
            self.emit(self.filled(r.choice(WRITES)), *self.names)
        elif what == "region":
            name, text = self.new(self.expression()) if r.random() < 0.6 else (None, self.filled(r.choice(INPLACE)))
            self.emit(r.choice(REGIONS).replace("{}", text), *([name] if name else self.names))
        elif what == "hook":
            name, how = self.name(), r.choice(("say('hook', g)", "g * 2", "say('hook', g) or g + 1", "None", "g.sum()", "1 / 0",
                                                 "g.clone().mul_(2)", "say('alone', g.detach()) or None"))
            form = r.choices(HOOKS, (5, 1, 1, 1, 1, 1, 1, 0.5, 0.7, 0.5, 0.5, 0.5, 0.5, 0.4, 0.7, 0.5))[0]
            self.emit(form.replace("{}", name).replace("{how}", how).replace("{other}", self.name()))
        elif what == "retain":
            self.emit(f"{self.name()}.retain_grad()")
        elif what == "matmul":
            a, b = self.name(), self.name()
            name, text = self.new(r.choice((f"{a} @ {b}", f"{a} @ {b}.t()", f"{a}.matmul({b})", f"torch.einsum('i,j->ij', {a}, {b})",
                                            f"torch.outer({a}, {b})", f"torch.nn.functional.linear({a}, {b})", f"torch.dot({a}, {b})")))
            self.emit(text, name)
        elif what == "function":
            name, text = self.new(r.choice(CUSTOM).replace("{}", self.name()).replace("{other}", self.name()))
            self.emit(text, name)
        elif what == "transform":
            made = r.choice(TRANSFORMS).replace("{}", self.name()).replace("{other}", self.name())
            name, text = self.new(f"{made}.clone()")
            if "pushed(" in made or "jvp(" in made:        # which formula forward derivatives end with is the engine's affair
                self.own.add(name)
            self.emit(text, name)
        elif what == "grad":
            roots = ", ".join([f"{self.name()}.sum()" for _ in range(r.choice((1, 1, 1, 2)))])
            ends = ", ".join([self.name() for _ in range(r.choice((1, 1, 2)))])
            options = r.choice(("create_graph=True", "retain_graph=True", "allow_unused=True", "create_graph=True, allow_unused=True",
                                "create_graph=True, allow_unused=True", "materialize_grads=True", "retain_graph=True, allow_unused=True"))
            root, shape = self.name(), r.choice(("torch.ones_like({0})", "{0}.detach().t().contiguous().t()", "torch.ones_like({0}) * 2",
                                                 "None", "torch.ones(()).expand({0}.shape).double()"))
            made = r.choices((f"torch.autograd.grad([{roots}], [{ends}], {options})[0]",
                              f"torch.autograd.grad({root}, [{ends}], {shape.format(root)}, {options})[0]",
                              f"torch.autograd.grad({root}, [{ends}], torch.ones(2, *{root}.shape, dtype={root}.dtype), "
                              f"is_grads_batched=True, {options})[0]",
                              f"torch.autograd.grad(torch.autograd.graph.get_gradient_edge({root}), [{ends}], "
                              f"torch.ones_like({root}), {options})[0]",
                              f"torch.autograd.grad({root}.sum(), torch.autograd.graph.get_gradient_edge({self.name()}), {options})[0]"),
                             (6, 2, 0.5, 0.5, 0.5))[0]
            name, text = self.new(made)
            self.emit(text)
            self.emit(f"say('gradient', {name})")
            self.emit(f"{name} = torch.ones((), dtype=torch.float64) if {name} is None else {name}.clone()", name)
        else:
            root, how = self.name(), r.choice(("", "retain_graph=True", "create_graph=True"))
            self.emit(r.choice((f"{root}.sum().backward({how})", f"{root}.backward(torch.ones_like({root}){', ' * bool(how)}{how})",
                                f"{root}.backward({how})", f"{root}.sum().backward(inputs=[{self.name()}]{', ' * bool(how)}{how})",
                                f"torch.autograd.backward([{root}.sum(), {self.name()}.sum()]{', ' * bool(how)}{how})",
                                f"torch.autograd.backward([{root}], [torch.ones(()).expand({root}.shape).double()]{', ' * bool(how)}{how})",
                                f"{root}.sum().backward(inputs=[{self.name()}, {self.name()}]{', ' * bool(how)}{how})",
                                f"torch.autograd.backward([{root}, {root}], [torch.ones_like({root}), None]{', ' * bool(how)}{how})")),
                      *self.names)

    def finish(self):
        self.emit(f"{self.names[-1]}.sum().backward()", *self.names)

    def text(self):
        return "\n".join([text for text, _ in self.made])
