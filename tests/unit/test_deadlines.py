"""No test waits for ever: whatever it waits for has a deadline, and what fails is explained in seconds."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGE = """
import random

def words(seed):
    rng = random.Random(seed)
    return [rng.choice(("river", "guild", "0.59", "harbour", "letter")) + str(rng.random()) for _ in range(2_000)]

def test_texts():
    assert " ".join(words(1)) == " ".join(words(2))

def test_lists():
    assert words(1) == words(2)

def test_mappings():
    assert {"same": 1, "words": words(1)} == {"same": 1, "words": words(2)}
"""


def test_a_difference_of_large_values_is_explained_at_once_on_ci_too(tmp_path: Path) -> None:
    (tmp_path / "test_large.py").write_text(LARGE)
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "tests.conftest", "-p", "no:xdist"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "test_large.py"],
        cwd=tmp_path,
        env={**os.environ, "CI": "true", "BUILD_NUMBER": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "3 failed" in done.stdout
    assert len(done.stdout) < 30_000


def waits_without_deadline(source: str) -> Iterator[str]:
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        owner, name, given = ast.unparse(call.func.value), call.func.attr, {keyword.arg for keyword in call.keywords}
        bare = name in ("wait", "join", "acquire", "result") and not call.args and not given
        unbounded = name == "communicate" or (owner == "subprocess" and name in ("run", "check_call", "check_output"))
        if bare or (unbounded and "timeout" not in given):
            yield f"line {call.lineno}: {owner}.{name}"


@pytest.mark.slow
def test_every_wait_in_a_test_has_a_deadline() -> None:
    found = {path: list(waits_without_deadline(path.read_text("utf-8"))) for path in (ROOT / "tests").rglob("*.py")}

    assert len(found) > 80
    assert [f"{path.relative_to(ROOT)}, {wait}" for path, waits in sorted(found.items()) for wait in waits] == []


def test_a_wait_without_a_deadline_is_seen() -> None:
    source = (
        "event.wait(); thread.join(); process.communicate('x'); subprocess.run(['true']); ','.join(names); thread.join(5)"
    )

    assert [wait.split()[-1] for wait in waits_without_deadline(source)] == [
        "event.wait",
        "thread.join",
        "process.communicate",
        "subprocess.run",
    ]
