"""torch.layout objects, and what they have in common with memory formats: they are their names."""


class Named:
    """An object of torch that is nothing but its name there; pickles name it too."""
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


class layout(Named):
    """How a tensor is stored; torchshim has strided ones."""
    __module__ = "torchshim"
    __slots__ = ()


ALL = {n: layout(n) for n in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")}
strided = ALL["strided"]
