"""torchrun: a script in the environment of a distributed program, in one process, which runs it itself, or several of this machine."""
from __future__ import annotations

import argparse
import os
import runpy
import sys

from ..dropin import missing_attribute as _missing_attribute

__all__ = ["determine_local_world_size", "get_args_parser", "get_rdzv_endpoint", "get_use_env", "main", "parse_args",
           "parse_min_max_nnodes", "run"]


class _Env(argparse.Action):
    """An option whose default is PET_<NAME> of the environment."""

    def __init__(self, dest, default=None, required=False, **kwargs):
        default = os.environ.get(f"PET_{dest.upper()}", default)
        super().__init__(dest=dest, default=default, required=required and default is None, **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)


class _Flag(argparse.Action):
    """The same without a value."""

    def __init__(self, dest, **kwargs):
        super().__init__(dest=dest, const=True, default=bool(int(os.environ.get(f"PET_{dest.upper()}", "0"))), nargs=0, **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, self.const)


def _listed(text):
    return [part.strip() for part in text.split(",") if part.strip()]


_OPTIONS = (("nnodes", "1:1", str, "machines, or least:most"), ("nproc-per-node", "1", str, "processes on each"),
            ("rdzv-backend", "static", str, "how they meet"), ("rdzv-endpoint", "", str, "where they meet: host:port"),
            ("rdzv-id", "none", str, "the program's name there"), ("rdzv-conf", "", str, "further settings: key=value,key=value"),
            ("max-restarts", 0, int, "how often processes that fail are started again"),
            ("monitor-interval", 0.1, float, "seconds between two looks at them"), ("event-log-handler", "null", str, "where events go"),
            ("role", "default", str, "their role"), ("log-dir", None, str, "the folder of their output"),
            ("redirects", "0", str, "which output goes to files"), ("tee", "0", str, "which goes to the console too"),
            ("local-ranks-filter", "", str, "whose output is shown"), ("duplicate-stdout-filters", [], _listed, "what is copied"),
            ("duplicate-stderr-filters", [], _listed, "what is copied"), ("node-rank", 0, int, "this machine's number"),
            ("master-addr", "127.0.0.1", str, "the first machine"), ("master-port", None, int, "its port"),
            ("local-addr", None, str, "this machine's address"), ("signals-to-handle", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", str, "signals"),
            ("shutdown-timeout", None, int, "seconds that processes get to end"))
_FLAGS = (("standalone", "one machine alone"), ("module", "the script is a module's name, as python -m"),
          ("no-python", "the script is a program"), ("run-path", "run the script by its path in this interpreter"),
          ("virtual-local-rank", "every process has the local rank 0"))
_SHORT = {"module": "-m", "redirects": "-r", "tee": "-t"}


def get_args_parser():
    """torchrun's parser."""
    parser = argparse.ArgumentParser(description="Distributed training launcher")

    def names(name):
        spelled = [f"--{name}"] + [f"--{name.replace('-', '_')}"] * ("-" in name)
        return [_SHORT[name], *spelled] if name in _SHORT else spelled
    for name, default, kind, said in _OPTIONS:
        parser.add_argument(*names(name), action=_Env, default=default, type=kind, help=said)
    parser.add_argument("--start-method", "--start_method", action=_Env, default="spawn", type=str, choices=["spawn", "fork", "forkserver"])
    parser.add_argument("--logs-specs", "--logs_specs", default=None, type=str)
    parser.add_argument("--numa-binding", "--numa_binding", default=None, type=str, choices=["node", "socket", "exclusive", "core-complex"])
    for name, said in _FLAGS:
        parser.add_argument(*names(name), action=_Flag, help=said)
    parser.add_argument("training_script", type=str, help="what to run")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args):
    """The options as a namespace."""
    return get_args_parser().parse_args(args)


def determine_local_world_size(nproc_per_node):
    """How many processes a number, "cpu", "gpu" or "auto" means. ValueError for other words and for "gpu" without one."""
    from .. import cuda
    try:
        return int(nproc_per_node)
    except ValueError as e:
        if nproc_per_node == "gpu" and not cuda.is_available():
            raise ValueError("Cuda is not available.") from e
        if nproc_per_node == "gpu" or nproc_per_node == "auto" and cuda.is_available():
            return cuda.device_count()
        if nproc_per_node in ("cpu", "auto"):
            return os.cpu_count()
        raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}") from e


def parse_min_max_nnodes(nnodes):
    """(least, most) machines of "n" or "least:most". RuntimeError for other texts."""
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(parts[0]), int(parts[-1])


def get_use_env(args):
    """Whether LOCAL_RANK is said by the environment: always, but for the older launcher's option."""
    return getattr(args, "use_env", True)


def get_rdzv_endpoint(args):
    """host:port at which processes meet."""
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        return f"{args.master_addr}:{args.master_port or 29500}"
    return args.rdzv_endpoint


def _several(args, n, said):
    """Run the script in n processes, and end all of them when one fails."""
    import importlib.util
    import subprocess
    import time

    from .elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
    if importlib.util.find_spec("torchshim") is None:
        raise RuntimeError("torchshim cannot be imported by other processes")
    command = [sys.executable, "-u", "-m", "torchshim", *(["-m"] if args.module else []), args.training_script, *args.training_script_args]
    if args.no_python:
        command = [args.training_script, *args.training_script_args]
    if "OMP_NUM_THREADS" not in os.environ and n > 1:
        said["OMP_NUM_THREADS"] = "1"
    processes = []
    try:
        for k in range(n):
            mine = {**os.environ, **said, "RANK": str(k), "LOCAL_RANK": "0" if args.virtual_local_rank else str(k), "ROLE_RANK": str(k)}
            processes.append(subprocess.Popen(command, env=mine))
        while any([p.poll() is None for p in processes]) and not any([p.poll() for p in processes]):
            time.sleep(min(args.monitor_interval, 0.1))
        failed = {k: ProcessFailure(local_rank=k, pid=p.pid, exitcode=p.returncode, error_file="<N/A>")
                  for k, p in enumerate(processes) if p.poll()}
    finally:
        for p in processes:
            if p.poll() is None:
                p.terminate()
        for p in processes:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
    if failed:
        raise ChildFailedError(args.training_script, failed)


def run(args):
    """Run the script in `--nproc-per-node` processes; one is this process itself. ChildFailedError when one of several fails.

    NotImplementedError for several machines.
    """
    n = determine_local_world_size(args.nproc_per_node)
    if parse_min_max_nnodes(args.nnodes)[0] != 1:
        raise NotImplementedError("torchshim: torch.distributed.run on several machines")
    host, _, port = args.rdzv_endpoint.partition(":")
    port = port or str(args.master_port or 29500)
    if args.standalone or port == "0":
        import socket
        with socket.create_server(("127.0.0.1", 0)) as free:
            host, port = "127.0.0.1", str(free.getsockname()[1])
    said = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n), "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1",
            "ROLE_RANK": "0", "ROLE_WORLD_SIZE": str(n), "ROLE_NAME": args.role, "MASTER_ADDR": host or args.master_addr,
            "MASTER_PORT": port, "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": str(args.max_restarts), "TORCHELASTIC_RUN_ID": args.rdzv_id}
    if n > 1 or args.no_python:
        return _several(args, n, said)
    kept, argv = {k: os.environ.get(k) for k in said}, sys.argv
    os.environ.update(said)
    sys.argv = [args.training_script, *args.training_script_args]
    try:
        if args.module:
            runpy.run_module(args.training_script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(args.training_script)))
            runpy.run_path(args.training_script, run_name="__main__")
    finally:
        sys.argv = argv
        for k, x in kept.items():
            os.environ.pop(k, None) if x is None else os.environ.update({k: x})


def main(args=None):
    """torchrun's command line."""
    run(parse_args(sys.argv[1:] if args is None else args))


__getattr__ = _missing_attribute(__name__)
if __name__ == "__main__":
    main()
