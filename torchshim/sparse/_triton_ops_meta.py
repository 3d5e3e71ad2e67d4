"""torch.sparse._triton_ops_meta: what torch has measured of its Triton kernels for block-sparse matrices. There are no such kernels here."""


def _missing(name):
    def function(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.sparse._triton_ops_meta.{name}; Triton's kernels do not run on JAX")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refuses: there are no Triton kernels whose settings could be known, measured or written."
    return function


get_meta, minimize, update, dump = [_missing(n) for n in ("get_meta", "minimize", "update", "dump")]
