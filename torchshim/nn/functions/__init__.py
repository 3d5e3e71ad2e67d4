"""torch.nn.functional by family, in terms of the operators in `ops.nn`."""
