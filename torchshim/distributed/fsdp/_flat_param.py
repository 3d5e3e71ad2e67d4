"""Handles of parameters that are cut over processes: nothing is."""
from .._absent import absent_names

globals().update(absent_names(__name__, classes="FlatParamHandle"))
