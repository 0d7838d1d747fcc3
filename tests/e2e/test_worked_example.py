"""The worked example of docs/retrieval.md: its commands print what is written there, and its table sums up."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.commandline import LEXIGRAPH

PAGE = (
    (Path(__file__).parents[2] / "docs" / "retrieval.md")
    .read_text(encoding="utf-8")
    .split("## One question")[1]
    .split("\n## ")[0]
)
COMMANDS, PRINTED, *_ = re.findall(r"^```(?:sh)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")
CLOSE = 0.02  # the embedding model rounds otherwise on other processors


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


@pytest.mark.slow
def test_the_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    environment = {"PATH": f"{LEXIGRAPH.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-ec", COMMANDS], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    at = 0
    for shown in PRINTED.splitlines():
        words = NUMBER.sub("#", shown)
        at = next((n for n, line in enumerate(printed[at:], at) if NUMBER.sub("#", line) == words), len(printed))
        assert at < len(printed), f"{shown!r} is not printed, or not in this order"
        assert numbers(printed[at]) == pytest.approx(numbers(shown), abs=CLOSE)


def test_the_scores_of_the_page_are_the_sums_of_its_parts() -> None:
    shown = re.findall(r"^ +(0\.\d+) \w+ +(.+)\n(?: +original: .+\n)?(?: +path: .+\n)? +parts: (.+)$", PRINTED, re.MULTILINE)
    assert len(shown) == 3
    for score, _, parts in shown:
        assert sum(numbers(parts)) == pytest.approx(float(score), abs=0.003)
    table = PAGE.split("score = sum / 2.525 |")[1]
    rows = re.findall(r"^\| (.+?) \| (.+) \| (\S+) \| (\S+) \|$", table, re.MULTILINE)
    assert [float(score) for *_, score in rows[:3]] == [float(score) for score, *_ in shown]
    for _, parts, total, score in rows[:3]:
        assert sum(numbers(parts)) == pytest.approx(float(total), abs=0.002)
        assert float(total) / 2.525 == pytest.approx(float(score), abs=0.001)


def test_the_picture_shows_the_scores_of_the_page() -> None:
    picture = (Path(__file__).parents[2] / "docs" / "retrieval.svg").read_text(encoding="utf-8")
    for score in re.findall(r"^\d\. (0\.\d+)", PRINTED, re.MULTILINE):
        assert f">{score}</text>" in picture
    assert "link + 1.337" in picture
    assert "= 1.337" in PAGE
