"""One table of all sets, budgets and retrievers, out of what was measured of each."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import rooms


def compared(mean: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    differences = {} if low is None else {"fused": {"mean": 0.0, "low": low, "high": high}}
    return {
        "mean": {"mean": mean, "low": 0, "high": 1},
        "rival": "fused",
        "differences": differences,
        "by_type": {"2": {"mean": mean, "questions": 60}, "3": {"mean": mean, "questions": 40}},
    }


QUALITY = {
    "retrievers": {
        "traversal": {"budgets": {"300": compared(0.512, -0.1, -0.01), "2000": compared(0.9, 0.01, 0.1)}},
        "fused": {"budgets": {"300": compared(0.6), "2000": compared(0.8, -0.1, 0.1)}},
    }
}
ANSWERS = {"retrievers": {"traversal": {"answer words found": {"300": compared(0.5, 0.0, 0.2)}, "answers": {}}}}


def run(monkeypatch: pytest.MonkeyPatch, *files: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["rooms", *map(str, files)])
    rooms.main()


def test_a_row_a_set_and_budget_with_marks_beyond_the_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, found in (("twowiki", QUALITY), ("manual", ANSWERS)):
        (tmp_path / f"{name}.json").write_text(json.dumps(found))
    run(monkeypatch, tmp_path / "twowiki.json", tmp_path / "manual.json")
    assert capsys.readouterr().out.splitlines()[:5] == [
        "| set | what is found | questions | tokens | traversal | fused |",
        "| --- | --- | --- | --- | --- | --- |",
        "| twowiki | gold passages | 100 | 300 | 51.2 - | 60.0 |",
        "| twowiki | gold passages | 100 | 2,000 | 90.0 + | 80.0 |",
        "| manual | answer words | 100 | 300 | 50.0 |  |",
    ]


def test_a_file_of_something_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text('{"figures": 1}')
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path / "other.json")
    assert "no JSON of `bench quality --budgets` or `bench answers`" in capsys.readouterr().err
