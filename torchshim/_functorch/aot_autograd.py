"""torch._functorch.aot_autograd: a function and its gradient as two graphs of ATen operators, each for a compiler of the program's own.

The function is traced once, with its gradient (`make_fx`), on copies of the arguments; the joint graph is cut in two (`partitioners`),
and one node of the graph of gradients calls what the compilers made of them. Sizes are fixed by the first call, as is Python's control
flow.
"""
from __future__ import annotations

import functools
import itertools

from .. import Tensor, get_rng_state, set_rng_state
from .._subclasses.fake_tensor import FakeTensorMode
from ..autograd import Function, grad, no_grad
from ..autograd.grad_mode import grad_mode
from ..dropin import missing_attribute as _missing_attribute
from ..engine import context
from ..func import functional_call
from ..fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from ..nn import Module
from ..utils import _pytree as pytree
from .partitioners import FORWARD, default_partition

__getattr__ = _missing_attribute(__name__)
_TWICE = ("This backward function was compiled with non-empty donated buffers which requires create_graph=False and retain_graph=False. "
          "Please keep backward(create_graph=False, retain_graph=False) across all backward() function calls, or set "
          "torch._functorch.config.donated_buffer=False to disable donated buffer.")


def make_boxed_func(f):
    """A function of a list of arguments."""
    def g(args):
        return f(*args)
    g._boxed_call = True
    return g


def make_boxed_compiler(compiler):
    """A compiler whose results are functions of a list of arguments."""
    @functools.wraps(compiler)
    def f(fx_g, inps):
        return make_boxed_func(compiler(fx_g, inps))
    return f


def _boxed(made):
    return made if getattr(made, "_boxed_call", False) else make_boxed_func(made)


def _copies(args):
    """What the function is traced on: tensors of its own, that are one where the arguments are one."""
    made = {}
    for x in args:
        if isinstance(x, Tensor) and id(x) not in made:
            with no_grad():
                copy = x.detach().clone()
            made[id(x)] = copy.requires_grad_() if x.requires_grad else copy
    return [made.get(id(x), x) for x in args]


class _Compiled:
    """One function of flat arguments and what the compilers made of it, found out at its first call."""

    def __init__(self, fn, fw_compiler, bw_compiler=None, inference_compiler=None, partition_fn=default_partition, decompositions=None):
        self.fn, self.fw_compiler, self.bw_compiler = fn, fw_compiler, bw_compiler or fw_compiler
        self.inference_compiler, self.partition_fn = inference_compiler or fw_compiler, partition_fn
        self.decompositions, self.function = decompositions, None

    def __call__(self, args):
        if self.function is None:
            self.prepare(args)
        return self.function(args)

    def prepare(self, args):
        """Trace and compile for arguments like these."""
        state = get_rng_state()
        try:
            wanted = context.grad is True and any([isinstance(x, Tensor) and x.requires_grad for x in args])
            self.function = (self._with_gradient if wanted else self._plain)(args)
        finally:
            set_rng_state(state)

    def _faked(self, xs):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        return [mode.from_tensor(x) if isinstance(x, Tensor) else x for x in xs]

    def _plain(self, args):
        given = [x.detach() if isinstance(x, Tensor) else x for x in _copies(args)]
        with grad_mode(False):
            traced = make_fx(lambda *a: tuple(self.fn(*a)), self.decompositions)(*given)
        made = _boxed(self.inference_compiler(traced, self._faked(given)))

        def call(args):
            with grad_mode(False):
                return list(made([x.detach() if isinstance(x, Tensor) and x.requires_grad else x for x in args]))
        return call

    def _with_gradient(self, args):
        given = _copies(args)
        needs = [k for k, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
        with grad_mode(True), _rng_kept():
            outs = self.fn(*_copies(args))
        follow = [k for k, y in enumerate(outs) if isinstance(y, Tensor) and y.requires_grad]
        tangents = [outs[k].detach().clone() for k in follow]
        written = [k for k, x in enumerate(given) if isinstance(x, Tensor) and x._version]

        def joint(primals, tangents):
            outs = self.fn(*primals)
            for n in get_proxy_mode().tracer.graph.nodes:
                n.meta[FORWARD] = "is_forward"
            found = grad([outs[k] for k in follow], [primals[k] for k in needs], tangents, allow_unused=True)
            each = dict(zip(needs, found))
            return [*outs, *[each.get(k) for k in range(len(primals))]]
        with grad_mode(True):
            graph = make_fx(joint, self.decompositions)(given, tangents)
        _flat(graph)
        if any([k in needs for k in written]):
            raise NotImplementedError("torchshim: aot_autograd of a function that writes to an argument that requires grad")
        forward, backward = self.partition_fn(graph, (given, tangents), num_fwd_outputs=len(outs))
        compiled = _boxed(self.fw_compiler(forward, self._faked(given)))
        names = {n.name for k, n in enumerate(_places(graph)) if k in written}
        own = [n.name in names for n in _places(backward)]
        return _node(self, len(outs), follow, compiled, backward, own)

    def compile_backward(self, backward, saved, tangents):
        """What the compiler makes of the gradient's graph."""
        return _boxed(self.bw_compiler(backward, self._faked([*saved, *tangents])))


class _rng_kept:
    """A block after which the random numbers go on as before it."""

    def __enter__(self):
        self.state = get_rng_state()

    def __exit__(self, *exc):
        set_rng_state(self.state)


def _places(gm):
    return [n for n in gm.graph.nodes if n.op == "placeholder"]


def _flat(graph):
    """Let a traced program take its tensors one by one."""
    from ..fx.codegen import CodeGen
    graph.graph._codegen = CodeGen()
    out = next(n for n in graph.graph.nodes if n.op == "output")
    out.args = (tuple(pytree.tree_leaves(out.args[0], is_leaf=lambda x: x is None)) if not isinstance(out.args[0], tuple) else out.args[0],)
    graph.recompile()


def _node(owner, count, follow, compiled, backward_graph, own):
    """What runs the compiled graphs as one node of the graph of gradients, which is called CompiledFunctionBackward. own: which of what
    backward reads the function writes to at each call, as a norm's averages."""
    class CompiledFunction(Function):
        compiled_bw = None

        @staticmethod
        def forward(ctx, *args):
            made = list(compiled(list(args)))
            ctx.save_for_backward(*[x.clone() if mine else x for x, mine in zip(made[count:], own)])
            outs = made[:count]
            ctx.mark_non_differentiable(*[y for k, y in enumerate(outs) if isinstance(y, Tensor) and k not in follow])
            ctx.set_materialize_grads(True)
            return tuple(outs)

        @staticmethod
        def backward(ctx, *grads):
            if context.grad is True:
                raise RuntimeError(_TWICE)
            saved, tangents = ctx.saved_tensors, [grads[k] for k in follow]
            if CompiledFunction.compiled_bw is None:
                CompiledFunction.compiled_bw = owner.compile_backward(backward_graph, saved, tangents)
            return tuple(CompiledFunction.compiled_bw([*saved, *tangents]))
    return lambda args: list(CompiledFunction.apply(*args))


def aot_function(fn, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None, num_params_buffers=0,
                 keep_inference_input_mutations=False, inference_compiler=None, *, dynamic=False, enable_log=True, disable_functionalization=False):
    """`fn`, whose forward and backward run what the compilers, functions `(gm, example_inputs) -> callable`, made of their graphs at the first
    call. After https://docs.pytorch.org/functorch/stable/aot_compile.html."""
    state = {}

    @functools.wraps(fn)
    def returned_function(*args, **kwargs):
        flat, spec = pytree.tree_flatten((args, kwargs))
        if not state:
            def of_flat(*leaves):
                a, named = pytree.tree_unflatten(list(leaves), spec)
                outs, state["out"] = pytree.tree_flatten(fn(*a, **named))
                return outs
            state["made"] = _Compiled(of_flat, fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions)
        return pytree.tree_unflatten(state["made"](flat), state["out"])
    return returned_function


def _named(mod):
    return {**dict(mod.named_parameters(remove_duplicate=False)), **dict(mod.named_buffers(remove_duplicate=False))}


def aot_module(mod, *args, **kwargs):
    """A module like `mod` (its `orig_module`) whose call is an `aot_function` of parameters, buffers and arguments."""
    def functional(named, *a, **k):
        return functional_call(mod, named, a, k)
    compiled = aot_function(functional, *args, **kwargs)

    class AOTModule(Module):
        def __init__(self):
            super().__init__()
            self.orig_module = mod

        def forward(self, *args, **kwargs):
            return compiled(_named(mod), *args, **kwargs)
    return AOTModule()


def aot_module_simplified(mod, args, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None,
                          keep_inference_input_mutations=False, inference_compiler=None, **options):
    """A function of a module's arguments, compiled for arguments like `args`. RuntimeError where its results are no tuple or list."""
    named = _named(mod)
    names, values = list(named), list(named.values())

    def functional(*flat):
        n = len(names)
        out = functional_call(mod, dict(zip(names, flat[:n])), tuple(flat[n:]))
        if not isinstance(out, (tuple, list)):
            raise RuntimeError("Graph output must be a (). This is so that we can avoid pytree processing of the outputs. Please change the "
                               "module to have tuple outputs or use aot_module instead.")
        return out
    made = _Compiled(functional, fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions)
    made.prepare([*values, *args])

    def forward(*runtime_args):
        return made(list(itertools.chain(values, runtime_args)))
    forward.zero_grad, forward.named_parameters, forward.named_buffers = mod.zero_grad, mod.named_parameters, mod.named_buffers
    return forward


