"""Functions as Lambda runs them, each call in a process of its own that can be killed: forked off one that has imported all.

``python -m tests.standins.forked_functions`` is that process: it takes calls as lines of JSON, and starts no thread itself.
"""

import gc
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from signal import SIGKILL
from threading import Event, Thread
from typing import Any, Self

from tests.standins.bound import bound
from tests.standins.lambda_runtime import payload
from tests.standins.script import Script
from tests.standins.states import TaskFailed

NAMES = ("start", "parse", "chunk", "extract", "build", "finish", "remove")
_ROOT = Path(__file__).parents[2]
_SECONDS = 150.0


class ForkedFunctions:
    """Calls functions over the stores that the environment names; ``script``, if given, counts what they ask."""

    def __init__(self, script: Script | None = None) -> None:
        self._script, self._pid, self._known = script, 0, Event()

    def __enter__(self) -> Self:
        environment = {**os.environ, "PYTHONPATH": str(_ROOT), "OMP_NUM_THREADS": "1"}
        command = bound([sys.executable, "-m", "tests.standins.forked_functions"])
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=_ROOT, env=environment)
        assert self._line() == {"ready": True}
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=30)

    def invoke(self, name: str, event: Any) -> Any:
        """Return the reply of a function. Raise ``TaskFailed`` as Step Functions would be told of it."""
        assert self._process.stdin is not None
        self._known.clear()
        if self._script:
            self._script.counting, self._script.kill = True, self.kill
        try:
            self._process.stdin.write(json.dumps({"name": name, "event": event}) + "\n")
            self._process.stdin.flush()
            self._pid = self._line()["pid"]
            self._known.set()
            told = self._line()
        finally:
            if self._script:
                self._script.counting = False
        if "signal" in told:
            raise TaskFailed("Runtime.ExitError", f"signal {told['signal']}")
        if "error" in told:
            raise TaskFailed(told["error"]["errorType"], json.dumps(told["error"]))
        return told["reply"]

    def kill(self) -> None:
        """Kill the function that is at work."""
        assert self._known.wait(30)
        os.kill(self._pid, SIGKILL)

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line: list[str] = []
        stdout = self._process.stdout
        reader = Thread(target=lambda: line.append(stdout.readline()), daemon=True)
        reader.start()
        reader.join(_SECONDS)
        assert line and line[0], f"the function does not answer within {_SECONDS:.0f} s, or its process ended"
        return json.loads(line[0])


# ---------------------------------------------------------------- in the process


def main() -> None:
    """Fork for each line, and tell the child's process id, then how it ended."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # logs and metrics go nowhere

    def tell(what: Any) -> None:
        told.write(json.dumps(what) + "\n")
        told.flush()

    from tests.disturbance import prepared_steps, warm

    for name in NAMES:
        import_module(f"functions.{name}.handler")
    warm()
    gc.freeze()
    tell({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        answers, answering = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(answers)
            try:
                os.write(answering, json.dumps(_called(asked, prepared_steps)).encode())
            finally:
                os._exit(0)
        os.close(answering)
        tell({"pid": child})
        with os.fdopen(answers, "rb") as read:
            answer = read.read()
        _, status = os.waitpid(child, 0)
        tell({"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else json.loads(answer))


def _called(asked: Any, make_steps: Any) -> Any:
    from functions import work
    from functions.invoke import invoke

    work.use(make_steps())
    try:
        return {"reply": payload(invoke(asked["name"], payload(asked["event"])))}
    except Exception as error:  # noqa: BLE001  # what a function raises is its reply
        return {"error": {"errorType": type(error).__name__, "errorMessage": str(error)}}


if __name__ == "__main__":
    main()
