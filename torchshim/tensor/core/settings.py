"""Switches of the process that tensors look at."""
from ...engine import warn

# torch.use_deterministic_algorithms: 2 to raise, 1 to warn where there is no deterministic algorithm in torch
deterministic = False
fill_uninitialized = True      # torch.utils.deterministic.fill_uninitialized_memory
warn_always = False            # torch.set_warn_always: what comes once in a process comes each time
sparse_checks = None           # torch.sparse.check_sparse_tensor_invariants: None until somebody says
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


def checks_sparse(asked):
    """Whether a constructor of sparse tensors checks its parts. asked: its own argument, None for the process's setting."""
    if asked is not None:
        return asked
    if sparse_checks is None:
        warn_once("Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when operating on a sparse "
                  "tensor which violates the invariants, but checks incur performance overhead. To silence this warning, explicitly opt in "
                  "or out. See `torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. ")
    return bool(sparse_checks)


def alert_nondeterministic(what):
    """Torch's error, or warning, for what it has no deterministic algorithm for."""
    if not deterministic:
        return
    lacks = f"{what} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    issue = ("file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this "
             "operation.")
    if deterministic == 1:
        warn(f"{lacks}, warn_only=True)'. You can {issue}")
    else:
        raise RuntimeError(f"{lacks})'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, "
                           f"if that's acceptable for your application. You can also {issue}")
