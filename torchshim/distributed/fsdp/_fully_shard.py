"""torch.distributed.fsdp.fully_shard over the one process there is: parameters rest as DTensors, and compute as plain tensors.

A module's parameters are DTensors between steps (what optimizers, state dicts and clipping see). Before its forward, and before a backward
that computes parts of it again, they give way to plain Parameters on the same memory, or in the dtype that the policy computes in; their
gradients move to the DTensors as they are accumulated.
"""
from __future__ import annotations

import functools

import torchshim as torch

from ... import nn
from ...accelerator import current_accelerator
from ...autograd.variable import Variable
from ...tensor.core.tensor import Tensor
from ...utils import _pytree
from .._group import get_world_size, is_initialized
from ..device_mesh import DeviceMesh, alone, init_device_mesh
from ..tensor import DTensor, Replicate, Shard, distribute_tensor
from ..tensor._api import _made, _plain
from .policies import MixedPrecisionPolicy, OffloadPolicy

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


class UnshardHandle:
    """What `unshard(async_op=True)` returns: the parameters are there."""

    def wait(self):
        """Nothing: nothing is under way."""


class _Parameter:
    """One managed parameter: the modules that hold it, under which names, and the plain Parameter that computes for it."""

    def __init__(self, owners, policy):
        self.owners, self.policy, self.plain, self.sync, self.kept = owners, policy, None, True, None

    @property
    def sharded(self):
        module, name = self.owners[0]
        p = module._parameters[name]
        return self._sharded if p is self.plain else p

    def unshard(self):
        """Let the modules hold the plain Parameter, with the DTensor's present values."""
        sharded = self.sharded
        if self.plain is None or self._sharded is not sharded:
            self._sharded, self.plain = sharded, None
        dtype = self.policy.param_dtype or sharded.dtype
        local = _inner(sharded)
        if self.plain is None or self.plain.dtype != dtype:
            self.plain = nn.Parameter(_cast(local, dtype), requires_grad=sharded.requires_grad)
            if sharded.requires_grad:
                self.plain.register_post_accumulate_grad_hook(self._reduce)
        elif dtype != sharded.dtype or self.plain.data_ptr() != local.data_ptr():
            self.plain.data = _cast(local, dtype)
        self._hold(self.plain)

    def reshard(self):
        """Let the modules hold the DTensor."""
        if self.plain is not None:
            self._hold(self.sharded)

    def _hold(self, p):
        for module, name in self.owners:
            module._parameters[name] = p

    def _reduce(self, plain):
        """Move a gradient to the DTensor, unless gradients are to be gathered first."""
        g, plain.grad = plain.grad, None
        g = _cast(g, self.policy.reduce_dtype or g.dtype)
        if self.kept is not None:
            g = self.kept + g
        self.kept = None if self.sync else g
        if self.sync:
            sharded = self.sharded
            g = _cast(g, sharded.dtype)
            with torch.no_grad():
                old = sharded.grad
                made = _made(_plain(g), sharded.device_mesh, sharded.placements)
                sharded.grad = made if old is None else old + made


def _inner(sharded):
    """The tensor that computes: plain, or a DTensor on the mesh that the parameter had before."""
    before = getattr(sharded, "_ts_before", None)
    return _plain(sharded) if before is None else _made(_plain(sharded), *before)


def _cast(t, dtype):
    return t if t.dtype == dtype else t.to(dtype)


class _State:
    """What a fully sharded module knows: its parameters, its policy and where it is in a step."""

    def __init__(self, modules, policy, reshard_after_forward):
        self.modules, self.policy, self.reshard_after_forward = modules, policy, reshard_after_forward
        self.parameters, self.is_root, self.reshard_after_backward = [], None, True

    def unshard(self):
        for p in self.parameters:
            p.unshard()

    def reshard(self):
        for p in self.parameters:
            p.reshard()

    def before(self, module, args, kwargs):
        """Before forward: the first module to run is the root of the others within it, and keeps its parameters until backward is done."""
        if self.is_root is None:
            self.is_root = True
            for m in self.modules:
                for part in m.modules():
                    state = getattr(part, "_fsdp_state", None)
                    if state is not None and state is not self and state.is_root is None:
                        state.is_root = False
        self.unshard()
        dtype = self.policy.param_dtype
        if dtype is not None and self.policy.cast_forward_inputs:
            args, kwargs = _pytree.tree_map_only(Tensor, lambda t: _cast(t, dtype) if t.is_floating_point() else t, (args, kwargs))
        return args, kwargs

    def after(self, module, args, output):
        """After forward: parameters rest again until backward reaches the outputs."""
        keeps = self.reshard_after_forward is False or self.reshard_after_forward is None and self.is_root
        if not keeps:
            self.reshard()
        if torch.is_grad_enabled():
            for t in _pytree.tree_leaves(output):
                if isinstance(t, Tensor) and t.requires_grad:
                    t.register_hook(self._begin_backward)
        if self.policy.output_dtype is not None:
            dtype = self.policy.output_dtype
            output = _pytree.tree_map_only(Tensor, lambda t: _cast(t, dtype) if t.is_floating_point() else t, output)
        return output

    def _begin_backward(self, grad):
        self.unshard()
        if self.reshard_after_backward:
            Variable._execution_engine.queue_callback(self.reshard)
        return grad


class FSDPModule:
    """What `fully_shard` adds to a module's class."""
    __module__ = "torch.distributed.fsdp"

    def __new__(cls, *args, **kwargs):
        made = cls.__mro__[2]                 # a part of a container is of the class that it had
        self = made.__new__(made, *args, **kwargs)
        self.__init__(*args, **kwargs)
        return self

    def _get_fsdp_state(self):
        return self._fsdp_state

    def _states(self, recurse=True):
        return [m._fsdp_state for m in (self.modules() if recurse else (self,)) if isinstance(m, FSDPModule)]

    def unshard(self, async_op=False):
        """Let the module hold plain Parameters; with `async_op` returns a handle to wait for."""
        self._fsdp_state.unshard()
        return UnshardHandle() if async_op else None

    def reshard(self):
        """Let the module hold DTensors."""
        self._fsdp_state.reshard()

    def reset_iter_state(self):
        """Forget a step that an error ended."""
        for state in self._states():
            state.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync, *, recurse=True):
        """Whether backward moves gradients to the DTensors; else they gather until a backward that does."""
        for state in self._states(recurse):
            for p in state.parameters:
                p.sync = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward, recurse=True):
        """Whether parameters rest between forward and backward. ValueError for no bool."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward, *, recurse=True):
        """Whether parameters rest after backward."""
        for state in self._states(recurse):
            state.reshard_after_backward = reshard_after_backward

    def _nothing_to_set(self, *args, **kwargs):
        """Nothing to set: one process communicates with nobody."""

    set_is_last_backward = set_requires_all_reduce = set_modules_to_forward_prefetch = set_modules_to_backward_prefetch = _nothing_to_set
    set_post_optim_event = set_force_sum_reduction_for_comms = set_unshard_in_backward = _nothing_to_set
    set_allocate_memory_from_process_group_for_comm = _nothing_to_set
    set_reduce_scatter_unused_params = set_reduce_scatter_max_input_buffers = set_separate_reduce_scatter_group = _nothing_to_set
    set_symm_mem_for_comm = _set_unshard_async_op = _nothing_to_set

    def set_all_reduce_hook(self, hook, *, stream=None):
        """NotImplementedError: nothing is reduced over processes, so the hook would not be called."""
        raise NotImplementedError("torchshim: FSDPModule.set_all_reduce_hook")

    def set_custom_all_gather(self, comm):
        """NotImplementedError: nothing is gathered from processes."""
        raise NotImplementedError("torchshim: FSDPModule.set_custom_all_gather")

    def set_custom_reduce_scatter(self, comm):
        """NotImplementedError: nothing is reduced over processes."""
        raise NotImplementedError("torchshim: FSDPModule.set_custom_reduce_scatter")

    def set_gradient_divide_factor(self, factor):
        """NotImplementedError but for 1: gradients are divided by the number of processes."""
        if factor != 1:
            raise NotImplementedError("torchshim: FSDPModule.set_gradient_divide_factor")

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def _apply(self, fn, recurse=True):
        self.reshard()
        return super()._apply(fn, recurse)


def _no_deepcopy(self, memo):
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


@functools.cache
def _class(cls):
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls),
                {"__deepcopy__": _no_deepcopy, "__module__": "torch.distributed.fsdp._fully_shard._fsdp_init"})


def _placements(mesh, chosen):
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    shard = Shard(0) if chosen is None else chosen
    return [shard] if mesh.ndim == 1 else [Replicate(), shard]


def _shard(p, mesh, chosen):
    """The DTensor of a parameter; one that is a DTensor already lies on both meshes then."""
    if not isinstance(p, DTensor):
        return nn.Parameter(distribute_tensor(p.data, mesh, _placements(mesh, chosen)), requires_grad=p.requires_grad)
    old = p.device_mesh
    names = (*(mesh.mesh_dim_names or ()), *(old.mesh_dim_names or ()))
    both = DeviceMesh(mesh.device_type, torch.zeros((1,) * (mesh.ndim + old.ndim), dtype=torch.int32),
                      mesh_dim_names=names if len(names) == mesh.ndim + old.ndim else None)
    made = _made(_plain(p).clone(), both, (*_placements(mesh, chosen), *p.placements))
    made._ts_before = old, p.placements
    return nn.Parameter(made, requires_grad=p.requires_grad)


def _managed(modules, ignored):
    """{parameter: the modules within `modules` that hold it, with names} without what a sharded module within holds."""
    found, seen = {}, set()

    def visit(m, top):
        if m in seen or not top and isinstance(m, FSDPModule):
            return
        seen.add(m)
        for name, p in m._parameters.items():
            if p is not None and p not in ignored:
                found.setdefault(p, []).append((m, name))
        for child in m.children():
            visit(child, child in modules)
    for m in modules:
        visit(m, True)
    return found


def _reshards(after_forward):
    """`reshard_after_forward` as True, False, or None for what being the root decides; a group size of 1 keeps the parameters,
    as in PyTorch."""
    if after_forward is None or isinstance(after_forward, bool):
        return after_forward
    if not isinstance(after_forward, int):
        raise ValueError(f"reshard_after_forward should be a bool or an int representing the group size to reshard to, not {after_forward}")
    if after_forward != 1:
        raise ValueError(f"If passing reshard_after_forward as an int, it should be a factor of 1, not {after_forward}")
    return False


def fully_shard(module, *, mesh=None, reshard_after_forward=None, shard_placement_fn=None, mp_policy=MixedPrecisionPolicy(),
                offload_policy=OffloadPolicy(), ignored_params=None, dp_mesh_dims=None):
    """Shard a module's parameters over a mesh, in place; returns the module (its class becomes one with FSDPModule). As PyTorch's FSDP2.

    module: one, or a list of modules that are sharded together; mesh: of one dimension, or of two (replicas of shards).
    shard_placement_fn(parameter) may give Shard(dim) for another dimension than 0. ValueError for containers without forward and for
    parameters of no dimension.
    """
    if dp_mesh_dims is not None:
        raise NotImplementedError("torchshim: fully_shard(dp_mesh_dims=)")
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for m in modules:
        if isinstance(m, (nn.ModuleList, nn.ModuleDict)) and type(m).forward is nn.Module.forward:
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {m}")
    mesh = mesh or init_device_mesh((current_accelerator() or torch.device("cpu")).type,
                                    (get_world_size() if is_initialized() else 1,))
    alone(mesh, "torch.distributed.fsdp.fully_shard")
    state = _State(modules, mp_policy, _reshards(reshard_after_forward))
    for p, owners in _managed(modules, set(ignored_params or ())).items():
        if not p.dim():
            name = owners[0][1]
            raise ValueError(f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel equal to 1.")
        sharded = _shard(p, mesh, shard_placement_fn and shard_placement_fn(p))
        state.parameters.append(_Parameter(owners, mp_policy))
        for m, name in owners:
            m._parameters[name] = sharded
    for m in modules:
        m._fsdp_state = state
        m.register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
        m.register_forward_hook(state.after)
        m.register_state_dict_pre_hook(lambda *_: state.reshard())
        m.register_load_state_dict_pre_hook(lambda *_: state.reshard())
        m.__class__ = _class(type(m))
    return module


def register_fsdp_forward_method(module, method_name):
    """Let a method run as forward does, with plain parameters. Nothing for a module that is not sharded;
    ValueError for a name that is none."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method, state = getattr(module, method_name), module._fsdp_state

    @functools.wraps(method)
    def with_parameters(*args, **kwargs):
        args, kwargs = state.before(module, args, kwargs)
        return state.after(module, args, method(*args, **kwargs))
    setattr(module, method_name, with_parameters)
