"""SummaryWriter: scalars, histograms, images, sounds, texts and figures for TensorBoard."""
from __future__ import annotations

import io
import json
import os
import time
import wave

import numpy as np

from ... import Tensor
from .events import EventFile, data, double, doubles, integer, moving_png, png, real

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


def _plugin(name, content=b""):
    """A SummaryMetadata."""
    return data(1, data(1, name) + (data(2, content) if content else b""))


def _grid(x):
    """Pictures (n, height, width, channels) side by side in one, at most eight in a row."""
    columns = min(8, x.shape[0])
    rows = -(-x.shape[0] // columns)
    grid = np.zeros((rows * x.shape[1], columns * x.shape[2], x.shape[3]), x.dtype)
    for k, picture in enumerate(x):
        r, c = divmod(k, columns)
        grid[r * x.shape[1]:(r + 1) * x.shape[1], c * x.shape[2]:(c + 1) * x.shape[2]] = picture
    return grid


def _bytes_of(x):
    return x if x.dtype == np.uint8 else (x * 255).clip(0, 255).astype(np.uint8)


def _curve(labels, predictions, thresholds, weights):
    """What lies above each threshold: true and false positives and negatives, precision and recall, a row each."""
    at = np.floor(predictions * (thresholds - 1)).astype(np.int32)
    tp, fp = [np.histogram(at, bins=thresholds, range=(0, thresholds - 1), weights=w * weights)[0][::-1].cumsum()[::-1]
              for w in (labels.astype(np.float64), 1.0 - labels.astype(np.float64))]
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack([tp, fp, tn, fn, tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)])


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
        x = _bytes_of(x)
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
        self.add_image(tag, _grid(x), global_step, walltime, "HWC")

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib's (or a list of them)."""
        for k, f in enumerate(figure if isinstance(figure, list) else [figure]):
            f.canvas.draw()
            self.add_image(tag if not isinstance(figure, list) else f"{tag}/{k}", np.asarray(f.canvas.buffer_rgba())[..., :3],
                           global_step, walltime,
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

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The graph of a model for one input (a tensor or a tuple of arguments): the functions that the call uses, by modules."""
        from .graph import graph
        try:
            encoded = graph(model, () if input_to_model is None else input_to_model)
        except RuntimeError as error:
            print(error)
            print("Error occurs, No graph saved")
            raise
        self._get_file_writer().add_event(data(4, encoded))
        if verbose:
            print(model)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Videos side by side, (n, frames, channels, height, width): uint8, or floats of [0, 1]. As a moving PNG (torch: GIF)."""
        x = _bytes_of(_array(vid_tensor))
        frames = np.stack([_grid(x[:, k].transpose(0, 2, 3, 1)) for k in range(x.shape[1])])
        about = b"".join([integer(k + 1, n) for k, n in enumerate(frames.shape[1:])])
        self._add(tag, data(4, about + data(4, moving_png(frames, fps))), global_step, walltime)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Precision against recall of predictions in [0, 1] of labels 0 and 1."""
        labels, predictions = _array(labels).reshape(-1), _array(predictions).reshape(-1)
        n = min(num_thresholds, 127)
        table = _curve(labels, predictions, n, 1.0 if weights is None else _array(weights))
        self._add_curve(tag, table, n, global_step, walltime)

    def add_pr_curve_raw(self, tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision,
                         recall, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """The same of what is counted already."""
        n = min(num_thresholds, 127)
        table = np.stack([_array(x) for x in (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts,
                                              precision, recall)])
        self._add_curve(tag, table, n, global_step, walltime)

    def _add_curve(self, tag, table, n, step, walltime):
        value = _tensor(_DT_FLOAT, data(5, table.astype("<f4").tobytes()), table.shape)
        self._add(tag, data(8, value) + data(9, _plugin("pr_curves", integer(2, n))), step, walltime)

    def add_custom_scalars(self, layout):
        """Diagrams of several scalars: {category: {title: ("Multiline" or "Margin", tags)}}."""
        text = b""
        for category, charts in layout.items():
            body = data(1, category)
            for title, (kind, tags) in charts.items():
                if kind == "Margin":
                    if len(tags) != 3:
                        raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
                    what = data(3, data(1, b"".join([data(k + 1, t) for k, t in enumerate(tags)])))
                else:
                    what = data(2, b"".join([data(1, t) for t in tags]))
                body += data(2, data(1, title) + what)
            text += data(2, body)
        value = integer(1, _DT_STRING) + data(2, b"") + data(8, text)
        self._add("custom_scalars__config__", data(8, value) + data(9, _plugin("custom_scalars")), None, None)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """One diagram of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """One diagram of a scalar between two others: its tag and theirs."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Points (n, features) for the projector, with a label (or, with a header,
                                                                 a row of labels) and a picture each: files of tab-separated
        values, one picture of all pictures, and an entry in the folder's projector_config.pbtxt."""
        points = _array(mat)
        place = f"{0 if global_step is None else global_step:05d}/{_coded(tag)}"
        home = os.path.join(self._get_file_writer().get_logdir(), place)
        if os.path.isdir(home):
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        os.makedirs(home, exist_ok=True)
        entry = f'embeddings {{\n  tensor_name: "{tag}:{0 if global_step is None else global_step:05d}"\n'
        if metadata is not None:
            if points.shape[0] != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            rows = [str(m) for m in metadata] if metadata_header is None else ["\t".join(metadata_header),
                                                                              *["\t".join([str(v) for v in m]) for m in metadata]]
            _put(home, "metadata.tsv", rows)
            entry += f'  metadata_path: "{place}/metadata.tsv"\n'
        if label_img is not None:
            pictures = _bytes_of(_array(label_img)).transpose(0, 2, 3, 1)
            if points.shape[0] != len(pictures):
                raise AssertionError("#images should equal with #data points")
            side = int(np.ceil(np.sqrt(len(pictures))))
            h, w, c = pictures.shape[1:]
            sheet = np.zeros((side * h, side * w, c), np.uint8)
            for k, picture in enumerate(pictures):
                sheet[k // side * h:(k // side + 1) * h, k % side * w:(k % side + 1) * w] = picture
            with open(os.path.join(home, "sprite.png"), "wb") as f:
                f.write(png(sheet))
            entry += (f'  sprite {{\n    image_path: "{place}/sprite.png"\n    single_image_dim: {w}\n    single_image_dim: {h}\n  }}\n')
        if points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        _put(home, "tensors.tsv", ["\t".join([str(v) for v in row.tolist()]) for row in points])
        with open(os.path.join(self._get_file_writer().get_logdir(), "projector_config.pbtxt"), "a", encoding="utf-8") as f:
            f.write(f'{entry}  tensor_path: "{place}/tensors.tsv"\n}}\n')

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


def _coded(tag):
    """A tag as a folder's name."""
    return str(tag).replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")


def _put(home, name, lines):
    with open(os.path.join(home, name), "w", encoding="utf-8") as f:
        f.write("".join([line + "\n" for line in lines]))


def _missing(name):
    def missing(self, *args, **kwargs):
        raise NotImplementedError(f"torchshim: SummaryWriter.{name}")
    missing.__name__, missing.__doc__, missing.__unimplemented__ = name, "NotImplementedError.", True
    return missing


for _name in "mesh onnx_graph".split():
    setattr(SummaryWriter, f"add_{_name}", _missing(f"add_{_name}"))
