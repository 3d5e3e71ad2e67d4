"""The process that runs programs: reads names on stdin, answers one JSON line each.

Run as a script by any interpreter that can `import torch`: `python -m torchshim compat/driver.py`
or a Python with real torch.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from compat.suite import _torch, run_program  # noqa: E402


def serve():
    # Programs must not write into the channel: answers get the real stdout, everything else goes to stderr.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(message):
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    answer({"torch": str(_torch().__version__)})
    for line in sys.stdin:
        name = line.strip()
        if name:
            answer({"name": name, "text": run_program(name)})


serve()
