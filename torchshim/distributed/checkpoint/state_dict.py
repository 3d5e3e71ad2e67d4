"""torch.distributed.checkpoint.state_dict in one process: state dicts of a model and its optimizers with names in place of numbers."""
from __future__ import annotations

import contextlib
import dataclasses

from ...nn import Module
from ...nn.modules._state import _IncompatibleKeys
from ...tensor.core.tensor import Tensor
from ...utils import _pytree
from ..tensor import DTensor, distribute_tensor

__all__ = ["FQNS_T", "PrimitiveType", "ValueType", "DictValueType", "ListDictValueType", "OptimizerStateType", "StateDictOptions",
           "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict", "set_optimizer_state_dict",
           "set_state_dict"]
FQNS_T = set
PrimitiveType = ValueType = DictValueType = ListDictValueType = OptimizerStateType = object
_WRAPPER = "_checkpoint_wrapped_module."


@dataclasses.dataclass
class StateDictOptions:
    """What the functions below do: cpu_offload gives copies on the CPU, ignore_frozen_params leaves out what requires no gradient,
    flatten_optimizer_state_dict gives one dict of dotted names; full_state_dict and broadcast_from_rank0 change nothing in one process.
    """
    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _names(model):
    """{parameter: its name without what wraps it}."""
    def plain(name):
        return name.removeprefix("module.").replace(_WRAPPER, "").replace("_orig_mod.", "")
    return {p: plain(name) for name, p in model.named_parameters(remove_duplicate=True)}


def _options(options):
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _given(states, options):
    if options.full_state_dict:
        states = _pytree.tree_map_only(DTensor, lambda t: t.full_tensor().detach(), states)
    if options.cpu_offload:
        return _pytree.tree_map_only(Tensor, lambda t: t.detach().cpu(), states)
    return states


def _as_placed(value, like):
    """A whole tensor as the DTensor that it is to go into."""
    if isinstance(like, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor):
        return distribute_tensor(value.detach(), like.device_mesh, like.placements)
    return value


def get_model_state_dict(model, *, submodules=None, options=None):
    """`model.state_dict()` under the names that the parameters have without DataParallel, checkpoint wrappers or torch.compile."""
    options, parts = _options(options), None
    if submodules is not None:
        parts = {name for name, m in model.named_modules() if m in submodules}
    frozen = {name for p, name in _names(model).items() if not p.requires_grad} if options.ignore_frozen_params else ()
    result = type(model.state_dict())()
    for name, value in model.state_dict().items():
        name = name.removeprefix("module.").replace(_WRAPPER, "").replace("_orig_mod.", "")
        if name in frozen:
            continue
        if parts is not None:
            part = next((p for p in parts if name.startswith(p + ".")), None)
            if part is None:
                continue
            name = name if options.keep_submodule_prefixes else name.removeprefix(part + ".")
        result[name] = value
    result = _given(result, options)
    return dict(result) if submodules is not None or options.full_state_dict or options.cpu_offload else result


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """The state dict of an optimizer, or of several as one, with the parameters' names in place of their numbers."""
    options, names = _options(options), _names(model)
    state, groups = {}, []
    for optimizer in _several(optimizers):
        _begun(optimizer)
        given = optimizer.state_dict()
        order = [names[p] for group in optimizer.param_groups for p in group["params"]]
        state.update({order[k]: v for k, v in given["state"].items()})
        groups += [{**group, "params": [order[k] for k in group["params"]]} for group in given["param_groups"]]
    result = _given({"state": state, "param_groups": groups}, options)
    return _flat(result) if options.flatten_optimizer_state_dict else result


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """(model's state dict, optimizers' state dict)."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Load what `get_model_state_dict` gave. Returns the missing and unexpected names; RuntimeError for them under `strict`."""
    if not model_state_dict:
        return _IncompatibleKeys([], [])
    if isinstance(next(iter(model_state_dict)), Module):
        raise NotImplementedError("torchshim: set_model_state_dict with state dicts by submodule")
    states = model.state_dict()
    own = {name.removeprefix("module.").replace(_WRAPPER, "").replace("_orig_mod.", ""): name for name in states}
    given = {own.get(name, name): value for name, value in model_state_dict.items()}
    given = {name: _as_placed(value, states.get(name)) for name, value in given.items()}
    return model.load_state_dict(given, strict=_options(options).strict)


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Load what `get_optimizer_state_dict` gave, flat or not, into an optimizer or several."""
    names = _names(model)
    optimizers = _several(optimizers)
    if "state" not in optim_state_dict or "param_groups" not in optim_state_dict:
        optim_state_dict = _nested(optim_state_dict, optimizers, names)
    of = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for optimizer in optimizers:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        order = [names[p] for p in parameters]
        groups, at = [], 0
        for group in optimizer.param_groups:
            own = order[at:at + len(group["params"])]
            saved = next((of[name] for name in own if name in of), None)
            if saved is None:
                raise RuntimeError(f"Missing optimizer state for parameters {own}")
            groups.append({**saved, "params": list(range(at, at + len(own)))})
            at += len(own)
        state = {k: {key: _as_placed(v, parameters[k]) if getattr(v, "shape", None) == parameters[k].shape else v
                     for key, v in optim_state_dict["state"][name].items()}
                 for k, name in enumerate(order) if name in optim_state_dict["state"]}
        optimizer.load_state_dict({"state": state, "param_groups": groups})


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load both; returns the model's missing and unexpected names."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


def _several(optimizers):
    return tuple(optimizers) if isinstance(optimizers, (list, tuple)) else (optimizers,)


def _begun(optimizer):
    """An optimizer that made no step yet makes one with gradients and rates of zero, so that there is a state to name."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in parameters):
        return
    from ... import zeros_like
    rates = [group.get("lr") for group in optimizer.param_groups]
    with contextlib.ExitStack() as after:
        for p in parameters:
            if p.requires_grad:
                p.grad = zeros_like(p)
        after.callback(optimizer.zero_grad, set_to_none=True)
        for group, lr in zip(optimizer.param_groups, rates):
            if lr is not None:
                group["lr"] = lr * 0
                after.callback(group.__setitem__, "lr", lr)
        optimizer.step(closure=None)


def _flat(nested):
    flat = {f"state.{name}.{key}": v for name, entries in nested["state"].items() for key, v in entries.items()}
    for group in nested["param_groups"]:
        flat.update({f"param_groups.{name}.{key}": v for name in group["params"] for key, v in group.items() if key != "params"})
    return flat


def _nested(flat, optimizers, names):
    state, groups = {}, []
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            own = [names[p] for p in group["params"]]
            for name in own:
                start = f"state.{name}."
                entries = {key[len(start):]: v for key, v in flat.items() if key.startswith(start)}
                if entries:
                    state[name] = entries
            options = {key: flat[f"param_groups.{own[0]}.{key}"] for key in group
                       if key != "params" and f"param_groups.{own[0]}.{key}" in flat}
            groups.append({**options, "params": own})
    return {"state": state, "param_groups": groups}


_init_optim_state = _begun
