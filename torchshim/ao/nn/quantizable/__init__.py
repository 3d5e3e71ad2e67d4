"""torch.ao.nn.quantizable: modules whose parts can be observed and quantized."""
from ....dropin import missing_attribute as _missing_attribute
from .modules import LSTM, LSTMCell, MultiheadAttention

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
__getattr__ = _missing_attribute(__name__, lazy=("modules",))
