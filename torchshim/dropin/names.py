"""How torchshim's module names and PyTorch's correspond. functorch, which PyTorch installs beside torch, is `torchshim.functorch`."""

#: Top-level parts of torchshim that are its own and have no place under ``torch``.
PRIVATE = frozenset({"__main__", "compat", "dropin", "engine", "ops", "tensor"})


#: Older names of modules.
_OLD = {"torch.quantization": "torch.ao.quantization", "torch.nn.quantized._reference": "torch.ao.nn.quantized.reference",
        **{f"torch.nn.{n}": f"torch.ao.nn.{n}" for n in ("quantized", "qat", "intrinsic", "quantizable")}}


def is_torch(name: str) -> bool:
    """Whether ``name`` names the module torch or one inside it, or functorch or one inside that."""
    return name.partition(".")[0] in ("torch", "functorch")


def is_torchshim(name: str) -> bool:
    """Whether ``name`` names the module torchshim or one inside it."""
    return name == "torchshim" or name.startswith("torchshim.")


def is_private(name: str) -> bool:
    """Whether ``name`` (of either world) lies in a part that is torchshim's own."""
    return name.partition(".")[2].partition(".")[0] in PRIVATE


def to_torchshim(name: str) -> str:
    """``torch.nn`` -> ``torchshim.nn``, ``functorch`` -> ``torchshim.functorch``."""
    if "quant" in name or "nn.qat" in name or "nn.intrinsic" in name:
        for old, new in _OLD.items():
            if name == old or name.startswith(old + "."):
                name = new + name[len(old):]
                break
    return "torchshim." + name if name.startswith("functorch") else "torchshim" + name.removeprefix("torch")


def to_torch(name: str) -> str:
    """``torchshim.nn`` -> ``torch.nn``; any other name, and a private one, stays as it is."""
    if not is_torchshim(name) or is_private(name):
        return name
    inner = name.removeprefix("torchshim.")
    return inner if inner.partition(".")[0] == "functorch" else "torch" + name.removeprefix("torchshim")
