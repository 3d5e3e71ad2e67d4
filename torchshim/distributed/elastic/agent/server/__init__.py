"""torch.distributed.elastic.agent.server: importable. torchrun and `elastic_launch` start processes; agents raise NotImplementedError."""
from .....dropin import missing_attribute as _missing_attribute
from ...._absent import absent_names

globals().update(absent_names(__name__, classes="ElasticAgent RunResult SimpleElasticAgent Worker WorkerGroup WorkerSpec WorkerState"))
__getattr__ = _missing_attribute(__name__, lazy=("local_elastic_agent",))
