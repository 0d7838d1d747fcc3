"""``lexigraph bulk load``: killed at any stage and run again it ends as an ingest does, and nothing is loaded twice."""

import csv
import gzip
import io
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from shutil import copytree
from typing import Any
from uuid import uuid4

import pytest

from lexigraph.cli.exits import ExitCode
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.store import NeptuneGraphStore
from tests.e2e.commandline import Outcome, begin, here
from tests.graph_dump import dump_graph
from tests.standins.aws_server import ACCOUNT, ENVIRONMENT, REGION, AwsServer
from tests.standins.neptune import NeptuneStandIn
from tests.standins.neptune_loader import Loader, files_at

ROLE = f"arn:aws:iam::{ACCOUNT}:role/load"


@dataclass
class Bench:
    """The command line with a cluster, its loader and a bucket at hand; the rest lies in a folder."""

    folder: Path
    pages: Path
    cluster: NeptuneStandIn
    loader: Loader
    aws: AwsServer
    bucket: str = field(default_factory=lambda: f"bulk-{uuid4().hex[:12]}")

    @property
    def env(self) -> dict[str, str]:
        return {"LEXIGRAPH_GRAPH_STORE": self.cluster.connection, **ENVIRONMENT}

    @property
    def load(self) -> list[str | Path]:
        to = self.aws.s3(self.bucket, "bulk")
        return ["bulk", "load", self.pages, "--out", self.folder / "load", "--to", to, "--role", ROLE]

    def run(self, *arguments: str | Path) -> Outcome:
        return here(*arguments, "--data", self.folder / "data", env=self.env)

    def killed(self) -> None:
        """Run the load in a process of its own until a hook kills it."""
        from os import environ

        whole = {**environ, **self.env}
        with begin(*self.load, "--data", self.folder / "data", cwd=self.folder, env=whole) as process:
            self.process = process
            process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    process: "subprocess.Popen[str]" = None  # type: ignore[assignment]  # set when one runs


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the documents."""
    folder = tmp_path_factory.mktemp("pages")
    for n in range(8):
        text = f"# Bridge {n}\n\nMarta Engel built Bridge {n} in Lisbon. It crosses the Tagus. Bridge {n} has {n} arches.\n"
        (folder / f"bridge-{n}.md").write_text(text)
    return folder


@pytest.fixture
def bench(tmp_path: Path, pages: Path) -> Iterator[Bench]:
    with AwsServer() as aws, NeptuneStandIn() as cluster:
        loader = cluster.loader = Loader(aws.client("s3"), ROLE, REGION, lambda: cluster.graph)
        yield Bench(tmp_path, pages, cluster, loader, aws)


def contents(cluster: NeptuneStandIn) -> Any:
    with closing(NeptuneGraphStore(cluster.connection)) as store:
        return dump_graph(store, Tenant("default"))


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, pages: Path) -> Any:
    """The contents of a cluster after an ingest."""
    folder = tmp_path_factory.mktemp("plain")
    with NeptuneStandIn() as cluster:
        env = {"LEXIGRAPH_GRAPH_STORE": cluster.connection}
        assert here("ingest", pages, "--data", folder / "data", env=env).code == ExitCode.OK
        return contents(cluster)


def once(action: Callable[[], None], at: int = 1) -> Callable[[], None]:
    """Do something the ``at``-th time, and never again."""
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            action()

    return count


def hook(bench: Bench, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the process killed when it is at a stage."""
    kill = once(bench.kill)
    if stage == "putting files":
        kill = once(bench.kill, 4)
        answer = bench.aws.answer

        def put(request: BaseHTTPRequestHandler, body: bytes) -> None:
            if request.command == "PUT" and "/bulk/graph-" in request.path:
                kill()
            answer(request, body)

        monkeypatch.setattr(bench.aws, "answer", put)
    elif stage in ("starting", "following"):
        ask = bench.loader.answer
        command = "POST" if stage == "starting" else "GET"
        kill = once(bench.kill, 1 if stage == "starting" else 4)

        def asked(request: BaseHTTPRequestHandler, body: bytes) -> tuple[str, str] | None:
            refused = ask(request, body)
            if request.command == command:
                kill()
            return refused

        monkeypatch.setattr(bench.loader, "answer", asked)
    elif stage == "loading":
        bench.loader.before = lambda key: kill() if "mentions" in key else None
    else:
        call = bench.cluster.call

        def write(port: str, query: str, *more: Any) -> None:
            if stage in query:
                kill()
            call(port, query, *more)

        monkeypatch.setattr(bench.cluster, "call", write)


STAGES = [
    "putting files",
    "starting",
    "following",
    "loading",
    "MERGE (c:Chunk",
    "SET c.statements",
    "SET s.live",
    "e.claim =",
]


@pytest.mark.nightly
@pytest.mark.parametrize("stage", STAGES)
def test_a_load_killed_at_a_stage_goes_on_where_it_was(
    bench: Bench, ingested: Any, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook(bench, stage, monkeypatch)
    bench.killed()
    done = bench.run(*bench.load, "--json")
    assert done.code == ExitCode.OK, done.err
    assert done.json["load"]["stage"] == "loaded"
    assert contents(bench.cluster) == ingested
    assert len(bench.loader.jobs) == 2
    assert sum(call.rows for call in bench.cluster.calls if "MERGE (x:Statement" in call.query) == 0
    assert len(list(files_at(bench.loader.s3, done.json["load"]["source"]))) == done.json["load"]["files"]
    again = bench.run(*bench.load, "--json")
    assert again.json["ingest"]["documents_unchanged"] == 8
    assert len(bench.loader.jobs) == 2


@pytest.mark.slow
def test_the_status_tells_how_far_a_load_is(bench: Bench) -> None:
    assert bench.run(*bench.load, "--status").code == ExitCode.NOT_FOUND
    bench.loader.role = "another"
    refused = bench.run(*bench.load)
    assert refused.code == ExitCode.STORE
    assert "the role must be attached to the cluster" in refused.err
    waiting = bench.run(*bench.load, "--status")
    assert (waiting.code, waiting.out.partition(":")[0]) == (ExitCode.CONFLICT, "written")
    assert "8 documents" in waiting.out
    bench.loader.role = ROLE
    done = bench.run(*bench.load)
    assert done.code == ExitCode.OK
    assert "8 new" in done.out
    assert "LOAD_COMPLETED" in done.err
    assert bench.run(*bench.load, "--status").code == ExitCode.OK


def test_a_load_needs_neptune_a_region_and_its_own_folder(bench: Bench) -> None:
    elsewhere = here(*bench.load, "--data", bench.folder / "data", env=ENVIRONMENT)
    assert elsewhere.code == ExitCode.INVALID
    assert "set LEXIGRAPH_GRAPH_STORE to neptune-db://HOST" in elsewhere.err
    without = bench.run(*[a.replace(f"region={REGION}&", "") if isinstance(a, str) else a for a in bench.load])
    assert without.code == ExitCode.INVALID
    assert "add ?region=REGION" in without.err
    unnamed = bench.run(*bench.load[:-2])
    assert unnamed.code == ExitCode.INVALID
    assert "pass --role" in unnamed.err


def test_for_an_inbox_files_are_written_and_documents_are_those_that_come_to_lie_there(bench: Bench) -> None:
    bench.pages = copytree(bench.pages, bench.folder / "pages")
    (bench.pages / "old town").mkdir()
    (bench.pages / "bridge-0.md").rename(bench.pages / "old town" / "bridge 0.md")
    written = bench.run(*bench.load, "--inbox", bench.aws.s3(f"inbox-{bench.bucket}"))
    assert written.code == ExitCode.OK, written.err
    source = written.out.split(", in ")[1].strip()
    uris = set()
    for key, data in files_at(bench.loader.s3, source):
        if "/source-" in key:
            uris |= {row["uri:String"] for row in csv.DictReader(io.StringIO(gzip.decompress(data).decode()))}
    start = f"s3://inbox-{bench.bucket}/default/default/"
    assert uris == {f"{start}bridge-{n}.md" for n in range(1, 8)} | {f"{start}old%20town/bridge%200.md"}
    assert not bench.loader.jobs
    assert contents(bench.cluster)["source"] == []
