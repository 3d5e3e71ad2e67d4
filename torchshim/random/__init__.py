"""torch.random: seeds and states. `streams` draws the numbers, `fills` puts them into tensors."""
from .generator import Generator, default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state



def thread_safe_generator():
    """None: the default generator will do. Workers of a DataLoader are processes, each with a generator of its own."""


__all__ = ["set_rng_state", "get_rng_state", "manual_seed", "seed", "initial_seed", "fork_rng"]
