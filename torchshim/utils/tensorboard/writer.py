"""SummaryWriter: scalars, histograms, images, sounds, texts and figures for TensorBoard."""
from __future__ import annotations

import io
import json
import os
import time
import wave

import numpy as np

from ... import Tensor
from .events import EventFile, data, double, doubles, integer, png, real

_DT_FLOAT, _DT_DOUBLE, _DT_STRING, _START = 1, 2, 7, 1        # of TensorBoard's enumerations


def _array(x):
    return x.detach().cpu().numpy() if isinstance(x, Tensor) else np.asarray(x)


def _number(x):
    x = _array(x)
    if x.size != 1:
        raise AssertionError("scalar should be 0D")
    return float(x.reshape(()))


def _tensor(dtype, values, shape=()):
    """A TensorProto of encoded values."""
    return integer(1, dtype) + (data(2, b"".join([data(2, integer(1, n)) for n in shape])) if shape else b"") + values


def _plugin(name):
    """A SummaryMetadata."""
    return data(1, data(1, name))


class FileWriter:
    """Writes events into a file of `log_dir`."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._logdir = str(log_dir)
        self.event_writer = EventFile(self._logdir, max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self._logdir

    def add_event(self, event, step=None, walltime=None):
        """Write one event: the encoded fields that it has beside the time and the step."""
        when = double(1, time.time() if walltime is None else walltime)
        self.event_writer.add(when + (b"" if step is None else integer(2, step)) + event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Write an encoded summary."""
        self.add_event(data(5, summary), global_step, walltime)

    def flush(self):
        """Write what waits."""
        self.event_writer.flush()

    def close(self):
        """Write what waits and end."""
        self.event_writer.close()

    def reopen(self):
        """Go on after `close`, which the next event does anyway."""


class SummaryWriter:
    """Writes into log_dir (default: runs/<date>_<host><comment>)."""

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            import socket
            from datetime import datetime
            log_dir = os.path.join("runs", datetime.now().strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.log_dir, self.purge_step, self._options = log_dir, purge_step, (max_queue, flush_secs, filename_suffix)
        self.file_writer, self.all_writers = None, {}
        self._get_file_writer()

    def _get_file_writer(self):
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, *self._options)
            self.all_writers[self.file_writer.get_logdir()] = self.file_writer
            if self.purge_step is not None:
                self.file_writer.add_event(data(3, "brain.Event:2"), self.purge_step)
                self.file_writer.add_event(data(7, integer(1, _START)), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def _add(self, tag, value, step, walltime):
        self._get_file_writer().add_summary(data(1, data(1, tag) + value), step, walltime)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """A number. new_style: as a tensor, of float64 with double_precision."""
        x = _number(scalar_value)
        if new_style or double_precision:
            value = _tensor(_DT_DOUBLE, doubles(6, [x])) if double_precision else _tensor(_DT_FLOAT, data(5, np.float32(x).tobytes()))
            self._add(tag, data(8, value) + data(9, _plugin("scalars")), global_step, walltime)
        else:
            self._add(tag, real(2, x), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers in one diagram, each in a folder of its own."""
        base = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = base + "/" + main_tag.replace("/", "_") + "_" + tag
            writer = self.all_writers.get(folder)
            if writer is None:
                writer = self.all_writers[folder] = FileWriter(folder, *self._options)
            writer.add_summary(data(1, data(1, main_tag) + real(2, _number(value))), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """The distribution of many numbers."""
        x = _array(values).astype(np.float64).reshape(-1)
        if not x.size:
            raise ValueError("The input has no element.")
        if bins == "tensorflow":
            half = [1e-12]
            while half[-1] * 1.1 < 1e20:
                half.append(half[-1] * 1.1)
            bins = [-v for v in half[::-1]] + [0] + half
        counts, limits = np.histogram(x, bins=bins)
        kept = np.nonzero(counts)[0]
        first, last = kept[0], kept[-1] + 1
        self.add_histogram_raw(tag, x.min(), x.max(), x.size, x.sum(), x @ x, [limits[first], *limits[first + 1:last + 1]],
                               [0, *counts[first:last]], global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None):
        """A distribution that is counted already: bucket k holds what is at most bucket_limits[k]."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        about = b"".join([double(k + 1, v) for k, v in enumerate((min, max, num, sum, sum_squares))])
        self._add(tag, data(5, about + doubles(6, bucket_limits) + doubles(7, bucket_counts)), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: uint8, or floats of [0, 1]."""
        x = _array(img_tensor)
        order = dataformats.upper()
        x = x.transpose([order.index(c) for c in "HWC" if c in order])
        x = x[..., None] if x.ndim == 2 else x
        x = np.repeat(x, 3, 2) if x.shape[2] == 1 else x
        x = x if x.dtype == np.uint8 else (x * 255).clip(0, 255).astype(np.uint8)
        about = b"".join([integer(k + 1, n) for k, n in enumerate(x.shape)])
        self._add(tag, data(4, about + data(4, png(x))), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound: one channel, values of [-1, 1]."""
        x = _array(snd_tensor).squeeze()
        if x.ndim != 1:
            raise AssertionError("input tensor should be 1 dimensional.")
        file = io.BytesIO()
        with wave.open(file, "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(sample_rate)
            w.writeframes((x.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2").tobytes())
        about = real(1, sample_rate) + integer(2, 1) + integer(3, x.size)
        self._add(tag, data(6, about + data(4, file.getvalue()) + data(5, "audio/wav")), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Pictures side by side."""
        x = _array(img_tensor)
        order = dataformats.upper()
        x = x.transpose([order.index(c) for c in "NHWC" if c in order])
        x = x[..., None] if x.ndim == 3 else x
        columns = min(8, x.shape[0])
        rows = -(-x.shape[0] // columns)
        grid = np.zeros((rows * x.shape[1], columns * x.shape[2], x.shape[3]), x.dtype)
        for k, picture in enumerate(x):
            r, c = divmod(k, columns)
            grid[r * x.shape[1]:(r + 1) * x.shape[1], c * x.shape[2]:(c + 1) * x.shape[2]] = picture
        self.add_image(tag, grid, global_step, walltime, "HWC")

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib's (or a list of them)."""
        for k, f in enumerate(figure if isinstance(figure, list) else [figure]):
            f.canvas.draw()
            self.add_image(tag if not isinstance(figure, list) else f"{tag}/{k}", np.asarray(f.canvas.buffer_rgba())[..., :3], global_step, walltime,
                           "HWC")
            if close:
                import matplotlib.pyplot as plt
                plt.close(f)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text."""
        value = _tensor(_DT_STRING, data(8, text_string), (1,))
        self._add(tag + "/text_summary", data(8, value) + data(9, _plugin("text")), global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """A run's parameters and what it reached: the first as a text, the others as numbers in a folder of their own."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as w:
            w.add_text("hparams", json.dumps(hparam_dict, default=str, indent=1), global_step)
            for k, v in metric_dict.items():
                w.add_scalar(k, v, global_step)

    def flush(self):
        """Write what waits."""
        for w in self.all_writers.values():
            w.flush()

    def close(self):
        """Write what waits and end."""
        for w in self.all_writers.values():
            w.flush()
            w.close()
        self.file_writer, self.all_writers = None, {}

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def _missing(name):
    def missing(self, *args, **kwargs):
        raise NotImplementedError(f"torchshim: SummaryWriter.{name}")
    missing.__name__, missing.__doc__, missing.__unimplemented__ = name, "NotImplementedError.", True
    return missing


for _name in "graph video embedding mesh pr_curve onnx_graph custom_scalars".split():
    setattr(SummaryWriter, f"add_{_name}", _missing(f"add_{_name}"))
