"""The facade: torch's tensors on the engine's values. `core` is what a tensor is, `api` what can be called on it."""
