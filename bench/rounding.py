"""Compare searches of vectors rounded to bytes with full ones, over a database and questions that you give.

python -m bench.rounding FOLDER questions.jsonl.gz more.jsonl.gz --questions 500 --k 50

For each index of ``default``: the share of the best ``k`` that bytes alone would find, how many vectors are scored again so
that all are found, whether what a search returns is what products of all vectors in double precision give, and how long the
two scans take.
"""

import argparse
import gzip
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from lexigraph.inference.factory import make_embedder
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import FloatArray, SearchRequest
from lexigraph.storage.sqlite.vector.partitions import partitions_of
from lexigraph.storage.sqlite.vector.rounded import LEAST
from lexigraph.storage.sqlite.vector.sidecar import Sidecars

_TENANT = Tenant("default")
_SCANS = 9


def main() -> None:
    """Parse the command line, compare, print a row an index."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a data folder of Lexigraph")
    parser.add_argument("files", type=Path, nargs="+", help="questions: jsonl with a field `question`, also as .gz")
    parser.add_argument("--questions", type=int, default=500, help="of all files together (default 500)")
    parser.add_argument("--k", type=int, default=50)
    given = parser.parse_args()
    settings = Settings(data=given.folder)
    each = -(-given.questions // len(given.files))
    texts = [text for file in given.files for text in _questions(file)[:each]][: given.questions]
    queries = make_embedder(settings).embed_questions(texts)
    columns = ("index", "vectors", "by bytes alone", "scored again, median", "most", "same", "scan, ms", "by bytes, ms")
    print(" | ".join(columns))
    with closing(open_stores(settings)) as stores, closing(sqlite3.connect(given.folder / "vectors.sqlite")) as connection:
        for partition in partitions_of(connection, _TENANT):
            if not partition.dimension:
                continue
            asked = [SearchRequest(partition.name, vector=query, k=given.k) for query in queries]
            found = [stores.vectors.search_many(_TENANT, [one])[0] for one in asked]
            view = Sidecars(given.folder).view(connection, partition)
            if view.rounded is None:
                print(f"{partition.name} | {len(view.keys):,} | fewer than {LEAST:,}, or without simsimd")
                continue
            alone, again, same = [], [], 0
            for query, hits in zip(queries, found, strict=True):
                exact = view.vectors.astype(np.float64) @ query.astype(np.float64)
                exact[view.dead] = -np.inf
                about, off = view.rounded.products(query[np.newaxis])
                about[0, view.dead] = -np.inf
                best, near = _best(exact, given.k), _best(about[0], given.k)
                alone.append(len(np.intersect1d(best, near)) / len(best))
                again.append(int((about[0] >= about[0][near].min() - 2 * off[0]).sum()))
                same += [hit.score for hit in hits] == (np.sort(np.round(exact[best], 6))[::-1] + 0.0).tolist()
            query, rounded = queries[0], view.rounded
            full, by_bytes = _ms(lambda v=view, q=query: v.vectors @ q), _ms(lambda r=rounded, q=query: r.products(q[None]))
            row = f"{np.mean(alone):.4f} | {np.median(again):.0f} | {max(again)} | {same} of {len(queries)}"
            print(f"{partition.name} | {len(view.keys):,} | {row} | {full:.2f} | {by_bytes:.2f}")


def _questions(file: Path) -> list[str]:
    raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line)["question"] for line in raw.splitlines()]


def _best(scores: FloatArray, k: int) -> Sequence[int]:
    best: Sequence[int] = np.argsort(-scores, kind="stable")[:k]
    return best


def _ms(scan: Callable[[], object]) -> float:
    took = []
    for _ in range(_SCANS):
        began = time.perf_counter()
        scan()
        took.append(time.perf_counter() - began)
    return float(np.median(took)) * 1000


if __name__ == "__main__":
    main()
