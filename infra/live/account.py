"""An account and region as boto3 and the CDK find them: `REGION`, `AWS_PROFILE` and all else that AWS's tools know."""

import os
from functools import cached_property
from typing import Any

from infra.live.told import Failed
from lexigraph.aws import code_of, region_set

STACKS = ("data", "network", "graph", "vector", "ingestion", "api", "observability")  # in the order of their making
_LONG = {"lambda": 910.0}  # seconds; a function may take 15 minutes


class Account:
    """Clients of one region; ``region`` empty is that of the AWS configuration."""

    def __init__(self, region: str = "") -> None:
        """Raise botocore's ``ProfileNotFound`` for an `AWS_PROFILE` that there is not."""
        import boto3  # type: ignore[import-untyped]  # has no types

        self.session = boto3.session.Session(region_name=region or region_set())
        self.region: str = self.session.region_name or ""
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """Return a client of a service, which tries again when it is throttled; calls of functions are tried once."""
        from botocore.config import Config

        if service not in self._clients:
            tries = {"total_max_attempts": 1 if service in _LONG else 5, "mode": "standard"}
            settings = Config(connect_timeout=10, read_timeout=_LONG.get(service, 60.0), retries=tries)
            self._clients[service] = self.session.client(service, config=settings)
        return self._clients[service]

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which programs find the same account and region."""
        return {**os.environ, "AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region}

    @cached_property
    def number(self) -> str:
        """The number of the account."""
        return str(self.client("sts").get_caller_identity()["Account"])

    def stack(self, name: str) -> dict[str, Any] | None:
        """Return a stack, None when there is none."""
        try:
            (found,) = self.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        except Exception as error:
            if code_of(error) == "ValidationError":  # what CloudFormation says of a stack that it does not know
                return None
            raise
        return dict(found)

    def stacks(self, prefix: str) -> dict[str, dict[str, Any]]:
        """Return the stacks of a deployment, as ``lexigraph-dev``, that there are, by their last names."""
        found = {name: self.stack(f"{prefix}-{name}") for name in STACKS}
        return {name: stack for name, stack in found.items() if stack}

    def outputs(self, prefix: str) -> dict[str, str]:
        """Return the outputs of all stacks of a deployment."""
        stacks = self.stacks(prefix).values()
        return {o["OutputKey"]: o["OutputValue"] for stack in stacks for o in stack.get("Outputs", ())}

    def resources(self, stack: str) -> list[dict[str, Any]]:
        """Return the resources of a stack, by its name or id; a deleted one is known by its id."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
        return [resource for page in pages for resource in page["StackResourceSummaries"]]


def opened(region: str) -> Account:
    """Return an account that answers. Raise :class:`Failed` where no region is known, or nobody who may ask."""
    try:
        account = Account(region)
        found = account.region and account.number
    except Exception as error:  # noqa: BLE001  # botocore's many: none are there, or AWS refuses them
        kind = code_of(error) or type(error).__name__
        remedy = "aws configure, AWS_PROFILE or a role; renew what expired"
        raise Failed(f"AWS is not asked with these credentials ({kind}): {remedy}") from None
    if not found:
        raise Failed("no region is known: REGION=us-west-2, or AWS_REGION")
    return account
