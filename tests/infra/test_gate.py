"""The upgrade gate finds what would replace or lose data, whatever it is called, and lets everything else pass."""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.gate import EXPORT, HOLDING, Resources, kept, problems, released, resources_of
from tests.infra.conftest import ON_AWS

pytestmark = pytest.mark.nightly
SEED, TRIES = 18, 12


@pytest.fixture(scope="module")
def prod(synthesized: Callable[[str], Path]) -> Resources:
    return resources_of(synthesized("prod"))


@pytest.mark.parametrize("profile", ON_AWS)
def test_nothing_that_holds_data_is_replaced_since_the_last_release(
    synthesized: Callable[[str], Path], profile: str
) -> None:
    before = released(profile)
    assert {resource["Type"] for resource in before.values()} >= set(HOLDING)
    assert problems(before, resources_of(synthesized(profile))) == []


@pytest.mark.parametrize("profile", ["chosen", "placed"])
def test_settings_can_be_taken_back_as_none_adds_an_export_that_could_not_go(
    synthesized: Callable[[str], Path], profile: str
) -> None:
    def exports(of: str) -> set[str]:
        """The exports by their stacks' last names; which network there is, is settled once."""
        names = (n.rpartition("-")[2] for n, r in resources_of(synthesized(of)).items() if r["Type"] == EXPORT)
        return {name for name in names if not name.startswith("network:")}

    assert exports(profile) == exports("dev")


def _first(found: Resources, kind: str, beginning: str = "") -> dict[str, Any]:
    return next(r for name, r in found.items() if r["Type"] == f"AWS::{kind}" and f"/{beginning}" in name)


def _other_key_schema(found: Resources) -> None:
    _first(found, "DynamoDB::Table", "Registry")["Properties"]["KeySchema"][1]["AttributeName"] = "range"


def _set(kind: str, **properties: Any) -> Callable[[Resources], None]:
    return lambda found: _first(found, kind)["Properties"].update(properties)


def _delete_with_the_stack(found: Resources) -> None:
    _first(found, "S3::Bucket", "Documents")["DeletionPolicy"] = "Delete"


def _other_subnets(found: Resources) -> None:
    _first(found, "Neptune::DBSubnetGroup")["Properties"]["DBSubnetGroupName"] = "others"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_other_key_schema, "KeySchema was"),
        (_set("DynamoDB::Table", TableName="named"), "would be replaced: TableName"),
        (_set("S3::Bucket", BucketName="named"), "BucketName"),
        (_set("OpenSearchServerless::Collection", Name="lexigraph-other"), "Collection would be replaced: Name"),
        (_set("OpenSearchServerless::Collection", Tags=[{"Key": "team", "Value": "x"}]), "replaced: Tags"),
        (_set("Neptune::DBCluster", StorageEncrypted=False), "replaced: StorageEncrypted"),
        (_set("Neptune::DBCluster", DBClusterIdentifier="other"), "replaced: DBClusterIdentifier"),
        (_set("Neptune::DBCluster", DeletionProtection=False), "has no DeletionProtection any more"),
        (_set("Logs::LogGroup", LogGroupName="/other"), "replaced: LogGroupName"),
        (_delete_with_the_stack, "was kept by DeletionPolicy Retain"),
        (_other_subnets, "DBSubnetGroupName refers to"),
    ],
)
def test_a_change_that_would_lose_data_is_found(prod: Resources, change: Callable[[Resources], None], says: str) -> None:
    now = copy.deepcopy(prod)
    change(now)
    (told,) = problems(kept(prod), now)
    assert says in told


def test_an_export_that_vanishes_is_found(prod: Resources) -> None:
    exports = [name for name, resource in prod.items() if resource["Type"] == EXPORT]
    assert any(name.startswith("lexigraph-prod-network:ExportsOutputRefVpcCollections") for name in exports)
    now = {name: resource for name, resource in prod.items() if name != exports[0]}
    (told,) = problems(kept(prod), now)
    assert told.startswith(f"the export {exports[0]} is gone")


@pytest.mark.parametrize("seed", range(SEED, SEED + TRIES))
def test_what_gets_another_logical_id_or_stack_is_found(prod: Resources, seed: int) -> None:
    now, chance = dict(prod), random.Random(seed)
    name = chance.choice(sorted(n for n, r in prod.items() if r["Type"] in HOLDING))
    now[chance.choice((f"{name}2", f"other-stack/{name.partition('/')[2]}"))] = now.pop(name)
    told = problems(kept(prod), now)
    assert [one for one in told if one.startswith(f"{name} is gone")]


@pytest.mark.parametrize("seed", range(SEED, SEED + TRIES))
def test_changes_that_keep_data_pass(prod: Resources, seed: int) -> None:
    now, chance = copy.deepcopy(prod), random.Random(seed)
    chance.choice(
        [
            lambda: _set("Neptune::DBCluster", BackupRetentionPeriod=30, EngineVersion="1.4.9.0")(now),
            lambda: _set("OpenSearchServerless::Collection", Description="other")(now),
            lambda: _set("DynamoDB::Table", Tags=[{"Key": "team", "Value": "x"}])(now),
            lambda: _set("S3::Bucket", VersioningConfiguration={"Status": "Enabled"})(now),
            lambda: _set("Logs::LogGroup", RetentionInDays=7)(now),
            lambda: _set("Lambda::Function", FunctionName="other")(now),
            lambda: now.update({"stack/New": {"Type": "AWS::DynamoDB::Table", "Properties": {}}}),
        ]
    )()
    assert problems(kept(prod), now) == []
