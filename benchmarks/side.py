"""One of the two libraries that are compared: its interpreter, and the worker process that is asked."""

import json
import os
import queue
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_SECONDS = 300.0


class CaseFailed(Exception):
    """A side has no answer; the message says why."""


class Side:
    """Asks a worker process, and starts another when it has died or hangs.

    Args:
      python: path of the interpreter.
      library: the module that the cases are run on.
      group: the group of cases.
      environment: variables for the worker, beside those of this process.
    """

    def __init__(self, python: str, library: str, group: str, environment: dict[str, str]) -> None:
        self.library = library
        self._command = [python, "-m", "benchmarks.worker", "--library", library, "--group", group]
        self._scratch = tempfile.TemporaryDirectory(prefix="arrax-benchmarks-")
        self._environment = clean_environment(self._scratch.name) | environment
        self._worker: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask(self, **request: str) -> Any:
        """The worker's answer.

        Raises: CaseFailed if it meets an error, dies, or takes too long.
        """
        worker = self._started()
        assert worker.stdin is not None
        try:
            worker.stdin.write(json.dumps(request) + "\n")
            worker.stdin.flush()
            line = self._answers.get(timeout=TIMEOUT_SECONDS)
        except queue.Empty:
            self.stop()
            raise CaseFailed(f"took more than {TIMEOUT_SECONDS:.0f} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            self.stop()
            raise CaseFailed("the process died")
        reply = json.loads(line)
        if "error" in reply:
            raise CaseFailed(reply["error"])
        return reply["answer"]

    def stop(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker.wait()
            self._worker = None

    def close(self) -> None:
        """End the worker and remove what it has written."""
        self.stop()
        self._scratch.cleanup()

    def _started(self) -> subprocess.Popen[str]:
        if self._worker is None:
            self._answers = queue.SimpleQueue()
            self._worker = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            threading.Thread(target=pass_on, args=(self._worker, self._answers), daemon=True).start()
        return self._worker


def pass_on(worker: subprocess.Popen[str], answers: "queue.SimpleQueue[str]") -> None:
    """Put each line that the worker writes into a queue, and an empty one when there will be no more."""
    assert worker.stdout is not None
    with worker.stdout:
        for line in worker.stdout:
            answers.put(line)
    answers.put("")


def clean_environment(cache: str) -> dict[str, str]:
    """This process's variables, with arrax's cache of compiled programs and Python's bytecode in folders that start empty.

    The reference runs with its default, which keeps no programs on disk. Without bytecode on disk processes would
    compile a library's source each time that they load it.
    """
    left_out = "COMPILATION_CACHE", "PYTHONDONTWRITEBYTECODE"
    kept = {name: value for name, value in os.environ.items() if not any(text in name for text in left_out)}
    folders = {"ARRAX_COMPILATION_CACHE_DIR": "programs", "PYTHONPYCACHEPREFIX": "bytecode"}
    return kept | {name: os.path.join(cache, folder) for name, folder in folders.items()}
