"""torch.jit._recursive: TorchScript's table of the types of modules, which stays empty as nothing is compiled; libraries clear it."""
from ..dropin import missing_attribute as _missing_attribute


class ConcreteTypeStore:
    """The types of scripted modules by their classes: none."""

    def __init__(self):
        self.type_store = {}
        self.methods_compiled = set()


concrete_type_store = ConcreteTypeStore()

__getattr__ = _missing_attribute(__name__)
