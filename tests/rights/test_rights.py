"""Functions have the rights that they need and no others: recorded over stand-ins, held against the templates."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.infra.conftest import ON_AWS
from tests.infra.templates import Templates
from tests.once import once
from tests.rights.calls import Call
from tests.rights.evaluation import Grants, evaluate, known, without
from tests.rights.recording import PEOPLE, record

pytestmark = pytest.mark.nightly
OF = Callable[[str], Templates]
SEED, REMOVED = 18, 6


@pytest.fixture(scope="module")
def calls(templates: OF, tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    def make(kept: Path) -> None:
        kept.write_text(json.dumps(record(templates("dev"), tmp_path_factory.mktemp("recording"))))

    found: list[Call] = json.loads(once(tmp_path_factory, "rights/calls.json", make).read_text())
    return found


def test_every_function_was_seen_to_ask_for_something(templates: OF, calls: list[Call]) -> None:
    assert {call["function"] for call in calls} == {*templates("dev").functions, PEOPLE}


@pytest.mark.parametrize("profile", ON_AWS)
def test_no_right_is_missing_and_none_is_unexplained(templates: OF, calls: list[Call], profile: str) -> None:
    report = evaluate(templates(profile), calls, known())
    assert report.findings == []
    assert report.rights > 400 and len(report.needs) > 1_000


@pytest.mark.parametrize("profile", ON_AWS)
def test_rights_taken_away_at_random_are_all_missed(templates: OF, calls: list[Call], profile: str) -> None:
    found = templates(profile)
    rights = sorted(set(Grants(found).rights()))
    for right in random.Random(SEED).sample(rights, REMOVED):
        report = evaluate(without(found, right), calls, known())
        assert report.rights < len(rights)
        assert [one for one in report.findings if right.role in one], str(right)


@pytest.mark.soak
def test_each_right_taken_away_is_missed(templates: OF, calls: list[Call]) -> None:
    found = templates("dev")
    unseen = [r for r in sorted(set(Grants(found).rights())) if not evaluate(without(found, r), calls, known()).findings]
    assert unseen == []


def test_reasons_are_given() -> None:
    entries = known()
    assert entries and all(len(entry.reason) > 6 for entry in entries)
