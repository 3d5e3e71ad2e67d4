"""torch.special: functions of mathematical physics, and SciPy's names for functions that torch has too."""
from ..tensor.api import docs as _docs
from ..tensor.api.bind import FUNCTIONS as _torch, NAMESPACES as _namespaces

_SAME = {"digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1",
         "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p", "log_softmax": "log_softmax",
         "logit": "logit", "logsumexp": "logsumexp", "multigammaln": "mvlgamma", "psi": "digamma",
         "round": "round", "sinc": "sinc", "softmax": "softmax", "xlogy": "xlogy"}
globals().update({_name: _torch[_old] for _name, _old in _SAME.items() if _old in _torch})
globals().update(_namespaces["special"])
_docs.complete({"torch.special.": globals()})
