"""A pipe taken to where it was."""
from __future__ import annotations

from ...graph_settings import apply_random_seed
from .._hook_iterator import _SnapshotState


def _simple_graph_snapshot_restoration(datapipe, n_iterations, rng=None):
    """Seed a pipe's shufflers from a Generator and skip samples, so that the next iterator goes on there. RuntimeError if there are not
    that many, or if it was restored already and not iterated since."""
    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError("Snapshot restoration cannot be applied. You can only restore simple snapshot to the graph if your graph has "
                           "not been restored.")
    datapipe.reset()
    apply_random_seed(datapipe, rng)
    iterator = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(iterator)
        except StopIteration as e:
            raise RuntimeError(f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the number of samples available.") from e
    datapipe._fast_forward_iterator, datapipe._snapshot_state = iterator, _SnapshotState.Restored
