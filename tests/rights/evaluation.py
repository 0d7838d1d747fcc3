"""What a deployment's functions need against what its templates allow: rights that are missing, and rights never used.

A right is a pair of an action and a resource that a role is allowed, or one of the partition keys that it is held to. It is
used when something needs it that nothing else allows.
"""

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.infra.templates import Resource, Templates
from tests.rights.assumed import assumed, on_behalf
from tests.rights.calls import Call
from tests.rights.needs import Need, Needs
from tests.rights.policies import LEADING, Statement, allowing, because, denial, like, many

KNOWN = Path(__file__).with_name("known.toml")
# the last part of an endpoint service's name, by what goes through it
_ENDPOINTS = {"aoss": "aoss-data", "bedrock-agent-runtime": "bedrock-agent-runtime"}


@dataclass(frozen=True, order=True)
class Right:
    """What a role may do. ``key`` is a pattern of partition keys, of all the actions; otherwise there is one action."""

    role: str
    actions: tuple[str, ...]
    resource: str
    key: str = ""

    def __str__(self) -> str:
        if self.key:
            return f"{self.role}: items {self.key} of {self.resource} by {', '.join(self.actions)}"
        return f"{self.role}: {self.actions[0]} on {self.resource}"


@dataclass(frozen=True)
class Entry:
    """An entry of known.toml: rights without use, or needs that are refused, with the reason."""

    kind: str
    roles: tuple[str, ...]
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    keys: tuple[str, ...]
    reason: str

    def rights(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield each right or need that it is about."""
        for role in self.roles:
            for action in self.actions or ("",):
                for resource in self.resources:
                    yield from ((role, action, resource, key) for key in self.keys or ("",))


def known(path: Path = KNOWN) -> list[Entry]:
    """Return the entries of the file."""
    told = tomllib.loads(path.read_text("utf-8"))
    fields = ("roles", "actions", "resources", "keys")
    return [
        Entry(kind, *(tuple(one.get(name, ())) for name in fields), one["reason"])
        for kind in ("unused", "refused")
        for one in told.get(kind, ())
    ]


@dataclass
class Report:
    """What an evaluation found. ``missing`` are needs with the reason; ``stale`` are entries that nothing bears out."""

    needs: list[Need]
    missing: list[tuple[Need, str]] = field(default_factory=list)
    unused: list[Right] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    rights: int = 0
    explained: int = 0

    @property
    def findings(self) -> list[str]:
        """All that is wrong, in words."""
        return [
            *(f"missing: {need}: {why}" for need, why in self.missing),
            *(f"never used: {right}" for right in self.unused),
            *(f"no longer so: {entry}" for entry in self.stale),
        ]


def general(resource: str) -> str:
    """Return a resource as docs/security.md writes it, for every profile and model."""
    resource = re.sub(r"(foundation-model|inference-profile)/[\w.:-]+", r"\1/MODEL", resource)
    return re.sub(r"lexigraph-[\w-]+(?=[/:*]|$)", "lexigraph-PROFILE", resource)


class Grants:
    """What the templates of a deployment allow, by role."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self._of_role = {p["Role"]: job for job, p in templates.functions.items()}
        self.roles = {self._role(f"<{r.stack}/{r.name}>") for r in templates.resources if r.kind == "AWS::IAM::Role"} | {
            r.name for r in templates.resources if r.kind == "AWS::IAM::ManagedPolicy"
        }

    @cached_property
    def statements(self) -> dict[str, list[Statement]]:
        """The statements of identity policies, and of the data policies of collections, by role."""
        found: dict[str, list[Statement]] = {}
        for resource in self._templates.resources:
            for roles, at, raw in _documents(resource):
                for role in roles:
                    statement = Statement.of(f"{resource.stack}/{resource.name}", at, raw)
                    found.setdefault(self._role(role), []).append(statement)
        return found

    def rights(self) -> Iterator[Right]:
        """Yield all that is allowed."""
        for role, statements in self.statements.items():
            for s in (one for one in statements if one.effect == "Allow"):
                yield from (Right(role, (action,), r) for action in s.actions for r in s.resources)
                yield from (Right(role, s.actions, s.resources[0], key) for key in s.keys)

    def why_not(self, need: Need) -> str:
        """Return why a need is not allowed, empty: it is."""
        mine = self.statements.get(need.role, [])
        theirs = self._of_resource(need)
        if said := denial([*mine, *theirs], need):
            return said
        if not any(allowing(mine, need)):
            return because(mine, need)
        if need.action.startswith("kms:") and not self._delegated(need.resource):
            return "the policy of the key does not leave it to IAM"
        return self._unreachable(need)

    def covers(self, need: Need) -> Iterator[tuple[Right, Right | None]]:
        """Yield by which rights a need is allowed: a pair, and the key that it is held to."""
        for statement, action, resource in allowing(self.statements.get(need.role, []), need):
            pair = Right(need.role, (action,), resource)
            keys = [key for key in statement.keys if like(key, need.key)] if need.key else []
            yield from ((pair, Right(need.role, statement.actions, statement.resources[0], key)) for key in keys)
            if not keys:
                yield pair, None

    def _role(self, reference: str) -> str:
        return self._of_role.get(reference, reference.strip("<>").split("/")[-1])

    def _of_resource(self, need: Need) -> list[Statement]:
        """Return the statements of the policy that a bucket or a queue has itself."""
        return [
            Statement.of(f"{r.stack}/{r.name}", at, raw)
            for r in self._templates.resources
            if r.kind in ("AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy")
            for at, raw in enumerate(r.properties["PolicyDocument"]["Statement"])
            if raw["Principal"] in ("*", {"AWS": "*"})
        ]

    def _delegated(self, key: str) -> bool:
        root = {"AWS": "arn:aws:iam::ACCOUNT:root"}
        return any(
            s["Principal"] == root and "kms:*" in many(s["Action"]) and s["Effect"] == "Allow"
            for r in self._templates.resources
            if f"<{r.stack}/{r.name}>" == key
            for s in r.properties["KeyPolicy"]["Statement"]
        )

    def _unreachable(self, need: Need) -> str:
        """Return why a function's request does not arrive: the VPC has no way to the Internet."""
        properties = self._templates.functions.get(need.role, {})
        inside = "VpcConfig" in properties
        if not need.through or not properties or (not inside and need.through not in ("neptune", "aoss")):
            return ""
        if not inside:
            return "the function is not in the VPC"
        if need.through == "neptune":
            return ""
        name = _ENDPOINTS.get(need.through, need.through)
        ends = [r for r in self._templates.resources if r.kind == "AWS::EC2::VPCEndpoint"]
        ways = [r for r in ends if str(r.properties["ServiceName"]).endswith(f".{name}")]
        if not ways and any(True for r in ends):
            return f"the VPC has no endpoint of {name}"
        for way in ways:
            document = way.properties.get("PolicyDocument")
            if document and (said := _closed(way, document, need)):
                return said
        return self._from_elsewhere(ways) if need.through == "aoss" else ""

    def _from_elsewhere(self, ways: Sequence[Resource]) -> str:
        """Return why a collection is not to be reached through an endpoint."""
        ids = {f"<{way.stack}/{way.name}>" for way in ways}
        for r in self._templates.resources:
            if r.kind == "AWS::OpenSearchServerless::SecurityPolicy" and r.properties["Type"] == "network":
                for policy in json.loads(r.properties["Policy"]):
                    if policy.get("AllowFromPublic") or ids & set(policy.get("SourceVPCEs", ())):
                        return ""
        return "no network policy of the collection lets its endpoint in"


def _closed(way: Resource, document: Mapping[str, Any], need: Need) -> str:
    statements = [Statement.of(f"{way.stack}/{way.name}", at, raw) for at, raw in enumerate(document["Statement"])]
    said = denial(statements, need)
    return said or ("" if any(allowing(statements, need)) else f"the endpoint {way.name} does not let it through")


def _documents(resource: Resource) -> Iterator[tuple[list[str], int, Mapping[str, Any]]]:
    """Yield the roles and the statements of a resource that allows roles something."""
    properties = resource.properties
    if resource.kind == "AWS::IAM::Policy":
        for at, raw in enumerate(properties["PolicyDocument"]["Statement"]):
            yield [f"<{resource.stack}/{_plain(role)}>" for role in properties["Roles"]], at, raw
    elif resource.kind == "AWS::IAM::ManagedPolicy":  # of people, who are given it by its name
        for at, raw in enumerate(properties["PolicyDocument"]["Statement"]):
            yield [resource.name, *(f"<{resource.stack}/{_plain(role)}>" for role in properties.get("Roles", ()))], at, raw
    elif resource.kind == "AWS::IAM::Role":
        documents = [policy["PolicyDocument"] for policy in properties.get("Policies", ())]
        for at, raw in enumerate(s for document in documents for s in document["Statement"]):
            yield [f"<{resource.stack}/{resource.name}>"], at, raw
    elif resource.kind == "AWS::OpenSearchServerless::AccessPolicy" and properties["Type"] == "data":
        for policy in json.loads(properties["Policy"]):
            for at, rule in enumerate(policy["Rules"]):
                raw = {"Effect": "Allow", "Action": rule["Permission"], "Resource": rule["Resource"]}
                yield list(policy["Principal"]), at, raw


def _plain(role: str) -> str:
    return role.strip("<>").split("/")[-1]


def evaluate(templates: Templates, calls: Sequence[Call], entries: Sequence[Entry]) -> Report:
    """Hold calls against the templates of a deployment."""
    grants, needs = Grants(templates), Needs(templates)
    wanted = {need for call in calls for need in (*needs.of(call), *on_behalf(call, needs))} | set(assumed(templates, needs))
    wanted = {need for need in wanted if need.role in grants.roles}
    report = Report(sorted(wanted, key=str))
    refused = {one: entry for entry in entries if entry.kind == "refused" for one in entry.rights()}
    used, borne_out = set[Right](), set[tuple[str, str, str, str]]()
    for need in report.needs:
        entry = next((one for one in refused if _is(one, need)), None)
        why = grants.why_not(need)
        if why and entry:
            borne_out.add(entry)
        elif why:
            report.missing.append((need, why))
        else:
            used |= _alone(list(grants.covers(need)))
    rights = set(grants.rights())
    report.rights = len(rights)
    report.unused = sorted(rights - used)
    _explain(report, [entry for entry in entries if entry.kind == "unused"])
    report.stale += [" ".join(filter(None, one)) for one in refused if one not in borne_out and one[0] in grants.roles]
    return report


def _is(one: tuple[str, str, str, str], need: Need) -> bool:
    role, action, resource, key = one
    return (role, action) == (need.role, need.action) and like(resource, need.resource) and (not key or like(key, need.key))


def _alone(covers: list[tuple[Right, Right | None]]) -> set[Right]:
    """Return the rights that every way to a need has in common."""
    pairs, keys = {pair for pair, _ in covers}, {key for _, key in covers}
    return (pairs if len(pairs) == 1 else set()) | ({key for key in keys if key} if len(keys) == 1 else set())


def _explain(report: Report, entries: Sequence[Entry]) -> None:
    """Take from the unused rights those that entries give a reason for; note entries that are about none."""
    left = set(report.unused)
    roles = {need.role for need in report.needs}
    for role, action, resource, key in (one for entry in entries for one in entry.rights()):
        found = {r for r in report.unused if r.role == role and general(r.resource) == resource and r.key == key}
        found = {r for r in found if not action or action in r.actions}
        if not found and role in roles:
            report.stale.append(" ".join(filter(None, (role, action, resource, key))))
        left -= found
    report.explained = len(report.unused) - len(left)
    report.unused = sorted(left)


def without(templates: Templates, right: Right) -> Templates:
    """Return the templates with a right taken out of every statement of its role that gives it."""
    found = copy.copy(templates)
    found.__dict__ = {**templates.__dict__, "resources": copy.deepcopy(templates.resources)}
    found.__dict__.pop("functions", None)
    grants = Grants(templates)
    for resource in found.resources:
        for roles, _, raw in list(_documents(resource)):
            if right.role in map(grants._role, roles):
                _take_out(resource, raw, right)
    return found


def _take_out(resource: Resource, raw: Mapping[str, Any], right: Right) -> None:
    """Take a right out of a statement: a key, or a pair of action and resource."""
    actions, resources = many(raw["Action"]), many(raw["Resource"])
    changed: list[dict[str, Any]] = []
    if right.key:
        keys = many(raw.get("Condition", {}).get("ForAllValues:StringLike", {}).get(LEADING, ()))
        if right.key not in keys or set(actions) != set(right.actions) or right.resource not in resources:
            return
        condition = {"ForAllValues:StringLike": {LEADING: [key for key in keys if key != right.key]}}
        changed = [{**raw, "Condition": {**raw["Condition"], **condition}}]
    else:
        if right.actions[0] not in actions or right.resource not in resources:
            return
        others = [action for action in actions if action != right.actions[0]]
        elsewhere = [place for place in resources if place != right.resource]
        changed = [
            *([{**raw, "Action": others, "Resource": list(resources)}] if others else []),
            *([{**raw, "Action": list(right.actions), "Resource": elsewhere}] if elsewhere else []),
        ]
    _replace(resource, raw, changed)


def _replace(resource: Resource, raw: Mapping[str, Any], changed: list[dict[str, Any]]) -> None:
    properties = resource.properties
    if resource.kind == "AWS::OpenSearchServerless::AccessPolicy":
        policies = json.loads(properties["Policy"])
        for policy in policies:
            rules = []
            for rule in policy["Rules"]:
                same = rule["Permission"] == raw["Action"] and rule["Resource"] == raw["Resource"]
                made = [{**rule, "Permission": c["Action"], "Resource": c["Resource"]} for c in changed]
                rules += made if same else [rule]
            policy["Rules"] = rules
        properties["Policy"] = json.dumps(policies)
        return
    documents = [properties["PolicyDocument"]] if "PolicyDocument" in properties else []
    documents += [policy["PolicyDocument"] for policy in properties.get("Policies", ())]
    for document in documents:
        document["Statement"] = [one for s in document["Statement"] for one in (changed if s is raw or s == raw else [s])]
