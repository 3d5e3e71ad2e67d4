"""ShardedGradScaler, which is not there."""
from .._absent import absent_class

ShardedGradScaler = absent_class(__name__, "ShardedGradScaler")
