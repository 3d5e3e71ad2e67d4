"""What pipes do with data frames: pandas' by default, or those of a wrapper of one's own with the same methods."""
from __future__ import annotations

import functools
import importlib


@functools.cache
def _imported():
    try:
        return importlib.import_module("pandas")
    except ImportError:
        return None


def _pandas():
    """pandas; RuntimeError where it is not installed."""
    if _imported() is None:
        raise RuntimeError("DataFrames prototype requires pandas to function")
    return _imported()


class PandasWrapper:
    """pandas' data frames."""

    @classmethod
    def create_dataframe(cls, data, columns):
        """A frame of rows."""
        return _pandas().DataFrame(data, columns=columns)

    @classmethod
    def is_dataframe(cls, data):
        """Whether it is a frame."""
        return _imported() is not None and isinstance(data, _pandas().DataFrame)

    @classmethod
    def is_column(cls, data):
        """Whether it is a column of one."""
        return _imported() is not None and isinstance(data, _pandas().Series)

    @classmethod
    def iterate(cls, data):
        """Its rows."""
        _pandas()
        yield from data.itertuples(index=False)

    @classmethod
    def concat(cls, buffer):
        """Frames below one another."""
        return _pandas().concat(buffer)

    @classmethod
    def get_item(cls, data, idx):
        """A frame of one row."""
        _pandas()
        return data[idx:idx + 1]

    @classmethod
    def get_len(cls, df):
        """How many rows it has."""
        _pandas()
        return len(df.index)

    @classmethod
    def get_columns(cls, df):
        """The names of its columns."""
        _pandas()
        return list(df.columns.values.tolist())


default_wrapper = PandasWrapper


def get_df_wrapper():
    """What knows about frames."""
    return default_wrapper


def set_df_wrapper(wrapper):
    """Let another class know about frames."""
    global default_wrapper
    default_wrapper = wrapper


def create_dataframe(data, columns=None):
    """A frame of rows."""
    return default_wrapper.create_dataframe(data, columns)


def is_dataframe(data):
    """Whether it is a frame."""
    return default_wrapper.is_dataframe(data)


def get_columns(data):
    """The names of a frame's columns."""
    return default_wrapper.get_columns(data)


def is_column(data):
    """Whether it is a frame's column."""
    return default_wrapper.is_column(data)


def concat(buffer):
    """Frames below one another."""
    return default_wrapper.concat(buffer)


def iterate(data):
    """A frame's rows."""
    return default_wrapper.iterate(data)


def get_item(data, idx):
    """A frame of one row of a frame."""
    return default_wrapper.get_item(data, idx)


def get_len(df):
    """How many rows a frame has."""
    return default_wrapper.get_len(df)
