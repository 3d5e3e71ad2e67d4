"""torch.return_types: the named tuples that operators with several results return."""
from __future__ import annotations

from operator import itemgetter


class structseq(tuple):
    """A tuple whose entries have names too; made from one sequence, as Python's struct sequences are."""
    __slots__ = ()
    _names: tuple = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, sequence=(), dict=None):
        self = tuple.__new__(cls, sequence)
        if len(self) != len(cls._names):
            raise TypeError(f"torch.return_types.{cls.__name__}() takes a {len(cls._names)}-sequence "
                            f"({len(self)}-sequence given)")
        return self

    def __repr__(self):
        inside = ",\n".join(f"{name}={value!r}" for name, value in zip(self._names, self))
        return f"torch.return_types.{type(self).__name__}(\n{inside})"

    def __reduce__(self):
        return type(self), (tuple(self),)


ALL: dict = {}


def named(op):
    """The class of an operator's results, by the names that its schema gives them."""
    name = op.public if op.namespace is None else f"{op.namespace}_{op.public}"
    if name + "_out" not in ALL:
        declare(name + "_out", *op.fields)
    return ALL.get(name) or declare(name, *op.fields)


def declare(name, *fields):
    """The class torch.return_types.<name>."""
    space = {"__slots__": (), "__module__": "torch.return_types", "_names": fields, "n_fields": len(fields),
             "n_sequence_fields": len(fields), "__match_args__": fields}
    space.update({f: property(itemgetter(i)) for i, f in enumerate(fields)})
    ALL[name] = cls = type(name, (structseq,), space)
    return cls


for _name, _fields in (("frexp", "mantissa exponent"), ("geqrf", "a tau"), ("histogram", "hist bin_edges"),
                       ("histogramdd", "hist bin_edges"), ("linalg_cholesky_ex", "L info"), ("linalg_eig", "eigenvalues eigenvectors"),
                       ("linalg_eigh", "eigenvalues eigenvectors"), ("linalg_inv_ex", "inverse info"), ("linalg_ldl_factor", "LD pivots"),
                       ("linalg_ldl_factor_ex", "LD pivots info"), ("linalg_lstsq", "solution residuals rank singular_values"),
                       ("_lu_with_info", "LU pivots info"), ("linalg_lu", "P L U"), ("linalg_lu_factor", "LU pivots"),
                       ("linalg_lu_factor_ex", "LU pivots info"),
                       ("linalg_qr", "Q R"), ("linalg_slogdet", "sign logabsdet"), ("linalg_solve_ex", "result info"),
                       ("linalg_svd", "U S Vh"), ("lu_unpack", "P L U"), ("qr", "Q R"), ("slogdet", "sign logabsdet"),
                       ("svd", "U S V"), ("triangular_solve", "solution cloned_coefficient")):
    globals()[_name] = declare(_name, *_fields.split())

for _name in [n for n in ALL if n not in ("histogramdd", "_lu_with_info")]:
    declare(_name + "_out", *ALL[_name]._names)


def written(cls):
    """What the `out=` form of an operator returns: the same named tuple, called max_out where the other is called max."""
    return ALL.get(cls.__name__ + "_out", cls) if issubclass(cls, structseq) else cls
