"""torch.hub: models from a local folder's hubconf.py, and weights from a URL or the cache. Repositories of GitHub are not fetched."""
from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from . import load as _load

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
_hub_dir = None
_list = list


def _get_torch_home():
    base = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(base, "torch")))


def get_dir():
    """The folder of what is downloaded: what `set_dir` said, or $TORCH_HOME/hub."""
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d):
    """Choose that folder."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _config(repo_or_dir, source):
    """The module hubconf of a local folder."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError("torchshim: torch.hub with source='github'; clone the repository and use source='local'")
    folder = os.path.expanduser(repo_or_dir)
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("hubconf.py", os.path.join(folder, "hubconf.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [p for p in getattr(module, "dependencies", []) if importlib.util.find_spec(p) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module, name):
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    f = getattr(module, name, None)
    if not callable(f):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return f


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True):
    """The entry points of a local folder."""
    module = _config(github, "local" if os.path.isdir(github) else "github")
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check"):
    """The docstring of an entry point."""
    return _entry(_config(github, "local" if os.path.isdir(github) else "github"), model).__doc__


def _validate_not_a_forked_repo(repo_owner, repo_name, ref):
    """Nothing: no repository is downloaded. Programs set it to a function of their own."""


def load(repo_or_dir, model, *args, source="github", trust_repo="check", force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """What the entry point `model` of a folder's hubconf.py returns for the other arguments; source must be "local"."""
    return _entry(_config(repo_or_dir, source), model)(*args, **kwargs)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Download a file; RuntimeError if its SHA-256 does not begin with hash_prefix. Nothing is left behind where that fails."""
    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(dst) or ".", suffix=".partial", delete=False) as f:
        try:
            with contextlib.closing(urlopen(Request(url, headers={"User-Agent": "torch.hub"}))) as source:
                while chunk := source.read(READ_DATA_CHUNK):
                    f.write(chunk)
                    digest.update(chunk)
            f.close()
            if hash_prefix is not None and digest.hexdigest()[:len(hash_prefix)] != hash_prefix:
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            shutil.move(f.name, dst)
        finally:
            if os.path.exists(f.name):
                os.remove(f.name)


class _PlainProgress:
    """Stands in for tqdm where it is not installed: counts bytes on standard error."""

    def __init__(self, total=None, disable=False, **options):
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n):
        """n bytes more."""
        if not self.disable:
            self.n += n
            sys.stderr.write(f"\r{self.n:.1f} bytes" if self.total is None else f"\r{100 * self.n / self.total:.1f}%")
            sys.stderr.flush()

    def close(self):
        """Say nothing more."""
        self.disable = True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if not self.disable:
            sys.stderr.write("\n")


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _PlainProgress


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False):
    """torch.load of a URL's file, downloaded once into model_dir (default: get_dir()/checkpoints); check_hash: against the file's name."""
    if os.getenv("TORCH_MODEL_ZOO"):
        import warnings
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    return _load(path, map_location=map_location, weights_only=weights_only)
