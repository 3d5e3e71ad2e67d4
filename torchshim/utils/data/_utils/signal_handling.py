"""What loaders of other libraries ask to notice workers that die: their process numbers, and a handler of SIGCHLD that looks at these.
Our own DataLoader waits for the processes themselves."""
import operator
import os
import signal
import threading

_pids: dict = {}                               # of the loaders that told them, by the loader's number
_SIGCHLD_handler_set = False


def _set_worker_pids(key, child_pids):
    """Watch a loader's workers. ValueError where that loader's are watched already."""
    if not isinstance(child_pids, tuple):
        raise TypeError(f"_set_worker_pids expects a tuple for child_pids, but got {type(child_pids).__name__}.")
    if key in _pids:
        raise ValueError("_set_worker_pids should be called only once for each _BaseDataLoaderIter.")
    _pids[key] = {operator.index(pid) for pid in child_pids}


def _remove_worker_pids(loader_id):
    """Watch a loader's workers no longer. ValueError where none are."""
    if _pids.pop(loader_id, None) is None:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {loader_id}")


def _error_if_any_worker_fails():
    """RuntimeError for a watched worker that was killed or failed; who waits for it later still learns how it ended."""
    for workers in list(_pids.values()):
        for pid in workers:
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                continue                       # somebody waited for it
            if ended is None:
                continue
            if ended.si_code == os.CLD_EXITED and ended.si_status:
                workers.clear()
                raise RuntimeError(f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {ended.si_status}. Details are lost "
                                   "due to multiprocessing. Rerunning with num_workers=0 may give better error trace.")
            if ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
                hint = (" It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
                        if ended.si_status == signal.SIGBUS else "")
                workers.clear()
                raise RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(ended.si_status)}. {hint}")


def _set_worker_signal_handlers():
    """In a worker: who is asked to end (SIGTERM), as its parent asks daemons when it ends, has not failed. What other signals kill says no
    word of its own."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda signum, frame: os._exit(0))


def _set_SIGCHLD_handler():
    """Look at the watched workers whenever a child process ends; once, in the main thread, before the handler that was there."""
    global _SIGCHLD_handler_set
    if _SIGCHLD_handler_set or not hasattr(signal, "SIGCHLD") or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)

    def handler(signum, frame):
        _error_if_any_worker_fails()
        if callable(before):
            before(signum, frame)
    signal.signal(signal.SIGCHLD, handler)
    _SIGCHLD_handler_set = True
