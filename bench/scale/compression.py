"""Measure what compressed vectors find: recall of the ten and the fifty best, after rescoring, by compression level.

python -m bench.scale.compression NAME=FOLDER=QUESTIONS [...] [--together]

FOLDER is a data folder of SQLite stores whose vectors are MiniLM's, QUESTIONS a jsonl file (.gz or not) with ``question`` in
each line. ``--together`` measures all of them in one index as well. Needs faiss-cpu, which nothing else here does.

The graph is Faiss's own HNSW, as OpenSearch builds it (m 16, ef_construction 128, ef_search 100). 8x, 16x and 32x are
OpenSearch's binary quantisation (tests/standins/opensearch_quantiser.py) searched by Hamming distance, 2x is Faiss's fp16,
4x its 8-bit scalar quantiser (Lucene's, which OpenSearch has there, takes 7). OpenSearch Serverless takes all of these but
4x; how it compresses inside is not published.
The best are those by exact cosine of all vectors. A request asks for so many candidates, which are then ordered by exact
cosine, as :mod:`lexigraph.storage.opensearch.queries` does.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.inference.minilm import MiniLM
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import FloatArray, IndexName
from lexigraph.storage.sqlite.vector.store import SqliteVectorStore
from tests.standins.opensearch_quantiser import BITS, quantised, thresholds

M, EF_CONSTRUCTION, EF_SEARCH = 16, 128, 100
LEVELS = ("1x", "2x", "4x", *BITS)
INDEXES: tuple[IndexName, ...] = ("chunk", "statement")
CANDIDATES: dict[str, Callable[[int], int]] = {
    "k": lambda k: k,
    "2k+50": lambda k: 2 * k + 50,
    "4k+50": lambda k: 4 * k + 50,
    "8k+50": lambda k: 8 * k + 50,
}
BEST = (10, 50, 500)
Search = Callable[[FloatArray, int], Any]  # question vectors and how many: positions, a row a question


def index_of(faiss: Any, vectors: FloatArray, level: str) -> Search:
    """Build the index of a compression level and return its search."""
    dimension = vectors.shape[1]
    if level in BITS:
        over = thresholds(vectors, BITS[level])
        binary = faiss.IndexBinaryHNSW(dimension * BITS[level], M)
        binary.hnsw.efConstruction = EF_CONSTRUCTION
        binary.add(quantised(vectors, over))
        return lambda asked, k: _searched(binary, quantised(asked, over), k)
    kinds = {"2x": faiss.ScalarQuantizer.QT_fp16, "4x": faiss.ScalarQuantizer.QT_8bit}
    graph = (
        faiss.IndexHNSWSQ(dimension, kinds[level], M, faiss.METRIC_INNER_PRODUCT)
        if level in kinds
        else faiss.IndexHNSWFlat(dimension, M, faiss.METRIC_INNER_PRODUCT)
    )
    graph.hnsw.efConstruction = EF_CONSTRUCTION
    graph.train(vectors)
    graph.add(vectors)
    return lambda asked, k: _searched(graph, asked, k)


def _searched(index: Any, asked: Any, k: int) -> Any:
    index.hnsw.efSearch = max(EF_SEARCH, k)
    return index.search(np.ascontiguousarray(asked), k)[1]


def best(cosines: FloatArray, among: Any, k: int) -> list[set[int]]:
    """Return the k best of each question among the positions that were found."""
    found = []
    for scores, places in zip(cosines, among, strict=True):
        known = places[places >= 0]
        found.append({int(place) for place in known[np.argsort(-scores[known], kind="stable")[:k]]})
    return found


def measure(faiss: Any, name: str, vectors: FloatArray, asked: FloatArray, levels: Sequence[str]) -> list[str]:
    """Return the rows of the table of one index."""
    cosines = asked.astype(np.float64) @ vectors.astype(np.float64).T
    rows = []
    for level in levels:
        search = index_of(faiss, vectors, level)
        shares = []
        for k in (k for k in BEST if CANDIDATES["8k+50"](k) < len(vectors)):
            true = best(cosines, np.tile(np.arange(len(vectors)), (len(asked), 1)), k)
            for count in CANDIDATES.values():
                found = best(cosines, search(asked, count(k)), k)
                shares.append(sum(len(a & b) for a, b in zip(found, true, strict=True)) / (k * len(asked)))
        shares += [float("nan")] * (len(BEST) * len(CANDIDATES) - len(shares))
        rows.append(f"| {name} | {len(vectors):,} | {level} | " + " | ".join(f"{100 * s:.1f}" for s in shares) + " |")
        print(rows[-1], file=sys.stderr)
    return rows


def vectors_of(folder: Path, index: IndexName) -> FloatArray:
    """Return all vectors of an index of the tenant ``default``, by the ids of their records."""
    with closing(SqliteVectorStore(f"sqlite:///{folder}", label="minilm-384", dimension=384)) as store:
        ids = store.ids(Tenant("default"), index)
        kept = [store.fetch(Tenant("default"), index, ids[at : at + 1_000]) for at in range(0, len(ids), 1_000)]
    return np.stack([r.vector for part in kept for r in part.values() if r.vector is not None]).astype(np.float32)


def questions_of(file: Path, most: int) -> list[str]:
    """Return the questions of a file."""
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        return [json.loads(line)["question"] for line in lines][:most]


def heading() -> str:
    """Return the first two lines of the table."""
    columns = [f"recall@{k} of {name}" for k in BEST for name in CANDIDATES]
    return f"| set | vectors | level | {' | '.join(columns)} |\n|---|---|---|{'---|' * len(columns)}"


def main(given: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="NAME=FOLDER=QUESTIONS")
    parser.add_argument("--questions", type=int, default=200, help="questions of a set at most (default 200)")
    parser.add_argument("--level", action="append", choices=LEVELS, help="again for more (default all)")
    parser.add_argument("--together", action="store_true", help="all sets in one index, too")
    options = parser.parse_args(given)
    faiss, levels = import_module("faiss"), options.level or LEVELS
    faiss.omp_set_num_threads(2)
    told = [one.split("=") for one in options.sets]
    embedder = MiniLM(2)
    asked = {name: embedder.embed_questions(questions_of(Path(file), options.questions)) for name, _, file in told}
    rows = [heading()]
    for index in INDEXES:
        held = {name: vectors_of(Path(folder), index) for name, folder, _ in told}
        for name, vectors in held.items():
            rows += measure(faiss, f"{name}, {index}", vectors, asked[name], levels)
        if options.together:
            every = np.concatenate(list(held.values())), np.concatenate([asked[name] for name in held])
            rows += measure(faiss, f"all, {index}", *every, levels)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
