"""Measure the files of a bulk load: rows and statements a second, bytes a statement, and what is left for queries to write.

python -m bench.load_files --statements 50000
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from lexigraph.evaluation.build import TENANT, plan_of
from lexigraph.evaluation.generated import GeneratedCorpus
from lexigraph.evaluation.memory import peak_resident_mb
from lexigraph.storage.neptune.load_files import GraphFiles

_GROUP = 64  # documents added at once
_PART_BYTES = 256_000_000


def main() -> None:
    """Write the files of a made-up corpus, and print a line."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--statements", type=int, default=50_000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(measured(Path(folder), given.statements, given.seed))


def measured(folder: Path, statements: int, seed: int) -> str:
    """Return what was measured; making the corpus is not timed."""
    known: set[str] = set()

    def elsewhere(facts: Sequence[str]) -> set[str]:
        return known & set(facts)

    left, seconds, said, chunks, rows, plain, packed, part = iter(GeneratedCorpus(statements, seed)), 0.0, 0, 0, 0, 0, 0, 0
    files = GraphFiles(folder, part, elsewhere)
    while group := [plan_of(document) for document in islice(left, _GROUP)]:
        began = time.perf_counter()
        for p in group:
            files.add(TENANT, p.source, p.placements, p.graphs)
        seconds += time.perf_counter() - began
        said += sum(len(g.statements) for p in group for g in p.graphs)
        chunks += sum(len(p.graphs) for p in group)
        if files.bytes >= _PART_BYTES:
            packed += closed(files)
            known.update(files.facts)
            rows, plain, part = rows + files.rows, plain + files.bytes, part + 1
            files = GraphFiles(folder, part, elsewhere)
    began = time.perf_counter()
    packed += closed(files)
    seconds += time.perf_counter() - began
    rows, plain = rows + files.rows, plain + files.bytes
    return (
        f"{said:,} statements, {chunks:,} chunks, {rows:,} rows: {rows / seconds:,.0f} rows/s, {said / seconds:,.0f} "
        f"statements/s; {rows / said:.1f} rows, {plain / said:,.0f} bytes, {packed / said:,.0f} compressed a statement; "
        f"peak {peak_resident_mb():,.0f} MB"
    )


def closed(files: GraphFiles) -> int:
    """End the files of a part and delete them; return their bytes."""
    size = 0
    for path in files.close():
        size += path.stat().st_size
        path.unlink()
    return size


if __name__ == "__main__":
    main()
