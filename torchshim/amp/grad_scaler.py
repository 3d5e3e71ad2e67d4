"""GradScaler: a loss times a large factor, so that float16 gradients do not vanish, and steps that are skipped where they overflow."""
from __future__ import annotations

import collections.abc
import inspect
import warnings
from collections import defaultdict
from enum import Enum

from .. import Tensor, bfloat16, float16, float32, float64, full, int32, isfinite, no_grad

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What was done with an optimizer since the last `update`."""
    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses and unscales gradients.

    device: "cuda" or "cpu"; init_scale: the first factor; it becomes `growth_factor` times as large after `growth_interval` steps without
    infinities or NaNs, and `backoff_factor` times at each step with some, which is skipped. With enabled=False (and for "cuda" without
    a GPU, with a warning) every method does nothing but what it is called for.
    """

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            from .. import cuda
            if not cuda.is_available():
                warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
                self._enabled = False
        if not self._enabled:
            return
        assert growth_factor > 1.0, "The growth factor must be > 1.0."
        assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._init_scale, self._scale = init_scale, None
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._init_growth_tracker, self._growth_tracker = 0, None
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname):
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        assert self._scale is not None, f"Attempted {funcname} but _scale is None.  " + fix
        assert self._growth_tracker is not None, f"Attempted {funcname} but _growth_tracker is None.  " + fix
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev):
        assert self._growth_tracker is None, "_growth_tracker initialized before _scale"
        self._scale = full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=dev)

    def scale(self, outputs):
        """A tensor, or tensors in lists and tuples, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device, non_blocking=True)
        if isinstance(outputs, collections.abc.Iterable):
            made = map(self.scale, outputs)
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else made
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16):
        """Divide the gradients in place; {device: 1.0 if some gradient there was not finite}."""
        found = {}
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    if not allow_fp16 and p.grad.dtype == float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    if p.grad.is_sparse and p.grad.dtype == float16:
                        p.grad = p.grad.coalesce()             # sums of equal places may be infinite where no value is
                    values = p.grad._values() if p.grad.is_sparse else p.grad
                    bad = (~isfinite(values).all()).to(float32)
                    d = values.device
                    found[d] = (bad if found_inf is None else found_inf.to(d).maximum(bad)) if d not in found else found[d].maximum(bad)
                    factor = inv_scale.to(d)
                    values.copy_(values.to(float32) * factor) if values.dtype in (float16, bfloat16) else values.mul_(factor)
        return found

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the factor, for what looks at them before `step`."""
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = self._scale.to(float64).reciprocal().to(float32)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, None, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
        if not sum([v.item() for v in optimizer_state["found_inf_per_device"].values()]):
            return optimizer.step(*args, **kwargs)

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(*args, **kwargs) on unscaled gradients, unless they hold infinities or NaNs; what it returns."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_scaled(optimizer, state, args, kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        assert len(state["found_inf_per_device"]) > 0, "No inf checks were recorded for this optimizer."
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_scaled(self, optimizer, state, args, kwargs):
        """The step of an optimizer that scales gradients back itself: it is given this scaler, or it finds the factor and whether something
        was not finite in its attributes `grad_scale` (None where they are scaled back already) and `found_inf`."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn("GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near future "
                          "GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and let the optimizer "
                          "use them directly.", FutureWarning, stacklevel=3)
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._get_scale_async()
        optimizer.found_inf = sum([found.to(scale.device) for found in state["found_inf_per_device"].values()])
        before = getattr(optimizer, "grad_scale", None)
        optimizer.grad_scale = before if state["stage"] is OptState.UNSCALED else scale if before is None else scale * before
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale=None):
        """At the end of an iteration: the next factor, or `new_scale`."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, float):
                scale.fill_(new_scale)
            else:
                assert new_scale.device.type == self._device, (
                    f"new_scale should be a float or a 1-element torch.{self._device}.FloatTensor.")
                scale.copy_(new_scale)
        else:
            found = [v.item() for s in self._per_optimizer_states.values() for v in s["found_inf_per_device"].values()]
            assert found, "No inf checks were recorded prior to update."
            if any(found):
                scale.mul_(self._backoff_factor)
                tracker.zero_()
            elif tracker.item() + 1 == self._growth_interval:
                grown = scale * self._growth_factor
                if bool(isfinite(grown)):
                    scale.copy_(grown)
                tracker.zero_()
            else:
                tracker.add_(1)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self):
        return self._scale

    def get_scale(self):
        """The factor, as a float; 1.0 where scaling is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """What the factor grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Choose what the factor grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the factor shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Choose what the factor shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """After how many good steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Choose after how many good steps the factor grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self):
        """Whether scaling is on."""
        return self._enabled

    def state_dict(self):
        """The factor and how it changes; empty where scaling is off."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict):
        """The reverse of `state_dict`; RuntimeError for an empty one, unless scaling is off."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._init_growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            assert not self._per_optimizer_states, ("A GradScaler instance may only be pickled at the beginning of an iteration, or at the "
                                                    "end after scaler.update().")
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None, _growth_tracker=None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer):
        _, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = full((), 1.0, dtype=float32, device=self._scale.device)
        found = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = self._unscale_grads_(optimizer, one, None, True)
        return found

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]


def _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale):
    """Scale gradients in place; found_inf becomes 1 where one of their elements is not finite."""
    with no_grad():
        for g in self:
            found_inf.logical_or_(g.isfinite().all().logical_not())
            g.mul_(inv_scale)
