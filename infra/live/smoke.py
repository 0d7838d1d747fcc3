"""Tries a deployment: ``make smoke [PROFILE=dev] [REGION=us-west-2]``. Exit code 1 when something does not hold.

First its functions probe what they depend on (:mod:`infra.live.probing`), then it is driven from upload to answer as the
emulator is (:mod:`infra.live.drive`). A table tells how it went; the same as JSON, with the engine's plan of each query, is
in ``.build/smoke``. What is written belongs to two tenants of its own and is removed in the end. It costs some cents.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from infra.layers import ROOT
from infra.live import http, preflight, probing
from infra.live.account import STACKS, Account, opened
from infra.live.drive import TENANT, Deployment, Place, drive, end
from infra.live.given import Given, given
from infra.live.probing import Row
from infra.live.programs import run
from infra.live.told import Failed, check, say
from lexigraph.aws import code_of

REPORTS = ROOT / ".build" / "smoke"
_JOB_SECONDS, _CALL_SECONDS = 900.0, 60.0
_DRIVEN = "GET /jobs tells the reason of a job; else look at the logs of the functions named, and at docs/operate.md"


def smoke(account: Account, asked: Given) -> Iterator[Row]:
    """Yield what was found, step by step."""
    rows: list[Row] = []
    with _noted(
        rows, "stacks", "all stacks are there and whole", "make deploy; when a stack is stuck it says how to mend it"
    ):
        _check_stacks(account, asked.name)
    cluster = asked.name  # as it is called, also where nobody may look for it
    with _noted(rows, "cluster", "the cluster is available", "aws neptune start-db-cluster, and wait until it is"):
        cluster, state = preflight.cluster_state(account, asked.name)
        check(state == "available", f"{cluster or 'the cluster'} is {state or 'not there'}")
    with _noted(
        rows, "audit-log", "Neptune's audit log has our group", "set the retention of its log group, or deploy again"
    ):
        _check_audit(account, cluster)
    yield from rows
    if any(row.status == "failed" and row.name == "stacks" for row in rows):
        return
    yield from probing.probe(account, asked.name, aws=True, least_engine=asked.profile.neptune_version)
    yield from driven(deployment(account, asked.name))


def deployment(account: Account, name: str) -> Deployment:
    """Return a deployment of the account by its name, as ``lexigraph-dev``."""
    outputs = account.outputs(name)
    registry = f"dynamodb://{outputs['RegistryTable']}?region={account.region}"

    def keys(*arguments: str) -> str:
        program = str(Path(sys.executable).with_name("lexigraph"))
        environment = {**account.environment, "LEXIGRAPH_REGISTRY": registry}
        return run(program, "--tenant", TENANT, "keys", *arguments, environment=environment, seconds=_CALL_SECONDS)

    place = Place(
        outputs["Url"].rstrip("/"),
        outputs["DocumentsBucket"],
        outputs["RegistryTable"],
        outputs["StateMachine"],
        _JOB_SECONDS,
    )
    return Deployment(account, place, keys)


def driven(deployed: Deployment) -> Iterator[Row]:
    """Yield how the deployment did from the first key to the last document deleted, and whether its gateway compresses."""
    rows: list[Row] = []
    with (
        _noted(rows, "driven", "key, upload, answer with citation, stream, replace, delete, gone", _DRIVEN),
        deployed.keyed(),
    ):
        try:
            deployed.clear()
            drive(deployed)
        finally:
            end(deployed)
    with _noted(rows, "compressed", "the gateway compresses replies", "deploy the api stack again"):
        headers = {"Accept-Encoding": "gzip"}
        _, told, _ = http.fetch(f"{deployed.place.api}/explorer/", headers, seconds=_CALL_SECONDS)
        check(told.get("Content-Encoding") == "gzip", "a reply of the explorer is not compressed")
    yield from rows


@contextmanager
def _noted(rows: list[Row], name: str, what: str, remedy: str) -> Iterator[None]:
    """Note how something went; what fails is told by our own words, or by its kind."""
    began, row = monotonic(), Row("smoke", name, "ok", 0, what)
    try:
        yield
    except Failed as error:
        row.status, row.error, row.remedy = "failed", str(error)[:1_000], remedy
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what was found
        kind = ": ".join(filter(None, (type(error).__name__, code_of(error))))
        row.status, row.error, row.remedy = "failed", kind, f"allow your credentials to do this, or: {remedy}"
    row.ms = round((monotonic() - began) * 1_000)
    rows.append(row)


def _check_stacks(account: Account, name: str) -> None:
    states = {stack: str(found["StackStatus"]) for stack, found in account.stacks(name).items()}
    bad = [f"{stack} is {states.get(stack, 'not there')}" for stack in STACKS if not _whole(states.get(stack, ""))]
    check(not bad, ", ".join(bad))


def _whole(state: str) -> bool:
    return state in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


def _check_audit(account: Account, cluster: str) -> None:
    name = f"/aws/neptune/{cluster}/audit"
    groups = account.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    kept = {group["logGroupName"]: group.get("retentionInDays") for group in groups}
    check(name in kept, f"there is no log group {name}")
    check(kept[name] is not None, f"{name} keeps its logs forever: Neptune created it before the stack did")


def report(rows: list[Row], asked: Given, region: str, *, tell: Callable[[str], None] = say) -> int:
    """Print the table, write the JSON, and return the exit code."""
    told = probing.as_json(rows, deployment=asked.name, region=region)
    path = REPORTS / f"{asked.name}-{region}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(told, "utf-8")
    if asked.json:
        tell(told)
    else:
        probing.show(rows)
        tell(f"\nreport: {path.relative_to(ROOT)}")
    return int(any(row.status == "failed" for row in rows))


def main() -> int:
    """Return 1 when something does not hold."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    asked = given("Tries a deployment.")
    try:
        account = opened(asked.region)
    except Failed as error:
        sys.stderr.write(f"smoke: {error}\n")
        return 2
    return report(list(smoke(account, asked)), asked, account.region)


if __name__ == "__main__":
    sys.exit(main())
