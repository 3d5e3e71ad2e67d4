"""Switches of the process that tensors look at."""
from ...engine import warn

deterministic = False          # torch.use_deterministic_algorithms: 2 to raise, 1 to warn where there is no deterministic algorithm in torch
fill_uninitialized = True      # torch.utils.deterministic.fill_uninitialized_memory
warn_always = False            # torch.set_warn_always: what comes once in a process comes each time
_said = set()


def once(key):
    """Whether a warning that comes once in a process is to come now."""
    if key in _said and not warn_always:
        return False
    _said.add(key)
    return True


def warn_once(message):
    """A warning that torch gives once in a program."""
    if once(message):
        warn(message)


def alert_nondeterministic(what):
    """Torch's error, or warning, for what it has no deterministic algorithm for."""
    if not deterministic:
        return
    lacks = f"{what} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    issue = "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this operation."
    if deterministic == 1:
        warn(f"{lacks}, warn_only=True)'. You can {issue}")
    else:
        raise RuntimeError(f"{lacks})'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if "
                           f"that's acceptable for your application. You can also {issue}")
