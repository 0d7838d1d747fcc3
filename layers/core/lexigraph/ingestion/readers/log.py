"""Logs: stretches of lines under the day that they are of, kept as they stand.

A line of a log is no sentence, and a hundred thousand statements of one line each would help nobody: what is looked for is
found and quoted with the lines around it, as code is.
"""

import re
from collections.abc import Iterator

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text, clean
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.settings import Settings

_COLOURS = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_DAY = re.compile(
    r"\W{0,2}(\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[-/. ](?:\d\d|[A-Z][a-z]{2})[-/. ]\d{4}|[A-Z][a-z]{2} [ \d]\d(?=\s))"
)
_CLIENT = re.compile(r"\S+ \S+ \S+ (?=\[)")  # what stands before the date in the log of a web server
_LINES = 20
_CHARS = 1_000  # of a block, about: as much as is quoted at once


def read_log(data: bytes, settings: Settings) -> Parsed:
    """Read a log: a heading a day, blocks of some twenty lines; one ends only where another entry begins."""
    text, encoding = decode(data)
    check_text(text, settings)
    builder = TextBuilder(settings)
    for day, block in _blocks(clean(_COLOURS.sub("", text))):
        if day:
            builder.heading(1, day)
        builder.add(block, "code")
    return builder.parsed(metadata=encoding_note(encoding))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield blocks, each with the day when it is another than before."""
    block: list[str] = []
    size = 0
    day = told = ""
    for line in text.split("\n"):
        begins = bool(line) and not line[0].isspace()
        client = _CLIENT.match(line)
        found = _DAY.match(line) or _DAY.match(line, client.end() if client else 0)
        now = found[1] if found else day
        if block and begins and (now != day or len(block) >= _LINES or size >= _CHARS):
            yield (day if day != told else ""), "\n".join(block)
            block, size, told = [], 0, day
        day = now
        block.append(line)
        size += len(line)
    yield (day if day != told else ""), "\n".join(block)
