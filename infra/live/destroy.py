"""Takes a deployment down: ``make destroy [PROFILE=dev] [REGION=us-west-2] [YES=1]``. It asks for its name first.

Stacks are deleted the other way round than they were made, as `cdk destroy` does, but by CloudFormation itself: that needs
neither templates nor layers, and deletes what is there rather than what a checkout says. Where the profile keeps no data,
buckets are emptied in all versions, once nothing is left that would take their changes for documents, and once more when
their stack goes: S3 notes accesses hours later, also after it was told not to. A stopped cluster is started first, since it
cannot be deleted otherwise. In the end it says what is left, and what that costs.
"""

import signal
import sys
import time
from typing import Any

from infra.live.account import STACKS, Account, opened
from infra.live.given import Given, given
from infra.live.preflight import cluster_state
from infra.live.told import Failed, say, step
from lexigraph.aws import code_of

_READERS = ("observability", "api", "ingestion")  # go before buckets are emptied
_LOOK_SECONDS, _STACK_SECONDS, _START_SECONDS = 10.0, 5_400.0, 2_400.0
_DELETED = "DELETE_COMPLETE"
_EMPTIED = 5  # times at most, as notes of accesses may come between emptying and deleting
# what may be left, and what it costs a month
COSTS = {
    "AWS::S3::Bucket": "$0.023 a GB",
    "AWS::DynamoDB::Table": "$0.25 a GB, and $0.20 a GB of backups",
    "AWS::KMS::Key": "$1",
    "AWS::OpenSearchServerless::Collection": "$0.024 a GB, and capacity while it is asked",
    "AWS::OpenSearchServerless::CollectionGroup": "nothing",
    "AWS::OpenSearchServerless::SecurityPolicy": "nothing",
    "AWS::IAM::Role": "nothing",
    "AWS::Neptune::DBCluster": "$0.10 a GB, and $0.1608 an hour and capacity unit while it runs",
}
_ALWAYS_LEFT = (
    "CDK's bootstrap stack with the uploaded layers (S3, cents), log groups that AWS made by itself, and the last "
    "snapshots of clusters that were kept ($0.021 a GB)"
)


class Destruction:
    """Takes the stacks of one deployment down."""

    def __init__(self, account: Account, asked: Given, *, look_seconds: float = _LOOK_SECONDS) -> None:
        self._account, self._asked, self._pause = account, asked, look_seconds
        self._stacks = account.stacks(asked.name)
        self._cloudformation = account.client("cloudformation")
        self.left: list[tuple[str, str]] = []  # types and names

    def tell(self) -> None:
        """Say what will go and what will stay."""
        keeps = self._asked.profile.keep_data
        kept = "buckets, table, key and collection are kept" if keeps else "all data goes with them"
        where = f"{self._account.region}, account {self._account.number}"
        say(f"{self._asked.name} in {where}: {len(self._stacks)} stacks; {kept}")
        for name, stack in self._stacks.items():
            say(f"  {self._asked.name}-{name} ({stack['StackStatus']})")

    def agreed(self) -> bool:
        """Ask for the deployment's name, unless that is not wanted."""
        if self._asked.yes:
            return True
        try:
            return input(f"type {self._asked.name} to delete it: ").strip() == self._asked.name
        except EOFError:
            return False

    def run(self) -> None:
        """Take it down. Raise :class:`Failed` when a stack does not go, or is protected and nobody was asked."""
        if self._asked.yes and any(stack.get("EnableTerminationProtection") for stack in self._stacks.values()):
            raise Failed(f"{self._asked.name} has termination protection: run make destroy without YES=1, and type its name")
        self._start_cluster()
        for name in _READERS:
            self._delete(name)
        if not self._asked.profile.keep_data and "data" in self._stacks:
            for bucket in self._buckets():
                stop_notes(self._account.client("s3"), bucket)
            self._empty()
        for name in reversed(STACKS):
            self._delete(name)

    def _start_cluster(self) -> None:
        cluster, state = cluster_state(self._account, self._asked.name)
        if state not in ("stopped", "stopping"):
            return
        say(f"{cluster} is {state} and cannot be deleted: starting it, which takes about ten minutes")
        with step("the cluster started"):
            if state == "stopped":
                self._account.client("neptune").start_db_cluster(DBClusterIdentifier=cluster)
            deadline = time.monotonic() + _START_SECONDS
            while (state := cluster_state(self._account, self._asked.name)[1]) != "available":
                if time.monotonic() > deadline:
                    raise Failed(f"{cluster} is {state} after {_START_SECONDS:.0f} s: run make destroy again later")
                time.sleep(self._pause)

    def _empty(self) -> None:
        for bucket in self._buckets():
            with step(f"{bucket} emptied"):
                empty(self._account.client("s3"), bucket)

    def _buckets(self) -> list[str]:
        """Return the buckets, the one last that notes accesses to the others."""
        resources = self._account.resources(f"{self._asked.name}-data")
        found = [r for r in resources if r["ResourceType"] == "AWS::S3::Bucket" and "PhysicalResourceId" in r]
        found.sort(key=lambda r: str(r["LogicalResourceId"]).startswith("AccessLogs"))
        return [str(r["PhysicalResourceId"]) for r in found if r["ResourceStatus"] != _DELETED]

    def _delete(self, name: str) -> None:
        stack = self._stacks.pop(name, None)
        if stack is None:
            return
        with step(f"{stack['StackName']} deleted"):
            arn = str(stack.get("StackId") or stack["StackName"])
            if stack.get("EnableTerminationProtection"):  # whoever has typed the name means it
                self._cloudformation.update_termination_protection(EnableTerminationProtection=False, StackName=arn)
            for _ in range(_EMPTIED):
                if name == "data" and not self._asked.profile.keep_data:
                    self._empty()
                gone, resources = self._deleted(arn, stack["StackName"])
                if gone or not any(map(_is_full, resources)):
                    break
            if not gone:
                raise Failed(self._why(stack, resources))
            self.left += [_named(r) for r in resources if r["ResourceStatus"] == "DELETE_SKIPPED"]

    def _deleted(self, arn: str, name: str) -> tuple[bool, list[dict[str, Any]]]:
        """Delete a stack; return whether it is gone, and its resources."""
        self._cloudformation.delete_stack(StackName=arn)
        deadline = time.monotonic() + _STACK_SECONDS
        time.sleep(self._pause)  # or the state of a deletion before this one may be seen
        while (found := self._account.stack(arn)) and found["StackStatus"] not in (_DELETED, "DELETE_FAILED"):
            if time.monotonic() > deadline:
                raise Failed(f"{name} is still being deleted: run make destroy again later")
            time.sleep(self._pause)
        gone = not found or found["StackStatus"] == _DELETED
        return gone, self._account.resources(arn) if found else []

    def _why(self, stack: dict[str, Any], resources: list[dict[str, Any]]) -> str:
        held = [r for r in resources if r["ResourceStatus"] == "DELETE_FAILED"]
        named = ", ".join(f"{kind} {name}" for kind, name in map(_named, held)) or "nothing that CloudFormation names"
        protected = any(r["ResourceType"] == "AWS::Neptune::DBCluster" for r in held)
        remedy = (
            "turn its protection off (aws neptune modify-db-cluster --no-deletion-protection --db-cluster-identifier ...)"
            if protected
            else "the CloudFormation console says why"
        )
        return f"{stack['StackName']} cannot be deleted; it is held by {named}: {remedy}, then run make destroy again"

    def tell_left(self) -> None:
        """Say what is left, and what it costs."""
        for kind, name in self.left:
            say(f"left: {kind.removeprefix('AWS::')} {name}: {COSTS.get(kind, 'see its price')} a month")
        say(f"left in any case: {_ALWAYS_LEFT}")


def _named(resource: dict[str, Any]) -> tuple[str, str]:
    name = resource.get("PhysicalResourceId") or resource["LogicalResourceId"]
    return str(resource["ResourceType"]), str(name)


def _is_full(resource: dict[str, Any]) -> bool:
    """Whether it is a bucket that could not be deleted because something came into it."""
    failed = resource["ResourceType"] == "AWS::S3::Bucket" and resource["ResourceStatus"] == "DELETE_FAILED"
    return failed and "not empty" in resource.get("ResourceStatusReason", "")


def stop_notes(s3: Any, bucket: str) -> None:
    """Have accesses to a bucket noted no more. One that is gone is passed over."""
    try:
        s3.put_bucket_logging(Bucket=bucket, BucketLoggingStatus={})
    except Exception as error:
        if code_of(error) != "NoSuchBucket":
            raise


def empty(s3: Any, bucket: str) -> None:
    """Delete all versions of all objects of a bucket, and what was hidden. One that is gone is passed over."""
    try:
        while True:  # what was being written meanwhile, such as notes of accesses, comes again
            page = s3.list_object_versions(Bucket=bucket)
            found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
            if not found:
                return
            keys = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in found]
            failed = s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True}).get("Errors", ())
            if failed:
                raise Failed(
                    f"{bucket}: {len(failed)} objects cannot be deleted ({failed[0]['Code']}): empty it in the console"
                )
    except Exception as error:
        if code_of(error) != "NoSuchBucket":
            raise


def main(look_seconds: float = _LOOK_SECONDS) -> int:
    """Return 0 when it is gone, or there was none; 1 when a stack stays, 2 when nobody agreed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    asked = given("Takes a deployment down.")
    try:
        account = opened(asked.region)
    except Failed as error:
        sys.stderr.write(f"destroy: {error}\n")
        return 2
    destruction = Destruction(account, asked, look_seconds=look_seconds)
    destruction.tell()
    if not destruction.agreed():
        sys.stderr.write("destroy: nothing was done; YES=1 does not ask\n")
        return 2
    try:
        destruction.run()
    except Failed as error:
        sys.stderr.write(f"destroy: {error}\n")
        return 1
    finally:
        destruction.tell_left()
    return 0


if __name__ == "__main__":
    sys.exit(main())
