"""How torchshim's module names and PyTorch's correspond."""

#: Top-level parts of torchshim that are its own and have no place under ``torch``.
PRIVATE = frozenset({"__main__", "compat", "dropin", "engine", "ops", "tensor"})


def is_torch(name: str) -> bool:
    """Whether ``name`` names the module torch or one inside it."""
    return name == "torch" or name.startswith("torch.")


def is_torchshim(name: str) -> bool:
    """Whether ``name`` names the module torchshim or one inside it."""
    return name == "torchshim" or name.startswith("torchshim.")


def is_private(name: str) -> bool:
    """Whether ``name`` (of either world) lies in a part that is torchshim's own."""
    return name.partition(".")[2].partition(".")[0] in PRIVATE


def to_torchshim(name: str) -> str:
    """``torch.nn`` -> ``torchshim.nn``."""
    return "torchshim" + name.removeprefix("torch")


def to_torch(name: str) -> str:
    """``torchshim.nn`` -> ``torch.nn``; any other name, and a private one, stays as it is."""
    if not is_torchshim(name) or is_private(name):
        return name
    return "torch" + name.removeprefix("torchshim")
