"""torch.distributed.elastic.agent.server.local_elastic_agent: NotImplementedError."""
from .....dropin import missing_attribute as _missing_attribute
from ...._absent import absent_names

globals().update(absent_names(__name__, classes="LocalElasticAgent"))
__getattr__ = _missing_attribute(__name__)
