"""Count what one small file, and a hundred questions, ask of Neptune: reads, of them those that count, and texts of queries.

python -m bench.scale.calls

The graph is Neptune's stand-in over FalkorDB, the registry DynamoDB in moto; vectors are embedded. Neptune keeps plans by
the text of a query: what is asked again should come with a text that was asked before.
"""

import re
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval import retrievers
from lexigraph.settings import Settings
from lexigraph.storage.common.counts import live_counts
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop, open_laptop
from tests.models import WordEmbedder
from tests.standins.aws_server import AwsServer
from tests.standins.neptune import NeptuneStandIn

TENANT = Tenant("default")
_RETRIEVERS = ("TraversalBasedRetriever", "HybridRetriever", "MultihopRetriever")
_PLACES = ("Oslo", "Bergen", "Molde", "Narvik", "Tromso", "Voss", "Roros", "Lom", "Moss", "Skien")
_COUNTS = re.compile(r"RETURN count\([^)]*\)(\)| ) ?AS n\b|'sources' AS kind")


def file(stores: Stores, folder: Path, cluster: NeptuneStandIn) -> tuple[int, int]:
    """Take in a file beside others; return how many reads it sent, and how many of these only count."""
    index = laptop(folder, stores)
    for n, place in enumerate(_PLACES):
        page = folder / f"{place}.md"
        text = f"{place} is a town in Norway. {_PLACES[n - 1]} is north of {place}. {place} has a harbour."
        page.write_text(f"# {place}\n\n{text}\n", "utf-8")
        cluster.forget()
        index.ingest([page])
        live_counts(stores, TENANT)  # as the command line tells in the end
    reads = [call.query for call in cluster.calls if call.kind == "read"]
    return len(reads), sum(bool(_COUNTS.search(query)) for query in reads)


def texts(stores: Stores, cluster: NeptuneStandIn) -> tuple[int, int]:
    """Ask a hundred questions of each of three retrievers; return how many queries that sent, and of how many texts."""
    cluster.forget()
    for n in range(100):
        question = f"Is {_PLACES[n % 10]} north of {_PLACES[n // 10]}, and since when?"
        for name in _RETRIEVERS:
            retriever = getattr(retrievers, name)(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings())
            retriever.retrieve(TENANT, Question.of(question))
    return len(cluster.calls), len({call.query for call in cluster.calls})


def main() -> int:
    """Print both."""
    with AwsServer() as aws, NeptuneStandIn() as cluster, tempfile.TemporaryDirectory() as name:
        folder, registry = Path(name), DynamoDBRegistry(aws.dynamodb("calls"))
        with closing(open_laptop(folder)) as opened, closing(NeptuneGraphStore(cluster.connection)) as graph:
            stores = replace(opened, graph=graph, registry=registry)
            reads, counting = file(stores, folder, cluster)
            sent, different = texts(stores, cluster)
    print(f"a file: {reads} reads of Neptune, of which {counting} count")
    print(f"100 questions: {sent} queries, {different} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
