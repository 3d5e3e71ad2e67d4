"""The types of TorchScript's values, which libraries name and print; nothing is checked against them."""


class JitType:
    """A type with a name; `get()` is the one of those without parts."""
    _text = None

    @classmethod
    def get(cls):
        """The type."""
        return cls()

    @property
    def annotation_str(self):
        """How Python writes it."""
        return str(self)

    def kind(self):
        """The class's name."""
        return type(self).__name__

    def __str__(self):
        return self._text or type(self).__name__

    def __repr__(self):
        return str(self)

    def __eq__(self, other):
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class _Of(JitType):
    """A type made of others."""

    def __init__(self, *parts):
        self._parts = parts[0] if len(parts) == 1 and isinstance(parts[0], (list, tuple)) else parts

    def __str__(self):
        return f"{self._text}[{', '.join(map(str, self._parts))}]"


def _simple(name, text):
    return type(name, (JitType,), {"_text": text, "__module__": __name__, "__doc__": f"The type that TorchScript writes {text}."})


AnyType, TensorType, FloatType, ComplexType = [_simple(n, t) for n, t in (
    ("AnyType", "Any"), ("TensorType", "Tensor"), ("FloatType", "float"), ("ComplexType", "complex"))]
IntType, BoolType, StringType, NoneType = [_simple(n, t) for n, t in (
    ("IntType", "int"), ("BoolType", "bool"), ("StringType", "str"), ("NoneType", "NoneType"))]
NumberType, DeviceObjType, StreamObjType, PyObjectType = [_simple(n, t) for n, t in (
    ("NumberType", "number"), ("DeviceObjType", "Device"), ("StreamObjType", "Stream"), ("PyObjectType", "PyObject"))]


class OptionalType(_Of):
    """None or a value of a type."""
    _text = "Optional"

    @staticmethod
    def ofTensor():
        """Optional[Tensor]."""
        return OptionalType(TensorType())


class ListType(_Of):
    """A list of values of a type."""
    _text = "List"

    def getElementType(self):
        """The type of its elements."""
        return self._parts[0]

    @staticmethod
    def ofInts():
        """List[int]."""
        return ListType(IntType())

    @staticmethod
    def ofFloats():
        """List[float]."""
        return ListType(FloatType())

    @staticmethod
    def ofBools():
        """List[bool]."""
        return ListType(BoolType())

    @staticmethod
    def ofStrings():
        """List[str]."""
        return ListType(StringType())

    @staticmethod
    def ofTensors():
        """List[Tensor]."""
        return ListType(TensorType())


class TupleType(_Of):
    """A tuple of values of some types."""
    _text = "Tuple"

    def elements(self):
        """The types of its elements."""
        return list(self._parts)


class DictType(_Of):
    """A dictionary."""
    _text = "Dict"

    def getKeyType(self):
        """The type of its keys."""
        return self._parts[0]

    def getValueType(self):
        """The type of its values."""
        return self._parts[1]


class UnionType(_Of):
    """A value of one of some types."""
    _text = "Union"


class FutureType(_Of):
    """A result to come."""
    _text = "Future"


class ClassType(JitType):
    """A class of TorchScript's, by its qualified name."""

    def __init__(self, name):
        self._text = name


class EnumType(ClassType):
    """An enumeration."""


class InterfaceType(ClassType):
    """An interface."""


class ScriptObject:
    """An object of a class of TorchScript's, in torch."""


class ScriptObjectProperty:
    """A property of such an object, in torch."""


class Node:
    """A node in a graph of TorchScript's, in torch."""


class Block:
    """A block in a graph of TorchScript's, in torch."""
