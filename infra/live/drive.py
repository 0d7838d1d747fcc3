"""Drives a deployment from upload to answer, as somebody outside: a bucket, an address and a key.

The same for the emulator (``make emulate``) and for a deployment in an account (``make smoke``). All of it belongs to the
tenant `lexigraph-smoke`, and nothing of it stays but the records of its jobs and of a decision about names, undone.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from infra.layers import ROOT
from infra.live import http
from infra.live.told import Failed, check, quote, say, step
from lexigraph.api.startup import PAGE
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant

TENANT = "lexigraph-smoke"
CORPUS = ROOT / "examples" / "corpus"
KEPT, REPLACED, DELETED = "tidewater.md", "nightjar-runbook.md", "lanternfish.md"
OLD, NEW = "#harbour-bell", "#copper-lantern"  # what the replaced document says in its versions
TWO_HOPS = "In which channel is the failover announced when the writer of Tidewater fails?"
OF_DELETED, SAYS = "Which team maintains Lanternfish?", "Basalt Team"
MEANT, OTHER = "Tidewater", "Nightjar Runbook"  # two names that are merged for a while
_SCOPES = ("--scope", "read", "--scope", "ingest", "--scope", "admin")
_CALL_SECONDS, _LOOK_SECONDS = 60.0, 0.5


class Cloud(Protocol):
    """An account, or the emulator."""

    def client(self, service: str) -> Any:
        """Return a boto3 client of a service."""


@dataclass(frozen=True)
class Place:
    """Where a deployment is: ``api`` is the address of its stage. ``job_seconds``: for which a document may be ingested."""

    api: str
    bucket: str
    table: str
    machine: str
    job_seconds: float = 180.0


class Deployment:
    """A deployment as its users see it. ``keys`` runs `lexigraph --tenant ... keys` with some arguments on its registry."""

    def __init__(self, cloud: Cloud, place: Place, keys: Callable[..., str]) -> None:
        self.place, self._keys = place, keys
        self.key = ""
        self._s3, self._states = cloud.client("s3"), cloud.client("stepfunctions")
        self._known: set[str] = set()
        self._changes = 0

    @contextmanager
    def keyed(self) -> Iterator[None]:
        """Have a key meanwhile; it is revoked in the end."""
        with step("lexigraph keys create"):
            made = json.loads(self._keys("create", "--name", "smoke", *_SCOPES, "--json"))
            self.key = made["key"]
        try:
            self._known = {job["id"] for job in self.call("/jobs")["jobs"]}
            yield
        finally:
            self._keys("revoke", made["id"])

    def put(self, name: str, text: str) -> None:
        """Drop a document into the bucket."""
        self._s3.put_object(Bucket=self.place.bucket, Key=f"{TENANT}/default/{name}", Body=text.encode())
        self._changes += 1

    def delete(self, name: str) -> None:
        """Delete a document from the bucket."""
        self._s3.delete_object(Bucket=self.place.bucket, Key=f"{TENANT}/default/{name}")
        self._changes += 1

    def clear(self) -> None:
        """Delete what there is, such as of a test that was interrupted, and wait until it is taken out."""
        for name in self._there():
            self.delete(name)
            self.wait()

    def drop(self) -> None:
        """Delete what there is, and wait for nothing."""
        for name in self._there():
            self.delete(name)

    def _there(self) -> list[str]:
        found = self._s3.list_objects_v2(Bucket=self.place.bucket, Prefix=f"{TENANT}/").get("Contents", ())
        return [str(there["Key"]).rpartition("/")[2] for there in found]

    def call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the API. Raise :class:`Failed` when it does not answer 200."""
        status, reply = self.asked(path, self.key, body)
        if status != 200:
            raise Failed(f"{path} answered {status}: {reply}")
        return reply

    def asked(self, path: str, key: str, body: dict[str, Any] | None = None, method: str = "") -> tuple[int, Any]:
        """Return what the API answers to a caller with a key, and its status."""
        return http.ask(self.place.api + path, key, body, seconds=_CALL_SECONDS, method=method)

    def page(self, path: str) -> str:
        """Return a file of the explorer, asked for as a browser does: without a key.

        Raise :class:`Failed` when it is not there, or may run something that is not its own.
        """
        accept = {"Accept": "text/html,image/svg+xml,*/*;q=0.8"}
        status, headers, reply = http.fetch(f"{self.place.api}/explorer/{path}", accept, seconds=_CALL_SECONDS)
        check(status == 200, f"/explorer/{path} answered {status}: {reply[:300]!r}")
        policy = headers.get("Content-Security-Policy", "")
        strict = (
            policy.startswith("default-src 'none'; script-src 'self';") and headers["X-Content-Type-Options"] == "nosniff"
        )
        check(strict, f"/explorer/{path} has the policy {policy!r}")
        return reply.decode("utf-8")

    def wait(self) -> None:
        """Wait until there is a job for each change and all have succeeded.

        A change waits for the one before it: the emulator loses the names of errors, so that no `Conflict` is tried again.
        """
        deadline = time.monotonic() + self.place.job_seconds
        while True:
            jobs = [job for job in self.call("/jobs")["jobs"] if job["id"] not in self._known]
            if failed := [job for job in jobs if job["status"] == "FAILED"]:
                raise Failed(f"job {failed[0]['id']} failed: {failed[0]['reason']}")
            executions = self._executions({job["id"] for job in jobs})
            if ended := [e for e in executions if e["status"] not in ("RUNNING", "SUCCEEDED")]:
                raise Failed(f"execution {ended[0]['name']} is {ended[0]['status']}")
            done = [e for e in executions if e["status"] == "SUCCEEDED"]
            if len(jobs) == len(done) == self._changes and all(job["status"] == "SUCCEEDED" for job in jobs):
                return
            if time.monotonic() > deadline:
                told = f"{self._changes} changes, {len(jobs)} jobs, {len(done)} done after {self.place.job_seconds:.0f} s"
                raise Failed(f"{told}: look at the logs of start and at the state machine")
            time.sleep(_LOOK_SECONDS)

    def _executions(self, jobs: set[str]) -> list[dict[str, Any]]:
        found = self._states.list_executions(stateMachineArn=self.place.machine)["executions"]
        return [execution for execution in found if execution["name"] in jobs]

    def documents(self) -> dict[str, str]:
        """Return the state of each document by its file's name."""
        found = self.call("/documents")["documents"]
        return {document["uri"].rpartition("/")[2]: document["state"] for document in found}

    def merge(self, name: str, other: str) -> str:
        """Have two names mean one entity; return the id of the decision."""
        status, made = self.asked("/curation/decisions", self.key, {"name": name, "others": [other]})
        check(status == 201, f"a merge answered {status}: {made}")
        return str(made["id"])

    def undo(self, decision: str) -> None:
        """Undo a decision."""
        status, told = self.asked(f"/curation/decisions/{decision}", self.key, method="DELETE")
        check(status == 200 and bool(told["undone_at"]), f"undoing a merge answered {status}: {told}")

    def aliases(self, name: str) -> list[str]:
        """Return the other names of an entity."""
        found = self.call(f"/entities/{entity_id(Tenant(TENANT), name)}")["aliases"]
        return [alias["name"] for alias in found]

    def answer(self, question: str, *, answerable: bool = True) -> tuple[str, set[str], set[str]]:
        """Return the answer to a question, the files that it cites and those that were found for it.

        Raise :class:`Failed` when something went less well, or when it is not as ``answerable`` as it should be.
        """
        reply = self.call("/query", {"question": question})
        warned = [w for w in reply["warnings"] if answerable or w["type"] != "weak_match"]
        check(not warned, f"the answer has warnings: {warned}")
        check(reply["answerable"] == answerable, f"answerable is {reply['answerable']}: {reply['answer']}")
        files = {source["label"]: Path(source["uri"]).name for source in reply["sources"]}
        return reply["answer"], {files[reference["label"]] for reference in reply["references"]}, set(files.values())

    def streamed(self, question: str) -> tuple[str, float, float]:
        """Return the answer to a question that was streamed, the seconds until its first words, and until its end."""
        body = {"question": question, "stream": True}
        status, events = http.stream(f"{self.place.api}/query", self.key, body, seconds=_CALL_SECONDS)
        names = [event.name for event in events]
        check(status == 200 and names[-1:] == ["done"], f"a stream answered {status}: {', '.join(names)}")
        words = [event for event in events if event.name == "token"]
        check(bool(words) and "sources" in names, f"a stream has only {', '.join(names)}")
        text = "".join(str(event.data.get("text", "")) for event in words)
        return text, words[0].seconds, events[-1].seconds


def look(deployed: Deployment) -> None:
    """Load the explorer as a browser does: its start, and what that names."""
    start = deployed.page("")
    named = re.findall(r'(?:src|href)="\./([^"]+)"', start)
    check({Path(name).suffix for name in named} >= {".js", ".css", ".svg"}, f"the explorer names {named}: {start[:300]}")
    for name in named:
        check(deployed.page(name) == (PAGE / name).read_text("utf-8"), f"the explorer's {name} differs from the built one")
    say(f"          /explorer/ and {', '.join(named)}")


def curate(deployed: Deployment) -> None:
    """Merge two names, which is in the next answer, and undo it."""

    def remembered() -> list[bool]:
        return [deployed.call("/query", {"question": TWO_HOPS})["cached"] for _ in range(2)]

    before = deployed.aliases(MEANT)
    remembered()
    decision = deployed.merge(MEANT, OTHER)
    check(_soon(lambda: OTHER in deployed.aliases(MEANT)), f"{OTHER} is not an alias of {MEANT}")
    say(f"          {OTHER} is an alias of {MEANT}")
    check(remembered()[0] is False, "an answer from before the merge is remembered")
    deployed.undo(decision)
    check(_soon(lambda: deployed.aliases(MEANT) == before), f"{MEANT} still has aliases: {deployed.aliases(MEANT)}")
    check(remembered()[0] is False, "an answer from before the merge was undone is remembered")


def _soon(holds: Callable[[], bool]) -> bool:
    """Tell whether something holds now or in some seconds: readers of the graph are a moment behind its writer."""
    for _ in range(10):
        if holds():
            return True
        time.sleep(_LOOK_SECONDS)
    return False


def drive(deployed: Deployment) -> None:
    """Upload, ask, stream, merge names, replace, delete, and look whether the answers are what the documents say."""
    for name in (KEPT, REPLACED, DELETED):
        with step(f"{name} uploaded and ingested"):
            deployed.put(name, (CORPUS / name).read_text("utf-8"))
            deployed.wait()
    check(deployed.documents() == dict.fromkeys((KEPT, REPLACED, DELETED), "READY"), "not all documents are ready")
    with step("the explorer loaded without a key"):
        look(deployed)
    with step("a question over two documents"):
        answer, cited, _ = deployed.answer(TWO_HOPS)
    check(OLD in answer and REPLACED in cited, f"the answer lacks {OLD} of {REPLACED}: {answer}")
    quote(answer, OLD)
    answer, cited, _ = deployed.answer(OF_DELETED)
    check(SAYS in answer and DELETED in cited, f"the answer lacks {SAYS} of {DELETED}: {answer}")
    quote(answer, SAYS)
    with step("an answer as a stream"):
        answer, first, last = deployed.streamed(TWO_HOPS)
    check(OLD in answer, f"the streamed answer lacks {OLD}: {answer}")
    say(f"          first words after {first:.1f} s, the end after {last:.1f} s")
    with step("two names merged, and told apart again"):
        curate(deployed)
    with step("one replaced"):
        deployed.put(REPLACED, (CORPUS / REPLACED).read_text("utf-8").replace(OLD, NEW))
        deployed.wait()
    answer, cited, _ = deployed.answer(TWO_HOPS)
    check(NEW in answer and OLD not in answer, f"the answer is not that of the new {REPLACED}: {answer}")
    quote(answer, NEW)
    with step("one deleted"):
        deployed.delete(DELETED)
        deployed.wait()
    check(deployed.documents() == dict.fromkeys((KEPT, REPLACED), "READY"), f"{DELETED} is still listed")
    answer, _, found = deployed.answer(OF_DELETED, answerable=False)
    check(SAYS not in answer and DELETED not in found, f"the answer still draws on {DELETED}: {answer}")
    say(f"          {DELETED} is not listed, and nothing of it is found; there are {', '.join(sorted(found))}")
    status, told = deployed.asked("/documents", "lxk_nobody")
    check((status, told["error"]) == (401, "unauthorized"), f"an unknown key was answered {status}: {told}")


def end(deployed: Deployment) -> None:
    """Delete what is left, and see that nothing is."""
    with step("all deleted"):
        deployed.clear()
    check(deployed.documents() == {}, f"documents are still listed: {deployed.documents()}")
