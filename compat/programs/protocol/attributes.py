# Attributes and small methods.
import torch

x = torch.arange(6.0).reshape(2, 3)
print(x.shape, x.size(), x.ndim, x.dim(), x.numel(), x.nelement(), x.element_size(), x.itemsize, x.nbytes, x.dtype, x.device, x.layout, x.is_cuda, x.is_sparse, x.is_leaf, x.requires_grad)
print(x.T, x.mT.shape, x.H.shape, x.is_contiguous(), x.is_floating_point(), x.is_complex(), x.is_signed(), x.is_same_size(x.t()), x.output_nr, x.grad, x._version)
print(x.get_device(), x.cpu() is x, x.is_meta, x.is_quantized, x.storage_offset(), x.untyped_storage().nbytes(), x.untyped_storage().size(), x.new_zeros(2).dtype, x.int().new_ones(1), x.new_tensor([1, 2]), x.new_full((2,), 7), x.new_empty(0))
print(torch.zeros(2, 3).size(1), torch.numel(x), torch.is_nonzero(torch.tensor(1)), torch.is_same_size(x, x), x.is_set_to(x), x.equal(x.clone()), torch.equal(x, x + 1))
y = x.requires_grad_()
print(y is x, y.requires_grad, x.retains_grad, x.is_leaf)
print(torch.Tensor([1, 2]), torch.Tensor(2, 0).shape, torch.FloatTensor([1]), torch.LongTensor([1]), torch.BoolTensor([True]), torch.Tensor().shape, torch.DoubleTensor(2).dtype)
print(isinstance(torch.nn.Parameter(torch.ones(1)), torch.Tensor), torch.as_tensor([1, 2]), torch.as_tensor(x) is x, torch.asarray([1.5]))
