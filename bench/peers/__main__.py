"""Compare Lexigraph with the GraphRAG Toolkit's lexical graph and with LightRAG over one made corpus, on this machine.

python -m bench.peers
python -m bench.peers --documents 200 --questions 30 --out DIR

All are given the same documents, extraction, embedding model and questions, and run in processes and environments of their
own, which uv makes below .build/peers (2 GB, from the package index). No language model and no account is needed. Tables go
to the terminal, and with JSON and a drawing into the folder.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.peers.drawing import draw
from bench.peers.driver import Job
from bench.peers.environments import FOLDER, ROOT, SYSTEMS, System, Unavailable, environment, last_lines, variables
from bench.peers.given import Asked, read_questions, write_lines
from bench.peers.prepare import prepare
from bench.peers.report import Row, Step, as_json, read_step, row, tables
from lexigraph import __version__
from lexigraph.model.errors import LexigraphError


def main() -> int:
    """Parse the command line, run every system, print tables, write files."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100, help="documents, 50 to 3,000 (default 100)")
    parser.add_argument("--questions", type=int, default=20, help="questions of each of three types (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same corpus (default 1)")
    names = [s.name for s in SYSTEMS]
    parser.add_argument("--system", action="append", choices=names, help="again for more (default all)")
    parser.add_argument("--slow", action="store_true", help="also retrievers that take seconds a question")
    parser.add_argument("--timeout", type=float, default=1_800, help="seconds a step may take (default 1,800)")
    parser.add_argument(
        "--out", type=Path, default=FOLDER / "results", help="folder of results (default .build/peers/results)"
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        tell(f"make {given.documents} documents and extract from them")
        documents, questions = prepare(given.documents, given.questions, given.seed)
    except LexigraphError as error:
        parser.error(str(error))
    rows: list[Row] = []
    absent: dict[str, str] = {}
    loads = [load()]
    with tempfile.TemporaryDirectory(prefix="lexigraph-peers-") as name:
        run = Run(Path(name), given.timeout, given.slow)
        write_lines(run.documents, documents)
        write_lines(run.questions, questions)
        for system in SYSTEMS:
            if system.name in (given.system or names):
                try:
                    rows += run.rows(system)
                except (Unavailable, ValueError) as error:
                    absent[system.name] = str(error)
                    tell(f"{system.name}: {error}")
                except KeyboardInterrupt:
                    absent[system.name] = "interrupted"
                    break
                loads.append(load())
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "load": f"{min(loads):.1f} to {max(loads):.1f}",
        "documents": len(documents),
        "statements": sum(len(list(d.statements)) for d in documents),
        "questions": len(questions),
        "seed": given.seed,
    }
    text = "\n\n".join([", ".join(f"{name} {value}" for name, value in about.items()), tables(rows, absent)])
    print(text)
    for file, content in (
        ("peers.md", text + "\n"),
        ("peers.json", as_json(rows, absent, about)),
        ("peers.svg", draw(rows)),
    ):
        (given.out / file).write_text(content, encoding="utf-8")
    return 0 if rows else 1


class Run:
    """The steps of all systems over one input in a folder."""

    def __init__(self, folder: Path, timeout: float, slow: bool) -> None:
        self.documents, self.questions = folder / "documents.jsonl", folder / "questions.jsonl"
        self._folder, self._timeout, self._slow = folder, timeout, slow
        self._steps = 0

    def rows(self, system: System) -> list[Row]:
        """Build twice, ask through each retriever. Raise ``Unavailable``, ``ValueError``."""
        tell(f"{system.name}: environment")
        python, asked = environment(system), read_questions(self.questions)
        build, only = (self._step(system, python, step) for step in ("build", "build-only"))
        retrievers = (*system.retrievers, *(system.more if self._slow else ()))
        return [self._row(system, name, asked, build, only, self._step(system, python, "ask", name)) for name in retrievers]

    def _row(self, system: System, name: str, asked: Sequence[Asked], *steps: Step) -> Row:
        found = row(system.name, name, asked, *steps)
        tell(f"{system.name}, {name}: p50 {found.p50:.0f} ms, {100 * found.whole:.0f} % of the evidence in all")
        return found

    def _step(self, system: System, python: Path, step: str, retriever: str = "") -> Step:
        self._steps += 1
        job, result = self._folder / f"job-{self._steps}.json", self._folder / f"result-{self._steps}.json"
        index = self._folder / system.module / ("made-up" if step == "build-only" else "index")
        what = Job(
            system=system.module,
            package=system.package,
            step=step,
            retriever=retriever or system.retrievers[0],
            documents=str(self.documents),
            questions=str(self.questions),
            folder=str(index),
            result=str(result),
        )
        job.write_text(json.dumps(asdict(what)), encoding="utf-8")
        began = time.monotonic()
        run_driver([str(python), "-m", "bench.peers.driver", str(job)], f"{step} {retriever}".strip(), self._timeout)
        tell(f"{system.name}: {step} {retriever}, {time.monotonic() - began:.0f} s")
        found = read_step(result.read_text(encoding="utf-8"))
        return found if system.package else Step(__version__, *list_of(found))


def list_of(step: Step) -> tuple[Any, ...]:
    """Return all of a step but the version."""
    return step.figures, step.contexts, step.milliseconds, step.calls


def run_driver(command: list[str], what: str, timeout: float) -> None:
    """Run a driver. Raise ``Unavailable`` when it fails or takes too long; its servers end with it."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(command, cwd=ROOT, env=variables(), stdout=said, stderr=said)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # so that it ends its servers
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise Unavailable(f"{what} took longer than {timeout:.0f} s") from None
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        if code:
            said.seek(0)
            raise Unavailable(f"{what} failed: {last_lines(said.read())}")


def load() -> float:
    """Return how many processes have wanted a processor in the last minute."""
    return os.getloadavg()[0]


def tell(text: str) -> None:
    """Say on the terminal what is being done."""
    print(f"{datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
