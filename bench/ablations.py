"""Measure what each part of traversal's ranking is worth: recall@5 with all of it, without one part, and of the baselines.

python -m bench.ablations --corpus corpus.jsonl.gz --questions questions.jsonl.gz --index DIR
"""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from lexigraph.evaluation.corpus import GoldQuestion, read_corpus, read_questions
from lexigraph.evaluation.index import CorpusIndex, corpus_index
from lexigraph.evaluation.quality import Quality, ask, summary
from lexigraph.model.errors import LexigraphError
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import Retriever, make_retriever
from lexigraph.retrieval.retrievers import TraversalBasedRetriever
from lexigraph.retrieval.stages.ranking import WEIGHTS
from lexigraph.settings import load_settings

ARGS: dict[str, dict[str, Any]] = {
    "without links": {"link_rounds": 0},
    "one round of links": {"link_rounds": 1},
    "without BM25": {"bm25_weight": 0.0},
    "without entity match": {"entity_weight": 0.0},
    "without diversity": {"diversity": 0.0},
    "without reranker": {"reranker": "none"},
}
CONSTANTS = {
    "every link alike": replace(WEIGHTS, common=math.inf, other_name=1.0),
    "without statement likeness": replace(WEIGHTS, statement=0.0),
    "without coverage": replace(WEIGHTS, coverage=0.0, link_coverage=0.0),
    "without title match": replace(WEIGHTS, title=0.0),
}
OTHERS = ("semantic-guided", "vector", "bm25", "fused")


def main() -> None:
    """Parse the command line, build the index when it is not there, print a line a variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="passages: id, title, text")
    parser.add_argument("--questions", type=Path, required=True, help="questions: id, question, gold, hops")
    parser.add_argument("--index", type=Path, help="folder where the index is kept and reused (default a temporary one)")
    parser.add_argument("--no-titles", action="store_true", help="leave titles out of text, embedding and links")
    parser.add_argument("--limit", type=_positive, metavar="N", help="ask the first N questions only")
    given = parser.parse_args()
    try:
        with ExitStack() as stack:
            folder = given.index or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lexigraph-bench-")))
            passages = read_corpus(given.corpus)
            questions = read_questions(given.questions, {p.id for p in passages}, given.limit)
            opened = corpus_index(folder, passages, load_settings(), titles=not given.no_titles)
            index = stack.enter_context(opened)
            index.fill()
            compare(index, questions)
    except (LexigraphError, OSError) as error:
        parser.error(str(error))


def compare(index: CorpusIndex, questions: Sequence[GoldQuestion]) -> None:
    """Print recall@5 of every variant in percent, by how many points it differs from the shipped one, and by hops."""
    print(f"{'recall@5, percent':<24}{'all':>7}  {'95 %':<14}{'points':>7}   by hops")
    shipped: Quality | None = None
    for name, retriever in variants(index):
        tenant, most = Tenant(index.settings.tenant), index.settings.max_question_chars
        found = summary(questions, ask(retriever, tenant, questions, max_chars=most))
        shipped = shipped or found
        recall = found.figures["recall@5"]
        points = 100 * (recall.mean - shipped.figures["recall@5"].mean)
        interval = f"[{100 * recall.low:.1f}, {100 * recall.high:.1f}]"
        hops = "  ".join(f"{h or '-'}: {100 * mean:.1f}" for h, (mean, _) in found.by_hops.items())
        print(f"{name:<24}{100 * recall.mean:>7.1f}  {interval:<14}{points:>+7.1f}   {hops}", flush=True)


def variants(index: CorpusIndex) -> Iterator[tuple[str, Retriever]]:
    """Yield traversal as shipped, without each part, and what it is compared with."""
    graph, vectors = index.stores.graph, index.stores.vectors
    models: dict[str, Any] = {"embedder": index.embedder, "settings": index.settings}
    for name, args in {"traversal as shipped": {}, **ARGS}.items():
        yield name, make_retriever("traversal", graph, vectors, **models, **args)
    for name, weights in CONSTANTS.items():
        yield name, TraversalBasedRetriever(graph, vectors, **models, weights=weights)
    for name in OTHERS:
        yield name, make_retriever(name, graph, vectors, **models)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, got {number}")
    return number


if __name__ == "__main__":
    main()
