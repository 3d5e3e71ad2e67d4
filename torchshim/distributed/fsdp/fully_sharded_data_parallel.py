"""torch.distributed.fsdp.FullyShardedDataParallel in the one process there is, which is what PyTorch calls NO_SHARD.

A wrapped module's parameters lie one after the other in a flat one, of which its modules hold views while they compute; with
`use_orig_params` they stay what they are. State dicts name them as the module does.
"""
from __future__ import annotations

import contextlib
import copy

import torchshim as torch

from ... import nn
from ...engine import warn
from ...nn.modules.batchnorm import _BatchNorm
from ...tensor.core.tensor import Tensor
from ...utils import _pytree
from .._group import chosen
from .._names import more
from ._common_utils import FSDP_WRAPPED_MODULE, clean_tensor_name
from .api import (BackwardPrefetch, CPUOffload, FullOptimStateDictConfig, FullStateDictConfig, LocalOptimStateDictConfig,
                  LocalStateDictConfig, MixedPrecision, OptimStateDictConfig, OptimStateKeyType, ShardedOptimStateDictConfig,
                  ShardedStateDictConfig, ShardingStrategy, StateDictConfig, StateDictSettings, StateDictType)

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType", "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig",
           "FullStateDictConfig", "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
           "StateDictType"]
_FLAT = "_flat_param"
_SWITCHED = "FSDP is switching to use `NO_SHARD` instead of {} since the world size is 1."
_DEPRECATED = ("FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, get_state_dict() and "
               "set_state_dict(), which can support different parallelisms, FSDP1, FSDP2, DDP. API doc: "
               "https://pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict.get_state_dict "
               ".Tutorial: https://pytorch.org/tutorials/recipes/distributed_checkpoint_recipe.html .")
_CONFIGS = {StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
            StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
            StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig)}


def _wrap_parts(module, policy, wrap, ignored, top=True):
    """Wrap the submodules that a policy wants wrapped; returns (the module or its wrapper, how many elements are wrapped)."""
    numel = sum(p.numel() for p in module.parameters())
    if not policy(module=module, recurse=True, nonwrapped_numel=numel):
        return module, 0
    inside = 0
    for name, child in module.named_children():
        if child not in ignored and not isinstance(child, FullyShardedDataParallel):
            made, n = _wrap_parts(child, policy, wrap, ignored, False)
            setattr(module, name, made)
            inside += n
    if not top and policy(module=module, recurse=False, nonwrapped_numel=numel - inside):
        return wrap(module), numel
    return module, inside


class FullyShardedDataParallel(nn.Module):
    """A module whose parameters PyTorch would cut over processes. With one process they are whole; the arguments are PyTorch's.

    Without a GPU `device_id=torch.device("cpu")` is needed, as there. auto_wrap_policy wraps submodules by themselves; mixed_precision says
    in which dtypes parameters, inputs and buffers compute, while they rest in their own.
    """
    __module__ = "torch.distributed.fsdp.fully_sharded_data_parallel"

    def __init__(self, module, process_group=None, sharding_strategy=None, cpu_offload=None, auto_wrap_policy=None,
                 backward_prefetch=BackwardPrefetch.BACKWARD_PRE, mixed_precision=None, ignored_modules=None, param_init_fn=None,
                 device_id=None, sync_module_states=False, forward_prefetch=False, limit_all_gathers=True, use_orig_params=False,
                 ignored_states=None, device_mesh=None):
        super().__init__()
        group = chosen(process_group)
        if group.size() > 1:
            raise more("torch.distributed.fsdp.FullyShardedDataParallel")
        if device_id is None and not torch.cuda.is_available():
            raise RuntimeError("FSDP needs a non-CPU accelerator device, but no accelerator device is detected.")
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        options = dict(process_group=process_group, sharding_strategy=sharding_strategy, cpu_offload=cpu_offload,
                       mixed_precision=mixed_precision, param_init_fn=param_init_fn, device_id=device_id, use_orig_params=use_orig_params)
        ignored = set(ignored_modules or ())
        if auto_wrap_policy is not None:
            if mixed_precision is not None and any(isinstance(m, _BatchNorm) for m in module.modules()):
                raise NotImplementedError("torchshim: FullyShardedDataParallel with an auto_wrap_policy and mixed precision of batch norm")
            wanted = getattr(auto_wrap_policy, "_lambda_fn", None)
            policy = auto_wrap_policy if wanted is None else lambda module, recurse, nonwrapped_numel: recurse or bool(wanted(module))
            _wrap_parts(module, policy, lambda m: FullyShardedDataParallel(m, ignored_states=ignored_states, **options), ignored)
        if strategy is not ShardingStrategy.NO_SHARD:
            warn(_SWITCHED.format(strategy))
        self.process_group, self.rank, self.world_size = group, group.rank(), group.size()
        self.sharding_strategy, self.mixed_precision = ShardingStrategy.NO_SHARD, mixed_precision or MixedPrecision()
        self.cpu_offload, self._use_orig_params = cpu_offload or CPUOffload(), use_orig_params
        self.training_state, self._is_root, self._buffers_cast = "idle", None, False
        self._settings = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        if param_init_fn is not None:
            for m in module.modules():
                if any(p.is_meta for p in m.parameters(recurse=False)):
                    param_init_fn(m)
        self._fsdp_wrapped_module = module
        if device_id is not None and not isinstance(device_id, int):
            module.to(device_id)
        self._own, excluded = [], {p for p in ignored_states or () if isinstance(p, Tensor)}
        excluded |= {p for m in (*ignored, *[m for m in ignored_states or () if isinstance(m, nn.Module)]) for p in m.parameters()}
        found = {}
        for m in self._modules_here():
            for name, p in m._parameters.items():
                if p is not None and p not in excluded:
                    found.setdefault(p, []).append((m, name))
        self._own = [(p.shape, p.numel(), owners, p.requires_grad) for p, owners in found.items()]
        self._originals = list(found)
        if found and not use_orig_params:
            self._flatten()
        self._register_load_state_dict_pre_hook(self._before_load)
        self.register_load_state_dict_post_hook(lambda *_: self._after_load())

    def _modules_here(self):
        """The modules within that no wrapper within holds."""
        todo, seen = [self._fsdp_wrapped_module], []
        while todo:
            m = todo.pop()
            if m not in seen and not isinstance(m, FullyShardedDataParallel):
                seen.append(m)
                todo.extend(reversed(list(m.children())))
        return seen

    def _flatten(self):
        wanted = {r for *_, r in self._own}
        if len(wanted) > 1:
            raise ValueError("Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`")
        if len({p.dtype for p in self._originals}) > 1:
            raise ValueError(f"Must flatten tensors with uniform dtype but got {self._originals[0].dtype} and {self._originals[-1].dtype}")
        flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in self._originals]), requires_grad=wanted.pop())
        self._originals = []
        for _, _, owners, _ in self._own:
            for m, name in owners:
                del m._parameters[name]
        self._fsdp_wrapped_module.register_parameter(_FLAT, flat)
        self._hold(self._views(flat))

    @property
    def _flat_param(self):
        return self._fsdp_wrapped_module._parameters.get(_FLAT)

    def _views(self, flat):
        parts = torch.split(flat, [n for _, n, _, _ in self._own])
        return [part.view(shape) for part, (shape, *_) in zip(parts, self._own)]

    def _hold(self, tensors):
        """Let the modules have these tensors in their parameters' places."""
        for t, (_, _, owners, _) in zip(tensors, self._own):
            for m, name in owners:
                m._parameters.pop(name, None)
                object.__setattr__(m, name, t)

    def _restore(self, tensors):
        for t, (_, _, owners, _) in zip(tensors, self._own):
            for m, name in owners:
                m.__dict__.pop(name, None)
                m._parameters[name] = t

    @contextlib.contextmanager
    def _summoned(self):
        """A context in which the modules hold Parameters of their own, on the flat one's memory."""
        if self._flat_param is not None:
            flat, before = self._fsdp_wrapped_module._parameters.pop(_FLAT), self.training_state
            made = [nn.Parameter(v, requires_grad=r) for v, (*_, r) in zip(self._views(flat.detach()), self._own)]
            if flat.grad is not None:
                for p, g in zip(made, self._views(flat.grad)):
                    p.grad = g
            self._restore(made)
            self.training_state = "summoned"
            try:
                yield
            finally:
                self.training_state = before
                for _, _, owners, _ in self._own:
                    for m, name in owners:
                        del m._parameters[name]
                self._fsdp_wrapped_module._parameters[_FLAT] = flat
                self._hold(self._views(flat))
        else:
            before, self.training_state = self.training_state, "summoned"
            try:
                yield
            finally:
                self.training_state = before

    @property
    def module(self):
        """The wrapped module."""
        inner = self._modules[FSDP_WRAPPED_MODULE]
        return getattr(inner, "_checkpoint_wrapped_module", inner)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == FSDP_WRAPPED_MODULE:
                raise
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key):
        return self._fsdp_wrapped_module[key]

    def check_is_root(self):
        """Whether no other wrapper is around this one."""
        if self._is_root is None:
            self._is_root = True
            for m in self.modules():
                if isinstance(m, FullyShardedDataParallel) and m is not self:
                    m._is_root = False
        return self._is_root

    def forward(self, *args, **kwargs):
        """The wrapped module's result, computed with views of the flat parameter."""
        root, policy = self.check_is_root(), self.mixed_precision
        if root and not self._buffers_cast:
            self._cast_buffers()
        dtype = policy.param_dtype
        if dtype is not None and (policy.cast_forward_inputs or root and policy.cast_root_forward_inputs):
            args, kwargs = _pytree.tree_map_only(Tensor, lambda t: t.to(dtype) if t.is_floating_point() else t, (args, kwargs))
        if not self._own:
            return self._fsdp_wrapped_module(*args, **kwargs)
        if not self._use_orig_params:
            flat = self._flat_param
            self._hold(self._views(flat if dtype is None else flat.to(dtype)))
            return self._fsdp_wrapped_module(*args, **kwargs)
        if dtype is None:
            return self._fsdp_wrapped_module(*args, **kwargs)
        originals = [owners[0][0]._parameters[owners[0][1]] for _, _, owners, _ in self._own]
        self._hold([p.to(dtype) for p in originals])
        try:
            return self._fsdp_wrapped_module(*args, **kwargs)
        finally:
            self._restore(originals)

    def _cast_buffers(self):
        for m in self.modules():
            if isinstance(m, FullyShardedDataParallel):
                m._buffers_cast, dtype = True, m.mixed_precision.buffer_dtype
                m._rested = {}
                for part in m._modules_here() if dtype is not None else ():
                    for name, b in part._buffers.items():
                        if b is not None and b.is_floating_point():
                            m._rested[part, name] = b.dtype
                            part._buffers[name] = b.to(dtype)

    # -- state dicts --------------------------------------------------------------------------------------------------------------
    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """The module's state dict, as it would be without wrappers."""
        if not args and destination is None:
            warn("When using ``NO_SHARD`` for ``ShardingStrategy``, full_state_dict will be returned.")
        config = self._settings.state_dict_config
        with self._summoned():
            found = self._fsdp_wrapped_module.state_dict(*args, destination=destination, prefix=prefix, keep_vars=keep_vars)
        for (m, name), dtype in getattr(self, "_rested", {}).items():
            for path, part in self._fsdp_wrapped_module.named_modules():
                if part is m:
                    key = prefix + clean_tensor_name(f"{path}.{name}" if path else name)
                    found[key] = found[key].to(dtype)
        if getattr(config, "offload_to_cpu", False):
            for key in [key for key in found if key.startswith(prefix)]:
                found[key] = found[key].cpu()
        return found

    def _before_load(self, state_dict, prefix, *args):
        if prefix == "":
            warn("When using ``NO_SHARD`` for ``ShardingStrategy``, full_state_dict willbe returned.")
        for key in [key for key in state_dict if key.startswith(prefix)]:
            rest = key[len(prefix):]
            if not rest.startswith(FSDP_WRAPPED_MODULE + "."):
                state_dict[f"{prefix}{FSDP_WRAPPED_MODULE}.{rest}"] = state_dict.pop(key)
        self._loading = self._summoned()
        self._loading.__enter__()

    def _after_load(self):
        self._loading.__exit__(None, None, None)

    def named_parameters(self, *args, **kwargs):
        """(name, parameter): while they are summoned, without the wrappers' names."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield clean_tensor_name(name) if self.training_state == "summoned" else name, p

    def named_buffers(self, *args, **kwargs):
        """(name, buffer): while parameters are summoned, without the wrappers' names."""
        for name, b in super().named_buffers(*args, **kwargs):
            yield clean_tensor_name(name) if self.training_state == "summoned" else name, b

    @staticmethod
    def fsdp_modules(module, root_only=False):
        """The wrappers in a module, or those that no other is around."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return [m for m in found if not any(m is not other and m in other.modules() for other in found)] if root_only else found

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(module, recurse=True, writeback=True, rank0_only=False, offload_to_cpu=False, with_grads=False):
        """A context in which the modules hold their parameters by name; what is written to them stays."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        with contextlib.ExitStack() as stack:
            for m in wrappers if recurse else wrappers[:1]:
                stack.enter_context(m._summoned())
            yield

    @staticmethod
    def set_state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """Say what `state_dict()` gives; returns the settings before. With one process it is whole in any case."""
        warn(_DEPRECATED, FutureWarning)
        model, optim = _CONFIGS[state_dict_type]
        made = StateDictSettings(state_dict_type, state_dict_config or model(), optim_state_dict_config or optim())
        if type(made.state_dict_config) is not model:
            raise RuntimeError(f"Expected state_dict_config of type {model} but got {type(made.state_dict_config)}")
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        before = wrappers[0]._settings if wrappers else None
        for m in wrappers:
            m._settings = made
        return before

    @staticmethod
    def get_state_dict_type(module):
        """The settings."""
        return FullyShardedDataParallel.fsdp_modules(module)[0]._settings

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """A context with other settings."""
        before = FullyShardedDataParallel.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(module, before.state_dict_type, before.state_dict_config,
                                                         before.optim_state_dict_config)

    @staticmethod
    def optim_state_dict(model, optim, optim_state_dict=None, group=None):
        """An optimizer's state dict with the modules' names for parameters, flat ones taken apart."""
        given = optim_state_dict or optim.state_dict()
        numbers = [p for g in optim.param_groups for p in g["params"]]
        parts, state = _parts(model), {}
        for k, p in enumerate(numbers):
            for name, cut in parts[p]:
                if k in given["state"]:
                    state[name] = {key: cut(v) if isinstance(v, Tensor) and v.shape == p.shape and v.dim() else copy.copy(v)
                                   for key, v in given["state"][k].items()}
        groups = [{**g, "params": [name for k in g["params"] for name, _ in parts[numbers[k]]]} for g in given["param_groups"]]
        return {"state": state, "param_groups": groups}

    full_optim_state_dict = sharded_optim_state_dict = optim_state_dict

    @staticmethod
    def optim_state_dict_to_load(model, optim, optim_state_dict, is_named_optimizer=False, load_directly=False, group=None):
        """What `optim.load_state_dict` takes, of what `optim_state_dict` gave."""
        numbers = [p for g in optim.param_groups for p in g["params"]]
        parts, state, groups, at = _parts(model), {}, [], 0
        of = {name: g for g in optim_state_dict["param_groups"] for name in g["params"]}
        for k, p in enumerate(numbers):
            names = [name for name, _ in parts[p]]
            entries = [optim_state_dict["state"][name] for name in names if name in optim_state_dict["state"]]
            if entries:
                flat = len(parts[p]) > 1 or entries and _is_flat(p, entries[0])
                state[k] = {key: v if not flat or not isinstance(v, Tensor) else torch.cat([e[key].reshape(-1) for e in entries])
                            if v.dim() else v.clone() for key, v in entries[0].items()}
        for g in optim.param_groups:
            names = parts[g["params"][0]]
            groups.append({**of[names[0][0]], "params": list(range(at, at + len(g["params"])))})
            at += len(g["params"])
        made = {"state": state, "param_groups": groups}
        if load_directly:
            optim.load_state_dict(made)
        return made

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """As torch.nn.utils.clip_grad_norm_ of all parameters."""
        if not self.check_is_root():
            raise RuntimeError("`clip_grad_norm_()` should only be called on the root FSDP instance")
        return nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)

    @contextlib.contextmanager
    def no_sync(self):
        """A context in which gradients are not exchanged: with one process they never are."""
        if not self.check_is_root():
            raise RuntimeError("`no_sync()` on inner FSDP instances is not supported. Please call `no_sync()` on root FSDP instance.")
        yield

    def apply(self, fn):
        """As Module.apply, with parameters by name."""
        with self.summon_full_params(self):
            return super().apply(fn)

    def register_comm_hook(self, state, hook):
        """NotImplementedError."""
        raise NotImplementedError("torchshim: torch.distributed.fsdp.FullyShardedDataParallel.register_comm_hook; torch.distributed has "
                                  "one process here")


def _is_flat(p, entry):
    return any(isinstance(v, Tensor) and v.dim() and v.shape != p.shape for v in entry.values())


def _parts(model):
    """{parameter: [(a name without wrappers, what cuts its part out)]}."""
    found = {}
    for path, m in model.named_modules():
        if isinstance(m, FullyShardedDataParallel) and not m._use_orig_params and m._own:
            at, parts = 0, []
            paths = {inner: name for name, inner in m._fsdp_wrapped_module.named_modules()}
            for shape, n, owners, _ in m._own:
                own = clean_tensor_name(".".join(x for x in (path, paths[owners[0][0]], owners[0][1]) if x))
                parts.append((own.removeprefix(FSDP_WRAPPED_MODULE + "."), lambda v, at=at, n=n, shape=shape: v[at:at + n].view(shape)))
                at += n
            found[m._flat_param] = parts
    for name, p in model.named_parameters():
        if p not in found:
            found[p] = [(clean_tensor_name(name), lambda v: v)]
    return found
