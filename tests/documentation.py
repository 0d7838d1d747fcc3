"""The code blocks of the documentation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: the line it begins in, its language (empty where none is said) and its text."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> Iterator[Block]:
    """Yield the blocks of all pages, of some languages only where these are given."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for found in _FENCE.finditer(text):
            if not languages or found[2] in languages:
                line = text.count("\n", 0, found.start()) + 1
                body = re.sub(rf"^{found[1]}", "", found[3], flags=re.MULTILINE)
                yield Block(str(path.relative_to(ROOT)), line, found[2], body)


def commands() -> Iterator[tuple[Block, str]]:
    """Yield each command line of shell blocks and of sessions, where it follows ``$``; lines that go on are joined."""
    for block in blocks("sh", "", "console"):
        session = block.text.lstrip().startswith("$ ")
        if not session and block.language != "sh":
            continue
        text = block.text.replace("\\\n", " ")
        for line in text.splitlines():
            if session and not line.startswith("$ "):
                continue
            yield block, line.removeprefix("$ ").strip()
