"""Differential fuzzing of autograd: random programs, run by two libraries, that must say the same.

    python -m compat.fuzz --programs 1000 --first 0 --reference PYTHON-WITH-TORCH     # compares it with `python -m torchshim`
    python -m compat.fuzz --show SEED                                                 # the text of one program
    python -m compat.fuzz --say SEEDS                                                 # what the library under `import torch` says, as JSON

A program is made from its seed alone: statements over a pool of tensors (operators, views, writes in place, hooks, several roots, regions
without gradients, derivatives of derivatives, and mistakes). Each statement runs by itself; what it says is what it made (shape, dtype,
requires_grad, is_leaf, name of grad_fn, how often it was written since it was made, values), what hooks saw, or the type and text of its
exception. Numbers in double precision are compared to nine digits, in single precision to five, everything else exactly. Programs that meet
one of PyTorch's own internal assertions, gradients that it made as zeros that cannot be written, batched ones that cannot be looked at, or
the end of the memory, do not count.
Programs avoid what PyTorch leaves to chance: other shapes given by `.data =` to what was saved (it reads past the end of the memory then),
the sign of a NaN, roundings that a step function makes visible, medians of expanded tensors (it reads other memory), and in-place operators
inside of functionalize, which forgets what they refuse.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

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
        self.r, self.names, self.made = random.Random(seed), [], []
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
            self.emit(self.filled(r.choice(LOOKS)))
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
            name, text = self.new(f"{made}.clone()")       # the name of its last node is its own affair
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


FUNCTIONS = """
forward_ad = torch.autograd.forward_ad

def pushed(f, x):
    x = x.clone() if x.is_inference() else x          # some operators forget the tangents of those
    with forward_ad.dual_level():
        made = forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones_like(x))))
        return made.tangent.clone()

def threaded(f):
    import threading
    failed = []
    def run():
        try:
            f()
        except Exception as e:
            failed.append(e)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    if failed:
        raise failed[0]

class Raising(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        raise ValueError("not today")

class Reading(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return x.sin()
    @staticmethod
    def backward(ctx, g):
        say("given", [g.is_contiguous(), g.requires_grad, g.is_leaf])
        x, y = ctx.saved_tensors
        return g * x.cos() + 0 * y

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()
    @staticmethod
    def backward(ctx, g):
        return g.reshape(1, 1, 1, 1).expand(1, 1, 2, 7)

class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x[:1]
    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape).clone()

class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x), x.detach()[..., :1]
    @staticmethod
    def backward(ctx, g, h):
        return g + h.sum()

class Defaults(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=2):
        return x * factor
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None

class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x.sin()
        return ctx.y.detach()
    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            return torch.autograd.grad(ctx.y, ctx.x, g, retain_graph=True)[0]

class Vjp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()
    @staticmethod
    def vjp(ctx, g):
        return -g * ctx.saved_tensors[0].sin()

def told(grads):
    for g in grads:
        say("several", g)

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((), 1.5, dtype=torch.float64))
        self.register_buffer("shift", torch.full((), 0.25, dtype=torch.float64))
    def forward(self, x):
        return x * self.weight + self.shift

layer = Layer()

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.given = x, factor
        return x * factor
    @staticmethod
    def backward(ctx, g):
        return tuple([g * y if isinstance(x, torch.Tensor) and k in [n for n, w in enumerate(ctx.needs_input_grad) if w] else None
                      for k, (x, y) in enumerate(zip(ctx.given, ctx.given[::-1]))])

class Kept(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y, (x > y).clone()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[0])
        ctx.mark_non_differentiable(output[2])
        ctx.set_materialize_grads(False)
    @staticmethod
    def backward(ctx, g, h, _):
        x, y, made = ctx.saved_tensors
        say("kept", made)
        ends = [None if g is None else (g * k).sum_to_size(x.shape if n == 0 else y.shape) for n, k in enumerate((y, x))]
        if h is not None:
            ends = [(h.sum_to_size(k.shape) if e is None else e + h.sum_to_size(k.shape)) for e, k in zip(ends, (x, y))]
        return tuple(ends)

class Filled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        x.add_(1)
        return x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x

class Pushing(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x.sin() * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos() * 2
    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0].cos() * 2

class Several(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2, x.sign()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
    @staticmethod
    def backward(ctx, g, _):
        return g * 2

class Late(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y

class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g

class Written(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)
    @staticmethod
    def backward(ctx, g):
        return g * 3

class Viewed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return g.clone()

class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x + 1
    @staticmethod
    def backward(ctx, g):
        return None if g is None else g * 2
"""


def described(torch, x, gradient=False, born=0):
    """What can be seen of a value, as JSON takes it; `born` is the version it had when it was made. By which formula a gradient was found,
    and how often a new value was written, is the engine's affair."""
    if not isinstance(x, torch.Tensor):
        return repr(x)
    values = x.detach().clone().flatten().tolist()
    values = [v for z in values for v in ((z.real, z.imag) if isinstance(z, complex) else (z,))]
    values = [repr(v) if isinstance(v, float) and not math.isfinite(v) else v for v in values]
    fn = x.grad_fn
    try:
        version = None if gradient else x._version - born
    except RuntimeError as e:
        version = str(e)
    name = None if fn is None else "some" if gradient else fn.name()
    return [list(x.shape), str(x.dtype), x.requires_grad, x.is_leaf, name, version, values]


# the third: with is_grads_batched, hooks are given, and `.grad` keeps, tensors that the documented `detach()` refuses
_OWN_FAULTS = ("INTERNAL ASSERT FAILED", "ZeroTensors are immutable", "Batching rule not implemented for aten::detach;",
               "can't allocate memory")
_NOISE = re.compile(r"0x[0-9a-f]+|\n?Exception raised from [\s\S]*")


def text_of(error, text):
    """What an exception says, without what differs from run to run. The size that torch compares the index of a 0-d tensor with lies behind
    the end of its sizes: which of two refusals comes is chance."""
    said = _NOISE.sub("", str(error))
    if "[-1]" in text and said in ("select() cannot be applied to a 0-dim tensor.",
                                   "index -1 is out of bounds for dimension 0 with size 0"):
        return "an index of a 0-d tensor"
    return said


def say(torch, seed):
    """What the program of a seed says."""
    import warnings
    warnings.simplefilter("ignore")
    lines, born = [], {}
    import copy
    space = {"torch": torch, "copy": copy, "say": lambda what, g: lines.append([what, described(torch, g, True)])}
    exec(FUNCTIONS, space)
    for text, names in Program(seed).made:
        try:
            exec(text, space)
        except Exception as e:
            lines.append([text, type(e).__name__, text_of(e, text)])
        for name in names:
            if name in space:
                try:
                    if f"{name} = " in text and isinstance(space[name], torch.Tensor) and not space[name].is_inference():
                        born[name] = space[name]._version
                    lines.append([text, name, described(torch, space[name], born=born.get(name, 0))])
                    grad = (space[name].grad if isinstance(space[name], torch.Tensor)
                            and (space[name].is_leaf or space[name].retains_grad) else None)
                    if grad is not None:
                        lines.append([text, name + ".grad", described(torch, grad, True)])
                except Exception as e:
                    lines.append([text, name, type(e).__name__, _NOISE.sub("", str(e))])
    return lines


def same(a, b, tolerance=1e-9):
    """Whether two descriptions agree: numbers to nine digits, in single precision to five, all else exactly."""
    if isinstance(a, float) and isinstance(b, (int, float)) or isinstance(b, float) and isinstance(a, (int, float)):
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
    if isinstance(a, list) and isinstance(b, list):
        tolerance = 1e-5 if "torch.float32" in a[1:2] else tolerance
        return len(a) == len(b) and all([same(x, y, tolerance) for x, y in zip(a, b)])
    return a == b


def said_by(command, first, n):
    """{seed: lines} of `command`, run in parts so that a crash costs one."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        while first < n[1]:
            out = os.path.join(folder, "said.jsonl")
            subprocess.run([*command, "--say", f"{first}:{n[1]}", "--out", out], check=False, stderr=subprocess.DEVNULL)
            with open(out, encoding="utf-8") as file:
                for line in file:
                    seed, lines = json.loads(line)
                    found[seed] = lines
            last = max(found, default=first - 1)
            if last < n[1] - 1:
                found[last + 1], last = ["the process died"], last + 1
            first = last + 1
    return found


def main():
    ask = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    ask.add_argument("--programs", type=int, default=1000)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--reference", default=sys.executable, help="a Python that has PyTorch")
    ask.add_argument("--show", type=int)
    ask.add_argument("--say")
    ask.add_argument("--out")
    ask.add_argument("--examples", type=int, default=20, help="how many differences to print")
    o = ask.parse_args()
    if o.show is not None:
        print(Program(o.show).text())
    elif o.say:
        import torch
        first, last = map(int, o.say.split(":"))
        with open(o.out, "w", encoding="utf-8") if o.out else sys.stdout as file:
            for seed in range(first, last):
                print(json.dumps([seed, say(torch, seed)]), file=file, flush=True)
    else:
        here, span = os.path.abspath(__file__), (o.first, o.first + o.programs)
        theirs = said_by([o.reference, here], o.first, span)
        ours = said_by([sys.executable, "-m", "torchshim", here], o.first, span)
        counted = [s for s in range(*span) if theirs[s] != ["the process died"]
                   and not any([text in str(theirs[s]) for text in _OWN_FAULTS])]
        different = [s for s in counted if not same(theirs[s], ours[s])]
        for seed in different[:o.examples]:
            a, b = theirs[seed], ours[seed]
            k = next((k for k, (x, y) in enumerate(zip(a, b)) if not same(x, y)), min(len(a), len(b)))
            print(f"seed {seed}:\n  torch     {a[k:k + 1]}\n  torchshim {b[k:k + 1]}")
        print(f"{len(counted)} programs, {len(different)} differ")
        sys.exit(bool(different))


if __name__ == "__main__":
    main()
