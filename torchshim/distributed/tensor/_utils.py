"""What libraries import from here to cut tensors into shards."""
from .._absent import absent_function

compute_local_shape_and_global_offset = absent_function(__name__, "compute_local_shape_and_global_offset")
