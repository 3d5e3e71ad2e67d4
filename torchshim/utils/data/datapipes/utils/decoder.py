"""What files hold, told by the end of their names."""
from __future__ import annotations

import importlib
import io
import json
import os.path
import pickle
import tempfile

import numpy as np

from ..... import load, tensor
from .common import StreamWrapper

__all__ = ["Decoder", "ImageHandler", "MatHandler", "audiohandler", "basichandlers", "extension_extract_fn", "handle_extension",
           "imagehandler", "mathandler", "videohandler"]


def basichandlers(extension, data):
    """Texts, numbers, json, pickles (which run code) and torch's files; None for others."""
    if extension in "txt text transcript":
        return data.decode("utf-8")
    if extension in ["cls", "cls2", "class", "count", "index", "inx", "id"]:
        try:
            return int(data)
        except ValueError:
            return None
    if extension in "json jsn":
        return json.loads(data)
    if extension in ["pyd", "pickle"]:
        return pickle.loads(data)
    return load(io.BytesIO(data)) if extension == "pt" else None


#: What an image is given as: the library, the type of its numbers (uint8, or float from 0 to 1), and its channels.
imagespecs = {
    "l8": ("numpy", "uint8", "l"), "rgb8": ("numpy", "uint8", "rgb"), "rgba8": ("numpy", "uint8", "rgba"), "l": ("numpy", "float", "l"),
    "rgb": ("numpy", "float", "rgb"), "rgba": ("numpy", "float", "rgba"), "torchl8": ("torch", "uint8", "l"),
    "torchrgb8": ("torch", "uint8", "rgb"), "torchrgba8": ("torch", "uint8", "rgba"), "torchl": ("torch", "float", "l"),
    "torchrgb": ("torch", "float", "rgb"), "torch": ("torch", "float", "rgb"), "torchrgba": ("torch", "float", "rgba"),
    "pill": ("pil", None, "l"), "pil": ("pil", None, "rgb"), "pilrgb": ("pil", None, "rgb"), "pilrgba": ("pil", None, "rgba")}


def handle_extension(extensions, f):
    """A handler that calls f for names that end as the first of `extensions` (words,
    parts divided by points) that is no longer than they."""
    extensions = extensions.lower().split()

    def handler(key, data):
        parts = key.lower().split(".")
        for target in extensions:
            target = target.split(".")
            if len(target) <= len(parts):
                return f(data) if parts[-len(target):] == target else None
    return handler


def _needed(package, name, what, install):
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise ModuleNotFoundError(f"Package `{package}` is required to be installed for {what}.Please use `pip install {install}`"
                                  f"{' ' if package == 'PIL' else ''}to install the package") from e


class ImageHandler:
    """Decodes images with PIL, as one of `imagespecs`; AssertionError for another."""

    def __init__(self, imagespec):
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension, data):
        if extension.lower() not in ["jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm"]:
            return None
        library, numbers, mode = imagespecs[self.imagespec]
        with io.BytesIO(data) as stream:
            image = _needed("PIL", "PIL.Image", "default image decoder", "Pillow").open(stream)
            image.load()
            image = image.convert(mode.upper())
        if library == "pil":
            return image
        pixels = np.asarray(image)
        if library == "torch":
            pixels = np.array(pixels.transpose(2, 0, 1))
            return tensor(pixels) if numbers == "uint8" else tensor(pixels) / 255.0
        return pixels if numbers == "uint8" else pixels.astype("f") / 255.0


def imagehandler(imagespec):
    """An ImageHandler."""
    return ImageHandler(imagespec)


def _from_file(extension, data, read):
    """What `read` makes of a file with these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, f"file.{extension}")
        with open(name, "wb") as stream:
            stream.write(data)
        return read(name)


def videohandler(extension, data):
    """Videos, by torchvision."""
    if extension in ["mp4", "ogv", "mjpeg", "avi", "mov", "h264", "mpg", "webm", "wmv"]:
        return _from_file(extension, data, _needed("torchvision", "torchvision.io", "default video file loader", "torchvision").read_video)


def audiohandler(extension, data):
    """Sounds, by torchaudio."""
    if extension in ["flac", "mp3", "sox", "wav", "m4a", "ogg", "wma"]:
        return _from_file(extension, data, _needed("torchaudio", "torchaudio", "default audio file loader", "torchaudio").load)


class MatHandler:
    """Decodes Matlab's files with scipy; `loadmat_kwargs` go to its loadmat."""

    def __init__(self, **loadmat_kwargs):
        self.sio, self.loadmat_kwargs = _needed("scipy", "scipy.io", "mat file", "scipy"), loadmat_kwargs

    def __call__(self, extension, data):
        if extension != "mat":
            return None
        with io.BytesIO(data) as stream:
            return self.sio.loadmat(stream, **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs):
    """A MatHandler."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname):
    """What follows the last point of a name."""
    return os.path.splitext(pathname)[1][1:]


class Decoder:
    """Pairs of a name and bytes (or a stream of them) decoded by the first of the handlers that does not return None; else as they were."""

    def __init__(self, *handler, key_fn=extension_extract_fn):
        self.handlers, self.key_fn = list(handler), key_fn

    def add_handler(self, *handler):
        """Ask these first."""
        self.handlers = [*handler, *self.handlers]

    def decode1(self, key, data):
        """One content."""
        if not data:
            return data
        stream = data.file_obj if isinstance(data, StreamWrapper) else data
        if isinstance(stream, (io.BufferedIOBase, io.RawIOBase)):
            data, stream = b"".join(data), data
            stream.close()
        for handler in self.handlers:
            result = handler(key, data)
            if result is not None:
                return result
        return data

    def decode(self, data):
        """A pair, or several: a dict of the contents by name. Of names that begin with _ bytes become text."""
        result = {}
        for name, content in [data] if isinstance(data, tuple) else data or ():
            hidden = name[0] == "_" and isinstance(content, bytes)
            result[name] = content.decode("utf-8") if hidden else self.decode1(self.key_fn(name), content)
        return result

    def __call__(self, data):
        return self.decode(data)
