"""Table rows, written ``Header: value; Header: value``: the first value is what the others are said of."""

import re

from lexigraph.ingestion.extract.names import clean_name
from lexigraph.model.extraction import ExtractedFact

_CELL = re.compile(r"\s*([^:;]{1,80}):\s+(.+)")
_MAX_NAME_WORDS = 6
_MAX_VALUE_CHARS = 80
CONFIDENCE = 0.9


def cells(line: str) -> list[tuple[str, str]]:
    """Return the (header, value) pairs of a row; empty when it is not written as such."""
    found: list[tuple[str, str]] = []
    for part in line.split("; "):
        match = _CELL.fullmatch(part.strip())
        if match:
            found.append((match.group(1).strip(), match.group(2).strip()))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}; {part.strip()}")
        else:
            return []
    return found


def row_facts(line: str) -> tuple[list[str], list[ExtractedFact]]:
    """Return the names in a row's cells and what the row says of the first of them."""
    pairs = cells(line)
    if len(pairs) < 2:
        return [], []
    names = [name for _, value in pairs if (name := _as_name(value))]
    subject = _as_name(pairs[0][1])
    if not subject:
        return names, []
    facts = [
        ExtractedFact(subject, header.lower() if not header.isupper() else header, _as_name(value) or value, CONFIDENCE)
        for header, value in pairs[1:]
        if len(value) <= _MAX_VALUE_CHARS and any(c.isalnum() for c in value)
    ]
    return names, facts


def _as_name(value: str) -> str:
    """The value as a name when it is written as one: short, capitalised, no sentence."""
    words = value.split()
    if len(words) > _MAX_NAME_WORDS or not any(c.isupper() for c in words[0]) or value.endswith((".", "?", "!")):
        return ""
    return clean_name(value)
