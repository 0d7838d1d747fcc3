"""What a deployment costs: idle a month, and for 1,000 documents and 1,000 questions. `python -m infra.cost` prints it.

Prices come from ``infra/prices.json``, sizes from the profile, chunks and tokens from the package's own estimate over a
document made of the words of ``examples/corpus``. All else is an assumption and stands in :class:`Workload`; nothing here
was measured on AWS.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.hours import EXAMPLE, Hours
from infra.layers import ROOT
from infra.settings import PROFILES, Profile
from lexigraph.ingestion.estimate import Estimate, estimate
from lexigraph.ingestion.load import FileItem
from lexigraph.settings import DEFAULT_RERANK_MODEL, load_settings

PRICES = ROOT / "infra" / "prices.json"
HOURS = 730  # a month
ALARM_FIGURES = 28  # that alarms watch: each costs, also where one alarm adds up several
FIREWALL_RULES = 3
SNAPSHOT_GB = 3.5  # memory of authorize, query and manage, whose snapshots are kept
_THOUSAND = 1_000


@dataclass(frozen=True)
class Workload:
    """What 1,000 documents and 1,000 questions are taken to be."""

    paragraphs_a_document: int = 10
    words_a_paragraph: int = 150
    # taking in
    lambda_gb_seconds_a_chunk: float = 6.0  # mostly waiting for the model, four chunks at a time
    lambda_calls_a_document: float = 8.0
    transitions_a_document: float = 18.0
    # counted where moto stands for DynamoDB: an entry of the cache, with a vector of 1,024 numbers, takes some nine
    registry_writes_a_chunk: float = 90.0
    registry_reads_a_chunk: float = 20.0
    s3_puts_a_document: float = 20.0
    s3_gets_a_document: float = 30.0
    graph_io_a_chunk: float = 500.0
    ingest_hours: float = 2.0  # for 1,000 documents
    graph_units_more: float = 2.0  # beyond the least capacity, while documents are ingested
    vector_units: float = 2.0  # awake: one that writes, one that searches
    vector_kb_a_chunk: float = 60.0
    graph_kb_a_chunk: float = 30.0
    log_kb_a_document: float = 30.0
    # asking
    question_seconds: float = 2.5  # of the function, most of it waiting for the answer
    question_gb: float = 2.0
    question_input_tokens: int = 9_000  # a prompt of 35,000 to 40,000 characters: what `hybrid` finds, at default values
    question_output_tokens: int = 300
    question_embedded_tokens: int = 20
    registry_reads_a_question: float = 10.0
    graph_io_a_question: float = 500.0
    asking_hours: float = 8.0  # over which 1,000 questions spread
    log_kb_a_question: float = 3.0


@dataclass(frozen=True)
class Line:
    """A line of a table, in US dollars."""

    what: str
    usd: float


@cache
def prices() -> dict[str, float]:
    """Return the prices by name."""
    told = json.loads(PRICES.read_text("utf-8"))["prices"]
    return {name: float(price["usd"]) for name, price in told.items()}


def alarm_figures(profile: Profile) -> int:
    """Return how many figures alarms watch.

    None of `extract` and `build` where these have a limit of their own; that of the hours where the graph has any; that of
    the API for who signs; that of the graph's readers; one of each model of Bedrock.
    """
    own = ALARM_FIGURES - (2 if profile.reserve else 0)
    return own + bool(profile.neptune_hours) + profile.iam + bool(profile.neptune_readers) + len(profile.of_bedrock)


def endpoints(profile: Profile) -> int:
    """Return how many interface endpoints there are: bedrock-runtime and OpenSearch Serverless, one to rerank by if wanted.

    Those of S3 and DynamoDB cost nothing.
    """
    return 3 if profile.reranks else 2


def idle(profile: Profile) -> list[Line]:
    """Return what a month costs in which nobody asks and nothing is ingested."""
    p = prices()
    instances = 1 + profile.neptune_readers
    running = HOURS * (Hours.of(profile.neptune_hours).share if profile.neptune_hours else 1.0)
    snapshots = SNAPSHOT_GB * p["snapshot_gb_second"] * HOURS * 3_600 if profile.snap_start else 0.0
    lines = [
        Line("Neptune, least capacity", instances * profile.neptune_min * p["neptune_ncu_hour"] * running),
        Line("OpenSearch Serverless, scaled to zero", 0.0),
        Line("Interface endpoints", endpoints(profile) * profile.endpoint_zones * p["endpoint_hour"] * HOURS),
        Line("KMS key", p["kms_key_month"]),
        Line("SnapStart, one version kept", snapshots),
        Line("Alarms and dashboard", alarm_figures(profile) * p["alarm_month"] + p["dashboard_month"]),
    ]
    if profile.web_firewall:
        lines.append(Line("Firewall", p["firewall_month"] + FIREWALL_RULES * p["firewall_rule_month"]))
    return lines


def choices() -> list[Line]:
    """Return by how much a choice changes what dev costs idle, by how it is written on the command line."""
    dev = PROFILES["dev"]
    changed = {
        f'neptune_hours="{EXAMPLE}"': replace(dev, neptune_hours=EXAMPLE),
        "neptune_readers=1": replace(dev, neptune_readers=1),
        "endpoint_zones=2": replace(dev, endpoint_zones=2),
        f"rerank_model={DEFAULT_RERANK_MODEL}": replace(dev, rerank_model=DEFAULT_RERANK_MODEL),
        "snap_start=true": replace(dev, snap_start=True),
    }
    before = sum(line.usd for line in idle(dev))
    return [Line(f"`-c {how}`", sum(line.usd for line in idle(to)) - before) for how, to in changed.items()]


def per_thousand_documents(work: Workload) -> list[Line]:
    """Return what taking 1,000 documents in costs once; what is kept of them costs the last line each month."""
    p, one = prices(), _of_document(work.paragraphs_a_document, work.words_a_paragraph)
    chunks = one.chunks * _THOUSAND
    units = work.graph_units_more * p["neptune_ncu_hour"] + work.vector_units * p["aoss_ocu_hour"]
    kept = work.vector_kb_a_chunk * p["aoss_gb_month"] + work.graph_kb_a_chunk * p["neptune_gb_month"]
    registry = work.registry_writes_a_chunk * p["dynamodb_million_writes"]
    registry += work.registry_reads_a_chunk * p["dynamodb_million_reads"]
    objects = work.s3_puts_a_document * p["s3_thousand_puts"] + work.s3_gets_a_document * p["s3_thousand_gets"]
    calls = work.lambda_calls_a_document * _THOUSAND * p["lambda_million"] / 1e6
    return [
        Line("Language model, input", one.input_tokens * p["llm_million_input"] / _THOUSAND),
        Line("Language model, output", one.output_tokens * p["llm_million_output"] / _THOUSAND),
        Line("Embeddings", one.embedding_tokens * p["embedding_million_tokens"] / _THOUSAND),
        Line("Lambda", chunks * work.lambda_gb_seconds_a_chunk * p["lambda_gb_second"] + calls),
        Line("Step Functions", work.transitions_a_document * _THOUSAND * p["transitions_million"] / 1e6),
        Line("Neptune and OpenSearch, beyond idle", work.ingest_hours * units),
        Line("Neptune, I/O", chunks * work.graph_io_a_chunk * p["neptune_million_io"] / 1e6),
        Line("DynamoDB", chunks * registry / 1e6),
        Line("S3", objects),
        Line("Logs", work.log_kb_a_document * _THOUSAND * p["log_gb"] / 1e6),
        Line("Kept in graph and vectors, a month", chunks * kept / 1e6),
    ]


def per_thousand_queries(work: Workload, *, firewall: bool = False) -> list[Line]:
    """Return what 1,000 questions with written answers cost."""
    p = prices()
    seconds = work.question_seconds * work.question_gb * p["lambda_gb_second"]
    gateway = p["gateway_million"] + (p["firewall_million"] if firewall else 0.0)
    embedded = work.question_embedded_tokens * p["embedding_million_tokens"]
    return [
        Line("Language model, input", work.question_input_tokens * p["llm_million_input"] / _THOUSAND),
        Line("Language model, output", work.question_output_tokens * p["llm_million_output"] / _THOUSAND),
        Line("Embeddings", embedded / _THOUSAND),
        Line("Lambda", _THOUSAND * seconds + p["lambda_million"] / _THOUSAND),
        Line("API Gateway and firewall", gateway / _THOUSAND),
        Line("OpenSearch, awake", work.asking_hours * work.vector_units / 2 * p["aoss_ocu_hour"]),
        Line("Neptune, I/O", work.graph_io_a_question * p["neptune_million_io"] / _THOUSAND),
        Line("DynamoDB", work.registry_reads_a_question * p["dynamodb_million_reads"] / _THOUSAND),
        Line("Logs", work.log_kb_a_question * _THOUSAND * p["log_gb"] / 1e6),
    ]


@cache
def _of_document(paragraphs: int, words: int) -> Estimate:
    """Return what the package estimates for a document of this size with the models of dev."""
    dev = PROFILES["dev"]
    settings = load_settings(llm=dev.llm, embedding_model=dev.embedding_model)
    texts = (file.read_text("utf-8") for file in sorted((ROOT / "examples" / "corpus").glob("*.txt")))
    supply = cycle(" ".join(texts).split())
    text = "\n\n".join(" ".join(islice(supply, words)) for _ in range(paragraphs))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "document.txt"
        path.write_text(text, "utf-8")
        return estimate([FileItem(path, "document.txt", "txt")], settings)


def report() -> str:
    """Return the tables of docs/cost.md."""
    told = json.loads(PRICES.read_text("utf-8"))
    dev = PROFILES["dev"]
    in_hours = replace(dev, neptune_hours=EXAMPLE)
    tables = [
        _table(
            "Idle, a month", ("dev", "dev in office hours", "prod"), [idle(one) for one in (dev, in_hours, PROFILES["prod"])]
        ),
        _rows("What a choice changes of that in dev", choices()),
        _table("1,000 documents", ("dev, prod",), [per_thousand_documents(Workload())]),
        _table(
            "1,000 questions",
            ("dev", "prod"),
            [per_thousand_queries(Workload()), per_thousand_queries(Workload(), firewall=True)],
        ),
    ]
    work = Workload()
    one = _of_document(work.paragraphs_a_document, work.words_a_paragraph)
    return "\n\n".join(
        [
            *tables,
            f"US dollars, list prices of {told['region']} as of {told['date']}. A document is {work.paragraphs_a_document} "
            f"paragraphs of {work.words_a_paragraph} words: {one.chunks} chunks, {one.model_calls} calls of the language "
            f"model with {one.input_tokens:,} tokens of input and {one.output_tokens:,} of output, "
            f"{one.embedding_tokens:,} embedded.",
        ]
    )


def _table(title: str, profiles: Sequence[str], columns: Sequence[Iterable[Line]]) -> str:
    by_name = [{line.what: line.usd for line in lines} for lines in columns]
    names = list(dict.fromkeys(name for column in by_name for name in column))
    rows = [f"| {title} | {' | '.join(profiles)} |", f"|---|{'---:|' * len(profiles)}"]
    rows += [f"| {name} | {' | '.join(f'{c.get(name, 0):,.2f}' for c in by_name)} |" for name in names]
    return "\n".join([*rows, f"| **together** | {' | '.join(f'**{sum(c.values()):,.2f}**' for c in by_name)} |"])


def _rows(title: str, lines: Iterable[Line]) -> str:
    return "\n".join([f"| {title} | a month |", "|---|---:|", *(f"| {line.what} | {line.usd:+,.2f} |" for line in lines)])


def main() -> int:
    """Print the tables."""
    print(report())  # noqa: T201  # what the command is for
    return 0


if __name__ == "__main__":
    sys.exit(main())
