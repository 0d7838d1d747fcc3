"""Ask questions with and without the passages that answer them: how many are called "not found", rightly and wrongly.

python -m bench.refusals INDEX questions.jsonl.gz --retriever traversal --retriever hybrid

INDEX is a folder that ``lexigraph bench quality --index`` made of passages with ids. Without its ``gold`` passages, which a
filter leaves out, a question cannot be answered, though others of the same field are still there.
"""

import argparse
import gzip
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from lexigraph.answering.judgement import ANSWERABLE
from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.inference.factory import make_embedder
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.settings import Settings
from lexigraph.storage.factory import open_stores


def main() -> None:
    """Parse the command line, ask, print a row a retriever."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", type=Path, help="folder of an index of `lexigraph bench quality`")
    parser.add_argument("questions", type=Path, help="jsonl with fields `question` and `gold`, also as .gz")
    parser.add_argument("--retriever", action="append", help="may be repeated (default traversal)")
    parser.add_argument("--limit", type=int, default=100, help="questions (default 100)")
    given = parser.parse_args()
    settings = Settings(data=given.index)
    raw = given.questions.read_bytes()
    lines = (gzip.decompress(raw) if given.questions.suffix == ".gz" else raw).splitlines()[: given.limit]
    asked = [json.loads(line) for line in lines]
    embedder = make_embedder(settings)
    print("retriever | questions | answerable refused, % | unanswerable told, % | told apart (1 is always)")
    with closing(open_stores(settings)) as stores:
        for name in given.retriever or ["traversal"]:
            retriever = make_retriever(name, stores.graph, stores.vectors, embedder=embedder, settings=settings)
            engine = LexicalGraphQueryEngine(retriever, tenant=settings.tenant)
            there = np.array([_confidence(engine, q["question"]) for q in asked])
            gone = np.array([_confidence(engine, q["question"], q["gold"]) for q in asked])
            apart = np.mean(there[:, None] > gone) + np.mean(there[:, None] == gone) / 2
            refused, told = 100 * np.mean(there < ANSWERABLE), 100 * np.mean(gone < ANSWERABLE)
            print(f"{name} | {len(asked)} | {refused:.0f} | {told:.0f} | {apart:.3f}")


def _confidence(engine: LexicalGraphQueryEngine, question: str, without: Sequence[str] = ()) -> float:
    left_out = {"key": "id", "operator": "not_in", "value": list(without)}
    return engine.query(question, filters=left_out if without else None).confidence


if __name__ == "__main__":
    main()
