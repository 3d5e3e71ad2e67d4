"""torch._C._nn: what modules of libraries call of it."""
from .. import Tensor, device as _device, dtype as _dtype


def _parse_to(*args, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None):
    """(device, dtype, non_blocking, memory_format) from arguments as `Module.to` takes them. TypeError for others."""
    args = list(args)
    if args and isinstance(args[0], Tensor):
        device, dtype = args[0].device, args[0].dtype
        args.pop(0)
    elif args and isinstance(args[0], _dtype):
        dtype = args.pop(0)
    elif args:
        first = args.pop(0)
        device = None if first is None else _device(first)
        if args and (args[0] is None or isinstance(args[0], _dtype)):
            dtype = args.pop(0)
    if args:
        non_blocking = args.pop(0)
    if args and isinstance(args[0], bool):
        copy = args.pop(0)
    if args:
        raise TypeError("to() received an invalid combination of arguments")
    return None if device is None else _device(device), dtype, non_blocking, memory_format
