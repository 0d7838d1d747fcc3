"""What disks and kills do to a database of the example corpus, with the models that users have (``bench.damage``)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.damage import Found, backups, flips, kills

Part = Callable[[Path, int, int, Callable[[str], None]], Found]


@pytest.mark.nightly
@pytest.mark.parametrize(("part", "times"), [(flips, 5), (backups, 2), (kills, 1)])
def test_a_few_flips_backups_and_kills_do_no_harm_unseen(tmp_path: Path, part: Part, times: int) -> None:
    found = part(tmp_path, times, 7, lambda _: None)
    assert (sum(found.counts.values()), found.wrong) == (times, [])


@pytest.mark.soak
@pytest.mark.parametrize(("part", "times"), [(flips, 1_000), (backups, 50), (kills, 100)])
def test_many_flips_backups_and_kills_do_no_harm_unseen(tmp_path: Path, part: Part, times: int) -> None:
    found = part(tmp_path, times, 1, lambda _: None)
    assert (sum(found.counts.values()), found.wrong) == (times, [])
