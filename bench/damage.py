"""How a database takes what disks and kills do to it: ``python -m bench.damage [--flips N] [--backups N] [--kills N]``.

- flips: one random byte of a data folder is changed, every byte of all files as likely as any other. Either
  ``lexigraph doctor`` tells of it, or it is harmless: every answer stays the same to the last digit of its scores.
- backups: taken while other processes take in, change and remove documents; each is restored, and whole.
- kills: ``kill -9`` of an ingest, or of a server that takes in uploads, at a random moment. Doctor finds no damage, and what
  is run again ends as if nothing had happened.

Prints one line a part, and the seed of whatever went wrong. Exit code 1 when anything did.
"""

import argparse
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from lexigraph.inference.minilm import MiniLM
from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion.files import read_text
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.upkeep import backup, repair
from lexigraph.model.errors import LexigraphError
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.settings import Settings
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import Stores
from lexigraph.storage.sqlite import damage

CORPUS = Path(__file__).parents[1] / "examples" / "corpus"
QUESTIONS = CORPUS.parent / "questions.jsonl"
RETRIEVERS = ("traversal", "semantic-guided", "multihop", "hybrid", "bm25")
_ASKED = 8
_SERVED_SECONDS = 6.0  # in which a server has ingested what it was sent
_WRITERS, _UPLOADS, _SECONDS = 2, 4, 180.0


@dataclass
class Found:
    """What became of a part: how often what, and a line about each that went wrong."""

    part: str
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return it as a line."""
        counted = ", ".join(f"{number:,} {what}" for what, number in self.counts.most_common())
        return f"{self.part}: {sum(self.counts.values()):,}: {counted}; {len(self.wrong)} went wrong"


class Asked:
    """Asks all that there is to ask of a data folder. The vectors of questions are made once."""

    dimension, label = MiniLM.dimension, MiniLM().label

    def __init__(self, questions: Path = QUESTIONS) -> None:
        lines = questions.read_text(encoding="utf-8").splitlines()
        self.questions = [json.loads(line)["question"] for line in lines[:: max(1, len(lines) // _ASKED)]]
        self._vectors = cache(lambda text: MiniLM().embed_questions([text])[0])

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of questions."""
        import numpy as np

        return np.stack([self._vectors(text) for text in texts])

    def __call__(self, stores: Stores) -> str:
        """Return every answer, with its scores, and every text."""
        told: list[Any] = []
        for name in RETRIEVERS:
            retriever = make_retriever(name, stores.graph, stores.vectors, embedder=self)  # type: ignore[arg-type]
            for question in self.questions:
                found = asdict(retriever.retrieve(DEFAULT_TENANT, Question(question)))
                told.append({key: value for key, value in found.items() if "ms" not in key and key != "timings"})
        records = list(repair.records(stores.registry, DEFAULT_TENANT))
        told += [(r.uri, r.title, dict(r.metadata), read_text(stores, DEFAULT_TENANT, r)) for r in records]
        return json.dumps(told, default=str, sort_keys=True)


def flips(folder: Path, times: int, seed: int, tell: Callable[[str], None]) -> Found:
    """Flip bytes of a database of the example corpus, one at a time."""
    found, chance, ask = Found("byte flips"), random.Random(seed), Asked()
    whole, broken = folder / "whole", folder / "broken"
    if not whole.is_dir():
        with LexicalGraphIndex(settings=Settings(data=whole)) as index:
            index.ingest([CORPUS])
            ask(index.stores)  # what is made when first asked is damaged, too
    with closing(open_stores(Settings(data=whole))) as stores:
        answers = ask(stores)
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.stat().st_size)
    sizes = [(whole / file).stat().st_size for file in files]
    for number in range(times):
        (file,) = chance.choices(files, sizes)
        at, bits = chance.randrange((whole / file).stat().st_size), chance.randrange(1, 256)
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(whole, broken)
        with (broken / file).open("r+b") as opened:
            opened.seek(at)
            (byte,) = opened.read(1)
            opened.seek(at)
            opened.write(bytes([byte ^ bits]))
        kind = file.suffix.removeprefix(".") if file.suffix in (".sqlite", ".f32", ".i8") else "document"
        outcome = "detected" if next(detected(broken), "") else _harmless(broken, answers, ask)
        found.counts[f"{outcome} ({file.stem if kind == 'sqlite' else kind})"] += 1
        if outcome not in ("detected", "harmless"):
            found.wrong.append(f"{file}, byte {at}, bits {bits:#04x}: {outcome}")
        if (number + 1) % 50 == 0:
            tell(f"{number + 1} flips, {len(found.wrong)} went wrong")
    return found


def detected(folder: Path) -> Iterator[str]:
    """Yield what ``lexigraph doctor`` says is wrong in a folder."""
    yield from (f"{found.path.name}: {found.problem}" for found in damage.examine(folder))
    try:
        with closing(open_stores(Settings(data=folder))) as stores:
            yield from (f"{found.uri}: {found.problem}" for found in repair.examine(stores, DEFAULT_TENANT, cache=True))
    except LexigraphError as error:
        yield str(error)


def _harmless(folder: Path, answers: str, ask: Asked) -> str:
    try:
        with closing(open_stores(Settings(data=folder))) as stores:
            return "harmless" if ask(stores) == answers else "other answers"
    except Exception as error:  # noqa: BLE001  # whatever it is: doctor did not tell of it
        return f"{type(error).__name__}: {error}"


def backups(folder: Path, times: int, seed: int, tell: Callable[[str], None]) -> Found:
    """Take backups while two processes take in, change and remove documents; restore each, and look at all of it."""
    found, data, end = Found("backups during writes"), folder / "data", folder / "end"
    writers = [_python("storm", data, end, str(seed + n)) for n in range(_WRITERS)]
    while not any(_editions(data).values()):
        _alive(writers)
        time.sleep(0.2)
    for number in range(times):
        file, there = folder / f"{number}.zip", folder / f"restored-{number}"
        _alive(writers)
        with closing(open_stores(Settings(data=data))) as stores:
            backup.back_up(stores, file)
        backup.restore(file, there)
        with closing(open_stores(Settings(data=there))) as stores:
            under_way = len(backup.settle(stores, cache=True))
            records = list(repair.records(stores.registry, DEFAULT_TENANT))
            torn = [r.uri for r in records if not _is_an_edition(read_text(stores, DEFAULT_TENANT, r))]
        wrong = [*detected(there), *torn]
        found.counts["with a document under way" if under_way else "whole as they were"] += 1
        found.wrong += [f"backup {number}: {line}" for line in wrong]
        shutil.rmtree(there)
        file.unlink()
        if (number + 1) % 10 == 0:
            tell(f"{number + 1} backups, {len(found.wrong)} went wrong")
    end.touch()
    for writer in writers:
        if writer.wait(_SECONDS):
            found.wrong.append(f"a writer ended with {writer.returncode}")
    found.wrong += [f"the database itself: {line}" for line in detected(data)]
    return found


def _text(number: int, edition: int) -> str:
    lines = [f"Office {number} has {edition} rooms on floor {line}, and room {line} is painted blue." for line in range(40)]
    return (
        f"# Office {number}\n\nThis is edition {edition}.\n\n" + "\n\n".join(lines) + f"\n\nThe end of edition {edition}.\n"
    )


def _is_an_edition(text: str) -> bool:
    found = {word for line in text.splitlines() if "edition" in line for word in [line.rstrip(".").split()[-1]]}
    return len(found) == 1 and text.count(f"has {found.pop()} rooms") == 40


def _editions(data: Path) -> dict[str, int]:
    try:
        with closing(open_stores(Settings(data=data))) as stores:
            return {record.uri: record.version for record in repair.records(stores.registry, DEFAULT_TENANT)}
    except LexigraphError:
        return {}


def storm(data: Path, end: Path, seed: int) -> None:
    """Take documents in, change and remove them until the file ``end`` is there."""
    chance = random.Random(seed)
    with LexicalGraphIndex(settings=Settings(data=data)) as index, tempfile.TemporaryDirectory() as inbox:
        edition = 0
        while not end.exists():
            edition += 1
            numbers = chance.sample(range(12), 3)
            paths = []
            for number in numbers:
                path = Path(inbox) / f"office-{seed}-{number}.md"
                path.write_text(_text(number, 10 * edition + number), encoding="utf-8")
                paths.append(path)
            report = index.ingest(paths)
            if report.failures:
                raise RuntimeError(f"{report.failures[0]}")
            if edition % 4 == 0 and (mine := [d.source_id for d in index.documents() if f"office-{seed}-" in d.uri]):
                index.remove(chance.sample(mine, 1))


def kills(folder: Path, times: int, seed: int, tell: Callable[[str], None]) -> Found:
    """Kill ingests and servers at random moments, in turn."""
    found, chance, ask = Found("kills"), random.Random(seed), Asked()
    calm = folder / "calm"
    began = time.monotonic()
    _ingest_again(calm)
    took = time.monotonic() - began
    with closing(open_stores(Settings(data=calm))) as stores:
        answers = ask(stores)
    for number in range(times):
        data = folder / f"data-{number}"
        kind = "ingest" if number % 2 == 0 else "server"
        kill, again = (_kill_ingest, _ingest_again) if kind == "ingest" else (_kill_server, _serve_again)
        kill(data, chance.uniform(0.0, took if kind == "ingest" else _SERVED_SECONDS))
        wrong = [f"{one.path.name}: {one.problem}" for one in damage.examine(data)] if data.is_dir() else []
        again(data)
        wrong += list(detected(data))
        with closing(open_stores(Settings(data=data))) as stores:
            if again is _ingest_again and ask(stores) != answers:
                wrong.append("other answers than after an undisturbed ingest")
        if left := [str(path) for path in (data / "uploads").glob("*")]:
            wrong.append(f"left of uploads: {left}")
        found.counts[kind] += 1
        found.wrong += [f"kill {number} of {kind}: {line}" for line in wrong]
        shutil.rmtree(data)
        if (number + 1) % 10 == 0:
            tell(f"{number + 1} kills, {len(found.wrong)} went wrong")
    return found


def _kill_ingest(data: Path, after: float) -> None:
    process = _python("ingest", data, CORPUS)
    time.sleep(after)
    process.kill()
    process.wait()


def _ingest_again(data: Path) -> None:
    if _python("ingest", data, CORPUS).wait(_SECONDS):
        raise RuntimeError("the ingest failed")


def _kill_server(data: Path, after: float) -> None:
    """Kill a server and the process that takes its documents in, with everything they started, while files arrive."""
    with _serving(data) as (server, url):
        until = time.monotonic() + after
        for number in range(_UPLOADS):
            left = max(0.05, until - time.monotonic())
            with suppress(httpx.TransportError):
                file = ("file", (f"office-{number % 12}.md", _text(number % 12, number).encode()))
                httpx.post(f"{url}/documents", params={"wait": 0}, files=[file], timeout=left)
        time.sleep(max(0.0, until - time.monotonic()))
        server.kill()


def _serve_again(data: Path) -> None:
    with _serving(data) as (_, url):
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            jobs = httpx.get(f"{url}/jobs", timeout=_SECONDS).json()["jobs"]
            if all(job["status"] != "RUNNING" for job in jobs):
                return
            time.sleep(0.2)
    raise TimeoutError("jobs are still running")


@contextmanager
def _serving(data: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [Path(sys.executable).with_name("lexigraph"), "--data", str(data), "serve", "--open", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            with suppress(httpx.TransportError):
                if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                    break
            time.sleep(0.1)
        yield process, url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_SECONDS)


def _python(command: str, *arguments: str | Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "bench.damage", command, *map(str, arguments)])


def _alive(writers: "Sequence[subprocess.Popen[bytes]]") -> None:
    if ended := [writer.returncode for writer in writers if writer.poll() is not None]:
        raise RuntimeError(f"a writer ended with {ended[0]}")


def main() -> int:
    """Run what is asked for; return the exit code."""
    if sys.argv[1:2] == ["storm"]:
        storm(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
        return 0
    if sys.argv[1:2] == ["ingest"]:
        with LexicalGraphIndex(settings=Settings(data=Path(sys.argv[2]))) as index:
            return len(index.ingest([Path(sys.argv[3])]).failures)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for part in PARTS:
        parser.add_argument(f"--{part}", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where databases lie, and stay; default is a temporary one")
    given = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as temporary:
        for part, run in PARTS.items():
            if times := getattr(given, part):
                home = (given.folder or Path(temporary)) / part
                home.mkdir(parents=True, exist_ok=True)
                found = run(home, times, given.seed, lambda line: print(line, file=sys.stderr, flush=True))
                print(found, *found.wrong, sep="\n  ", flush=True)
                bad += len(found.wrong)
    return 1 if bad else 0


PARTS = {"flips": flips, "backups": backups, "kills": kills}

if __name__ == "__main__":
    sys.exit(main())
