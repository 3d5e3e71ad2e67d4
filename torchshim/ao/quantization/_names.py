"""Names that stand in torch.ao.quantization itself."""
import typing

from .fake_quantize import FakeQuantizeBase
from .observer import ObserverBase

ObserverOrFakeQuantize = typing.Union[ObserverBase, FakeQuantizeBase]


def default_eval_fn(model, calib_data):
    """Show a model its data: the first entry of each."""
    for data, _target in calib_data:
        model(data)
