"""Fields at the head of a text, ``Key: value`` a line: those of e-mails, packages and proposals."""

import re
from collections.abc import Mapping, Sequence
from textwrap import dedent

from lexigraph.ingestion.readers.plain.lines import ends_sentence

# lines further in go on with the field above, blank ones between them, too
_FIELD = re.compile(r"([A-Z][\w-]*):((?:[^\S\n].*)?(?:\n[^\S\n]+\S.*|\n[^\S\n]+(?=\n[^\S\n]))*+)(?:\n|\Z)")
_LINE = re.compile(r"^(?=.*\S)", re.MULTILINE)
_ENDS = re.compile(r"[^\S\n]*(?:\n|\Z)")
_STOP = re.compile(r"^[^\S\n]*\.?[^\S\n]*$", re.MULTILINE)  # a blank line within a value
_FEW = 3  # keys from which lines are fields
_TITLES = ("Title", "Subject", "Name", "Package")

Fields = Mapping[str, Sequence[str]]


def leading_fields(text: str) -> tuple[list[Fields], str]:
    """Return the values by key of the fields that a text begins with, and the text below them.

    Blank lines part several such groups.
    """
    groups: list[Fields] = []
    begin = _below(text, 0)
    while found := _group(text, begin):
        fields, at = found
        groups.append(fields)
        begin = _below(text, at)
    return groups, text[begin:] if groups else text


def _below(text: str, at: int) -> int:
    """Return where the next line begins that is not blank."""
    found = _LINE.search(text, at)
    return found.start() if found else len(text)


def _group(text: str, at: int) -> tuple[Fields, int] | None:
    """Return the values by their keys, and where they end; None for other lines, as for those of a talk."""
    fields: dict[str, list[str]] = {}
    while found := _FIELD.match(text, at):
        at = found.end()
        if value := found[2].strip():
            fields.setdefault(found[1], []).append(value)
    values = [value for of_key in fields.values() for value in of_key]
    said = sum(map(ends_sentence, values))
    return (fields, at) if len(fields) >= _FEW and said * 2 < len(values) and _ENDS.match(text, at) else None


def title_of(fields: Fields) -> str:
    """Return what fields call the thing that they are of, empty when they do not."""
    return next((values[0] for key, values in fields.items() if key.rpartition("-")[2] in _TITLES), "")


def paragraphs(value: str) -> tuple[str, str]:
    """Part the first line of a value from the paragraphs below it; a value of one paragraph is all first line."""
    first, _, below = value.partition("\n")
    return (first, dedent(_STOP.sub("", below))) if below and _STOP.search(below) else (value, "")
