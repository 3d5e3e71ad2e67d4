"""Calls of ATen operators as `__torch_dispatch__` meets them. See `python`."""
