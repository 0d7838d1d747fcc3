"""Processes that write vectors while others look: ``python -m tests.contract.vector_workers BACK_END PLACE COMMAND ...``.

A document is ``SIZE`` records that always carry the same edition; an edition is a word, and a direction.
"""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import FloatArray, SearchRequest, VectorRecord, VectorStore
from tests.contract.vector_fixtures import DIMENSION, LABEL, VECTOR_STORES, WRITES_AT_ONCE, Opener

TENANT = Tenant("shared")
SIZE = 20


def start(opener: Opener, command: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.contract.vector_workers", opener.back_end, str(opener.place), command]
        + [str(a) for a in arguments],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )


def edition_of(number: int) -> tuple[str, FloatArray]:
    vector = np.random.default_rng(number).standard_normal(DIMENSION).astype(np.float32)
    return f"edition{number}", vector / np.linalg.norm(vector)


def write(store: VectorStore, document: str, number: int) -> None:
    word, vector = edition_of(number)
    records = [VectorRecord(f"{document}-{n}", f"{document} is in {word}", document, "", vector) for n in range(SIZE)]
    store.upsert(TENANT, {"chunk": records, "statement": records})


def look(store: VectorStore, documents: list[str], *, whole: bool = True) -> None:
    """See each document in one edition, by words and by vectors, or not at all; unless ``whole``, each of its records."""
    ids = tuple(f"{d}-{n}" for d in documents for n in range(SIZE))
    chunks, statements, worded = store.search_many(
        TENANT,
        [
            SearchRequest("chunk", vector=edition_of(0)[1], k=len(ids)),
            SearchRequest("statement", vector=edition_of(0)[1], k=len(ids)),
            SearchRequest("chunk", text=" ".join(documents), k=len(ids)),
        ],
    )
    if whole:
        assert {h.id: h.text for h in chunks} == {h.id: h.text for h in statements} == {h.id: h.text for h in worded}
    for document in documents:
        seen = [h for h in chunks if h.source_id == document]
        assert not whole or len(seen) in (0, SIZE), f"{document} was seen in part"
        assert not whole or len({(h.text, h.score) for h in seen}) <= 1, f"{document} was seen in two editions"
        for hit in seen:
            cosine = float(edition_of(int(hit.text.rpartition("edition")[2]))[1] @ edition_of(0)[1])
            assert abs(hit.score - cosine) < 1e-5, "text and score are of different editions"


def main() -> None:
    signal.alarm(240)  # who waits for a word of ours waits no longer
    back_end, place, command, *arguments = sys.argv[1:]
    store = VECTOR_STORES[back_end](Path(place), LABEL, DIMENSION)
    if command == "write":
        document, editions = arguments[0], int(arguments[1])
        for number in range(1, editions + 1):
            write(store, document, number)
            print(number, flush=True)
    elif command == "look":
        documents, rounds = arguments[0].split(","), int(arguments[1])
        for _ in range(rounds):
            look(store, documents, whole=back_end in WRITES_AT_ONCE)
    store.close()


if __name__ == "__main__":
    main()
