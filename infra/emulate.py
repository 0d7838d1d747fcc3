"""Deploys the emulated profile to an emulator on loopback and drives it from upload to answer: ``make emulate``.

    python -m infra.emulate

ministack, in an environment of its own, stands for AWS; the templates are those of ``infra.synth``, the CDK of
``package.json`` deploys them, and the functions run as processes of this machine, with graph and vectors in SQLite files.
The explorer is loaded (``make emulate`` builds it). Three documents are dropped into the bucket, one is replaced, one
deleted; each time a question is asked through the API.
Each step prints its seconds. When one fails, what the state machine and the functions said is printed, and the exit code
is 1. Nothing stays behind.
"""

import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from infra.emulator import ACCOUNT, REGION, Emulator, Failed
from infra.layers import ROOT
from infra.synth import synthesize
from lexigraph.api.explorer import PAGE

CORPUS = ROOT / "examples" / "corpus"
KEPT, REPLACED, DELETED = "tidewater.md", "nightjar-runbook.md", "lanternfish.md"
OLD, NEW = "#harbour-bell", "#copper-lantern"  # what the replaced document says in its versions
TWO_HOPS = "In which channel is the failover announced when the writer of Tidewater fails?"
OF_DELETED, SAYS = "Which team maintains Lanternfish?", "Basalt Team"
# how often each function does its step for that: `finish` shows what was built, and closes the run
STEPS = {"parse": 4, "chunk": 4, "extract": 4, "build": 4, "finish": 8, "remove": 1}
_CDK = str(ROOT / "node_modules" / ".bin" / "cdk")
_QUIET = ("--no-notices", "--ci", "--progress", "events")
_DEPLOY_SECONDS, _JOB_SECONDS, _CALL_SECONDS, _LOOK_SECONDS = 240.0, 180.0, 60.0, 0.5


class Deployment:
    """What was deployed, as somebody outside sees it: a bucket, an address and a key."""

    def __init__(self, emulator: Emulator, outputs: dict[str, dict[str, str]]) -> None:
        found = {name: value for stack in outputs.values() for name, value in stack.items()}
        self._emulator = emulator
        self.bucket, self.table, self.machine = found["DocumentsBucket"], found["RegistryTable"], found["StateMachine"]
        url = urlsplit(found["Url"])  # as AWS would have it; the emulator takes API and stage from the path
        self._path = f"/restapis/{url.netloc.partition('.')[0]}/{url.path.strip('/')}/_user_request_"
        self.key, self._jobs = "", 0
        self._s3 = emulator.client("s3")

    def put(self, name: str, text: str) -> None:
        """Drop a document into the bucket."""
        self._s3.put_object(Bucket=self.bucket, Key=f"default/default/{name}", Body=text.encode())
        self._jobs += 1

    def delete(self, name: str) -> None:
        """Delete a document from the bucket."""
        self._s3.delete_object(Bucket=self.bucket, Key=f"default/default/{name}")
        self._jobs += 1

    def call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the API. Raise :class:`Failed` when it does not answer 200."""
        status, reply = self.asked(path, self.key, body)
        if status != 200:
            raise Failed(f"{path} answered {status}: {reply}")
        return reply

    def asked(self, path: str, key: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Return what the API answers to a caller with a key, and its status."""
        return self._emulator.ask(self._path + path, key, body, seconds=_CALL_SECONDS)

    def page(self, path: str) -> str:
        """Return a file of the explorer, asked for as a browser does: without a key.

        Raise :class:`Failed` when it is not there, or may run something that is not its own.
        """
        accept = {"Accept": "text/html,image/svg+xml,*/*;q=0.8"}
        status, headers, reply = self._emulator.fetch(f"{self._path}/explorer/{path}", accept, seconds=_CALL_SECONDS)
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
        deadline = time.monotonic() + _JOB_SECONDS
        while True:
            jobs = self.call("/jobs")["jobs"]
            if failed := [job for job in jobs if job["status"] == "FAILED"]:
                raise Failed(f"job {failed[0]['id']} failed: {failed[0]['reason']}")
            executions = self._emulator.executions(self.machine)
            if ended := [e for e in executions if e["status"] not in ("RUNNING", "SUCCEEDED")]:
                raise Failed(f"execution {ended[0]['name']} is {ended[0]['status']}")
            done = [e for e in executions if e["status"] == "SUCCEEDED"]
            if len(jobs) == len(done) == self._jobs and all(job["status"] == "SUCCEEDED" for job in jobs):
                return
            if time.monotonic() > deadline:
                raise Failed(f"{self._jobs} changes, {len(jobs)} jobs, {len(done)} done after {_JOB_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)

    def steps(self) -> dict[str, int]:
        """Return how often each function of the state machine has done its step, as its metrics say."""
        logs = ((job, f"/lexigraph/emulated/{job}") for job in STEPS)
        return {job: self._emulator.logged(group, f'"{job.title()}Done"') for job, group in logs}

    def documents(self) -> dict[str, str]:
        """Return the state of each document by its file's name."""
        found = self.call("/documents")["documents"]
        return {document["uri"].rpartition("/")[2]: document["state"] for document in found}

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


def check(holds: bool, says: str) -> None:
    """Raise :class:`Failed` unless it holds."""
    if not holds:
        raise Failed(says)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print what was done and how long it took."""
    began = time.monotonic()
    yield
    say(f"{time.monotonic() - began:6.1f} s  {name}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201  # what the command is for


def quote(answer: str, what: str) -> None:
    """Print the lines of an answer that say something."""
    for line in answer.splitlines():
        if what in line:
            say(f"          {line}")


def deploy(emulator: Emulator, folder: Path) -> Deployment:
    """Synthesize the profile, deploy its templates as they are, and make a key."""
    bootstrap = (_CDK, "bootstrap", f"aws://{ACCOUNT}/{REGION}", *_QUIET)
    with step("synthesize the emulated profile, and cdk bootstrap beside it"), ThreadPoolExecutor(1) as beside:
        strapped = beside.submit(emulator.run, *bootstrap, seconds=_DEPLOY_SECONDS, cwd=folder)
        assembly = synthesize("emulated", folder / "cdk.out", data=str(folder / "data"))
        strapped.result()
    outputs = folder / "outputs.json"
    with step("cdk deploy"):
        options = ("--all", "--require-approval", "never", "--outputs-file", str(outputs), "--concurrency", "3")
        emulator.run(_CDK, "deploy", "--app", str(assembly), *options, *_QUIET, seconds=_DEPLOY_SECONDS, cwd=folder)
    deployment = Deployment(emulator, json.loads(outputs.read_text("utf-8")))
    with step("lexigraph keys create"):
        program = str(Path(sys.executable).with_name("lexigraph"))
        registry = f"dynamodb://{deployment.table}?region={REGION}&endpoint={emulator.url}"
        made = emulator.run(program, "keys", "create", seconds=_CALL_SECONDS, cwd=folder, LEXIGRAPH_REGISTRY=registry)
        deployment.key = made.split()[-1]
    return deployment


def look(deployed: Deployment) -> None:
    """Load the explorer as a browser does: its start, and what that names."""
    start = deployed.page("")
    named = re.findall(r'(?:src|href)="\./([^"]+)"', start)
    check({Path(name).suffix for name in named} >= {".js", ".css", ".svg"}, f"the explorer names {named}: {start[:300]}")
    for name in named:
        check(deployed.page(name) == (PAGE / name).read_text("utf-8"), f"the explorer's {name} is another")
    say(f"          /explorer/ and {', '.join(named)}")


def drive(deployed: Deployment) -> None:
    """Upload, ask, replace, delete, and look whether the answers are what the documents say."""
    for name in (KEPT, REPLACED, DELETED):
        with step(f"{name} uploaded and taken in"):
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
    ran = deployed.steps()
    say(f"          steps done: {', '.join(f'{job} {times}' for job, times in ran.items())}")
    check(ran == STEPS, f"steps done: {ran}, not {STEPS}")
    status, told = deployed.asked("/documents", "lxk_nobody")
    check((status, told["error"]) == (401, "unauthorized"), f"an unknown key was answered {status}: {told}")


def main() -> int:
    """Return 0 when all went well."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lexigraph-emulated-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        try:
            with step("start the emulator"):
                emulator = Emulator(folder)
            with emulator:
                try:
                    drive(deploy(emulator, folder))
                except Exception:
                    say(emulator.told())
                    raise
        except (Failed, RuntimeError, OSError) as error:
            sys.stderr.write(f"emulate: {error}\n")
            return 1
    say(f"{time.monotonic() - began:6.1f} s  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
