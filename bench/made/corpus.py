"""A made-up corpus with questions: companies, people, places and products that no model has read about, one seed one corpus.

Pages tell facts in varied sentences among asides that name other things; names are ambiguous as real ones are (families,
places of one first word, things called like other things). Each fact is told in exactly one sentence. Questions are

- ``direct``: one document holds the answer,
- ``multi``: two or three documents, about things that the question names,
- ``bridge``: two or three documents in a chain; the last holds the answer and no name that the question has.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.made.pages import write_pages
from bench.made.questions import TYPES, Asker
from bench.made.world import make_world
from lexigraph.model.errors import InvalidInput

MIN_DOCUMENTS, MAX_DOCUMENTS = 50, 3_000
_PAGES_A_PAPER = 12


@dataclass(frozen=True, slots=True)
class MadePassage:
    """A document of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question with its evidence: ``gold_statements[i]`` is the sentence of document ``gold[i]`` that holds it."""

    id: str
    question: str
    answer: str
    gold: tuple[str, ...]
    hops: int
    type: str
    gold_statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MadeCorpus:
    """Documents and questions about them."""

    passages: tuple[MadePassage, ...]
    questions: tuple[MadeQuestion, ...]

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Write ``corpus.jsonl`` and ``questions.jsonl`` in the public format; return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        return (_write(folder / "corpus.jsonl", self.passages), _write(folder / "questions.jsonl", self.questions))


def make_corpus(documents: int = 500, seed: int = 1, questions: int = 100) -> MadeCorpus:
    """Return ``documents`` documents and ``questions`` questions of each type; the same for the same arguments.

    Raise ``InvalidInput`` for a number of documents out of range, or when the world has fewer questions of a type.
    """
    if not MIN_DOCUMENTS <= documents <= MAX_DOCUMENTS:
        raise InvalidInput(f"documents must be {MIN_DOCUMENTS} to {MAX_DOCUMENTS:,}, got {documents}")
    if questions < 1:
        raise InvalidInput(f"questions must be at least 1, got {questions}")
    rng = random.Random(seed)  # not for secrets
    papers = documents // _PAGES_A_PAPER
    world = make_world(documents - papers, rng)
    pages = write_pages(world, papers, rng)
    ids = [f"m{at:05}" for at in range(len(pages))]
    asker = Asker(world, pages, rng)
    asked = [a for type_ in TYPES for a in asker.ask(type_, questions)]
    rng.shuffle(asked)
    rows = []
    for number, a in enumerate(asked):
        places, statements = zip(*(asker.told[fact] for fact in a.facts), strict=True)
        gold = tuple(ids[at] for at in places)
        rows.append(MadeQuestion(f"q{number:05}", a.question, a.answer, gold, len(gold), a.type, statements))
    passages = (MadePassage(i, page.title, page.text) for i, page in zip(ids, pages, strict=True))
    return MadeCorpus(tuple(passages), tuple(rows))


def _write(path: Path, rows: Sequence[MadePassage | MadeQuestion]) -> Path:
    lines = (json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path
