"""torch.onnx.operators: shapes as tensors."""
from .. import tensor


def shape_as_tensor(x):
    """The sizes of a tensor, as a tensor of int64."""
    return tensor(tuple(x.shape))


def reshape_from_tensor_shape(x, shape):
    """`x` in a shape that a tensor tells."""
    return x.reshape(shape.tolist())
