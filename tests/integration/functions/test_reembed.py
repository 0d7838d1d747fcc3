"""Another embedding model in a deployment: `build` and the state machine, from the payload to the last old record."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.payloads import ReembedJob
from infra.state_machine import FUNCTIONS, definition
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobRecord
from tests.functions import Deployed, deployed, event, invoke
from tests.laptop import write_pages
from tests.models import SentenceExtractor
from tests.standins.bedrock_server import BedrockServer, Fault
from tests.standins.states import Execution, TaskFailed

pytestmark = pytest.mark.slow
OWNER = Tenant("default")
PAGES = {"Harbour": "The Harbour Office runs Lighthouse.", "Granite": "Granite lies in the cellar of the Harbour Office."}
TITAN, LABEL = "bedrock:amazon.titan-embed-text-v2:0", "bedrock-amazon-titan-embed-text-v2-0-256"
SWITCHED = {"LEXIGRAPH_EMBEDDING_MODEL": TITAN, "LEXIGRAPH_EMBEDDING_DIMENSION": "256"}


class Titan:
    """Counts letters: enough to tell texts apart. It may be ``away``."""

    away = False

    def __call__(self, operation: str, model: str, asked: dict[str, Any]) -> Any:
        if self.away:
            return Fault(403, "AccessDeniedException", "no access to the model")
        vector = np.bincount(np.frombuffer(asked["inputText"].encode(), np.uint8), minlength=256).astype(float)
        return {"embedding": (vector / np.linalg.norm(vector)).tolist(), "inputTextTokenCount": 1}


@pytest.fixture
def titan(monkeypatch: pytest.MonkeyPatch) -> Iterator[Titan]:
    made = Titan()
    with BedrockServer(made) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
        yield made


@pytest.fixture
def there(tmp_path: Path, titan: Titan) -> Iterator[Deployed]:
    with deployed(tmp_path / "data") as made:
        take_in(made, tmp_path)
        yield made


def take_in(made: Deployed, folder: Path) -> None:
    index = LexicalGraphIndex(made.stores, extractor=SentenceExtractor(), settings=made.steps.settings)
    assert index.ingest([write_pages(folder / "pages", PAGES)]).documents_new == len(PAGES)


def job_of(made: Deployed, execution: str) -> JobRecord:
    return made.stores.registry.job(OWNER, ReembedJob(execution=execution).job_id)


def call(name: str, asked: Any) -> Any:
    """Call a function as Step Functions does, and tell it of errors as Lambda does."""
    try:
        return invoke(name, asked)
    except Exception as error:
        kind = type(error).__name__
        raise TaskFailed(kind, json.dumps({"errorType": kind, "errorMessage": str(error)})) from error


def execution(name: str, **asked: Any) -> Execution:
    given = {"action": "reembed", "reembed": {"seconds": 0, **asked}}
    machine = definition({job: job for job in FUNCTIONS})
    return Execution(machine, given, invoke=call, read=lambda *_: [], wait=lambda _: None, name=name)


def ended(made: Deployed, name: str, **asked: Any) -> dict[str, Any]:
    """Have an execution carried out; return what its job says in the end."""
    assert execution(name, **asked).run() == "SUCCEEDED", job_of(made, name).reason
    job = job_of(made, name)
    assert (job.kind, job.status) == ("reembed", "SUCCEEDED")
    return dict(job.result)


def test_a_tenant_moves_from_one_model_to_another_and_the_old_records_go_last(tmp_path: Path, titan: Titan) -> None:
    with deployed(tmp_path / "data") as made:
        take_in(made, tmp_path)
        went: list[str] = []
        first = execution("first", model=TITAN, dimension=256)
        first._enter = lambda name, data: went.append(name)
        assert first.run() == "SUCCEEDED"
        assert went.count("Reembed") == went.count("IsReembedded") > 2 and went[-1] == "Reembedded"
        told = job_of(made, "first").result
        assert (told["source"], told["target"], told["documents"], told["missing"]) == ("minilm-384", LABEL, 2, 0)
        assert told["written"] == told["records"] >= told["embedded"] > 0
        assert ended(made, "again", model=TITAN, dimension=256)["written"] == 0

        assert execution("hasty", model=TITAN, dimension=256, drop_old=True).run() == "FAILED"
        job = job_of(made, "hasty")
        assert job.status == "FAILED" and "reembed.drop_old: the functions use minilm-384" in job.reason
        assert made.stores.vectors.ids(OWNER, "chunk")

    with deployed(tmp_path / "data", **SWITCHED) as made:
        dropped = ended(made, "drop", **{"from": "minilm-384"}, drop_old=True)
        assert (dropped["dropped"], dropped["written"], dropped["documents"]) == (True, 0, 2)
        assert len(made.stores.vectors.ids(OWNER, "chunk")) == 2
        index = LexicalGraphIndex(made.stores, extractor=SentenceExtractor(), settings=made.steps.settings)
        assert index.ingest([tmp_path / "pages"]).documents_unchanged == 2


def test_doctor_names_the_tenants_that_the_new_model_has_not_reached(tmp_path: Path, titan: Titan) -> None:
    other = Tenant("team-b")

    def named(**asked: Any) -> dict[str, str]:
        """Return the problems by tenant of a check of all, done in as many parts as there can be."""
        check: dict[str, Any] = {"tenant": "*", "seconds": 0, **asked}
        while check.get("at", {}).get("part") != "done":
            check = invoke("remove", {"action": "check", "check": check})
        return {found["uri"]: found["problem"] for found in check["findings"]}

    with deployed(tmp_path / "data") as made:
        take_in(made, tmp_path)
        index = LexicalGraphIndex(made.stores, extractor=SentenceExtractor(), settings=made.steps.settings)
        index.ingest([tmp_path / "pages" / "Harbour.md"], tenant=other)
        assert named() == {}
        lacking = {"default": f"2 documents have no vectors of {LABEL}", "team-b": f"1 document has no vectors of {LABEL}"}
        assert named(embedding=LABEL) == lacking, "before the switch, too"
        ended(made, "moved", model=TITAN, dimension=256)
    with deployed(tmp_path / "data", **SWITCHED):
        assert named() == {"team-b": f"1 document has no vectors of {LABEL}"}


def test_a_model_that_stays_away_fails_the_job_with_the_reason_and_a_redrive_goes_on(there: Deployed, titan: Titan) -> None:
    run = execution("run", model=TITAN, dimension=256)
    run._enter = lambda name, data: setattr(titan, "away", data["reembed"].get("report") is not None)
    assert run.run() == "FAILED"
    job = job_of(there, "run")
    assert (job.status, job.kind) == ("FAILED", "reembed")
    assert f"deploy with -c next_embedding_model={TITAN}" in job.reason
    run._enter = lambda name, data: setattr(titan, "away", False)
    assert run.run() == "SUCCEEDED"
    job = job_of(there, "run")
    assert (job.status, job.reason, job.result["documents"], job.result["missing"]) == ("SUCCEEDED", "", 2, 0)
    assert [one.id for one in there.stores.registry.jobs(OWNER) if one.kind == "reembed"] == [job.id]


def test_an_execution_that_was_stopped_tells_its_job_if_it_had_one(there: Deployed) -> None:
    asked: dict[str, Any] = {"action": "reembed", "reembed": {"model": TITAN, "dimension": 256, "seconds": 0}}
    told = event("finish.ended", input=json.dumps(asked))
    told["detail"]["name"] = "stopped"
    assert invoke("finish", told) is None
    part = invoke("build", event("build.reembed", reembed={**asked["reembed"], "execution": "stopped"}))
    assert part["at"]["part"] == "documents"
    assert invoke("finish", told) is None
    job = job_of(there, "stopped")
    assert (job.status, job.reason) == ("FAILED", "the execution ended: ABORTED")


def test_what_cannot_be_done_is_refused_with_the_field_and_in_the_job(tmp_path: Path) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "minilm-384: is already in use"),
        ({"dimension": 256}, "reembed.dimension and reembed.options: belong to a new model"),
        ({"model": "bedrock:amazon.unheard-of"}, "reembed.dimension: give that of bedrock:amazon.unheard-of"),
        ({"model": TITAN, "dimension": 3}, "embedding_dimension"),
        ({"model": TITAN, "from": "titan"}, "the label must end with the dimension"),
        ({"model": TITAN, "drop_old": True}, "reembed.drop_old: the functions use minilm-384"),
    ]
    with deployed(tmp_path) as made:
        for at, (asked, said) in enumerate(refused):
            run = execution(f"wrong-{at}", **asked)
            assert (run.run(), run.error) == ("FAILED", "IngestFailed")
            job = job_of(made, f"wrong-{at}")
            assert job.status == "FAILED" and said in job.reason
        for name, bad in (("long", {"model": TITAN, "seconds": 900}), ("tenant", {"tenant": "No Name!"})):
            run = execution(name, **bad)
            assert run.run() == "FAILED"
            told = event("finish.ended", input=json.dumps(run.given))
            told["detail"]["name"] = name
            assert invoke("finish", told) is None
        assert len(made.stores.registry.jobs(OWNER)) == len(refused)


@pytest.mark.nightly
def test_the_state_machine_itself_names_the_job_and_calls_until_all_is_done(tmp_path: Path, titan: Titan) -> None:
    with deployed(tmp_path / "data", carried_out=True) as made:
        take_in(made, tmp_path)
        given = {"action": "reembed", "reembed": {"model": TITAN, "dimension": 256, "seconds": 0}}
        began = made.cloud.client("stepfunctions").start_execution(
            stateMachineArn=made.arn, name="move-to-titan", input=json.dumps(given)
        )
        told = made.cloud.ended(began["executionArn"])
        assert told["status"] == "SUCCEEDED", told
        report = json.loads(told["output"])["reembed"]["report"]
        job = job_of(made, "move-to-titan")
        assert (report["job_id"], report["documents"], report["missing"]) == (job.id, 2, 0)
        assert job.status == "SUCCEEDED" and re.fullmatch("[0-9a-f]{32}", job.id)  # as GET /jobs/{job_id} takes it
        assert {name for name, _ in made.cloud.invoked} == {"build"} and len(made.cloud.invoked) > 2
