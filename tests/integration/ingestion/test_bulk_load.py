"""A bulk load and the ingest after it give what an ingest alone gives, in every store, whatever became of the load."""

import gzip
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from lexigraph.ingestion.bulk_load import BulkLoad
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import InvalidInput, NotFound, StoreUnavailable
from lexigraph.model.extraction import Extraction
from lexigraph.model.graph import ChunkGraph, Placement, Source, StatementNode, TopicNode
from lexigraph.model.tenant import Tenant
from lexigraph.retry import Retry
from lexigraph.storage.neptune.load_files import GraphFiles
from lexigraph.storage.neptune.loader import LoadStatus, NeptuneLoader
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import Stores
from tests.graph_dump import dump_graph
from tests.laptop import content, laptop, open_laptop
from tests.models import SentenceExtractor
from tests.standins.aws_server import ACCOUNT, REGION, AwsServer
from tests.standins.neptune import NeptuneStandIn
from tests.standins.neptune_falkor import falkor
from tests.standins.neptune_loader import BadFile, Loader, files_at

ROLE = f"arn:aws:iam::{ACCOUNT}:role/load"
OWNER = Tenant("default")
PLACES = "Avon Bristol Cardiff Dover Exeter Fowey Gosport Harwich Ipswich Jarrow Kelso Lincoln".split()
PEOPLE = ["Ada Byron", "Mary Anning", "Grace Hopper", "Rosa Parks", "Jane Goodall", "Emmy Noether"]


class Extractor(SentenceExtractor):
    """Sentences, of which some have details, and names of which some mean others; no class for half of the names."""

    name = "sentences-and-more"

    def _one(self, chunk: ChunkText) -> Extraction:
        found = super()._one(chunk)
        topics = []
        for topic in found.topics:
            statements = [
                replace(
                    s,
                    details=(f'"{len(s.value)}", as they say',) if len(s.value) % 3 == 0 else (),
                    entities=tuple(replace(e, class_="") if len(e.name) % 2 else e for e in s.entities),
                )
                for s in topic.statements
            ]
            topics.append(replace(topic, statements=tuple(statements)))
        aliases = (("Countess of Lovelace", "Ada Byron"),) if "Ada" in chunk.text else ()
        return Extraction(tuple(topics), aliases)


def write_corpus(folder: Path, numbers: Sequence[int], edition: int = 1) -> Path:
    """Pages that name the same people and places, repeat themselves, and have commas, quotes and lines to be escaped."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in numbers:
        draw = random.Random(f"{n}")
        title, pages = f"Journey {n} to {PLACES[n % len(PLACES)]}", []
        for section in range(6):
            who, where, whence = draw.choice(PEOPLE), draw.choice(PLACES), draw.choice(PLACES)
            text = f'{who} met "{where}", the town. {who} left {whence} for {where}. It rained in {where}.'
            if edition > 1 and section == n % 6:
                text += f" In edition {edition} {who} stayed in {whence}."
            pages.append(
                f"## Day {section} in {where}\n\n{text}\n\nNobody, as {who} wrote, was there. The road was long. " * 2
            )
        (folder / f"journey-{n}.md").write_text(f"# {title}\n\n" + "\n\n".join(pages), encoding="utf-8")
    return folder


@dataclass
class Bench:
    """A cluster with its loader, and the other stores in a folder."""

    cluster: NeptuneStandIn
    loader: Loader
    stores: Stores
    index: LexicalGraphIndex
    place: str
    folder: Path

    def load(self, name: str = "load") -> BulkLoad:
        return BulkLoad(self.folder / name, self.place, "default", "default", self.index.models.extractor.name)

    def write(self, load: BulkLoad, files: Path, **more: Any) -> None:
        index = self.index
        load.write([files], self.stores, index.models, index.llm, index.settings, **more)

    def run(self, files: Path, name: str = "load") -> None:
        """The whole load, without the ingest after it."""
        load = self.load(name)
        self.write(load, files, part_bytes=30_000, file_bytes=10_000)
        self.drive(load)
        load.close()

    def drive(self, load: BulkLoad) -> None:
        load.start(self.client(), ROLE)
        while load.progress.stage == "loading":
            load.look(self.client())

    def client(self) -> NeptuneLoader:
        return NeptuneLoader(self.cluster.connection, retry=Retry(3, base=0.01))

    def ingest(self, files: Path) -> Any:
        report = self.index.ingest([files])
        assert not report.failures
        return report


@contextmanager
def bench(folder: Path, aws: AwsServer) -> Iterator[Bench]:
    place = aws.s3(f"bulk-{uuid4().hex[:12]}", "bulk")
    with NeptuneStandIn() as cluster:
        loader = cluster.loader = Loader(aws.client("s3"), ROLE, REGION, lambda: cluster.graph)
        local = open_laptop(folder)
        local.graph.close()
        stores = replace(local, graph=NeptuneGraphStore(cluster.connection))
        index = laptop(folder, stores, batch_documents=3)
        index.models.extractor = Extractor()
        yield Bench(cluster, loader, stores, index, place, folder)
        stores.close()


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    with AwsServer() as server:
        yield server


@pytest.fixture
def one(tmp_path: Path, aws: AwsServer) -> Iterator[Bench]:
    with bench(tmp_path / "one", aws) as opened:
        yield opened


def statements_merged(cluster: NeptuneStandIn) -> int:
    return sum(call.rows for call in cluster.calls if "MERGE (x:Statement" in call.query)


@pytest.mark.nightly
@pytest.mark.parametrize("keeps_empty", [True, False], ids=["empty texts stay", "empty texts are no properties"])
def test_a_load_and_an_ingest_give_what_an_ingest_gives(tmp_path: Path, aws: AwsServer, keeps_empty: bool) -> None:
    before, after = range(7), range(4, 20)
    files = tmp_path / "files"
    with bench(tmp_path / "plain", aws) as plain, bench(tmp_path / "bulk", aws) as bulk:
        bulk.loader.keeps_empty = keeps_empty
        write_corpus(files, before)
        plain.ingest(files)
        bulk.ingest(files)
        assert content(bulk.stores) == content(plain.stores)
        write_corpus(files, after, edition=2)  # some are new, some changed, some as they were
        plain.ingest(files)
        shown = dump_graph(bulk.stores.graph, OWNER)
        bulk.run(files)
        loaded = dump_graph(bulk.stores.graph, OWNER)
        assert [row for row in loaded["source"] if row[5]] == shown["source"]
        assert [row for row in loaded["placed"] if row[7]] == shown["placed"]
        assert len(loaded["statement"]) > 2 * len(shown["statement"])
        bulk.cluster.forget()
        bulk.ingest(files)
        assert content(bulk.stores) == content(plain.stores)
        assert statements_merged(bulk.cluster) == 0
        assert bulk.index.repair(dry_run=True) == []


@pytest.mark.slow
def test_no_relationship_comes_twice_in_a_load_and_files_and_parts_stay_small(tmp_path: Path, one: Bench) -> None:
    files = write_corpus(tmp_path / "files", range(12))
    load = one.load()
    parts: list[int] = []
    one.write(load, files, part_bytes=100_000, file_bytes=30_000, on_part=lambda p: parts.append(p.files))
    assert len(parts) > 2
    assert list((tmp_path / "one" / "load" / "part").glob("*/*")) == []
    seen: list[str] = []
    for key, data in files_at(one.loader.s3, load.progress.source):
        text = gzip.decompress(data).decode()
        assert len(text) < 35_000
        assert ("/places/" in key) == (key.rpartition("/")[2].partition("-")[0] in ("source", "chunk", "placed"))
        if ":START_ID" in text.partition("\n")[0]:
            seen += [line.partition(",")[0] for line in text.splitlines()[1:]]
        assert key.endswith(".csv.gz")
    assert len(seen) == len(set(seen)) > 1_000
    one.drive(load)
    assert load.progress.stage == "loaded"


@pytest.mark.parametrize("files_loaded", [0, 6, *(pytest.param(n, marks=pytest.mark.nightly) for n in (2, 3, 9, 14))])
def test_what_a_load_did_not_bring_the_ingest_writes(tmp_path: Path, aws: AwsServer, files_loaded: int) -> None:
    files = write_corpus(tmp_path / "files", range(6))
    with bench(tmp_path / "plain", aws) as plain, bench(tmp_path / "bulk", aws) as bulk:
        left = [files_loaded]

        def stop(_: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise BadFile("LOAD_UNEXPECTED_ERROR", "told so")

        bulk.loader.before = stop
        load = bulk.load()
        bulk.write(load, files)
        with pytest.raises(StoreUnavailable, match=r"LOAD_FAILED; LOAD_UNEXPECTED_ERROR in .*gz:0"):
            bulk.drive(load)
        plain.ingest(files)
        bulk.ingest(files)
        assert content(bulk.stores) == content(plain.stores)
        assert statements_merged(bulk.cluster) > 0
        bulk.loader.before = lambda _: None
        bulk.drive(load)  # driven on though nobody needs it any more: nothing comes that is not there
        assert content(bulk.stores) == content(plain.stores)


@pytest.mark.nightly
def test_a_load_beside_other_writers_changes_nothing_that_they_wrote(tmp_path: Path, aws: AwsServer) -> None:
    """Between the files and the loader documents change, go, and come by other ways."""
    files, ours = tmp_path / "files", range(8)
    with bench(tmp_path / "plain", aws) as plain, bench(tmp_path / "bulk", aws) as bulk:
        for b in (plain, bulk):
            write_corpus(files, range(4))
            b.ingest(files)
            write_corpus(files, ours, edition=2)
            if b is bulk:
                load = b.load()
                b.write(load, files)
            write_corpus(files, range(2, 6), edition=3)
            b.ingest(files)
            b.index.remove([d.source_id for d in b.index.documents() if d.uri.endswith("journey-1.md")])
            if b is bulk:
                live = dump_graph(b.stores.graph, OWNER)
                b.drive(load)
                assert [row for row in dump_graph(b.stores.graph, OWNER)["placed"] if row[7]] == live["placed"]
            write_corpus(files, ours, edition=2)
            b.ingest(files)
        assert content(bulk.stores) == content(plain.stores)


@pytest.mark.slow
def test_documents_that_nobody_ingests_after_a_load_are_taken_away_by_a_repair(tmp_path: Path, one: Bench) -> None:
    one.ingest(write_corpus(tmp_path / "first", range(3)))
    before = content(one.stores)
    one.run(write_corpus(tmp_path / "second", range(3, 6)))
    found = one.index.repair()
    assert [f.problem for f in found] == ["is in a store but not in the registry"] * 3
    left = content(one.stores)
    assert {k: left[k] for k in left if k != "cache"} == {k: before[k] for k in before if k != "cache"}


@pytest.mark.slow
def test_a_second_run_goes_on_after_the_last_part(tmp_path: Path, one: Bench) -> None:
    files = write_corpus(tmp_path / "files", range(10))
    load = one.load()

    def killed(p: Any) -> None:
        if p.parts == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.write(load, files, part_bytes=30_000, on_part=killed)
    load.close()
    there = {key for key, _ in files_at(one.loader.s3, load.progress.source)}
    again = one.load()
    one.write(again, files, part_bytes=30_000)
    assert again.progress.documents == 10
    assert there < {key for key, _ in files_at(one.loader.s3, load.progress.source)}
    one.drive(again)
    one.ingest(files)
    assert statements_merged(one.cluster) == 0
    again.close()
    with pytest.raises(InvalidInput, match="contains a load with other documents"):
        BulkLoad(one.folder / "load", one.place, "other", "default", again.progress.extractor)


def test_a_start_whose_answer_was_lost_finds_the_job_and_relationships_without_nodes_are_loaded_anew(
    tmp_path: Path, one: Bench
) -> None:
    load = one.load()
    one.write(load, write_corpus(tmp_path / "files", range(2)))
    client = one.client()
    lost = client.start(f"{load.progress.source}places/", ROLE, REGION)
    load.start(client, ROLE)
    assert load.progress.load_ids[0] == lost
    assert len(one.loader.jobs) == len(load.progress.load_ids) == 2
    graph = falkor().select_graph(one.cluster.graph)

    def delete(key: str) -> None:
        if "mentions" in key:
            graph.query("MATCH (e:Entity) DELETE e")
            one.loader.before = lambda _: None

    one.loader.before = delete
    with pytest.raises(StoreUnavailable, match="FROM_OR_TO_VERTEX_ARE_MISSING in mentions"):
        one.drive(load)
    assert load.progress.anew
    one.drive(load)
    assert load.progress.stage == "loaded"
    with pytest.raises(NotFound, match="keeps the last 1,024 jobs"):
        client.status("no-such-job")


REFUSED = {
    "role": ({"role": "arn:aws:iam::123456789012:role/other"}, "InvalidParameterException; the role must be attached"),
    "region": ({"region": "eu-west-3"}, "InvalidParameterException; the role must be attached to the cluster, and the"),
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_the_loader_is_refused_another_role_and_another_region(one: Bench, what: str) -> None:
    asked, reason = REFUSED[what]
    given = {"role": ROLE, "region": REGION, **asked}
    with pytest.raises(StoreUnavailable, match=reason):
        one.client().start("s3://bulk/graph/", **given)


ROOM = [":ID", ":LABEL", "seats:Long"]
DOOR = [":ID", ":START_ID", ":END_ID", ":TYPE"]
BAD = {
    "no label": ([":ID", "seats:Long"], ["a", "4"], "PARSING_ERROR"),
    "unknown type": ([":ID", ":LABEL", "seats:Number"], ["a", "Room", "4"], "PARSING_ERROR"),
    "twice a column": ([*ROOM, ":LABEL"], ["a", "Room", "4", "Room"], "PARSING_ERROR"),
    "no type given": ([":ID", ":LABEL", "seats"], ["a", "Room", "4"], "PARSING_ERROR"),
    "too few values": (ROOM, ["a", "Room"], "PARSING_ERROR"),
    "no number": (ROOM, ["a", "Room", "four"], "DATATYPE_MISMATCH"),
    "an end that is not there": (DOOR, ["d", "a", "b", "LEADS"], "FROM_OR_TO_VERTEX_ARE_MISSING"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_files_that_neptune_would_refuse_fail(one: Bench, name: str) -> None:
    header, row, code = BAD[name]
    _put(one, f"{','.join(header)}\r\n{','.join(row)}\r\n")
    assert [error.partition(" ")[0] for error in _loaded(one).errors] == [code]


def test_a_relationship_that_comes_twice_fails(one: Bench) -> None:
    _put(one, ":ID,:LABEL\r\na,Room\r\nb,Room\r\n", "rooms.csv")
    _put(one, f"{','.join(DOOR)}\r\nd,a,b,LEADS\r\nd,a,b,LEADS\r\n", "doors.csv")
    assert [error.partition(" ")[0] for error in _loaded(one).errors] == ["DUPLICATE_EDGE_ID"]


def test_texts_come_back_as_they_were(one: Bench, tmp_path: Path) -> None:
    nasty = "a, \"b\"\r\nc\n\td\\n; \u2028 \U0001f600 =1+1 'x'"
    source = Source("source:0", "file:///x", "default", "", {}, 1)
    chunk = ChunkGraph(
        "chunk:0", (TopicNode("topic:0", nasty),), (StatementNode("statement:0", "topic:0", nasty, nasty, 0, 0, 1),)
    )
    files = GraphFiles(tmp_path, 0)
    files.add(OWNER, source, {"chunk:0": Placement(0, 0, 1, "body", "")}, [chunk])
    for path in files.close():
        _put(one, path.read_bytes(), path.name)
    assert _loaded(one).loaded
    dump = dump_graph(one.stores.graph, OWNER)
    assert dump["statement"][0][2:4] == (nasty, nasty)
    assert dump["topic"][0][2] == nasty


def _put(one: Bench, data: str | bytes, name: str = "file.csv") -> None:
    bucket = one.place[5:].partition("/")[0]
    one.loader.s3.put_object(Bucket=bucket, Key=f"bulk/some/{name}", Body=data)


def _loaded(one: Bench) -> LoadStatus:
    client, bucket = one.client(), one.place[5:].partition("/")[0]
    id_ = client.start(f"s3://{bucket}/bulk/some/", ROLE, REGION)
    for _ in range(5):
        if (status := client.status(id_)).over:
            return status
    raise AssertionError(status)
