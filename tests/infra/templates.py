"""Synthesized templates as tests read them: references resolved to short names, the statements of each role gathered.

A reference is written ``<stack/Name>``, with ``.Attribute`` for other attributes than an ARN; region and account are REGION
and ACCOUNT. Logical ids lose the hash that CDK puts behind them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_HASH = re.compile(r"[0-9A-F]{8}$")
_PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "REGION", "AWS::AccountId": "ACCOUNT", "AWS::URLSuffix": "amazonaws.com"}


@dataclass(frozen=True)
class Resource:
    """A resource of a template."""

    stack: str
    id: str
    kind: str
    properties: dict[str, Any]
    deletion: str
    depends: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its logical id without the hash."""
        return _HASH.sub("", self.id)


@dataclass(frozen=True)
class Statement:
    """What a role may do: actions on resources, under conditions."""

    role: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: str

    @property
    def wildcards(self) -> Iterator[tuple[str, str]]:
        """Pairs of an action and a resource of which one has a ``*``."""
        for action in self.actions:
            for resource in self.resources:
                if "*" in action or "*" in resource:
                    yield action, resource


class Templates:
    """The templates of an assembly."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw = {
            path.name.removesuffix(".template.json").rpartition("-")[2]: json.loads(path.read_text("utf-8"))
            for path in sorted(folder.glob("*.template.json"))
        }
        self._exports: dict[str, tuple[str, Any]] = {
            output["Export"]["Name"]: (stack, output["Value"])
            for stack, template in self.raw.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    @cached_property
    def resources(self) -> list[Resource]:
        """All resources, their properties with references resolved."""
        return [
            Resource(
                stack,
                id_,
                raw["Type"],
                self._plain(stack, raw.get("Properties", {})),
                raw.get("DeletionPolicy", "Delete"),
                tuple(raw.get("DependsOn", ())),
            )
            for stack, template in self.raw.items()
            for id_, raw in template.get("Resources", {}).items()
        ]

    def of(self, kind: str) -> list[Resource]:
        """The resources of a type, such as ``S3::Bucket``; at least one, or a test that asks for them tests nothing."""
        found = [r for r in self.resources if r.kind == f"AWS::{kind}"]
        assert found, f"no {kind}"
        return found

    def output(self, stack: str, name: str) -> Any:
        """The value of an output of a stack."""
        return self._plain(stack, self.raw[stack]["Outputs"][name]["Value"])

    def has(self, kind: str) -> bool:
        """Whether there is a resource of a type."""
        return any(r.kind == f"AWS::{kind}" for r in self.resources)

    def one(self, kind: str, name: str) -> Resource:
        """The only resource of a type with this name."""
        (found,) = [r for r in self.of(kind) if r.name == name]
        return found

    def methods(self, api: str = "") -> list[tuple[str, dict[str, Any]]]:
        """The operations of all APIs or one, such as ``GET /jobs/{job_id}``, with the properties of their methods."""
        parts = {f"<{r.stack}/{r.name}>": r.properties for r in self.of("ApiGateway::Resource")}

        def path(at: str) -> str:
            return "" if at not in parts else f"{path(parts[at]['ParentId'])}/{parts[at]['PathPart']}"

        every = [
            r.properties for r in self.of("ApiGateway::Method") if not api or r.properties["RestApiId"] == f"<api/{api}>"
        ]
        return [(f"{p['HttpMethod']} {path(p['ResourceId'])}", p) for p in every]

    @cached_property
    def functions(self) -> dict[str, dict[str, Any]]:
        """The properties of our functions by their jobs."""
        ours = {r.name.lower(): r.properties for r in self.of("Lambda::Function")}
        return {job: p for job, p in ours.items() if not job.startswith("bucketnotifications")}

    @cached_property
    def statements(self) -> list[Statement]:
        """What each role is allowed, by the name of the function that has it, else that of the role."""
        return self._with("Allow")

    @cached_property
    def denials(self) -> list[Statement]:
        """What each role is denied whatever it is allowed, by the same names."""
        return self._with("Deny")

    def _with(self, effect: str) -> list[Statement]:
        of_role = {properties["Role"]: job for job, properties in self.functions.items()}
        found: list[Statement] = []
        for r in self.resources:
            if r.kind == "AWS::IAM::Policy":
                roles = [f"<{r.stack}/{_HASH.sub('', role.split('/')[-1].rstrip('>'))}>" for role in r.properties["Roles"]]
                found += self._read(effect, r.properties["PolicyDocument"], [of_role.get(x, _role(x)) for x in roles])
            elif r.kind == "AWS::IAM::ManagedPolicy":  # of people, who are given it by its name
                found += self._read(effect, r.properties["PolicyDocument"], [r.name])
            elif r.kind == "AWS::IAM::Role":
                me = f"<{r.stack}/{r.name}>"
                for policy in r.properties.get("Policies", ()):
                    found += self._read(effect, policy["PolicyDocument"], [of_role.get(me, _role(me))])
        return found

    def may(self, job: str) -> dict[str, set[str]]:
        """The resources by action of a function."""
        may: dict[str, set[str]] = {}
        for statement in self.statements:
            if statement.role == job:
                for action in statement.actions:
                    may.setdefault(action, set()).update(statement.resources)
        return may

    def _read(self, effect: str, document: dict[str, Any], roles: list[str]) -> Iterator[Statement]:
        for raw in document["Statement"]:
            assert raw["Effect"] in ("Allow", "Deny")
            assert not raw.keys() & {"NotAction", "NotResource"}
            for role in roles if raw["Effect"] == effect else ():
                conditions = json.dumps(raw.get("Condition", {}), sort_keys=True)
                yield Statement(role, _all(raw["Action"]), _all(raw["Resource"]), conditions)

    def _plain(self, stack: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._plain(stack, item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((key, inner),) = value.items()
            if key == "Ref":
                return _PSEUDO.get(inner) or f"<{stack}/{_HASH.sub('', inner)}>"
            if key == "Fn::GetAtt":
                return f"<{stack}/{_HASH.sub('', inner[0])}{'' if inner[1] == 'Arn' else '.' + inner[1]}>"
            if key == "Fn::ImportValue":
                return self._plain(*self._exports[inner])
            if key == "Fn::Join":
                return inner[0].join(str(self._plain(stack, part)) for part in inner[1])
        return {key: self._plain(stack, inner) for key, inner in value.items()}


def _role(reference: str) -> str:
    return reference.strip("<>").split("/")[1]


def _all(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
