"""From what a sampler gives to what one step of a loader yields."""
from ..dataset import gathered
from .collate import default_collate


class _BaseDatasetFetcher:
    """Takes samples of a dataset and makes a batch of them by `collate_fn`."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = dataset, auto_collation, collate_fn, drop_last

    def fetch(self, possibly_batched_index):
        """What the loader yields for an index, or for a list of them where batches are made here."""
        raise NotImplementedError


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Takes samples by their numbers; all of a batch at once where the dataset has `__getitems__`."""

    def fetch(self, possibly_batched_index):
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        batch = gathered(self.dataset, possibly_batched_index) if self.collate_fn is default_collate else None
        if batch is not None:
            return batch
        several = getattr(self.dataset, "__getitems__", None)
        return self.collate_fn(several(possibly_batched_index) if several else [self.dataset[i] for i in possibly_batched_index])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes the next samples; of an index only its length counts. StopIteration when none are left."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter, self.ended = iter(dataset), False

    def fetch(self, possibly_batched_index):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        batch = []
        for _ in possibly_batched_index:
            try:
                batch.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not batch or self.drop_last and len(batch) < len(possibly_batched_index):
            raise StopIteration
        return self.collate_fn(batch)
