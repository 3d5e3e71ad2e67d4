"""Streams of pandas' data frames, and operations on them that are noted and done to each frame as it passes."""
from .....dropin import missing_attribute as _missing_attribute
from . import dataframe_wrapper
from .dataframes import CaptureDataFrame, DFIterDataPipe
from .datapipes import DataFramesAsTuplesPipe
from . import dataframes, datapipes, structures

__all__ = ["CaptureDataFrame", "DFIterDataPipe", "DataFramesAsTuplesPipe"]

__getattr__ = _missing_attribute(__name__)
