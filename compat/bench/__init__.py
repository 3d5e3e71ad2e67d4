"""Timing against torch eager and hand-written jax.jit steps: `python -m compat.bench`."""
