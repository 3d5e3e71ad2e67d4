"""The observer that keeps a histogram and chooses the range whose rounding errors are least."""
from __future__ import annotations

import warnings

import numpy as np

import torchshim as torch

from ._observing import _EPS, UniformQuantizationObserverBase
from .utils import is_per_tensor


class HistogramObserver(UniformQuantizationObserverBase):
    """Chooses the range, within what was seen, for which the squared error of rounding is least.

    bins: of the histogram, which is spread anew when a tensor exceeds its range. NotImplementedError for schemes with channels.
    """

    def __init__(self, bins=2048, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, quant_min=None, quant_max=None,
                 factory_kwargs=None, eps=_EPS, is_dynamic=False, **kwargs):
        if not is_per_tensor(qscheme):
            raise NotImplementedError("HistogramObserver's qscheme only support torch.per_tensor_symmetric                     and "
                                      "torch.per_tensor_affine.")
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
                         factory_kwargs=factory_kwargs, eps=eps, is_dynamic=is_dynamic, **kwargs)
        factory_kwargs = torch.nn.factory_kwargs(factory_kwargs)
        self.bins = bins
        self.register_buffer("histogram", torch.zeros(bins, **factory_kwargs))
        self.register_buffer("min_val", torch.tensor(float("inf"), **factory_kwargs))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **factory_kwargs))
        self.dst_nbins = 2 ** torch.iinfo(dtype).bits
        self.upsample_rate = 16

    def _error(self, counts, width, first, last):
        """The squared error where the bins from `first` to `last` have all levels, float32 throughout."""
        f = np.float32
        level = width * (last - first + 1) / self.dst_nbins
        if level == 0.:
            return 0.
        n, level32 = self.dst_nbins, f(level)
        begin = (np.arange(self.bins) - first).astype(f) * f(width)
        end = begin + f(width)
        of_begin, of_end = [np.clip(np.floor_divide(x, level32), f(0), f(n - 1)) for x in (begin, end)]
        density = counts / f(width)

        def norm(low, high):
            return density * ((high * high * high - low * low * low) / f(3))
        half = f(level / 2)
        total = norm(begin - (of_begin + f(0.5)) * level32, half) + (of_end - of_begin - f(1)) * norm(-half, half)
        total = total + norm(-half, end - (of_end * level32 + half))
        return torch.from_numpy(total).sum().item()

    def _non_linear_param_search(self):
        """(smallest, largest): bins are left out, from the side where more of them hold fewer numbers, as long as the error falls."""
        if self.histogram.size()[0] != self.bins:
            raise AssertionError("bins mismatch")
        step = (self.max_val - self.min_val) / self.bins
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        counts, total = self.histogram.detach().numpy().copy(), torch.sum(self.histogram).item()
        before = torch.cumsum(self.histogram, 0).numpy()
        low, high, first, last, least = 0., 1., 0, self.bins - 1, float("inf")
        while low < high:
            next_low, next_high, left, right = low + 1e-5, high - 1e-5, first, last
            least_count, most_count = np.float32(next_low * total), np.float32(next_high * total)
            while left < last and before[left] < least_count:
                left += 1
            while right > first and before[right] > most_count:
                right -= 1
            next_first, next_last = first, last
            if left - first > last - right:
                next_first, low = left, next_low
            else:
                next_last, high = right, next_high
            if (next_first, next_last) == (first, last):
                continue
            error = self._error(counts, width, next_first, next_last)
            if error > least:
                break
            least, first, last = error, next_first, next_last
        return self.min_val + step * first, self.min_val + step * (last + 1)

    def _spread(self, histogram, low, high, new_low, new_high):
        """A histogram over a wider range: each bin cut into many, which are counted where their middles fall."""
        rate = self.upsample_rate
        fine = histogram.repeat_interleave(rate) / rate
        middles = torch.linspace(low, high, self.bins * rate + 1)[:-1] + 0.5 * ((high - low) / (self.bins * rate))
        edges = torch.linspace(new_low, new_high, self.bins + 1)
        where = (torch.bucketize(middles, edges, right=True) - 1).clamp(0, self.bins - 1)
        return torch.bincount(where, weights=fine, minlength=self.bins)

    def _combine_histograms(self, orig_hist, orig_min, orig_max, update_hist, update_min, update_max):
        """The sum of two histograms, the first of a range within that of the second."""
        if update_min == orig_min and update_max == orig_max:
            return orig_hist + update_hist
        if orig_min == orig_max:               # all in one place
            return torch.histc(orig_min, bins=self.bins, min=update_min.item(), max=update_max.item()) * torch.sum(orig_hist) + update_hist
        if update_min > orig_min:
            raise AssertionError("update_min must be <= orig_min")
        if update_max < orig_max:
            raise AssertionError("update_max must be >= orig_max")
        return update_hist + self._spread(orig_hist, orig_min, orig_max, update_min, update_max)

    def _keep(self, histogram, low, high):
        for kept, now in ((self.histogram, histogram), (self.min_val, low), (self.max_val, high)):
            kept.detach_().resize_(now.shape)
            kept.copy_(now)

    def reset_histogram(self, x, min_val, max_val):
        """Begin anew with the numbers of x, from min_val to max_val."""
        if min_val.numel() != 1 or max_val.numel() != 1:
            raise AssertionError("histogram min/max values must be scalar.")
        self._keep(torch.histc(x, self.bins, min=min_val.item(), max=max_val.item()), min_val, max_val)

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach()
        low, high = torch.aminmax(x)
        if low == -torch.inf or high == torch.inf:
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[x.abs() != torch.inf]
            if x.numel() == 0:
                return x_orig
            low, high = torch.aminmax(x)
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, low, high)
            return x_orig
        low, high = torch.min(self.min_val, low).detach(), torch.max(self.max_val, high).detach()
        now = torch.histc(x, self.bins, min=low.item(), max=high.item())
        self._keep(self._combine_histograms(self.histogram, self.min_val, self.max_val, now, low, high), low, high)
        return x_orig

    def calculate_qparams(self):
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            warnings.warn("must run observer before calling calculate_qparams.                                    Returning default scale "
                          "and zero point ", stacklevel=2)
            return torch.tensor([1.0], device=self.min_val.device.type), torch.tensor([0], device=self.min_val.device.type)
        if self.bins != len(self.histogram):
            raise AssertionError("The number of bins in histogram should be equal to the number of bins supplied while making this "
                                 "observer")
        return self._calculate_qparams(*self._non_linear_param_search())

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "min_val"], destination[prefix + "max_val"] = self.min_val, self.max_val

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        version = local_metadata.get("version")
        for name, unset in (("min_val", float("inf")), ("max_val", float("-inf"))):
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            if (version is None or version < 3) and state_dict[key].shape == torch.Size([0]):
                state_dict[key] = torch.tensor(unset)
            setattr(self, name, state_dict[key])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"


HistogramObserver.__module__ = "torch.ao.quantization.observer"
