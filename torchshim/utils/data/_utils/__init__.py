"""The parts of the DataLoader."""
from . import collate, pin_memory, worker

MP_STATUS_CHECK_INTERVAL = worker.MP_STATUS_CHECK_INTERVAL
