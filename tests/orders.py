"""One set of documents by several histories, and everything that is found in it: ``python -m tests.orders FOLDER DATA``.

The process takes in the files that are in FOLDER and writes none: several may read one folder at the same time.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.made.corpus import MadePassage, MadeQuestion, make_corpus
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import RETRIEVERS, make_retriever, parameters
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.models import WordEmbedder

WORLD = make_corpus(50, seed=5, questions=10)
# other worlds draw on the same names: what is added and removed again shares entities with what stays
OTHERS = make_corpus(50, seed=6, questions=1).passages[:20]
QUESTIONS = sorted(WORLD.questions, key=lambda q: (q.type, q.id))


def paths_of(folder: Path, passages: Sequence[MadePassage], prefix: str = "") -> list[Path]:
    return [folder / f"{prefix}{p.id}.md" for p in passages]


def write(folder: Path, passages: Sequence[MadePassage], prefix: str = "") -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = paths_of(folder, passages, prefix)
    for path, p in zip(paths, passages, strict=True):
        path.write_text(f"# {p.title}\n\n{p.text}\n", encoding="utf-8")
    return paths


def ingest(index: LexicalGraphIndex, paths: Sequence[Path]) -> None:
    """Take in all of the files; one left out would be another set of documents."""
    failures = index.ingest(paths).failures
    assert not failures, failures


def remove(index: LexicalGraphIndex, paths: Sequence[Path]) -> None:
    uris = {path.resolve().as_uri() for path in paths}
    index.remove([d.source_id for d in index.documents() if d.uri in uris])
    for path in paths:
        path.unlink()


def at_once(index: LexicalGraphIndex, folder: Path) -> None:
    ingest(index, write(folder, WORLD.passages))


def backwards(index: LexicalGraphIndex, folder: Path) -> None:
    """In reverse, a few at a time."""
    paths = write(folder, WORLD.passages)[::-1]
    for at in range(0, len(paths), 7):
        ingest(index, paths[at : at + 7])


def replaced(index: LexicalGraphIndex, folder: Path) -> None:
    """Beside others, and with another text first for every second document; then the others go."""
    texts = [replace(p, text=OTHERS[n % len(OTHERS)].text) for n, p in enumerate(WORLD.passages)]
    write(folder, WORLD.passages)
    write(folder, texts[::2])
    others = write(folder, OTHERS, "other-")
    ingest(index, [folder])
    remove(index, others[::2])
    ingest(index, write(folder, WORLD.passages))
    remove(index, others[1::2])


def removed(index: LexicalGraphIndex, folder: Path) -> None:
    """With documents that go and come back, after others came between."""
    paths = write(folder, WORLD.passages)
    ingest(index, paths[20:])
    remove(index, paths[30:45])
    others = write(folder, OTHERS, "other-")
    ingest(index, others)
    ingest(index, write(folder, WORLD.passages))
    remove(index, others)


HISTORIES: dict[str, Callable[[LexicalGraphIndex, Path], None]] = {
    "at once": at_once,
    "backwards": backwards,
    "replaced": replaced,
    "removed": removed,
}


def answers(
    stores: Stores, questions: Sequence[MadeQuestion], names: Sequence[str] = tuple(RETRIEVERS), **args: Any
) -> dict[str, Any]:
    """What every retriever finds with those of ``args`` that it has: all of the results but times, and the numbers of the
    documents' versions.
    """
    found = {}
    for name in names:
        own = {key: value for key, value in args.items() if key in parameters(name)}
        retriever = make_retriever(name, stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings(), **own)
        for q in questions:
            results = asdict(retriever.retrieve(Tenant("default"), Question.of(q.question)))
            del results["timings"]
            for result in (*results["results"], *results.get("looked_at", ())):
                del result["source"]["version"]
            found[f"{name}: {q.question}"] = results
    return found


if __name__ == "__main__":
    from tests.laptop import laptop, open_laptop

    folder, data = map(Path, sys.argv[1:])
    opened = open_laptop(data)
    ingest(laptop(data, opened, chunk_tokens=64), paths_of(folder, WORLD.passages))
    print(json.dumps(answers(opened, QUESTIONS[::16])))
