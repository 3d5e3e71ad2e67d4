"""The base of all optimizers: parameter groups, state, and a step that is one recorded operator."""
from __future__ import annotations

import collections
import copy
import functools
import itertools

import numpy as np

from ..autograd.modes import grad_mode
from ..engine import Instance, Operator, context, literal, record, warn
from ..engine.record.context import steppers
from ..tensor.core.dispatch import read, wrap, write
from ..tensor.core.graph import RemovableHandle
from ..tensor.core.tensor import Tensor

required = object()


class Update(Operator):
    """How an optimizer changes its parameters, as one operator over all of them.

    `body(params, grads, *states, numbers, flags)` gets equally long lists of arrays and returns (new params, *new states),
    lists too; numbers are 0-d float64 arrays, flags the static rest of the layout.
    """

    def __init__(self, name, body):
        super().__init__(name)
        self.body = body

    def key(self, layout, metas, kinds):
        return layout, metas, kinds

    def build(self, layout, metas, kinds):
        n, lists, flags = layout

        def fn(*flat):
            groups = [list(flat[k * n:(k + 1) * n]) for k in range(lists)]
            out = self.body(*groups, flat[lists * n:], flags)
            return [x for group in out for x in group]
        made = len(metas) // n - 1                 # every list but the gradients comes back
        kept = metas[:n] + metas[2 * n:]
        strides = tuple(m.strides for m in kept)
        return Instance(self, layout, fn, metas, kinds, metas[0].device,
                        strides if made * n == len(kept) and not self.grows(layout) else None)

    def grows(self, layout):
        """Whether the operator makes state that was not there before (then layouts are the parameters')."""
        return "first" in layout[2]

    def __call__(self, params, grads, states, numbers, flags):
        """Run on tensors: parameters and states are written in place; new states are returned."""
        n = len(params)
        vals = [read(p) for p in params] + [read(g) for g in grads] + [read(s) for group in states for s in group]
        out = record(context, self, (n, 2 + len(states), flags), vals, numbers, "f" * len(numbers))[0]
        out = out if out.__class__ is list else [out]
        for p, v in zip(params, out):
            _store(p, v)
        for k, group in enumerate(states):
            for s, v in zip(group, out[(k + 1) * n:]):
                _store(s, v)
        return [wrap(v) for v in out[(1 + len(states)) * n:]]


def _store(t, v):
    st = t._st
    if t._view is None and t._extra is None and context.trace.undo is None:
        st.value = v
        st.gen += 1
        st.version += 1
    else:
        write(t, v)


def _restore_state(state, before):
    """Undo a step that an operator before it should have prevented."""
    for p in [p for p in state if p not in before]:
        del state[p]
    for p, entries in before.items():
        state[p].clear()
        state[p].update(entries)


def number(x):
    """A hyperparameter as a Python float; tensors are looked at."""
    return x.item() if isinstance(x, Tensor) else float(x)


def step_tensor(k):
    """The `step` entry of a state: a 0-d float32 tensor on the host."""
    return wrap(literal(np.array(k, np.float32)))


def set_steps(tensors, k):
    """Write the same step count into many `step` entries."""
    v = literal(np.array(k, np.float32))
    for t in tensors:
        _store(t, v)


_global_pre: dict = collections.OrderedDict()
_global_post: dict = collections.OrderedDict()


def register_optimizer_step_pre_hook(hook):
    """`hook(optimizer, args, kwargs)` before every optimizer's step."""
    h = RemovableHandle(_global_pre)
    _global_pre[h.id] = hook
    return h


def register_optimizer_step_post_hook(hook):
    """`hook(optimizer, args, kwargs)` after every optimizer's step."""
    h = RemovableHandle(_global_post)
    _global_post[h.id] = hook
    return h


class Optimizer:
    """Base class. params: an iterable of tensors, of (name, tensor) pairs, or of group dicts; defaults: a dict of options."""

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + f"torch.{type(params).__name__}" if type(params) is not Tensor else
                            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor")
        self.defaults = defaults
        self._init_hooks()
        self.state = collections.defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for g in groups:
            self.add_param_group(g)
        self._watch()

    def _init_hooks(self):
        self._optimizer_step_pre_hooks = collections.OrderedDict()
        self._optimizer_step_post_hooks = collections.OrderedDict()
        self._optimizer_state_dict_pre_hooks = collections.OrderedDict()
        self._optimizer_state_dict_post_hooks = collections.OrderedDict()
        self._optimizer_load_state_dict_pre_hooks = collections.OrderedDict()
        self._optimizer_load_state_dict_post_hooks = collections.OrderedDict()

    def _watch(self):
        """Wrap the subclass's `step` once, and tell the engine that steps will end here."""
        steppers.add(self)
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)

    @staticmethod
    def profile_hook_step(func):
        """`step` with its hooks around and a step boundary at its end."""
        @functools.wraps(func)
        def step(self, *args, **kwargs):
            for hook in itertools.chain(_global_pre.values(), self._optimizer_step_pre_hooks.values()):
                r = hook(self, args, kwargs)
                if r is not None:
                    if not (isinstance(r, tuple) and len(r) == 2):
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {r}.")
                    args, kwargs = r
            undo = context.trace.undo
            if undo is not None:
                undo.append(functools.partial(_restore_state, self.state, {p: dict(s) for p, s in self.state.items()}))
            out = func(self, *args, **kwargs)
            for hook in itertools.chain(self._optimizer_step_post_hooks.values(), _global_post.values()):
                hook(self, args, kwargs)
            context.step_done()
            return out
        step.hooked = True
        return step

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._init_hooks()
        for group in self.param_groups:
            for k, v in self.defaults.items():
                group.setdefault(k, v)
        self._watch()

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    def add_param_group(self, param_group):
        """Add a group: {"params": tensors, option: value, …}; missing options come from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = param_group
        params = group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                            "will change between runs. Please use a list instead.")
        else:
            params = list(params)
        if params and isinstance(params[0], tuple):
            group["param_names"] = [n for n, _ in params]
            params = [p for _, p in params]
        group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + type_text(p))
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        if len(params) != len({id(p) for p in params}):
            warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                 "github.com/pytorch/pytorch/issues/40967 for more information")
        have = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in have for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Forget the gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                x = p._extra
                if x is None or x.grad is None:
                    continue
                if set_to_none:
                    x.grad = None
                else:
                    if x.grad.grad_fn is not None:
                        x.grad.detach_()
                    else:
                        x.grad.requires_grad_(False)
                    x.grad.zero_()

    def step(self, closure=None):
        """One update of all parameters from their gradients."""
        raise NotImplementedError

    def _loss(self, closure):
        if closure is None:
            return None
        with grad_mode(True):
            return closure()

    # -- state dicts ------------------------------------------------------------------------------------------------------
    def state_dict(self):
        """{"state": per parameter number, "param_groups": options and parameter numbers}; tensors are not copied."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        groups = []
        for g in self.param_groups:
            packed = {k: v for k, v in g.items() if k != "params"}
            for p in g["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in g["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        out = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            r = hook(self, out)
            if r is not None:
                out = r
        return out

    def load_state_dict(self, state_dict):
        """Take over options and state; floating state takes the dtype of its parameter, `step` keeps its own."""
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            r = hook(self, state_dict)
            if r is not None:
                state_dict = r
        groups, saved = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        of = dict(zip((k for s in saved for k in s["params"]), (p for g in groups for p in g["params"])))
        state = collections.defaultdict(dict)
        for k, v in state_dict["state"].items():
            if k in of:
                state[of[k]] = {name: self._fitted(of[k], x, name) for name, x in v.items()} if isinstance(v, dict) else v
            else:
                state[k] = v
        for g, s in zip(groups, saved):
            s["params"] = g["params"]
            if "param_names" in g and "param_names" not in s:
                s["param_names"] = g["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _fitted(self, p, x, name):
        if not isinstance(x, Tensor):
            return copy.deepcopy(x)
        if name == "step":
            return x.clone()
        if p.is_floating_point():
            return x.to(dtype=p.dtype, device=p.device, copy=True)
        return x.to(device=p.device, copy=True)

    def _hook(self, hooks, hook, prepend):
        h = RemovableHandle(hooks)
        hooks[h.id] = hook
        if prepend:
            hooks.move_to_end(h.id, last=False)
        return h

    def register_step_pre_hook(self, hook):
        """`hook(optimizer, args, kwargs)` before each step; may return new (args, kwargs)."""
        return self._hook(self._optimizer_step_pre_hooks, hook, False)

    def register_step_post_hook(self, hook):
        """`hook(optimizer, args, kwargs)` after each step."""
        return self._hook(self._optimizer_step_post_hooks, hook, False)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """`hook(optimizer)` before state_dict()."""
        return self._hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """`hook(optimizer, state_dict)` after state_dict(); may return another."""
        return self._hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """`hook(optimizer, state_dict)` before load_state_dict(); may return another."""
        return self._hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """`hook(optimizer)` after load_state_dict()."""
        return self._hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def type_text(x):
    return f"{type(x).__module__}.{type(x).__name__}" if type(x).__module__ != "builtins" else type(x).__name__


def check(ok, what):
    """Raise torch's ValueError for a bad hyperparameter."""
    if not ok:
        raise ValueError(what)


def with_grads(group):
    """The group's parameters that have a gradient, and these."""
    params, grads = [], []
    for p in group["params"]:
        x = p._extra
        if x is not None and x.grad is not None:
            params.append(p)
            grads.append(x.grad)
    return params, grads


def refuse(name, **options):
    """Options of torch that change results and that torchshim does not have."""
    for k, v in options.items():
        if v:
            raise NotImplementedError(f"torchshim: {name}({k}=True)")
