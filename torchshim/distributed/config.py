"""torch.distributed.config: switches that programs read and set; collectives here do not depend on them."""
compile_on_one_rank = False
use_torchcomms = False
