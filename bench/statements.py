"""Measure how many of the gold statements a retriever keeps, by type of question: in its results, and in an LLM's context.

python -m bench.questions --documents 500 --seed 1 --out DIR
python -m bench.statements DIR --retriever traversal --retriever fused
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.made.evidence import Evidence, Kept, measure_kept, read_evidence
from lexigraph.evaluation.corpus import read_corpus
from lexigraph.evaluation.index import CorpusIndex, corpus_index
from lexigraph.model.errors import LexigraphError
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import RETRIEVERS, make_retriever
from lexigraph.settings import load_settings


def main() -> None:
    """Parse the command line, build the index when it is not there, print a line a retriever and type."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="what bench.questions wrote; the index is built in it")
    parser.add_argument("--retriever", action="append", choices=RETRIEVERS, help="again for more (default traversal)")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=JSON", help="a parameter of the retrievers")
    given = parser.parse_args()
    try:
        args = {name: json.loads(value) for name, _, value in (a.partition("=") for a in given.arg)}
        corpus, questions = given.folder / "corpus.jsonl", given.folder / "questions.jsonl"
        evidence = read_evidence(questions, corpus)
        with corpus_index(given.folder / "index", read_corpus(corpus), load_settings()) as index:
            index.fill()
            print(f"{'retriever':<16}{'type':<8}{'questions':>10}{'kept':>8}{'context':>9}{'recall@5':>10}{'ms':>8}")
            for name in given.retriever or ["traversal"]:
                report(name, index, evidence, args)
    except (LexigraphError, ValueError) as error:
        parser.error(str(error))


def report(name: str, index: CorpusIndex, evidence: list[Evidence], args: dict[str, Any]) -> None:
    """Ask everything of one retriever and print means by type, and the median of milliseconds."""
    retriever = make_retriever(
        name, index.stores.graph, index.stores.vectors, embedder=index.embedder, settings=index.settings, **args
    )
    rows: dict[str, list[tuple[Kept, float]]] = defaultdict(list)
    for one in evidence:
        results = retriever.retrieve(Tenant(index.settings.tenant), Question.of(one.question))
        rows[one.type].append((measure_kept(one, results), results.timings["total"]))
    for type_ in sorted(rows):
        kept = [np.mean([getattr(k, column) for k, _ in rows[type_]]) for column in ("results", "context", "recall")]
        ms = np.median([t for _, t in rows[type_]])
        print(f"{name:<16}{type_:<8}{len(rows[type_]):>10}{kept[0]:>8.3f}{kept[1]:>9.3f}{kept[2]:>10.3f}{ms:>8.1f}")


if __name__ == "__main__":
    main()
