"""torchrun: a script in the environment of a distributed program. There is one process, which runs it itself."""
from __future__ import annotations

import argparse
import os
import runpy
import sys

from ..dropin import missing_attribute as _missing_attribute

__all__ = ["get_args_parser", "parse_args", "run", "main"]


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


def run(args):
    """Run the script as the only process. NotImplementedError for several, and for a program that is no Python script."""
    count = args.nproc_per_node
    if count not in ("1", "auto", "cpu") or args.nnodes not in ("1", "1:1") or args.no_python:
        raise NotImplementedError("torchshim: torch.distributed.run with several processes; torch.distributed has one process here")
    host, _, port = args.rdzv_endpoint.partition(":")
    said = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1",
            "ROLE_RANK": "0", "ROLE_WORLD_SIZE": "1", "ROLE_NAME": args.role, "MASTER_ADDR": host or args.master_addr,
            "MASTER_PORT": port or str(args.master_port or 29500), "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": str(args.max_restarts), "TORCHELASTIC_RUN_ID": args.rdzv_id}
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
