"""torch.fx.tensor_type: shapes as types, in which a size may be unknown."""


class TensorType:
    """The type of tensors of a shape, a sequence of integers, `Dyn` and names."""

    def __init__(self, dim):
        self.__origin__, self.__args__ = TensorType, dim

    def __repr__(self):
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other):
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    def __hash__(self):
        return hash(tuple(self.__args__))

    @staticmethod
    def __class_getitem__(*args):
        return TensorType(tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, _DynType)

    def __hash__(self):
        return hash("Dyn")

    def __str__(self):
        return "Dyn"

    __repr__ = __str__


Dyn = _DynType()


def is_consistent(t1, t2):
    """Whether two types agree wherever both are known."""
    if t1 == t2 or t1 == Dyn or t2 == Dyn:
        return True
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    return len(t1.__args__) == len(t2.__args__) and all([is_consistent(a, b) for a, b in zip(t1.__args__, t2.__args__)])


def is_more_precise(t1, t2):
    """Whether t1 says all that t2 says."""
    if t1 == t2 or t2 == Dyn:
        return True
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    return len(t1.__args__) == len(t2.__args__) and all([is_more_precise(a, b) for a, b in zip(t1.__args__, t2.__args__)])
