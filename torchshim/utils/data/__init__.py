"""torch.utils.data: datasets, samplers and the DataLoader."""
from ...dropin import missing_attribute as _missing_attribute
from . import datapipes, graph_settings
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataloader import DataLoader, _DatasetKind
from .datapipes.datapipe import (DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe, functional_datapipe, guaranteed_datapipes_determinism,
                                 non_deterministic)
from .dataset import (ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split)
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DFIterDataPipe", "DataChunk", "DataLoader", "Dataset", "DistributedSampler", "IterDataPipe",
           "IterableDataset", "MapDataPipe", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler",
           "TensorDataset", "WeightedRandomSampler", "default_collate", "default_convert", "functional_datapipe", "get_worker_info",
           "guaranteed_datapipes_determinism", "non_deterministic", "random_split"]

__getattr__ = _missing_attribute(__name__)
