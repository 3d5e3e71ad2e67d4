"""The versions torchshim states, and the string type it states PyTorch's in.

``torch.__version__`` is plain ``2.13.0``: third-party checks compare it for order, for equality and
against ``importlib.metadata.version("torch")``, and only the plain number satisfies all three.
"""

import re
from collections.abc import Iterable

# Read by the build as well, from the source text: keep it a literal.
TORCHSHIM_VERSION = "0.1.0"

#: The PyTorch release whose behaviour torchshim follows.
TORCH_COMPAT = "2.13"

_PEP440 = re.compile(
    r"""\s*v?
    (?:(?P<epoch>\d+)!)?
    (?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_n>\d*))?
    (?:-(?P<post_short>\d+)|(?P<post>[-_.]?(?:post|rev|r)[-_.]?(?P<post_n>\d*)))?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?
    \s*""",
    re.VERBOSE | re.IGNORECASE,
)

_PRE_RANK = {"a": 0, "alpha": 0, "b": 1, "beta": 1}  # every other spelling means "rc"

_FIRST, _LAST = (-1,), (3,)  # before, and after, any pre-release key (0..2, n)


def version_key(text: str) -> tuple | None:
    """The PEP 440 sort key of ``text``, or None where it is no PEP 440 version."""
    match = _PEP440.fullmatch(text)
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()

    has_post = match["post"] is not None or match["post_short"] is not None
    post = int(match["post_short"] or match["post_n"] or 0) if has_post else -1
    dev = int(match["dev_n"] or 0) if match["dev"] is not None else float("inf")

    if match["pre"] is not None:
        pre = (_PRE_RANK.get(match["pre"].lower(), 2), int(match["pre_n"] or 0))
    elif match["dev"] is not None and not has_post:
        pre = _FIRST  # 1.0.dev1 comes before 1.0a1
    else:
        pre = _LAST

    # A local part sorts after none; within it, numbers sort after words.
    local = tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part)
        for part in re.split(r"[-_.]", (match["local"] or "").lower())
        if part
    )
    return int(match["epoch"] or 0), tuple(release), pre, post, dev, local


def _key_of(other: object) -> tuple | None:
    if isinstance(other, str):
        return version_key(other)
    if isinstance(other, Iterable):
        return version_key(".".join(str(part) for part in other))
    if hasattr(other, "release"):  # packaging.version.Version, without importing it
        return version_key(str(other))
    return None


class TorchVersion(str):
    """A version string that compares by PEP 440 with strings, tuples and ``packaging`` versions.

    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13)
    (True, True)

    What is no version (``"foo"``, an int) is compared as by ``str``. ``!=`` and the hash are
    ``str``'s own, as in PyTorch.
    """

    __slots__ = ()
    __module__ = "torchshim.torch_version"
    __hash__ = str.__hash__

    def _compare(self, other, method):
        mine, theirs = version_key(self), _key_of(other)
        if mine is None or theirs is None:
            return getattr(str, method)(self, other)
        return getattr(tuple, method)(mine, theirs)

    def __eq__(self, other):
        return self._compare(other, "__eq__")

    def __lt__(self, other):
        return self._compare(other, "__lt__")

    def __le__(self, other):
        return self._compare(other, "__le__")

    def __gt__(self, other):
        return self._compare(other, "__gt__")

    def __ge__(self, other):
        return self._compare(other, "__ge__")


#: The value of ``torch.__version__``.
TORCH_VERSION = TorchVersion(f"{TORCH_COMPAT}.0")
