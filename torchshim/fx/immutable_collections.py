"""Lists and dicts of a step's arguments, which refuse to be changed in place: the step would not notice."""
from ..utils import _pytree

_TEXT = """{name!r} object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _refuse(self, *args, **kwargs):
    raise TypeError(_TEXT.format(name=type(self).__name__))


class immutable_list(list):
    """A list that stays as it is."""
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that stays as it is."""
    clear = pop = popitem = setdefault = update = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (tuple(self.items()),)


_pytree.register_pytree_node(immutable_list, lambda x: (list(x), None), lambda values, _: immutable_list(values))
_pytree.register_pytree_node(immutable_dict, lambda x: (list(x.values()), list(x)), lambda values, keys: immutable_dict(zip(keys, values)))
