"""Running many programs in a few processes that stay alive; one that dies or hangs costs one program."""
import json
import os
import pathlib
import queue
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent


def environment(extra=None):
    """The environment of a child process: this repository importable, plus `extra`."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(ROOT), env.get("PYTHONPATH")) if p)
    env["PYTHONIOENCODING"] = "utf-8"
    env.update(extra or {})
    return env


class Child:
    """A process that answers a line of JSON to each line written to it."""

    def __init__(self, command, env=None):
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment(env), text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        self._answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def receive(self, timeout):
        """The next answer; RuntimeError where the process died or took too long."""
        try:
            line = self._answers.get(timeout=timeout)
        except queue.Empty:
            raise RuntimeError(f"no answer within {timeout} s") from None
        if line is None:
            self.process.wait()
            raise RuntimeError(f"the process ended with {self.process.returncode}: {self.last_error()}")
        return json.loads(line)

    def ask(self, text, timeout):
        """Write one line, return the answer to it."""
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass                                # receive() tells why
        return self.receive(timeout)

    def last_error(self):
        """The last line that the process wrote to stderr."""
        self.errors.seek(0)
        return (self.errors.read().strip().split("\n") or [""])[-1]

    def close(self):
        """End the process: politely, then not."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.errors.close()


def run_programs(command, names, jobs=1, timeout=120, env=None, tell=None):
    """Run each program in one of `jobs` driver processes started with `command`; returns ({name: text}, torch version)."""
    pending, results, versions = queue.Queue(), {}, []
    for name in names:
        pending.put(name)

    def work():
        child = None
        while True:
            try:
                name = pending.get_nowait()
            except queue.Empty:
                break
            try:
                if child is None:
                    child = Child([*command, str(ROOT / "compat" / "driver.py")], env)
                    versions.append(child.receive(timeout)["torch"])
                results[name] = child.ask(name, timeout)["text"]
            except RuntimeError as died:
                results[name] = f"the program died: {died}"
                if child is not None:
                    child.process.kill()
                    child.close()
                    child = None
            if tell:
                tell(name)
        if child is not None:
            child.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results, (versions or ["unknown"])[0]
