"""Checks of functions, names of files, and streams that are closed."""
from __future__ import annotations

import fnmatch
import functools
import importlib.util
import inspect
import os
import warnings
from collections.abc import Iterable, Sized
from io import IOBase

__all__ = ["StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks", "validate_input_col",
           "validate_pathname_binary_tuple"]

DILL_AVAILABLE = importlib.util.find_spec("dill") is not None


def length(pipe, source):
    """The length of what a pipe draws from; TypeError where it has none."""
    if isinstance(source, Sized):
        return len(source)
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


def called(fn, data, columns):
    """fn of a sample, or of some of its columns."""
    if columns is None:
        return fn(data)
    return fn(*[data[c] for c in columns]) if isinstance(columns, (list, tuple)) else fn(data[columns])


def picklable(fn):
    """Warn of a function that a worker process could not be sent; TypeError for what is none."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    if isinstance(fn, functools.partial):
        fn = fn.func
    if hasattr(fn, "__code__"):
        local = fn.__code__.co_flags & inspect.CO_NESTED
    else:
        local = "<locals>" in getattr(fn, "__qualname__", type(fn).__qualname__)
    kind = "Local" if local else "Lambda" if getattr(fn, "__name__", None) == "<lambda>" else None
    if kind and not DILL_AVAILABLE:
        warnings.warn(f"{kind} function is not supported by pickle, please use regular python function or functools.partial instead.",
                      stacklevel=3)


def validate_input_col(fn, input_col):
    """ValueError unless fn can be called with as many positional arguments as there are columns (one if there are none)."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:                         # some functions of C have none to look at
        return
    need = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    P = inspect.Parameter
    places = [p for p in parameters if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
    named = [p for p in parameters if p.kind is P.KEYWORD_ONLY and p.default is P.empty]
    any_number = any([p.kind is P.VAR_POSITIONAL for p in parameters])
    plain = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(plain, "__name__", repr(plain))
    if named:
        raise ValueError(f"The function {name} takes {len(named)} non-default keyword-only parameters, which is not allowed.")
    if len(parameters) < need:
        if not any_number:
            raise ValueError(f"The function {name} takes {len(parameters)} parameters, but {need} are required.")
    elif len(places) > need and any([p.default is P.empty for p in places[need:]]) or len(places) < need and not any_number:
        raise ValueError(f"The function {name} takes {len(places)} positional parameters, but {need} are required.")


def match_masks(name, masks):
    """Whether a name matches a pattern of the shell, or one of several; no pattern matches all."""
    return not masks or any([fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks)])


def get_file_pathnames_from_root(root, masks, recursive=False, abspath=False, non_deterministic=False):
    """The paths of the files in a folder (or of a file) whose names match `masks`; OSError, with a warning, where there is none."""
    def failed(error):
        warnings.warn(error.filename + " : " + error.strerror, stacklevel=2)
        raise error

    def shown(path):
        return os.path.abspath(path) if abspath else path
    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield shown(root)
        return
    for path, folders, files in os.walk(root, onerror=failed):
        if not non_deterministic:
            files.sort()
            folders.sort()
        yield from [os.path.join(shown(path), f) for f in files if match_masks(f, masks)]
        if not recursive:
            return


def get_file_binaries_from_pathnames(pathnames, mode, encoding=None):
    """Pairs of a path and its open file; TypeError for a path that is no str."""
    for path in pathnames if isinstance(pathnames, Iterable) else [pathnames]:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, "r" + mode if mode in ("b", "t") else mode, encoding=encoding))


def validate_pathname_binary_tuple(data):
    """TypeError unless it is a pair of a path and a stream."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}")
    if not isinstance(data[1], (IOBase, StreamWrapper)):
        raise TypeError(f"binary stream within the tuple should have IOBase orits subclasses as type, but it is type {type(data[1])}")


def _deprecation_warning(old_class_name, *, deprecation_version, removal_version, old_functional_name=""):
    which = (f"`{old_class_name}()` and its functional API `.{old_functional_name}()` are" if old_functional_name
             else f"`{old_class_name}()` is")
    warnings.warn(f"{which} deprecated since {deprecation_version} and will be removed in {removal_version}.\n"
                  "See https://github.com/pytorch/data/issues/163 for details.", FutureWarning, stacklevel=3)


class StreamWrapper:
    """A file that is closed when nobody holds it any more, and that knows the stream it lies in (an archive's, say)."""
    session_streams: dict = {}
    debug_unclosed_streams = False

    def __init__(self, file_obj, parent_stream=None, name=None):
        self.file_obj, self.parent_stream, self.name = file_obj, parent_stream, name
        self.child_counter, self.close_on_last_child, self.closed = 0, False, False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v, depth=0):
        """Close the wrapped streams in nested lists, tuples and dicts, ten deep."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, (dict, list, tuple)):
            for x in v.values() if isinstance(v, dict) else v:
                cls.close_streams(x, depth + 1)

    def __getattr__(self, name):
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args, **kwargs):
        """Close the file, and the stream it lies in if that waits for its last part."""
        if self.closed:
            return
        if StreamWrapper.debug_unclosed_streams:
            del StreamWrapper.session_streams[self]
        parent = self.__dict__.get("parent_stream")
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        try:
            self.file_obj.close(*args, **kwargs)
        except AttributeError:
            pass
        self.closed = True

    def autoclose(self):
        """Close it as soon as no part of it is open."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self):
        return list({*self.__dict__, *StreamWrapper.__dict__, *dir(self.file_obj)})

    def __del__(self):
        if "file_obj" in self.__dict__ and not self.closed:
            self.close()

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __repr__(self):
        return f"StreamWrapper<{self.file_obj!r}>" if self.name is None else f"StreamWrapper<{self.name},{self.file_obj!r}>"

    def __getstate__(self):
        return self.file_obj

    def __setstate__(self, obj):
        self.file_obj = obj
