"""Processes that tests start, disturb and kill: ``python -m tests.workers COMMAND DATA ARGUMENT...``."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest, SearchRequest
from tests.laptop import laptop

STATEMENTS = 6
SHARED = ("Granite", "Basalt", "Lighthouse")


def start(command: str, data: Path, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start a worker; it says ``started`` on its output when its work begins."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.workers", command, str(data), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": "."},
        **options,
    )


def write_corpus(folder: Path, count: int, tag: str, edition: int = 1) -> None:
    """Documents of ``STATEMENTS`` statements each, which share entities and facts with each other and with other corpora."""
    folder.mkdir(exist_ok=True)
    for n in range(count):
        common = SHARED[n % len(SHARED)]
        (folder / f"{tag}-{n}.md").write_text(
            f"# Site {tag} {n}\n\nThe Office {tag} {n} uses {common}.\n\n{common} was built by Tove Lund.\n\n"
            f"## Numbers\n\nOffice {tag} {n} has {n * edition} rooms.\n\nMira Holm leads the Office {tag} {n}.\n\n"
            f"The roof of number {n} is edition {edition}.\n\nTove Lund met Mira Holm.\n"
        )


def indexing(data: Path, **settings: Any) -> LexicalGraphIndex:
    """Return an index with chunks so small that a document of :func:`write_corpus` has two: it can be seen half."""
    return laptop(data, chunk_tokens=32, chunk_overlap=8, **settings)


def main() -> None:
    signal.alarm(240)  # who waits for a word of ours waits no longer
    command, data, *arguments = sys.argv[1:]
    index = indexing(Path(data), batch_documents=4)
    tenant = Tenant("default")
    if command == "ingest":
        print("started", flush=True)
        report = index.ingest([Path(a) for a in arguments])
        assert not report.failures
    elif command == "remove":
        print("started", flush=True)
        for name in arguments:
            index.remove([index.document(name).source_id])
    elif command == "read":
        print("started", flush=True)
        while not Path(arguments[0]).exists():
            _read_once(index, tenant)


def _read_once(index: Any, tenant: Tenant) -> None:
    """See every document whole or not at all."""
    entities = tuple(entity_id(tenant, name) for name in SHARED)
    index.stores.graph.entities(tenant, entities, connected=5)
    vector = index.models.embedder.embed_questions(["who built Granite"])[0]
    hits = index.stores.vectors.search_many(tenant, [SearchRequest("chunk", vector=vector, k=500)])[0]
    rows = index.stores.graph.evidence(tenant, EvidenceRequest(chunks=tuple(h.id for h in hits), neighbours=False))
    told: dict[str, int] = {}
    for row in rows:
        told[row.source.id] = told.get(row.source.id, 0) + 1
    assert set(told.values()) <= {STATEMENTS}, "a document was seen half"


if __name__ == "__main__":
    main()
