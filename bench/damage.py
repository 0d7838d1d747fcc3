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
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from lexigraph.inference.minilm import MiniLM
from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion.files import read_text
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.upkeep import repair
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
        records = list(repair.records(stores, DEFAULT_TENANT))
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
    for time in range(times):
        (file,) = chance.choices(files, sizes)
        at, bits = chance.randrange((whole / file).stat().st_size), chance.randrange(1, 256)
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(whole, broken)
        with (broken / file).open("r+b") as opened:
            opened.seek(at)
            (byte,) = opened.read(1)
            opened.seek(at)
            opened.write(bytes([byte ^ bits]))
        kind = file.suffix.removeprefix(".") if file.suffix in (".sqlite", ".f32") else "document"
        outcome = "detected" if next(detected(broken), "") else _harmless(broken, answers, ask)
        found.counts[f"{outcome} ({file.stem if kind == 'sqlite' else kind})"] += 1
        if outcome not in ("detected", "harmless"):
            found.wrong.append(f"{file}, byte {at}, bits {bits:#04x}: {outcome}")
        if (time + 1) % 50 == 0:
            tell(f"{time + 1} flips, {len(found.wrong)} went wrong")
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


def main() -> int:
    """Run what is asked for; return the exit code."""
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


PARTS = {"flips": flips}

if __name__ == "__main__":
    sys.exit(main())
