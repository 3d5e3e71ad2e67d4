"""torch.utils.checkpoint: run a part of the model again in backward instead of keeping what its graph saves.

Without re-entry, a saved tensor is packed as a `_Holder`; the first one that backward unpacks runs the function again, whose saved
tensors come in the same order and fill the holders. A checkpoint inside another needs no special care: its arguments are themselves
saved tensors of the outer one. With re-entry, the whole part is one Function whose backward builds and walks a graph of its own.
"""
from __future__ import annotations

import contextlib
import enum
import itertools
import weakref

from ..amp import autocast_mode as amp
from ..autograd import _is_checkpoint_valid, backward as _backward
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks
from ..autograd.saved import DETACHED
from ..autograd.grad_mode import enable_grad, no_grad
from ..dropin import missing_attribute as _missing_attribute
from ..engine import context, warn
from ..ops.remat import again
from ..random.generator import fork_rng, generator_of, restore, states
from ..tensor.api.bind import call
from ..tensor.api.creation import empty
from ..tensor.core.device import device as torch_device, to_jax
from ..tensor.core.tensor import Tensor

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "SelectiveCheckpointContext",
           "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
           "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
           "set_device_states"]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not do what the first did."""


class _Stop(Exception):
    """The second run has made all that was asked for."""
    saved_all = True                           # of the call that it ends, too


def detach_variable(inputs):
    """The tensors of a tuple without their history, with their `requires_grad`; other things as they are."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


def check_backward_validity(inputs):
    """Warn where no input wants a gradient."""
    if not any([isinstance(x, Tensor) and x.requires_grad for x in inputs]):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class DefaultDeviceType:
    """Whose random state is kept where the arguments do not tell: a process-wide setting."""
    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        """Set it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        """What was set."""
        return DefaultDeviceType._default_device_type


def get_device_states(*args):
    """(numbers, random states) of the GPUs that hold the arguments."""
    devices = sorted({x.get_device() for x in args if isinstance(x, Tensor) and x.is_cuda})
    return devices, [generator_of(to_jax(torch_device("cuda", d))).get_state() for d in devices]


def set_device_states(devices, states, *, device_type=None):
    """Put random states back that `get_device_states` gave."""
    for d, state in zip(devices, states):
        generator_of(to_jax(torch_device("cuda", d))).set_state(state)


@contextlib.contextmanager
def _randomness_of(known):
    """The default generators as they were at `known`, what `states()` gave (None: as they are)."""
    with fork_rng(enabled=known is not None):
        if known is not None:
            restore(known)
        yield


def _casting():
    """A function that gives a context with the autocast modes of now."""
    modes = [(kind, amp.get_autocast_dtype(kind), amp.is_autocast_enabled(kind)) for kind in ("cpu", "cuda")]
    cached = amp.is_autocast_cache_enabled()

    @contextlib.contextmanager
    def again():
        with contextlib.ExitStack() as stack:
            for kind, dtype, on in modes:
                if on or amp.is_autocast_enabled(kind):
                    stack.enter_context(amp.autocast(kind, dtype, on, cached))
            yield
    return again


# -- with re-entry -----------------------------------------------------------------------------------------------------
class CheckpointFunction(Function):
    """A function of the user as one node."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = states() if preserve_rng_state else None
        ctx.casting = _casting()
        ctx.places = [k for k, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.inputs = [None if isinstance(x, Tensor) else x for x in args]
        ctx.save_for_backward(*[args[k] for k in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not _is_checkpoint_valid():
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                               "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                               ".backward() without passing the `inputs` argument.")
        inputs = list(ctx.inputs)
        for k, t in zip(ctx.places, ctx.saved_tensors):
            inputs[k] = t
        inputs = detach_variable(tuple(inputs))
        given = next((g for g in grads if g is not None), None)
        inputs = [_again(x.detach(), given).requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs]
        with _randomness_of(ctx.state), ctx.casting(), enable_grad():
            outs = ctx.run_function(*inputs)
        outs = (outs,) if isinstance(outs, Tensor) else outs
        live = [(o, g) for o, g in zip(outs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not live:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        _backward([o for o, _ in live], [g for _, g in live])
        return (None, None, *[x.grad if isinstance(x, Tensor) else None for x in inputs])


# -- without re-entry ----------------------------------------------------------------------------------------------------
class _Holder:
    """The place of one saved tensor; `got` tells for each backward pass whether it is there (True) or was taken (False)."""
    __slots__ = ("got", "__weakref__")

    def __init__(self):
        self.got = {}


class _Arguments(Function):
    """A node that keeps tensors like any other node does, so that hooks around the checkpoint see them."""

    @staticmethod
    def forward(ctx, anchor, *tensors):
        ctx.save_for_backward(*tensors)
        return anchor.detach()


def _gradient():
    """The gradient that has just come to the node which asks for what it saved; None outside of a backward pass."""
    task = context.modes.get("graph task")
    box = None if task is None else task[2].box
    return task[2].mode.tensor(next(iter(box.values()))).detach() if box else None


def _again(t, gradient):
    """`t` for the second run, which a compiled program must not take for the first."""
    if gradient is None or not (t.is_floating_point() or t.is_complex()) or t.device.type == "meta":
        return t
    return call(again, (t, gradient.detach(), -0.0, float("nan")))      # whose history is none of `t`'s


def _kept(args):
    """A function that gives the arguments again, and {id of each tensor among them: the one that was given}."""
    at = [k for k, x in enumerate(args) if isinstance(x, Tensor)]
    rest, followed = [None if isinstance(x, Tensor) else x for x in args], [k for k in at if not args[k].is_leaf]
    with enable_grad():
        node = _Arguments.apply(empty(0, requires_grad=True), *[args[k] for k in at]).grad_fn

    def again():
        full, given = list(rest), {}
        for k, t in zip(at, node.saved_tensors):
            if t.is_leaf and k in followed:
                raise RuntimeError(DETACHED)
            full[k] = _again(t, _gradient())
            given[id(full[k])] = t
        return full, given
    return again


def _meta_of(t):
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


_CHECKS = {"default": _meta_of, "none": lambda t: None}
_TIP = ("\nTip: To see a more detailed error message, either pass `debug=True` to\n`torch.utils.checkpoint.checkpoint(...)` or wrap the "
        "code block\nwith `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint‑debug mode globally.\n\n"
        "If this error occurs under torch.compile with automatic_dynamic_shapes enabled,\nit may be because the recomputation selected a "
        "different compiled graph than the\nforward pass (e.g., a dynamic graph instead of the original static graph).\nTo fix this, "
        "either:\n  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as\n    dynamic upfront, avoiding the "
        "static-to-dynamic transition.\n  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache\n    reordering, "
        "which can change which graph is checked first between forward\n    and recompute.\nSee "
        "https://github.com/pytorch/pytorch/issues/166926 for more details and\nworkaround examples.\n")
_alone = itertools.count(-1, -1)       # numbers for what is unpacked outside of any backward pass


class _Frame:
    """One call of a checkpointed function."""

    def __init__(self, run, args, early_stop, describe):
        self.run, self.early_stop, self.describe = run, early_stop, describe
        self.arguments = _kept(args)
        self.holders, self.metas = [], []
        self.made, self.counts = {}, {}        # by backward pass: {place: tensor}, how many tensors were saved again
        self.complete = False                  # whether the first run came to its end

    def recorded(self):
        """The hooks of the first run."""
        def pack(t):
            holder = _Holder()
            self.holders.append(weakref.ref(holder))
            self.metas.append(self.describe(t))
            return holder
        return saved_tensors_hooks(pack, self.unpack)

    def unpack(self, holder):
        task = context.modes.get("graph task")
        task = next(_alone) if task is None else task[0]
        if task not in self.made:
            self.again(task)
        if not holder.got.get(task):
            raise CheckpointError("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you "
                                  "are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue "
                                  "with details on your use case.")
        holder.got[task] = False
        place = next(k for k, ref in enumerate(self.holders) if ref() is holder)
        return self.made[task].pop(place)

    def again(self, task):
        """Run the function again, for one backward pass."""
        self.made.clear()                      # what an earlier pass left is not asked for again
        self.made[task] = made = {}
        self.counts[task] = 0

        with enable_grad():
            arguments, given = self.arguments()

        def pack(t):
            t = given.get(id(t), t)            # an argument that is saved is kept as it is
            t = t.detach() if t.requires_grad else t
            k = self.counts[task]
            self.counts[task] += 1
            if k >= len(self.holders):
                if self.complete:
                    raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
                                          f"original forward pass.\n{_TIP}")
                return t.detach()
            holder = self.holders[k]()
            if holder is not None:             # else nobody can ask for it any more
                holder.got[task] = True
                made[k] = t
            if self.early_stop and self.counts[task] == len(self.holders):
                raise _Stop
            return t.detach()
        try:
            with saved_tensors_hooks(pack, lambda t: t), enable_grad():
                self.run(*arguments)
        except _Stop:
            pass
        self.compare(made, self.counts.pop(task))

    def compare(self, made, count):
        """Raise where the second run saved other tensors than the first."""
        if not self.complete:
            return
        if count != len(self.holders):
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                                  f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\nNumber of tensors saved "
                                  f"during recomputation: {count}.\n{_TIP}")
        wrong = ""
        for k, t in sorted(made.items()):
            now = self.describe(t)
            if now != self.metas[k]:
                wrong += f"tensor at position {k}:\nsaved metadata: {self.metas[k]}\nrecomputed metadata: {now}\n"
        if wrong:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                                  f"the forward pass.\n{wrong}.\n{_TIP}")


_early_stop = [None]
_debug = [None]


class _Setting:
    """A process-wide setting for a block."""

    def __init__(self, cell, value):
        self.cell, self.value = cell, value

    def __enter__(self):
        self.before, self.cell[0] = self.cell[0], self.value

    def __exit__(self, *exc):
        self.cell[0] = self.before


def set_checkpoint_early_stop(enable):
    """A block in which checkpoints stop their second run as soon as all is there (or never, with False)."""
    return _Setting(_early_stop, enable)


def set_checkpoint_debug_enabled(enabled):
    """A block in which checkpoints are made with `debug=enabled`."""
    return _Setting(_debug, enabled)


def noop_context_fn():
    """Two contexts that do nothing: for the first and for the second run."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def _without_reentry(function, args, kwargs, preserve, context_fn, check, early_stop):
    first, second = context_fn()
    state, casting = states() if preserve else None, _casting()

    def run(kwargs, *args):
        with _randomness_of(state), casting(), second:
            function(*args, **kwargs)
    frame = _Frame(run, (kwargs, *args), early_stop, check)
    with frame.recorded(), first:
        out = function(*args, **kwargs)
    frame.complete = True
    return out


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, **kwargs):
    """`function(*args, **kwargs)`, of which backward keeps the arguments only and computes the rest again.

    use_reentrant: True for the old kind (a Function; only for `.backward()` without `inputs`), False for hooks on saved tensors.
    preserve_rng_state (True): the second run draws the same random numbers. context_fn: gives a context for each run.
    determinism_check: "default" compares shapes, dtypes and devices of both runs, "none" does not. early_stop: end the second run
    when all is there. Raises CheckpointError where the runs differ.
    """
    if use_reentrant is None:
        warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint "
             "without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the current "
             "default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two "
             "variants.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if _debug[0] is not None:
        debug = _debug[0]
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    if debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        raise NotImplementedError("torchshim: checkpoint(debug=True), a log of both runs' operators")
    if not context.grad:
        return function(*args, **kwargs)
    if "saved tensors hooks disabled" in context.modes:
        raise RuntimeError(context.modes["saved tensors hooks disabled"])
    if _early_stop[0] is not None:
        early_stop = _early_stop[0]
    return _without_reentry(function, args, kwargs, preserve, context_fn, _CHECKS[determinism_check], early_stop)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A sequence of functions (or a Sequential) in `segments` parts, each but the last one checkpointed."""
    if use_reentrant is None:
        warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version 2.9 we "
             "will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need to preserve the "
             "current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the "
             "two variants.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if hasattr(functions, "children"):
        functions = list(functions.children())
    size = len(functions) // segments

    def part(start, end):
        def run(x):
            for f in functions[start:end]:
                x = f(x)
            return x
        return run
    last = size * (segments - 1)
    for start in range(0, last, size):         # which refuses more segments than functions
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(last, len(functions))(input)


# -- selective policies ------------------------------------------------------------------------------------------------
class CheckpointPolicy(enum.Enum):
    """What a policy says of an operator's result: keep it, or compute it again; MUST even where a compiler knew better."""
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told: whether this is the second run, and what the operator returned."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Contexts for `checkpoint(context_fn=...)` that keep what a policy names; see `selective`.

    policy_fn_or_list: the operators whose results are kept (`torch.ops.aten.mm.default`), or `f(ctx, op, *args, **kwargs)` that returns
    a CheckpointPolicy or whether to keep; it is asked in the first run. allow_cache_entry_mutation: a kept result that is written in place
    later is here always what it was.
    """
    from .selective import contexts
    return contexts(policy_fn_or_list, allow_cache_entry_mutation)


__getattr__ = _missing_attribute(__name__)
