"""Ask the same over SQLite and over Neptune with OpenSearch: how many of the first ten are the same, how much of the gold
evidence each finds, and how many requests a question sends.

python -m bench.stores
python -m bench.stores --retriever traversal --retriever memory --questions 60
python -m bench.stores --retriever memory --apart

Neptune, OpenSearch Serverless and DynamoDB are the stand-ins of the tests, on loopback; requests are counted as they arrive
there. Two corpora are asked: the demo's (examples/), and a made-up world (bench.made.corpus). Texts are embedded by
their words (tests/models.py), so that no model is needed. Printed are two tables in Markdown; the exit code is 1 when less
than 95 % of the first ten are the same, when AWS shows fewer of the gold texts, by over one and over 5 of 1,000,
or when a question sends more than planned.
"""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.made.corpus import make_corpus
from lexigraph.ingestion.load import FileItem, scan
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval import retrievers
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.recall.sessions import KEEP
from lexigraph.settings import EmbeddingModel, Settings
from lexigraph.storage.factory import (
    CacheFactory,
    DocumentStoreFactory,
    GraphStoreFactory,
    RegistryFactory,
    VectorStoreFactory,
)
from lexigraph.storage.protocols import Stores
from tests.models import WordEmbedder
from tests.standins.aws_server import ENVIRONMENT, AwsServer
from tests.standins.neptune import NeptuneStandIn
from tests.standins.opensearch import OpenSearchServer

EXAMPLES = Path(__file__).parents[1] / "examples"
FIRST, LEAST_SAME = 10, 0.95
# Texts of a thousand that may be missing: Lucene keeps lengths of texts rounded, so that places change both ways.
MOST_LOST = 5
CALL_MS = 10
BEGAN, A_MINUTE = 1_000_000.0, 60.0  # seconds
SESSION = 10  # questions
WORDS = EmbeddingModel("words", WordEmbedder.dimension)
STORES = ("vector", "graph", "registry")
# What a question may send at most to each of STORES. Multihop goes three hops; the texts it shows are one more to vectors,
# and five requests to the registry are those of its first answer, when places are given to documents.
# Multidoc searches again only where a long document fills the search, which none of the two corpora has.
BUDGETS: dict[str, tuple[int, int, int]] = {
    **dict.fromkeys(("traversal", "chunk", "entity", "topic"), (3, 4, 0)),
    "semantic-guided": (3, 3, 0),
    "hybrid": (2, 3, 0),
    "multihop": (3, 4, 0),
    "multihop-query": (4, 3, 5),
    "multidoc": (1, 1, 0),
    "multidoc-articles": (1, 1, 1),
    "recall": (4, 3, 0),
    "memory": (4, 3, 2),
    **dict.fromkeys(("vector", "bm25", "fused"), (2, 1, 0)),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the texts that must be shown for an answer."""

    question: str
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a question brought: ids and the texts shown under them, best first; and all of it, without times."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    whole: Any

    def gold(self, asked: Asked) -> Counter[str]:
        """Return the gold texts that are shown."""
        shown = " ".join(" ".join(self.texts).split())
        return Counter(text for text in asked.gold if " ".join(text.split()) in shown)


@dataclass(slots=True)
class Row:
    """One retriever over one corpus: sums over its questions, and the ``most`` that one question sent to each store.

    ``same`` ids ``of`` the first ten are in both, in the same order ``in_order`` times. Of the ``gold`` texts AWS shows
    ``gold_here``, of which ``gained`` are not shown over SQLite, and SQLite ``gold_there``.
    ``called`` are the most calls that the retriever says it made of vectors and graph.
    """

    corpus: str
    retriever: str
    questions: int = 0
    same: int = 0
    of: int = 0
    in_order: int = 0
    gold: int = 0
    gold_here: int = 0
    gold_there: int = 0
    gained: int = 0
    most: Counter[str] = field(default_factory=Counter)
    called: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The share of the first ten that is the same in both."""
        return self.same / max(1, self.of)

    @property
    def within(self) -> bool:
        """Whether no question sent more than its budget."""
        return all(self.most[store] <= most for store, most in zip(STORES, BUDGETS[self.retriever], strict=True))

    @property
    def good(self) -> bool:
        """Whether enough is the same, no more of the gold is lost than by chance, and no question sent too much."""
        lost = 1000 * (self.gold_there - self.gold_here)
        # of few questions one text is chance
        return self.share >= LEAST_SAME and lost <= max(1000, MOST_LOST * self.gold) and self.within

    def add(self, asked: Asked, here: Found, there: Found, sent: Counter[str]) -> None:
        """Count one question."""
        one, other = here.ids[:FIRST], there.ids[:FIRST]
        self.questions += 1
        self.same += len({*one} & {*other})
        self.of += max(len({*one}), len({*other}))
        self.in_order += one == other
        self.gold += len(asked.gold)
        shown, shown_there = here.gold(asked), there.gold(asked)
        self.gold_here += shown.total()
        self.gold_there += shown_there.total()
        self.gained += (shown - shown_there).total()
        self.most |= sent
        told = here.whole.calls
        self.called |= Counter(vector=told["vector"] + told.get("text", 0), graph=told["graph"])


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents and questions about them. Its name is the tenant they belong to."""

    name: str
    documents: Path
    questions: Sequence[Asked]

    @property
    def tenant(self) -> Tenant:
        """Whose it is."""
        return Tenant(self.name)


class Sides:
    """The same corpora in both: ``sqlite``, and ``aws``, behind stand-ins that count requests."""

    def __init__(
        self, sqlite: Stores, aws: Stores, neptune: NeptuneStandIn, collection: OpenSearchServer, tables: AwsServer
    ):
        self.sqlite, self.aws = sqlite, aws
        self._neptune, self._collection, self._tables = neptune, collection, tables

    def requests(self) -> Counter[str]:
        """Return how many requests have arrived at each stand-in."""
        tables = sum(self._tables.calls.values())
        return Counter(vector=len(self._collection.requests), graph=len(self._neptune.calls), registry=tables)

    def compare(self, corpus: Corpus, name: str, *, apart: bool = False) -> Row:
        """Ask one retriever all questions, in both.

        With ``memory`` they come a minute apart, ``SESSION`` a session, and AWS is told first what SQLite has shown there,
        so that both answer with the same in mind; ``apart``: each goes on from what it showed itself.
        """
        row, shown, tenant = Row(corpus.name, name), list[tuple[str, ...]](), corpus.tenant
        for number, asked in enumerate(corpus.questions):
            first = number - number % SESSION
            session, now = f"from {first}", BEGAN + A_MINUTE * number
            there = ask(self.sqlite, name, tenant, asked.question, session, now)
            if name == "memory" and not apart:
                session = f"{session} to {number}"
                for earlier in range(first, number):
                    at = BEGAN + A_MINUTE * earlier
                    self.aws.registry.touch(tenant, session, shown[earlier], at, keep_seconds=KEEP)
            before = self.requests()
            here = ask(self.aws, name, tenant, asked.question, session, now)
            row.add(asked, here, there, self.requests() - before)
            shown.append(there.ids)
        return row


def ask(stores: Stores, name: str, tenant: Tenant, text: str, session: str = "default", now: float = BEGAN) -> Found:
    """Ask one question of the retriever called ``name``, one of ``BUDGETS``; only ``memory`` has a session and a time."""
    models: dict[str, Any] = {"embedder": WordEmbedder(), "settings": Settings()}
    question, graph, vectors = Question.of(text), stores.graph, stores.vectors
    if name == "multihop-query":
        walked = retrievers.MultihopRetriever(graph, vectors, **models).query(tenant, question, "default", stores.registry)
        return _found(walked, [(r.chunk_id, r.value) for r in walked.final_results])
    if name == "multidoc-articles":
        articles = retrievers.MultiDocSynthesizer(stores, min_relevance=0.0, tenant=tenant, settings=models["settings"])
        context = articles.find(text, models["embedder"])
        return _found(context, [(s["section_id"], s["content"]) for s in context.sections])
    if name == "memory":
        memory = retrievers.RecallRetriever(graph, vectors, stores.registry, clock=lambda: now, **models)
        recalled = memory.retrieve(tenant, question, session_id=session)
        return _found(recalled, [(n.key, n.description) for n in recalled.nodes])
    results = make_retriever(name, graph, vectors, **models).retrieve(tenant, question)
    return _found(results, [(s.id, s.text) for s in results.statements])


def _found(results: Any, shown: Sequence[tuple[str, str]]) -> Found:
    ids, texts = zip(*shown, strict=True) if shown else ((), ())
    return Found(ids, texts, replace(results, timings={}))


def demo(count: int | None = None) -> Corpus:
    """Return the demo's documents with its questions."""
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()[:count]
    asked = [Asked(told["question"], tuple(told["expected"])) for told in map(json.loads, lines)]
    return Corpus("demo", EXAMPLES / "corpus", asked)


def made(folder: Path, count: int, documents: int = 200, seed: int = 1) -> Corpus:
    """Return a made-up world, written to ``folder``, with questions of all types in turn."""
    corpus = make_corpus(documents, seed, -(-count // 3))
    asked = [Asked(q.question, q.gold_statements) for q in corpus.questions]
    return Corpus("made", corpus.save(folder)[0], asked[:count])


@contextmanager
def both_sides(folder: Path, corpora: Sequence[Corpus]) -> Iterator[Sides]:
    """Take corpora in twice, into new stores below ``folder``: all of them share one collection, one cluster, one table."""
    with ExitStack() as opened:
        neptune, collection, tables = (opened.enter_context(s()) for s in (NeptuneStandIn, OpenSearchServer, AwsServer))
        os.environ |= ENVIRONMENT  # taken back by the first of the stand-ins
        local, table = f"sqlite:///{folder}/sqlite", tables.dynamodb(f"lexigraph-{tables.port}")
        at = ((local, local, local), (neptune.connection, collection.connection, table))
        sides = [opened.enter_context(closing(_opened(folder, *connections))) for connections in at]
        for stores in sides:
            index = LexicalGraphIndex(stores, embedder=WordEmbedder(), settings=Settings(data=folder))
            for corpus in corpora:
                # ids, by which ties go, follow from URIs: the same on every machine
                found = [item for item in scan([corpus.documents]) if isinstance(item, FileItem)]
                items = [replace(item, uri=f"file:///{corpus.name}/{item.path.name}") for item in found]
                failures = index.ingest(items, tenant=corpus.name).failures
                if failures:
                    raise RuntimeError(f"{failures[0].uri}: {failures[0].reason}")
        yield Sides(*sides, neptune, collection, tables)


def _opened(folder: Path, graph: str, vectors: str, registry: str) -> Stores:
    kind = registry.partition(":")[0]
    return Stores(
        GraphStoreFactory.for_graph_store(graph, create=True),
        VectorStoreFactory.for_vector_store(vectors, embedding=WORDS, create=True),
        DocumentStoreFactory.for_document_store(f"file:///{folder}/{kind}-documents"),
        RegistryFactory.for_registry(registry),
        CacheFactory.for_cache(f"sqlite:///{folder}/cache"),  # one for both: nothing is extracted twice
    )


def main() -> None:
    """Parse the command line, compare, print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--retriever", action="append", choices=list(BUDGETS), help="again for more (default all)")
    parser.add_argument("--questions", type=int, default=500, help="questions about the made-up world (default 500)")
    parser.add_argument("--documents", type=int, default=200, help="documents of the made-up world (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same world (default 1)")
    parser.add_argument("--apart", action="store_true", help="memory: each side goes on from what it showed itself")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        corpora = [demo(), made(Path(folder), given.questions, given.documents, given.seed)]
        with both_sides(Path(folder), corpora) as sides:
            for name in given.retriever or BUDGETS:
                for corpus in corpora:
                    rows.append(sides.compare(corpus, name, apart=given.apart))
                    print(rows[-1], file=sys.stderr)
    print(agreement(rows), calls(rows), sep="\n\n")
    sys.exit(not all(row.good for row in rows))


def agreement(rows: Sequence[Row]) -> str:
    """Return how far both agree, as a table."""
    lines = [
        "| retriever | corpus | questions | same of the ten | same order | gold | SQLite shows | AWS shows | gained, lost |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        shown = f"{r.gold} | {r.gold_there} | {r.gold_here} | {r.gained}, {r.gold_there - r.gold_here + r.gained}"
        lines.append(f"| {r.retriever} | {r.corpus} | {r.questions} | {r.share:.1%} | {r.in_order} | {shown} |")
    return "\n".join(lines)


def calls(rows: Sequence[Row]) -> str:
    """Return the most requests of a question with its budget, and what they take one after the other, as a table."""
    lines = ["| retriever | vectors | graph | registry | ms at 10 ms a request |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(r.retriever for r in rows):
        most: Counter[str] = Counter()
        for row in rows:
            if row.retriever == name:
                most |= row.most
        each = (f"{most[s]} of {b}" if b else "0" for s, b in zip(STORES, BUDGETS[name], strict=True))
        lines.append(f"| {name} | {' | '.join(each)} | {CALL_MS * most.total()} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
