"""The base of all optimizers: parameter groups, state dicts, hooks, and steps that update what has come equally far at once."""
from __future__ import annotations

import typing
import collections
import copy
import functools
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.grad_mode import grad_mode
from ..engine import context, literal, warn
from ..engine.record.context import steppers
from ..ops import promotion as P
from ..tensor.api.bind import FUNCTIONS
from ..tensor.api.creation import zeros_like
from ..tensor.core import overriding
from ..tensor.core.dispatch import wrap
from ..tensor.core.dtype import ALL as DTYPES, get_default_dtype
from ..tensor.core.graph import RemovableHandle
from ..tensor.core.tensor import Tensor
from ..nn.parameter import Parameter
from ..utils._foreach_utils import (_get_foreach_kernels_supported_devices, _get_fused_kernels_supported_devices,
                                    _group_tensors_by_device_and_dtype)
from ._update import number, store_all


class _Required:
    """What stands for the default of an option that must be given."""
    def __repr__(self):
        return "<required parameter>"


required = _Required()
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
StateDict = dict[str, Any]


def _restore_state(state, before):
    """Undo a step that an operator before it should have prevented."""
    for p in [p for p in state if p not in before]:
        del state[p]
    for p, entries in before.items():
        state[p].clear()
        state[p].update(entries)


def _refuse_sparse(optimizer, error):
    """torch's error where a step failed since a gradient is sparse, else what it failed with."""
    pairs = [pair for group in optimizer.param_groups for pair in zip(*with_grads(group))]
    first = next((k for k, (_, g) in enumerate(pairs) if g.is_sparse), None)
    if first is None:
        raise error
    for p, _ in pairs[first:]:                     # torch looks at gradients before it makes states
        if p in optimizer.state and "step" in optimizer.state[p] and number(optimizer.state[p]["step"]) == 0:
            del optimizer.state[p]
    name = type(optimizer).__name__
    name, hint = ("Adam", ", please consider SparseAdam instead") if name in ("Adam", "AdamW") else (name, "")
    raise RuntimeError(f"{name} does not support sparse gradients{hint}") from error


_DENSE = frozenset((Tensor, Parameter))


def sparse_and_dense(params, grads):
    """([(parameter, sparse gradient)], other parameters, their gradients)."""
    if _DENSE.issuperset(map(type, grads)) or not any([g.is_sparse for g in grads]):
        return [], params, grads
    pairs = list(zip(params, grads))
    dense = [(p, g) for p, g in pairs if not g.is_sparse]
    return [(p, g) for p, g in pairs if g.is_sparse], [p for p, _ in dense], [g for _, g in dense]


def scalar_type(fused=False):
    """The NumPy type of a state's entries that are one number: float64 where that is the default dtype, else float32, as always for
    updates that are asked for as fused."""
    return np.float64 if P.default_float == np.float64 and not fused else np.float32


def host_scalar(x, kind=None):
    """An entry of a state that is one number: a 0-d tensor on the host."""
    return wrap(literal(np.array(x, kind or scalar_type())))


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


def _dispatched(optimizer, func):
    from .._dispatch.optimizers import seen
    return seen(optimizer, func)


class Optimizer:
    """Base class. params: an iterable of tensors, of (name, tensor) pairs, or of group dicts; defaults: a dict of options."""

    OptimizerPreHook = typing.Callable[[typing.Any, tuple, dict], typing.Optional[tuple]]
    OptimizerPostHook = typing.Callable[[typing.Any, tuple, dict], None]

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {params.type()}")
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
        self._patch_step_function()

    def _init_hooks(self):
        self._optimizer_step_pre_hooks = collections.OrderedDict()
        self._optimizer_step_post_hooks = collections.OrderedDict()
        self._optimizer_state_dict_pre_hooks = collections.OrderedDict()
        self._optimizer_state_dict_post_hooks = collections.OrderedDict()
        self._optimizer_load_state_dict_pre_hooks = collections.OrderedDict()
        self._optimizer_load_state_dict_post_hooks = collections.OrderedDict()

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        """As torch.utils._foreach_utils'."""
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def _patch_step_function(self):
        """Wrap the subclass's `step` once, and tell the engine that steps will end here. Optimizers around others call it by this name."""
        steppers.add(self)
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)

    @staticmethod
    def profile_hook_step(func):
        """`step` with its hooks around and a step boundary at its end."""
        @functools.wraps(func)
        def step(self, *args, **kwargs):
            if "capture" in context.modes:
                with overriding.plainly():
                    return step(self, *args, **kwargs)
            args = (self, *args)               # hooks see the optimizer among the arguments
            before = self._optimizer_step_pre_hooks
            for hook in itertools.chain(_global_pre.values(), before.values()) if _global_pre or before else ():
                r = hook(self, args, kwargs)
                if r is not None:
                    if not (isinstance(r, tuple) and len(r) == 2):
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {r}.")
                    args, kwargs = r
            undo = context.trace.undo
            if undo is not None:
                undo.append(functools.partial(_restore_state, self.state, {p: dict(s) for p, s in self.state.items()}))
            if overriding.dispatch is not None and _dispatched(self, func):
                from .._dispatch.optimizers import step as dispatched_step
                out = dispatched_step(*args, **kwargs)
            else:
                try:
                    out = func(*args, **kwargs)
                except NotImplementedError as error:
                    _refuse_sparse(self, error)
            after = self._optimizer_step_post_hooks
            for hook in itertools.chain(after.values(), _global_post.values()) if after or _global_post else ():
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
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    def _accelerator_graph_capture_health_check(self):
        """Nothing: steps are captured in no graph of an accelerator. Optimizers outside of torch ask at the head of `step`."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

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
        named = [isinstance(p, tuple) for p in params]
        if any(named):
            if not all(named):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
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
        for g in self.param_groups:
            if ("param_names" in group) != ("param_names" in g):
                how = "with names" if "param_names" in group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. "
                                 f"cannot add param group {how} to the optimizer")
        have = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in have for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Forget the gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                x = p._ts_extra
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
                options = next((g for g in state_dict["param_groups"] if k in g["params"]), {})
                state[of[k]] = _fitted(of[k], v, options.get("capturable") or options.get("fused"))
            else:
                state[k] = v
        for g, s in zip(groups, saved):
            s["params"] = g["params"]
            if "param_names" in g and "param_names" not in s:
                s["param_names"] = g["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

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


def check_lr(lr, text="Invalid learning rate: {}"):
    """Raise torch's ValueError for a learning rate below 0 or a tensor of several."""
    check(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
    check(0.0 <= (lr.item() if isinstance(lr, Tensor) else lr), text.format(lr))


def check_betas(betas):
    """Raise torch's ValueError for a beta outside [0, 1)."""
    for k in (0, 1):
        check(0.0 <= number(betas[k]) < 1.0, f"Invalid beta parameter at index {k}: {betas[k]}")


def check_fused(optimizer, fused, differentiable, foreach):
    """Raise torch's RuntimeError for what cannot be had together."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_first(optimizer, group, p):
    """torch's refusal of a fused step for a parameter of another kind, at the first step, for the first parameter."""
    if group.get("fused") and getattr(optimizer, "_need_device_dtype_check_for_fused", True):
        _device_dtype_check_for_fused(p)
        optimizer._need_device_dtype_check_for_fused = False


def with_grads(group):
    """The group's parameters that have a gradient, and these."""
    params, grads = [], []
    for p in group["params"]:
        x = p._ts_extra
        if x is not None and x.grad is not None:
            params.append(p)
            grads.append(x.grad)
    return params, grads


def flags_of(group, *names):
    """Those of the options that are on."""
    return tuple([n for n in names if group[n]])


def kernels_of(group, p, *names):
    """Those of the options that choose torch's kernels, and are on, where these round otherwise: on the CPU."""
    return tuple([n for n in names if group.get(n) and p.device.type == "cpu"])


class SteppedOptimizer(Optimizer):
    """The base of optimizers that count each parameter's steps in its state and update all that have come equally far at once.

    A subclass has `update`, an Update, and says what one step needs: `_fresh`, `_names`, `_numbers` and `_flags`. `scalars` names
    the entries of a state that are one number on the host, with what they begin with.
    """
    update = None
    scalars = {"step": 0.0}
    captured = ("params and state_steps",) * 2         # what torch says must be where it captures graphs: of one, of all together
    captured_on_xla = (True, False)
    flags_differ = False       # whether `_flags` looks at the parameter

    def _fresh(self, p, group):
        """The entries of a new state beside the scalars."""
        return {n: zeros_like(p).detach() for n in self._names(group, p)}

    def _names(self, group, p):
        """The entries of a state that the update takes and gives back."""
        raise NotImplementedError

    def _numbers(self, group, step):
        """The update's numbers for the step-th step; with other `scalars`, their values follow, and what they become is returned
        behind: (numbers, new values)."""
        raise NotImplementedError

    def _flags(self, group, p):
        """The update's flags, which may differ among parameters."""
        return flags_of(group, "maximize", "weight_decay")

    def _scalar(self, state, name):
        """What a state keeps as one number."""
        return state[name].item()

    def _first_scalars(self, group):
        return self.scalars

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._loss(closure)
        for group in self.param_groups:
            self._update_all(group, *with_grads(group))
        return loss

    def _refuse_capture(self, group, params):
        """Nothing is captured here, but what says that it could be runs where torch would run it."""
        together = bool(group.get("foreach"))
        there = _get_capturable_supported_devices(self.captured_on_xla[together])
        if any(p.device.type not in there for p in params):
            raise AssertionError(f"If capturable=True, {self.captured[together]} must be on supported devices: {there}.")

    def _update_all(self, group, params, grads):
        together, alike, names, common = {}, {}, tuple(self.scalars), None
        differentiable = group.get("differentiable")
        for p, g in zip(params, grads):
            s = self.state[p]
            if not s:
                if group.get("fused"):
                    _device_dtype_check_for_fused(p)
                s.update({n: host_scalar(number(x), scalar_type(group.get("fused"))) for n, x in self._first_scalars(group).items()})
                s.update(self._fresh(p, group))
            if common is None or self.flags_differ:
                common = self._flags(group, p) + kernels_of(group, p, "foreach", "fused")
            if differentiable and any([s[n].requires_grad for n in names[1:]]):    # its history goes on through the update
                self._advance(group, s["step"].item() + 1, [s[n] for n in names[1:]], common, (p,), (g,), (s,))
                continue
            # parameters that have come equally far share their scalars' values, which are looked at once
            key = (*[s[n] if s[n]._ts_view is not None else s[n]._ts_st.value for n in names], common)
            rows = together.get(key)
            if rows is None:
                together[key] = rows = []
            rows.append((p, g, s))
        if group.get("capturable"):
            self._refuse_capture(group, params)
        for key, rows in together.items():
            key = (*[self._scalar(rows[0][2], n) for n in names], key[-1])
            alike.setdefault(key, []).extend(rows)
        for (step, *others, flags), rows in alike.items():
            self._advance(group, step + 1, others, flags, *zip(*rows))

    @classmethod
    def run_lists(cls, group, params, grads, entries):
        """One step for parameters whose states' entries are given as lists; lists that are empty are entries that there are not."""
        self = object.__new__(cls)
        self.state = {p: {name: column[k] for name, column in entries.items() if column} for k, p in enumerate(params)}
        there = [k for k, g in enumerate(grads) if g is not None]
        self._update_all(group, [params[k] for k in there], [grads[k] for k in there])

    def _advance(self, group, step, others, flags, params, grads, states):
        differentiable = group.get("differentiable")
        if not differentiable and any(isinstance(x, Tensor) for x in (group["lr"], *group.get("betas", ()))):
            group = group | {"lr": number(group["lr"])}        # a number from here on, in double precision
            if "betas" in group:
                group["betas"] = tuple(map(number, group["betas"]))
        numbers = self._numbers(group, step, *others)
        if len(self.scalars) > 1:
            numbers, others = numbers
        run = self.update.with_graph if differentiable else self.update
        run(params, grads, [[s[n] for s in states] for n in self._names(group, params[0])], numbers, flags)
        for name, x in zip(self.scalars, (step, *others)):     # behind: a step that is refused does not count
            if isinstance(x, Tensor) and x is states[0][name]:
                continue                       # the update has written it
            x, shared, counts = number(x), {}, [s[name] for s in states]
            kinds = [t._ts_meta.dtype for t in counts]
            for kind in set(kinds):
                shared[kind] = host_scalar(x, kind)._ts_st.value
            store_all(counts, [shared[kind] for kind in kinds])

    def __setstate__(self, state):
        super().__setstate__(state)
        for s in self.state.values():
            for name in self.scalars:                # older files have plain numbers
                if name in s and not isinstance(s[name], Tensor):
                    s[name] = host_scalar(s[name])


def _get_capturable_supported_devices(supports_xla=True):
    """The device types on which torch captures optimizers in graphs."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(fused, foreach), as torch would choose: neither where it lacks such kernels for a parameter. Here they are one operator anyway."""
    def on(p, kinds):
        return p is None or type(p) in (Tensor, Parameter) and p.device.type in kinds
    if differentiable:
        return False, False
    fused = use_fused and all([on(p, _get_fused_kernels_supported_devices()) and (p is None or p.is_floating_point()) for p in params])
    return fused, not fused and all([on(p, _get_foreach_kernels_supported_devices()) for p in params])


# What optimizers outside of torch, which are written like its own, take from this file.
_params_doc = "params (iterable): the parameters, or groups of them"
_foreach_doc, _fused_doc, _capturable_doc, _differentiable_doc, _maximize_doc = [f"{name} (bool, optional): {what}" for name, what in (
    ("foreach", "updates all parameters at once"), ("fused", "updates in one kernel"), ("capturable", "keeps numbers on the device"),
    ("differentiable", "records its steps for gradients"), ("maximize", "goes uphill"))]


def _compiling():
    from ..compiler import is_compiling
    return is_compiling()


def _get_value(x):
    """The number in a tensor, which it stays while a program is recorded; other numbers as they are."""
    return x.item() if isinstance(x, Tensor) and not _compiling() else x


def _stack_if_compiling(x):
    """Numbers as one tensor where a program is recorded."""
    return FUNCTIONS["stack"](x) if _compiling() else x


def _view_as_real(params, *state_and_grads):
    """Put views of pairs of real numbers in the places of complex parameters, and of what the other lists have for these."""
    for k, p in enumerate(params):
        if p.is_complex():
            for each in (params, *state_and_grads):
                each[k] = FUNCTIONS["view_as_real"](each[k])


def _get_scalar_dtype(is_fused=None):
    """The dtype of a count of steps."""
    return DTYPES["float64" if not is_fused and get_default_dtype() is DTYPES["float64"] else "float32"]


def _device_dtype_check_for_fused(p, cuda_unsupported=False):
    """RuntimeError for a parameter that torch has no fused kernel for."""
    known = _get_fused_kernels_supported_devices()
    if cuda_unsupported:
        known.remove("cuda")
    if p.device.type not in known or not p.is_floating_point():
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                           f"{known} but {p.dtype} and {p.device.type}")


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """A decorator that leaves functions as they are: whatever they do is compiled."""
    return lambda func: func


def _use_grad_for_differentiable(func):
    """`step` with gradients recorded only where the optimizer is differentiable."""
    @functools.wraps(func)
    def step(self, *args, **kwargs):
        with grad_mode(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)
    return step


def _fitted(p, x, step_beside, name=None):
    """State of another optimizer as parameter `p` needs it: what has its dtype and device already is shared, not copied."""
    if isinstance(x, Tensor):
        if name == "step":
            return x.to(dtype=DTYPES["float32"], device=p.device) if step_beside else x
        return x.to(dtype=p.dtype, device=p.device) if p.is_floating_point() else x.to(device=p.device)
    if isinstance(x, dict):
        return {k: _fitted(p, v, step_beside, k) for k, v in x.items()}
    if isinstance(x, Iterable) and not isinstance(x, str):
        return type(x)(_fitted(p, v, step_beside) for v in x)
    return x
