"""Logs: stretches of lines under their day."""

from pathlib import Path

import pytest

from tests.unit.ingestion.readers.reading import outline, parts, read


def test_lines_are_kept_in_blocks_under_their_day(tmp_path: Path) -> None:
    lines = [f"2026-03-0{day} 10:00:{n:02d} INFO boat {n} moored" for day in (1, 2) for n in range(30)]
    lines.insert(20, "Traceback (most recent call last):\n  File a.py, line 1\n  File b.py, line 2")
    document = read(tmp_path, "harbour.log", "\n".join(lines) + "\n")
    assert document.title == "harbour.log"
    assert outline(document) == [("2026-03-01",), ("2026-03-02",)]
    assert {role for role, _, _ in parts(document)} == {"code"}
    assert len(parts(document)) == 4
    assert all(line in document.text for line in "\n".join(lines).splitlines())
    (first,) = [text for _, _, text in parts(document) if "Traceback" in text]
    assert "File b.py, line 2" in first


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("Mar  1 10:00:00 host sshd[1]: session opened", "Mar 1"),
        ('127.0.0.1 - - [01/Mar/2026:10:00:00 +0100] "GET / HTTP/1.1" 200 5', "01/Mar/2026"),
        ("[2026-03-01T10:00:00Z] started", "2026-03-01"),
    ],
)
def test_the_days_of_common_logs_are_known(tmp_path: Path, line: str, day: str) -> None:
    assert outline(read(tmp_path, "a.log", f"{line}\n{line}\n")) == [(day,)]


def test_colours_of_the_terminal_are_gone(tmp_path: Path) -> None:
    assert read(tmp_path, "a.log", "\x1b[31mERROR\x1b[0m the gate is stuck\n").text == "ERROR the gate is stuck"
