"""Extraction of many documents by batch inference: prepare, submit, collect; then ingest as always.

`prepare` cuts documents into chunks and writes down those whose extraction is not cached, `submit` hands them to Bedrock,
`collect` reads the replies as the extractor reads its own and puts what is good into the cache. So an ingest of the same
documents afterwards asks the model for nothing but what was not answered well: there is one way in, and this only fills the
cache. What is under way stands in a folder of files.
"""

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from lexigraph.inference.bedrock import BedrockLLM
from lexigraph.inference.bedrock_batch import LEAST_RECORDS, BatchJob, BedrockBatches, read_line, request_line
from lexigraph.ingestion.chunk import chunk as split
from lexigraph.ingestion.events import Failure
from lexigraph.ingestion.extract import guide_of
from lexigraph.ingestion.extract.blocks import says
from lexigraph.ingestion.extract.llm import LLMExtractor
from lexigraph.ingestion.extract.reply import UnusableReply
from lexigraph.ingestion.load import Rejected, load, scan
from lexigraph.ingestion.models import extraction_use
from lexigraph.ingestion.workflow.artefacts import plain_chunk, read_chunk
from lexigraph.ingestion.workflow.aws import fetched
from lexigraph.model.batches import batched
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.common.aws import AwsClient, bucket_place
from lexigraph.storage.common.no_cache import NoCache
from lexigraph.storage.protocols import ContentCache

MOST = 25_000  # records of a job: half of what Bedrock takes, so that a file is sent in one piece
_SLICE = 500
_CHUNKS, _MANIFEST = "chunks.jsonl", "manifest.json"


@dataclass(slots=True)
class Prepared:
    """What was written down: ``records`` of ``chunks``, the others being ``cached``, in ``jobs`` files."""

    documents: int = 0
    chunks: int = 0
    cached: int = 0
    records: int = 0
    jobs: int = 0
    failures: list[Failure] = field(default_factory=list)


@dataclass(slots=True)
class Collected:
    """What became of the records of jobs that are over; ``waiting`` counts the jobs that are not.

    ``filled`` are in the cache now; ``unusable`` replies break a rule of the extractor, ``errors`` (by reason) hold none,
    and ``unanswered`` records have no line. The next ingest asks about all of these. ``failed`` tells of jobs without a
    result, which `submit` starts again.
    """

    records: int = 0
    filled: int = 0
    unusable: int = 0
    unanswered: int = 0
    waiting: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def prepare(
    paths: Sequence[Path],
    folder: Path,
    settings: Settings,
    llm: BedrockLLM,
    cache: ContentCache,
    *,
    tenant: str = "default",
    temperature: bool = True,
    most: int = MOST,
) -> Prepared:
    """Write what has to be asked for files and folders into a new ``folder``.

    ``temperature=False`` is for models that refuse one; ``most`` are the records of a job, at least 200. Raise
    ``InvalidInput`` when the settings do not go with batches, the folder is in use, or there is too little for a job. When
    all is cached, nothing is written.
    """
    extractor = _extractor(settings, llm)
    if isinstance(cache, NoCache):
        raise InvalidInput("batches need a cache for their results: LEXIGRAPH_CACHE must not be 'none'")
    if (folder / _MANIFEST).exists():
        raise InvalidInput(f"{folder} already contains batches: collect them or use another folder")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    report = Prepared()
    with (folder / _CHUNKS).open("w", encoding="utf-8", errors="surrogatepass") as written:
        for chunk in _not_cached(_chunks(paths, settings, report), extractor, cache, Tenant(tenant), report):
            written.write(json.dumps(plain_chunk(chunk)) + "\n")
            report.records += 1
    if report.records < LEAST_RECORDS:
        (folder / _CHUNKS).unlink()
        if not report.records:
            return report
        raise InvalidInput(
            f"{report.records} chunks are not cached, but a Bedrock batch job needs at least {LEAST_RECORDS}: "
            "run `lexigraph ingest` instead"
        )
    report.jobs = -(-report.records // most)
    sizes = [report.records // report.jobs + (n < report.records % report.jobs) for n in range(report.jobs)]
    chunks = enumerate(_written(folder))
    for job, size in enumerate(sizes):
        with (folder / _file(job)).open("w", encoding="utf-8", errors="replace") as lines:
            for number, chunk in islice(chunks, size):
                prompt = extractor.prompt(chunk)
                lines.write(request_line(f"{number:011d}", llm, prompt, extractor.schema, temperature=temperature))
    batches = [{"records": size, "tries": 0, "source": "", "arn": "", "collected": False} for size in sizes]
    _save(folder, {"id": secrets.token_hex(6), "tenant": tenant, "extractor": extractor.name, "batches": batches})
    return report


def submit(folder: Path, batches: BedrockBatches, connection: str, role: str) -> list[str]:
    """Put the files of a folder into ``s3://BUCKET/PREFIX[?region=REGION]`` and start their jobs; return the new ARNs.

    Jobs that were started are not started again, but for those that failed. ``role`` is the ARN of Bedrock's role there.
    """
    manifest, place = _manifest(folder), bucket_place(connection)
    if manifest.setdefault("connection", connection) != connection:
        raise InvalidInput(
            f"--to: jobs of {folder} were started in {manifest['connection']}: use the same bucket and prefix"
        )
    client, started = AwsClient("s3", place), []
    below = f"{place.path}/{manifest['id']}".lstrip("/")
    for number, batch in enumerate(manifest["batches"]):
        if batch["arn"]:
            continue
        key = f"{below}/input/{_file(number)}"
        client.call("put_object", Bucket=place.name, Key=key, Body=(folder / _file(number)).read_bytes())
        name = f"lexigraph-{manifest['id']}-{number}-{batch['tries']}"
        target = f"s3://{place.name}/{below}/output/"
        batch["arn"] = batches.start(name, role, f"s3://{place.name}/{key}", target)
        batch["source"] = f"{below}/output/{batch['arn'].rpartition('/')[2]}/{_file(number)}.out"
        started.append(batch["arn"])
        _save(folder, manifest)
    return started


def collect(folder: Path, settings: Settings, llm: BedrockLLM, batches: BedrockBatches, cache: ContentCache) -> Collected:
    """Put the replies of all jobs that are over into the cache. May be repeated; raise ``InvalidInput`` when the settings
    name another extractor than `prepare` had, ``NotFound`` before `submit`.
    """
    manifest, extractor = _manifest(folder), _extractor(settings, llm)
    if extractor.name != manifest["extractor"]:
        raise InvalidInput(
            f"the batches were prepared for {manifest['extractor']}, but the settings use {extractor.name}: restore "
            "the model, its options and the extractor"
        )
    if "connection" not in manifest:
        raise NotFound(f"{folder} has not been submitted: run `lexigraph bulk submit`")
    place = bucket_place(manifest["connection"])
    client, report, first = AwsClient("s3", place), Collected(), 0
    for number, batch in enumerate(manifest["batches"]):
        chunks = islice(_written(folder), first, first + batch["records"])
        first += batch["records"]
        if batch["collected"]:
            continue
        job = batches.job(batch["arn"]) if batch["arn"] else None
        if job is None or not job.over:
            report.waiting += 1
            continue
        output = folder / f"{_file(number)}.out"
        if fetched(client, place.name, batch["source"], output):
            known = {f"{first - batch['records'] + n:011d}": chunk for n, chunk in enumerate(chunks)}
            _fill(output, known, llm, extractor, cache, Tenant(manifest["tenant"]), report)
            batch["collected"] = True
        else:
            report.failed.append(_why(job))
            batch.update(arn="", tries=batch["tries"] + 1)
        _save(folder, manifest)
        output.unlink(missing_ok=True)
    return report


# ---------------------------------------------------------------- the way out


def _extractor(settings: Settings, llm: BedrockLLM) -> LLMExtractor:
    if settings.extraction != "llm":
        raise InvalidInput("batches need LEXIGRAPH_EXTRACTOR=llm, got 'local'")
    if settings.propositions:
        raise InvalidInput("batches do not support propositions: unset LEXIGRAPH_PROPOSITIONS")
    return LLMExtractor(llm, max_tokens=settings.extract_max_tokens, guide=guide_of(settings))


def _chunks(paths: Sequence[Path], settings: Settings, report: Prepared) -> Iterator[ChunkText]:
    for item in scan(paths):
        for found in [item] if isinstance(item, Rejected) else load(item, settings):
            if isinstance(found, Rejected):
                report.failures.append(Failure(found.path, found.reason))
                continue
            report.documents += 1
            yield from split(found, max_tokens=settings.chunk_tokens, overlap=settings.chunk_overlap)


def _not_cached(
    chunks: Iterator[ChunkText], extractor: LLMExtractor, cache: ContentCache, tenant: Tenant, report: Prepared
) -> Iterator[ChunkText]:
    """Yield the chunks that have to be asked about, each content once."""
    seen: set[str] = set()
    for part in batched(chunks, _SLICE):
        report.chunks += len(part)
        keyed = {extraction_use(extractor, c): c for c in part if says(c)}
        by_key = {key: c for (_, key), c in keyed.items() if key not in seen}
        kind = next((kind for kind, _ in keyed), "")
        known = cache.get_many(tenant, kind, list(by_key)) if by_key else {}
        seen |= by_key.keys()
        report.cached += len(known)
        yield from (c for key, c in by_key.items() if key not in known)


# ---------------------------------------------------------------- the way back


def _fill(
    output: Path,
    chunks: Mapping[str, ChunkText],
    llm: BedrockLLM,
    extractor: LLMExtractor,
    cache: ContentCache,
    tenant: Tenant,
    report: Collected,
) -> None:
    errors: Counter[str] = Counter(report.errors)
    answered: set[str] = set()
    kind, found = "", dict[str, bytes]()
    with output.open("rb") as lines:
        for reply in (read_line(line, llm) for line in lines):
            if reply is None or reply.record not in chunks or reply.record in answered:
                continue
            answered.add(reply.record)
            if reply.error:
                errors[reply.error] += 1
                continue
            chunk = chunks[reply.record]
            try:
                extraction = extractor.read(reply.data, chunk)
            except UnusableReply:
                report.unusable += 1
                continue
            kind, key = extraction_use(extractor, chunk)
            found[key] = extraction.to_json().encode()
            if len(found) == _SLICE:
                cache.put_many(tenant, kind, found)
                found = {}
            report.filled += 1
    if found:
        cache.put_many(tenant, kind, found)
    report.records += len(chunks)
    report.unanswered += len(chunks) - len(answered)
    report.errors = dict(sorted(errors.items()))


def _why(job: BatchJob) -> str:
    return f"job {job.arn.rpartition('/')[2]}: {job.status} without a result" + (f": {job.message}" if job.message else "")


# ---------------------------------------------------------------- the folder


def _file(number: int) -> str:
    return f"batch.{number:05d}.jsonl"


def _written(folder: Path) -> Iterator[ChunkText]:
    with (folder / _CHUNKS).open(encoding="utf-8") as lines:
        yield from (read_chunk(json.loads(line)) for line in lines)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{folder} contains no batches: run `lexigraph bulk prepare` first") from None
    return found


def _save(folder: Path, manifest: Mapping[str, Any]) -> None:
    beside = folder / f"{_MANIFEST}.new"
    beside.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    beside.replace(folder / _MANIFEST)
