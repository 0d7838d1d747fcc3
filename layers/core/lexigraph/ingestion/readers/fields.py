"""Fields at the head of a text, ``Key: value`` a line: those of e-mails, packages and proposals."""

import re
from collections.abc import Sequence
from itertools import groupby
from textwrap import dedent

from lexigraph.ingestion.readers.plain.lines import ends_sentence, is_prose

# lines further in go on with the field above, blank ones between them, too
_FIELD = re.compile(r"([A-Z][\w-]*):((?:[^\S\n].*)?(?:\n[^\S\n]+\S.*|\n[^\S\n]+(?=\n[^\S\n]))*+)(?:\n|\Z)")
_LINE = re.compile(r"^(?=.*\S)", re.MULTILINE)
_ENDS = re.compile(r"[^\S\n]*(?:\n|\Z)")
_STOP = re.compile(r"^[^\S\n]*+\.?[^\S\n]*+$", re.MULTILINE)  # a blank line within a value
_FEW = 3  # keys from which lines are fields
_TITLES = ("Title", "Subject", "Name", "Package")

_SENTENCE = re.compile(r"[.!?…][\"'”’)]*\s+\S")  # one that something follows

Fields = Sequence[tuple[str, Sequence[str]]]  # in their order; values of one key that follow each other are together


def leading_fields(text: str) -> tuple[list[Fields], str]:
    """Return the fields that a text begins with, and the text below them.

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
    """Return the fields at a place, and where they end; None for other lines, as for those of a talk."""
    told: list[tuple[str, str]] = []
    while found := _FIELD.match(text, at):
        at = found.end()
        if value := found[2].strip():
            told.append((found[1], value))
    said = sum(_is_said(value) for _, value in told)
    if len({key for key, _ in told}) < _FEW or said * 2 >= len(told) or not _ENDS.match(text, at):
        return None
    return [(key, [value for _, value in run]) for key, run in groupby(told, key=lambda field: field[0])], at


def _is_said(value: str) -> bool:
    """Tell whether a value reads as what somebody says."""
    return ends_sentence(value) or is_prose(value) or _SENTENCE.search(value) is not None


def title_of(fields: Fields) -> str:
    """Return what fields call the thing that they are of, empty when they do not."""
    return next((values[0] for key, values in fields if key.rpartition("-")[2] in _TITLES), "")


def paragraphs(value: str) -> tuple[str, str]:
    """Part the first line of a value from the paragraphs below it; a value of one paragraph is all first line."""
    first, _, below = value.partition("\n")
    return (first, dedent(_STOP.sub("", below))) if below and _STOP.search(below) else (value, "")
