"""Operations on data frames that are noted when they are written, and done to each frame of a stream.

A capture stands for a value of the noted program; `ctx` is the program: its operations, its variables (the first is the frame), and a frame
that shows what columns there are.
"""
from __future__ import annotations

import importlib

from .._decorator import functional_datapipe
from ..datapipe import DFIterDataPipe, IterDataPipe
from .structures import DataChunkDF

__all__ = ["Capture", "CaptureA", "CaptureAdd", "CaptureCall", "CaptureControl", "CaptureDataFrame",
           "CaptureDataFrameWithDataPipeOps", "CaptureF", "CaptureGetAttr", "CaptureGetItem", "CaptureInitial", "CaptureLikeMock",
           "CaptureMul", "CaptureSetItem", "CaptureSub", "CaptureVariable", "CaptureVariableAssign", "DataFrameTracedOps",
           "DataFrameTracer", "disable_capture", "get_val"]

#: Methods of pipes that a captured frame takes from its stream.
DATAPIPES_OPS = ["_dataframes_as_tuples", "groupby", "_dataframes_filter", "map", "to_datapipe", "shuffle", "concat", "batch",
                 "_dataframes_per_row", "_dataframes_concat", "_dataframes_shuffle"]
UNIMPLEMENTED_ATTR = ["__deepcopy__", "__setstate__", "is_shardable", "apply_sharding"]


class CaptureControl:
    """Whether new variables may be noted."""
    disabled = False


def disable_capture():
    """From now on a new variable raises RuntimeError."""
    CaptureControl.disabled = True


class DataFrameTracedOps(DFIterDataPipe):
    """The frames of a stream after the noted operations."""

    def __init__(self, source_datapipe, output_var):
        self.source_datapipe, self.output_var = source_datapipe, output_var

    def __iter__(self):
        for item in self.source_datapipe:
            yield self.output_var.apply_ops(item)


def _program(schema_df=None):
    return {"operations": [], "variables": [], "schema_df": schema_df}


class Capture:
    """A value of a noted program: its attributes, items, sums, differences, products and calls are noted too."""

    def __init__(self, schema_df=None):
        self.ctx = _program(schema_df)

    def __str__(self):
        return self._ops_str()

    def _ops_str(self):
        return "\n".join(map(str, self.ctx["operations"]))

    def __getstate__(self):
        self.ctx["schema_df"] = None           # frames are not sent along
        for variable in self.ctx["variables"]:
            variable.calculated_value = None
        return dict(vars(self))

    def __setstate__(self, state):
        vars(self).update(state)

    def __getattr__(self, attrname):
        if attrname in ("kwarg", "kwargs"):
            raise RuntimeError("no kwargs!")
        if attrname == "__deepcopy__":
            raise AttributeError
        return CaptureGetAttr(self, attrname, ctx=self.ctx)

    def __getitem__(self, key):
        return CaptureGetItem(self, key, ctx=self.ctx)

    def __setitem__(self, key, value):
        self.ctx["operations"].append(CaptureSetItem(self, key, value, ctx=self.ctx))

    def _noted(self, value, shown):
        variable = CaptureVariable(shown, ctx=self.ctx)
        self.ctx["operations"].append(CaptureVariableAssign(variable=variable, value=value, ctx=self.ctx))
        return variable

    def __add__(self, add_val):
        sum = CaptureAdd(self, add_val, ctx=self.ctx)
        return self._noted(sum, sum)

    def __sub__(self, add_val):
        difference = CaptureSub(self, add_val, ctx=self.ctx)
        return self._noted(difference, difference)

    def __mul__(self, add_val):
        product = CaptureMul(self, add_val, ctx=self.ctx)
        return self._noted(product, product)

    def _is_context_empty(self):
        return not self.ctx["operations"] and not self.ctx["variables"]

    def apply_ops_2(self, dataframe):
        """Do the operations to a frame."""
        self.ctx["variables"][0].calculated_value = dataframe
        for op in self.ctx["operations"]:
            op.execute()

    @property
    def columns(self):
        """The columns that the operations leave, of the frame that shows them."""
        self.apply_ops_2(self.ctx["schema_df"])
        return self.execute().columns

    def __call__(self, *args, **kwargs):
        if self._is_context_empty():           # a function from outside joins the program of its arguments
            for x in (*args, *[x for pair in kwargs.items() for x in pair]):
                if isinstance(x, Capture) and not x._is_context_empty():
                    self.ctx = x.ctx
                    break
        return self._noted(CaptureCall(self, ctx=self.ctx, args=args, kwargs=kwargs), None)


class CaptureF(Capture):
    """A capture with what it needs in `kwargs`."""

    def __init__(self, ctx=None, **kwargs):
        self.ctx, self.kwargs = {"operations": [], "variables": []} if ctx is None else ctx, kwargs


class CaptureA(CaptureF):
    """A function from outside."""

    def __str__(self):
        return f"{self.kwargs['name']}"

    def execute(self):
        """The function."""
        return self.kwargs["real_attribute"]


class CaptureLikeMock:
    """In its context an attribute, by its dotted name, is captured: calls of it are noted."""

    def __init__(self, name):
        self.get_target, self.attribute = importlib.import_module("unittest.mock")._get_target(name)
        self.name = name

    def __enter__(self):
        self.save = getattr(self.get_target(), self.attribute)
        setattr(self.get_target(), self.attribute, CaptureA(name=self.name, real_attribute=self.save))

    def __exit__(self, *exc_info):
        setattr(self.get_target(), self.attribute, self.save)


class CaptureCall(Capture):
    """A call."""

    def __init__(self, callable, ctx=None, **kwargs):
        self.ctx, self.callable, self.kwargs = {"operations": [], "variables": []} if ctx is None else ctx, callable, kwargs

    def __str__(self):
        return f"{self.callable}({self.kwargs['args']},{self.kwargs['kwargs']})"

    def execute(self):
        """What it returns."""
        args = [x.execute() if isinstance(x, Capture) else x for x in self.kwargs["args"]]
        return get_val(self.callable)(*args, **self.kwargs["kwargs"])


class CaptureVariableAssign(CaptureF):
    """A variable gets a value."""

    def __str__(self):
        return f"{self.kwargs['variable']} = {self.kwargs['value']}"

    def execute(self):
        """Compute the value."""
        self.kwargs["variable"].calculated_value = self.kwargs["value"].execute()


class CaptureVariable(Capture):
    """A variable."""
    names_idx = 0

    def __init__(self, value, ctx):
        if CaptureControl.disabled:
            raise RuntimeError("Attempting to create capture variable with capture off")
        self.ctx, self.value, self.name = ctx, value, f"var_{CaptureVariable.names_idx}"
        CaptureVariable.names_idx += 1
        self.ctx["variables"].append(self)

    def __str__(self):
        return self.name

    def execute(self):
        """Its value."""
        return self.calculated_value

    def apply_ops(self, dataframe):
        """Its value after the operations on a frame."""
        self.apply_ops_2(dataframe)
        return self.calculated_value


class CaptureGetItem(Capture):
    """left[key]."""

    def __init__(self, left, key, ctx):
        self.ctx, self.left, self.key = ctx, left, key

    def __str__(self):
        return f"{self.left}[{get_val(self.key)}]"

    def execute(self):
        """The item."""
        return self.left.execute()[self.key]


class CaptureSetItem(Capture):
    """left[key] = value."""

    def __init__(self, left, key, value, ctx):
        self.ctx, self.left, self.key, self.value = ctx, left, key, value

    def __str__(self):
        return f"{self.left}[{get_val(self.key)}] = {self.value}"

    def execute(self):
        """Set it."""
        left = self.left.execute()
        left[self.key] = self.value.execute()


class _Pair(Capture):
    def __init__(self, left, right, ctx):
        self.ctx, self.left, self.right = ctx, left, right

    def __str__(self):
        return f"{self.left} {self.sign} {self.right}"


class CaptureAdd(_Pair):
    """left + right."""
    sign = "+"

    def execute(self):
        """The sum."""
        return get_val(self.left) + get_val(self.right)


class CaptureMul(_Pair):
    """left * right."""
    sign = "*"

    def execute(self):
        """The product."""
        return get_val(self.left) * get_val(self.right)


class CaptureSub(_Pair):
    """left - right."""
    sign = "-"

    def execute(self):
        """The difference."""
        return get_val(self.left) - get_val(self.right)


class CaptureGetAttr(Capture):
    """src.name."""

    def __init__(self, src, name, ctx):
        self.ctx, self.src, self.name = ctx, src, name

    def __str__(self):
        return f"{self.src}.{self.name}"

    def execute(self):
        """The attribute."""
        return getattr(get_val(self.src), self.name)


def get_val(capture):
    """The value of a capture; texts in quotes, other things themselves."""
    if isinstance(capture, Capture):
        return capture.execute()
    return f'"{capture}"' if isinstance(capture, str) else capture


class CaptureInitial(CaptureVariable):
    """The first variable of a program."""

    def __init__(self, schema_df=None):
        super().__init__(None, _program(schema_df))
        self.name = f"input_{self.name}"


class CaptureDataFrame(CaptureInitial):
    """The frame that a program begins with."""


class CaptureDataFrameWithDataPipeOps(CaptureDataFrame):
    """The same, with methods of pipes."""

    def as_datapipe(self):
        """The stream of the frames after the operations."""
        return DataFrameTracedOps(self.ctx["variables"][0].source_datapipe, self)

    def raw_iterator(self):
        """These frames."""
        return self.as_datapipe().__iter__()

    def __iter__(self):
        return iter(self._dataframes_as_tuples())

    def batch(self, batch_size=10, drop_last=False, wrapper_class=DataChunkDF):
        """Batches of rows."""
        pipe = self._dataframes_per_row()._dataframes_concat(batch_size).as_datapipe()
        pipe = pipe.batch(1, drop_last=drop_last, wrapper_class=wrapper_class)
        pipe._dp_contains_dataframe = True
        return pipe

    def groupby(self, group_key_fn, *, buffer_size=10000, group_size=None, guaranteed_group_size=None, drop_remaining=False):
        """Groups of rows."""
        return self._dataframes_per_row().as_datapipe().groupby(
            group_key_fn, buffer_size=buffer_size, group_size=group_size, guaranteed_group_size=guaranteed_group_size,
            drop_remaining=drop_remaining)

    def shuffle(self, *args, **kwargs):
        """The rows in a random order."""
        return self._dataframes_shuffle(*args, **kwargs)

    def filter(self, *args, **kwargs):
        """Some of the rows."""
        return self._dataframes_filter(*args, **kwargs)

    def collate(self, *args, **kwargs):
        """RuntimeError: batch it before."""
        raise RuntimeError("Can't collate unbatched DataFrames stream")

    def __getattr__(self, attrname):
        if attrname in UNIMPLEMENTED_ATTR:
            raise AttributeError("Attempting to get ", attrname)
        if attrname in DATAPIPES_OPS:
            return self.as_datapipe().__getattr__(attrname)
        return super().__getattr__(attrname)


@functional_datapipe("trace_as_dataframe")
class DataFrameTracer(CaptureDataFrameWithDataPipeOps, IterDataPipe):
    """A stream of frames as one frame: what is done to it is done to each. schema_df: a frame with the same columns (default:
    the first)."""
    source_datapipe = None

    def set_shuffle_settings(self, *args, **kwargs):
        """Nothing to set."""

    def is_shardable(self):
        """It is not divided."""
        return False

    def __init__(self, source_datapipe, schema_df=None):
        self.source_datapipe = source_datapipe
        super().__init__(schema_df=next(iter(source_datapipe)) if schema_df is None else schema_df)
