"""Measure the processor seconds that starting takes, each time in new processes: the application, a question, a server.

python -m bench.api_import --times 7
python -m bench.api_import --times 7 --data FOLDER

``query`` and ``serve`` are measured over the database in the folder: a question with its model, from the command line, and
both processes of the server until one answers. Children count, and the end of each process.
"""

import argparse
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import httpx

_MADE = "from lexigraph.api.app import create_app; create_app()"
_LEXIGRAPH = (sys.executable, "-c", "from lexigraph.cli import run; run()")


def main() -> None:
    """Parse the command line, measure, print the medians and the best."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=7, help="processes of each kind (default 7)")
    parser.add_argument("--data", type=Path, help="a database to ask and to serve, such as one of examples/corpus")
    given = parser.parse_args()
    measured: dict[str, Callable[[], None]] = {
        "interpreter alone": partial(_python, "pass"),
        "import": partial(_python, "import lexigraph.api.app"),
        "app made": partial(_python, _MADE),
    }
    if given.data:
        measured |= {"query": partial(_ask, given.data), "serve": partial(_serve, given.data)}
    print(f"{'':<24}{'median s':>10}{'least s':>10}")
    for name, act in measured.items():
        took = [_seconds(act) for _ in range(max(1, given.times))]
        print(f"{name:<24}{statistics.median(took):>10.2f}{min(took):>10.2f}")


def _seconds(act: Callable[[], None]) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    act()
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def _ask(data: Path) -> None:
    command = [*_LEXIGRAPH, "--data", str(data), "query", "Who leads the team that owns Tidewater?"]
    subprocess.run(command, check=True, capture_output=True)


def _serve(data: Path) -> None:
    command = [*_LEXIGRAPH, "--data", str(data), "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        told = re.search(r"http://\S+:\d+", server.stderr.readline() if server.stderr else "")
        if told is None:
            raise RuntimeError("the server did not start")
        httpx.get(f"{told[0]}/health").raise_for_status()
        server.terminate()


if __name__ == "__main__":
    main()
