"""Forms of calls that torch treats in a way of its own."""

#: Orders of the parameters that torch takes too, with a warning; with numbers for tensors it takes rsub's without one.
OLD_FORMS = {"rsub": (("self", "other", "alpha"),), "add": (("self", "alpha", "other"),), "sub": (("self", "alpha", "other"),),
             "addcmul": (("self", "value", "tensor1", "tensor2"),), "addcdiv": (("self", "value", "tensor1", "tensor2"),)}
for _name, *_two in (("addmm", "mat1", "mat2"), ("addmv", "mat", "vec"), ("addr", "vec1", "vec2"), ("addbmm", "batch1", "batch2"),
                     ("baddbmm", "batch1", "batch2")):
    OLD_FORMS[_name] = (("beta", "self", "alpha", *_two), ("beta", "self", *_two))

#: Reductions that torch declares twice, and only with dimensions with a keepdim.
KEPT_ALONG = {"sum", "mean", "prod"}
