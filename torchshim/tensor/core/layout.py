"""torch.layout objects."""


class layout:
    """How a tensor is stored; torchshim has strided ones."""
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return _named, (self.name,)


def _named(name):
    return ALL[name]


ALL = {n: layout(n) for n in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")}
strided = ALL["strided"]
