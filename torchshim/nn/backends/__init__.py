"""torch.nn.backends: an old package."""
