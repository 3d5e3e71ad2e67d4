"""torch.jit._pickle: the names by which TorchScript's pickles say what type a list's elements or a container have."""


def build_intlist(data):
    """The list, whose elements are integers."""
    return data


def build_tensorlist(data):
    """The list, whose elements are tensors."""
    return data


def build_doublelist(data):
    """The list, whose elements are floats."""
    return data


def build_boollist(data):
    """The list, whose elements are booleans."""
    return data


def restore_type_tag(value, type_str):
    """The container; its type is not needed to compute."""
    return value


def build_tensor_from_id(data):
    """NotImplementedError: a tensor that lies outside of the file."""
    raise NotImplementedError("torchshim: a TorchScript archive whose tensors lie in another file")
