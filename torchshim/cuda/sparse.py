"""torch.cuda.sparse: old names of types of sparse tensors on a GPU; none can be made by them."""


def _type(name):
    def refuse(cls, *args, **kwargs):
        raise TypeError(f"type torch.cuda.sparse.{name} not available. Torch not compiled with CUDA enabled.")
    return type(name, (), {"__new__": refuse, "__module__": "torch.cuda.sparse", "__doc__": "TypeError when made: see "
                           "torch.sparse_coo_tensor."})


BFloat16Tensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor, ShortTensor = [
    _type(f"{n}Tensor") for n in "BFloat16 Byte Char Double Float Half Int Long Short".split()]
