"""The upgrade gate: nothing that holds data may be replaced or lost by deploying these templates over the last release.

    python -m infra.gate            compares, and fails on what it finds
    python -m infra.gate --release  renews what is kept of the release in infra/released

Of a release all resources that hold data are kept, and those whose replacement would replace them; so are its exports, of
which CloudFormation takes none away while a stack imports it. What CloudFormation replaces is in the schemas of its
resources (createOnlyProperties), which cfn-lint brings.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infra.settings import PROFILES
from infra.synth import synthesize

RELEASED = Path(__file__).with_name("released")
HOLDING = (
    "AWS::DynamoDB::Table",
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::Neptune::DBCluster",
    "AWS::OpenSearchServerless::Collection",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
)
EXPORT = "export"  # in place of a type
_POLICIES = ("DeletionPolicy", "UpdateReplacePolicy")
_KEEPS = {"Retain": 2, "RetainExceptOnCreate": 2, "Snapshot": 1}  # anything else: deleted
# what stands between somebody's mistake and the data
_GUARDS = {"DeletionProtectionEnabled": (True,), "DeletionProtection": (True, "ENABLED")}
Resources = dict[str, dict[str, Any]]


def resources_of(assembly: Path) -> Resources:
    """Return the resources of an assembly by ``STACK/LOGICAL_ID``, and the exports by their names."""
    found: Resources = {}
    for path in sorted(assembly.glob("*.template.json")):
        stack, template = path.name.removesuffix(".template.json"), json.loads(path.read_text("utf-8"))
        found |= {f"{stack}/{name}": resource for name, resource in template["Resources"].items()}
        exports = [output["Export"]["Name"] for output in template.get("Outputs", {}).values() if "Export" in output]
        found |= {name: {"Type": EXPORT} for name in exports}
    return found


def kept(found: Resources) -> Resources:
    """Return of the resources those that hold data, those that these cannot change their reference to, and exports."""
    chosen: Resources = {}
    left = [name for name, resource in found.items() if resource["Type"] in (*HOLDING, EXPORT)]
    while left:
        name = left.pop()
        if name in found and name not in chosen:
            fields = ("Type", "Properties", *_POLICIES)
            chosen[name] = {field: found[name][field] for field in fields if field in found[name]}
            left += [other for value in _fixed(found[name]).values() for other in _references(name, value)]
    return dict(sorted(chosen.items()))


def released(profile: str) -> Resources:
    """Return what is kept of the last release of a profile. Raise ``OSError`` when there is none."""
    found: Resources = json.loads((RELEASED / f"{profile}.json").read_text("utf-8"))
    return found


def problems(before: Resources, now: Resources) -> list[str]:
    """Return what would happen to data when ``now`` is deployed over ``before``; empty: nothing."""
    replaced = {name: why for name in before if name in now and (why := _replaces(before[name], now[name]))}
    while True:  # what refers to something that is replaced, by a property that it cannot change, is replaced, too
        more = {
            name: f"{field} refers to {other}, which is replaced"
            for name in before.keys() & now.keys() - replaced.keys()
            for field, value in _fixed(now[name]).items()
            for other in _references(name, value)
            if other in replaced
        }
        if not more:
            break
        replaced |= more
    told: list[str] = []
    for name, resource in before.items():
        if resource["Type"] == EXPORT and name not in now:
            told.append(f"the export {name} is gone, which stacks of the last release import: keep it one release more")
        if resource["Type"] not in HOLDING:
            continue
        if name not in now:
            told.append(f"{name} is gone, and what this {resource['Type']} holds with it")
        elif name in replaced:
            told.append(f"{name} would be replaced: {replaced[name]}")
        else:
            told += [f"{name} {what}" for what in _less_kept(resource, now[name])]
    return told


def _replaces(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return why CloudFormation would make a resource anew, empty: it would not."""
    if before["Type"] != now["Type"]:
        return f"it was a {before['Type']} and is a {now['Type']}"
    old, new = _fixed(before), _fixed(now)
    return ", ".join(f"{field} was {old.get(field)}, is {new.get(field)}" for field in old if old[field] != new[field])


def _fixed(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a resource that cannot change while it stays, None for those not given."""
    if resource["Type"] == EXPORT:
        return {}
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]  # has no types

    try:
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource["Type"]).schema
    except Exception as error:  # cfn-lint's many
        if resource["Type"] in HOLDING:
            raise RuntimeError(f"cfn-lint has no schema of {resource['Type']}") from error
        return {}
    found: dict[str, Any] = {}
    for kind in ("createOnlyProperties", "conditionalCreateOnlyProperties"):
        for path in schema.get(kind, ()):
            value: Any = resource.get("Properties", {})
            for part in path.removeprefix("/properties/").split("/"):
                value = value.get(part) if isinstance(value, dict) else None
            found[path.removeprefix("/properties/")] = value
    return found


def _references(name: str, value: Any) -> Iterator[str]:
    """Yield the resources of the same stack that a property refers to."""
    stack = name.partition("/")[0]
    if isinstance(value, list):
        yield from (other for item in value for other in _references(name, item))
    elif isinstance(value, dict):
        if isinstance(value.get("Ref"), str):
            yield f"{stack}/{value['Ref']}"
        if isinstance(value.get("Fn::GetAtt"), list):
            yield f"{stack}/{value['Fn::GetAtt'][0]}"
        for inner in value.values():
            yield from _references(name, inner)


def _less_kept(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for policy in _POLICIES:
        old, new = (one.get(policy, "Delete") for one in (before, now))
        if _KEEPS.get(new, 0) < _KEEPS.get(old, 0):
            yield f"was kept by {policy} {old}, and is no more: {new}"
    for guard, on in _GUARDS.items():
        old, new = (one.get("Properties", {}).get(guard) for one in (before, now))
        if old in on and new not in on:
            yield f"has no {guard} any more"


def main() -> int:
    """Compare with the last release, or with ``--release`` keep these templates as it; return 1 when data is in danger."""
    found: list[str] = []
    for profile in (name for name, settings in PROFILES.items() if settings.aws):
        with tempfile.TemporaryDirectory(prefix="lexigraph-gate-") as folder:
            now = resources_of(synthesize(profile, Path(folder) / profile))
        if "--release" in sys.argv:
            RELEASED.mkdir(exist_ok=True)
            (RELEASED / f"{profile}.json").write_text(json.dumps(kept(now), indent=1) + "\n", "utf-8")
            print(f"{profile}: {len(kept(now))} resources kept in infra/released/{profile}.json")  # noqa: T201
            continue
        told = problems(released(profile), now)
        print("\n".join(told) or f"{profile}: nothing that holds data is replaced or lost")  # noqa: T201
        found += told
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
