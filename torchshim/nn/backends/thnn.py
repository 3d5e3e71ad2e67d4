"""torch.nn.backends.thnn: an old module of kernels, empty as in PyTorch."""
