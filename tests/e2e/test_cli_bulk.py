"""``lexigraph bulk`` from files to an ingest that asks the model nothing: real boto3, moto's S3, Bedrock's wire format."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lexigraph.cli.exits import ExitCode
from lexigraph.model.tenant import Tenant
from lexigraph.storage.factory import GraphStoreFactory
from tests.e2e.commandline import Outcome, here
from tests.graph_dump import dump_graph
from tests.standins.aws_server import ENVIRONMENT, REGION, AwsServer
from tests.standins.bedrock_server import BedrockServer, Fault, message, tool_use

MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
ROLE = "arn:aws:iam::123456789012:role/bedrock-batch"
SETTINGS = {"LEXIGRAPH_LLM": f"bedrock:{MODEL}", "LEXIGRAPH_RELATIONS": "false", "LEXIGRAPH_REGION": REGION}
COUNT = 100


def reply(text: str) -> str:
    """What a model says of a passage: its first sentence."""
    passage = text.partition("Passage:\n")[2].partition("\n")[0]
    sentence = passage.partition(".")[0] + "."
    name = " ".join(sentence.split()[:2])
    statement = {"statement": sentence, "evidence": sentence, "details": [], "facts": []}
    said = [{**statement, "entities": [{"name": name, "class": "Place"}]}]
    return json.dumps({"topics": [{"title": "Rooms", "statements": said}], "aliases": []})


@dataclass
class Bedrock:
    """The control plane: takes jobs as Bedrock does, carries them out when told to; online calls are counted."""

    s3: Any
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    online: int = 0

    def __call__(self, operation: str, model: str, asked: dict[str, Any]) -> Any:
        if operation == "converse":
            self.online += 1
            return tool_use("extraction", json.loads(reply(asked["messages"][0]["content"][0]["text"])))
        assert operation == "model-invocation-job"
        if not asked:
            return {"jobArn": model, "status": self.status[model], "roleArn": ROLE, "modelId": MODEL}
        if asked["modelId"] != MODEL or asked["roleArn"] != ROLE or asked["modelInvocationType"] != "Converse":
            return Fault(400, "ValidationException", "not as it must be")
        known = [arn for arn, job in self.jobs.items() if job["clientRequestToken"] == asked["clientRequestToken"]]
        arn = known[0] if known else f"arn:aws:bedrock:{REGION}:123456789012:model-invocation-job/{len(self.jobs):012d}"
        self.jobs[arn], self.status[arn] = asked, "Submitted"
        return {"jobArn": arn}

    def records(self, arn: str) -> list[dict[str, Any]]:
        """The lines of a job's input, as Bedrock checks them."""
        bucket, _, key = self.jobs[arn]["inputDataConfig"]["s3InputDataConfig"]["s3Uri"][5:].partition("/")
        lines = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode().splitlines()
        assert key.endswith(".jsonl") and len(lines) >= 100
        records = [json.loads(line) for line in lines]
        for record in records:
            assert record.keys() == {"recordId", "modelInput"}
            assert record["modelInput"].keys() == {"messages", "system", "inferenceConfig"}
            assert record["modelInput"]["inferenceConfig"]["maxTokens"] == 4096
        return records

    def carry_out(self, arn: str, bad: dict[int, Any] | None = None, status: str = "Completed") -> None:
        """Write the output of a job, in another order; ``bad`` are other lines by number, None for none."""
        bucket, _, prefix = self.jobs[arn]["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"][5:].partition("/")
        name = self.jobs[arn]["inputDataConfig"]["s3InputDataConfig"]["s3Uri"].rpartition("/")[2]
        lines = []
        for number, record in enumerate(self.records(arn)):
            text = record["modelInput"]["messages"][0]["content"][0]["text"]
            line: dict[str, Any] | None = {**record, "modelOutput": message(reply(text))}
            if number in (bad or {}):
                line = {**record, **bad[number]} if bad and bad[number] else None
            lines += [json.dumps(line)] if line else []
        key = f"{prefix}{arn.rpartition('/')[2]}/{name}.out"
        self.s3.put_object(Bucket=bucket, Key=key, Body="\n".join(reversed(lines)).encode())
        self.status[arn] = status


@dataclass
class Bench:
    """Everything at hand: the pages, the bucket, Bedrock, and the command line with its settings."""

    folder: Path
    bucket: str
    bedrock: Bedrock

    def run(self, *arguments: str | Path, **env: str) -> Outcome:
        return here(*arguments, "--data", self.folder / "data", env={**SETTINGS, **env})

    def prepare(self, *more: str) -> Outcome:
        return self.run("bulk", "prepare", self.folder / "pages", "--out", self.folder / "batches", *more)

    def submit(self) -> Outcome:
        return self.run("bulk", "submit", self.folder / "batches", "--to", self.bucket, "--role", ROLE)

    def collect(self, **env: str) -> Outcome:
        return self.run("bulk", "collect", self.folder / "batches", "--json", **env)

    def ingest(self, data: str = "data") -> Any:
        pages = self.folder / "pages"
        return here("ingest", pages, "--json", "--no-progress", "--data", self.folder / data, env=SETTINGS).json


def contents(data: Path) -> Any:
    """The whole graph of a database."""
    with closing(GraphStoreFactory.for_graph_store(f"sqlite:///{data}")) as graph:
        return dump_graph(graph, Tenant("default"))


def write_rooms(folder: Path, count: int) -> None:
    folder.mkdir(exist_ok=True)
    rooms = [json.dumps({"id": f"room-{n}", "text": f"Room {n} holds Granite {n}. It is dry."}) for n in range(count)]
    (folder / "rooms.jsonl").write_text("\n".join(rooms))


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with AwsServer() as server:
        yield server


@pytest.fixture
def bench(aws: AwsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    write_rooms(tmp_path / "pages", COUNT)
    for name, value in {**ENVIRONMENT, "AWS_DEFAULT_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    bedrock = Bedrock(aws.client("s3"))
    with BedrockServer(bedrock) as server:
        for service in ("BEDROCK", "BEDROCK_RUNTIME"):
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", server.url)
        yield Bench(tmp_path, aws.s3("bulk", "loads"), bedrock)


@pytest.mark.slow
def test_what_a_batch_extracted_costs_an_ingest_no_call_of_the_model(bench: Bench) -> None:
    prepared = bench.prepare("--json")
    assert prepared.code == ExitCode.OK, prepared.err
    assert prepared.json == {"documents": COUNT, "chunks": COUNT, "cached": 0, "records": COUNT, "jobs": 1, "failures": []}
    assert "1 job started" in bench.submit().out
    assert "0 jobs started" in bench.submit().out
    (arn,) = bench.bedrock.jobs
    early = bench.collect()
    assert (early.code, early.json["waiting"], early.json["records"]) == (ExitCode.CONFLICT, 1, 0)
    bench.bedrock.carry_out(arn)
    done = bench.collect()
    assert (done.code, done.json["filled"], done.json["records"]) == (ExitCode.OK, COUNT, COUNT)
    assert bench.collect().json["records"] == 0
    report = bench.ingest()
    assert (report["documents_new"], report["extracted"], report["statements_created"]) == (COUNT, 0, COUNT)
    assert bench.bedrock.online == 0
    assert "nothing to ask" in bench.run("bulk", "prepare", bench.folder / "pages", "--out", bench.folder / "more").out


@pytest.mark.nightly
def test_an_ingest_after_a_batch_gives_the_graph_of_one_that_asks_one_by_one(bench: Bench) -> None:
    bench.prepare()
    bench.submit()
    bench.bedrock.carry_out(next(iter(bench.bedrock.jobs)))
    bench.collect()
    after, alone = bench.ingest(), bench.ingest("alone")
    assert bench.bedrock.online == alone["extracted"] == COUNT
    assert after["graph"] == alone["graph"]
    assert contents(bench.folder / "data") == contents(bench.folder / "alone")


def test_what_a_batch_did_not_answer_well_is_left_to_the_ingest(bench: Bench) -> None:
    bench.prepare()
    bench.submit()
    cut = {"modelOutput": message('{"topics": [', stop="max_tokens")}
    bad: dict[int, Any] = {
        0: {"error": {"errorCode": 400, "errorMessage": "too long"}},
        1: cut,
        2: {"modelOutput": message("I will not.")},
        3: {"modelOutput": message('{"topics": "none"}')},
        4: {"modelOutput": {"output": {}}},
        5: None,
    }
    bench.bedrock.carry_out(next(iter(bench.bedrock.jobs)), bad, "PartiallyCompleted")
    told = bench.collect().json
    assert told["errors"] == {"cut off at its end": 1, "error 400": 1, "no JSON": 1, "no reply in it": 1}
    assert (told["filled"], told["unusable"], told["unanswered"], told["records"]) == (COUNT - 6, 1, 1, COUNT)
    again = bench.run("bulk", "prepare", bench.folder / "pages", "--out", bench.folder / "more")
    assert again.code == ExitCode.INVALID and "6 chunks are not cached" in again.err


def test_a_job_that_failed_is_started_again_and_the_others_are_kept(bench: Bench) -> None:
    write_rooms(bench.folder / "pages", 210)
    assert json.loads(bench.prepare("--json", "--most", "200").out)["jobs"] == 2
    bench.submit()
    first, second = bench.bedrock.jobs
    bench.bedrock.carry_out(first)
    bench.bedrock.status[second] = "Failed"
    told = bench.collect()
    assert (told.code, told.json["records"]) == (ExitCode.PARTLY, 105)
    assert told.json["failed"] == ["job 000000000001: Failed without a result"]
    assert "1 job started" in bench.submit().out
    third = list(bench.bedrock.jobs)[2]
    bench.bedrock.carry_out(third)
    assert bench.collect().json["records"] == 105
    more = bench.run("bulk", "prepare", bench.folder / "pages", "--out", bench.folder / "more", "--json")
    assert (more.json["cached"], more.json["records"], bench.bedrock.online) == (210, 0, 0)


def test_what_cannot_work_is_refused_with_the_remedy(bench: Bench) -> None:
    for env, said in (
        ({"LEXIGRAPH_LLM": "none"}, "only Bedrock has batch inference"),
        ({"LEXIGRAPH_EXTRACTOR": "local"}, "need LEXIGRAPH_EXTRACTOR=llm"),
        ({"LEXIGRAPH_PROPOSITIONS": "true"}, "unset LEXIGRAPH_PROPOSITIONS"),
        ({"LEXIGRAPH_CACHE": "none"}, "LEXIGRAPH_CACHE must not be 'none'"),
    ):
        refused = bench.run("bulk", "prepare", bench.folder / "pages", "--out", bench.folder / "batches", **env)
        assert refused.code == ExitCode.INVALID and said in refused.err
    assert bench.submit().code == ExitCode.NOT_FOUND
    assert bench.prepare("--no-temperature").code == ExitCode.OK
    assert '"temperature"' not in (bench.folder / "batches" / "batch.00000.jsonl").read_text()
    again = bench.prepare()
    assert again.code == ExitCode.INVALID and "already contains batches" in again.err
    assert "has not been submitted" in bench.collect().err
    bench.submit()
    other = bench.collect(LEXIGRAPH_LLM="bedrock:amazon.nova-pro-v1:0")
    assert other.code == ExitCode.INVALID and "were prepared for llm-" in other.err
    write_rooms(bench.folder / "pages", 99)
    few = bench.run("bulk", "prepare", bench.folder / "pages", "--out", bench.folder / "few")
    assert few.code == ExitCode.INVALID and "99 chunks are not cached" in few.err
