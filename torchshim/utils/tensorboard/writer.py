"""SummaryWriter: scalars, histograms, images, texts and figures for TensorBoard, written by its own library."""
from __future__ import annotations

import io
import json
import os
import time

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ... import Tensor


def _array(x):
    return x.detach().cpu().numpy() if isinstance(x, Tensor) else np.asarray(x)


def _number(x):
    x = _array(x)
    if x.size != 1:
        raise AssertionError("scalar should be 0D")
    return float(x.reshape(()))


def _text(value):
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    return TensorProto(dtype="DT_STRING", string_val=[value.encode()], tensor_shape=shape)


class FileWriter:
    """Writes events into a file of `log_dir`."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Write one event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Write a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self):
        """Write what waits."""
        self.event_writer.flush()

    def close(self):
        """Write what waits and end."""
        self.event_writer.close()

    def reopen(self):
        """Go on after `close`."""
        self.event_writer.reopen()


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
                self.file_writer.add_event(Event(file_version="brain.Event:2"), self.purge_step)
                self.file_writer.add_event(Event(session_log=SessionLog(status=SessionLog.START)), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def _add(self, value, step, walltime):
        self._get_file_writer().add_summary(Summary(value=[value]), step, walltime)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """A number."""
        self._add(Summary.Value(tag=tag, simple_value=_number(scalar_value)), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers in one diagram, each in a folder of its own."""
        base = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = base + "/" + main_tag.replace("/", "_") + "_" + tag
            writer = self.all_writers.get(folder)
            if writer is None:
                writer = self.all_writers[folder] = FileWriter(folder, *self._options)
            writer.add_summary(Summary(value=[Summary.Value(tag=main_tag, simple_value=_number(value))]), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """The distribution of many numbers."""
        x = _array(values).astype(np.float64).reshape(-1)
        if not x.size:
            raise ValueError("The input has no element.")
        if bins == "tensorflow":
            half = 1e-12 * 1.1 ** np.arange(int(np.ceil(np.log(1e20 / 1e-12) / np.log(1.1))))
            bins = np.concatenate([-half[::-1], [0], half])
        counts, limits = np.histogram(x, bins=bins)
        kept = np.nonzero(counts)[0]
        first, last = kept[0], kept[-1] + 1
        h = HistogramProto(min=x.min(), max=x.max(), num=x.size, sum=x.sum(), sum_squares=x @ x,
                           bucket_limit=[limits[first], *limits[first + 1:last + 1]], bucket=[0, *counts[first:last]])
        self._add(Summary.Value(tag=tag, histo=h), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: uint8, or floats of [0, 1]."""
        x = _array(img_tensor)
        order = dataformats.upper()
        x = x.transpose([order.index(c) for c in "HWC" if c in order])
        x = x[..., None] if x.ndim == 2 else x
        x = np.repeat(x, 3, 2) if x.shape[2] == 1 else x
        x = x if x.dtype == np.uint8 else (x * 255).clip(0, 255).astype(np.uint8)
        try:
            from PIL import Image
        except ImportError:
            raise ImportError("torchshim: add_image needs Pillow, as torch's does") from None
        file = io.BytesIO()
        Image.fromarray(x).save(file, format="PNG")
        image = Summary.Image(height=x.shape[0], width=x.shape[1], colorspace=x.shape[2], encoded_image_string=file.getvalue())
        self._add(Summary.Value(tag=tag, image=image), global_step, walltime)

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
        about = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        self._add(Summary.Value(tag=tag + "/text_summary", metadata=about, tensor=_text(text_string)), global_step, walltime)

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


for _name in "graph video audio embedding mesh pr_curve onnx_graph custom_scalars".split():
    setattr(SummaryWriter, f"add_{_name}", _missing(f"add_{_name}"))
