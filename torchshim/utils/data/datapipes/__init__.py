"""torch.utils.data.datapipes: datasets made of one another by methods: wrapper.map(f).filter(g).batch(8)."""
from ....dropin import missing_attribute as _missing_attribute
from . import dataframe, datapipe, iter, map, utils

__getattr__ = _missing_attribute(__name__)
