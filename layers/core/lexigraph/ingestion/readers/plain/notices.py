"""What stands in every file of its kind: notices of licences, and tables of contents."""

import re
from collections.abc import Collection, Sequence
from itertools import takewhile

from lexigraph.ingestion.readers.parsed import one_line

_NOTICE = re.compile(
    r"^\W{0,4}(?:portions )?copyright\b.{0,40}(?:\d{4}|\(c\)|©)|^\W{0,4}(?:\(c\)|©)\s*(?:copyright|\d{4})"
    r"|SPDX-License-Identifier|all rights reserved|licensed (?:to|under)\b|permission is hereby granted"
    r"|permission to use, copy|free software[;:,]|redistribution and use in source|without (?:any )?warrant(?:y|ies)"
    r"|^\W{0,4}see (?:the )?(?:file )?licen[cs]e|(?:subject to|under) the terms of the|for license information"
    r"|this (?:file|program|software|library|source code|work) (?:is|may be)"
    r" (?:part of|licensed|distributed|released|provided)"
    r"|(?:obtain|received) (?:a copy|copies) of the .*licen[cs]e|^\W{0,4}https?://\S*(?:licen[cs]es?\b|/apache2)\S*\W*$"
    r"|^\W{0,4}unless required by applicable law|^\W{0,4}except as contained in this notice|the above copyright notice"
    r"|redistributions? (?:of|in) (?:source|binary)|^\W{0,4}neither the names? of|general public license as published by"
    r"|disclaims all warranties|released\s+under\s+the\b[^.]{0,40}licen[cs]e|^\W{0,4}(?:warning: )?do not edit\b",
    re.IGNORECASE | re.MULTILINE,
)
_BLANKS = re.compile(r"[ \t]+")
_SIGNATURE = re.compile(r"--\s.*<[^\s<>@]+@[^\s<>]+>")
_YEAR = re.compile(r"\b\d{4}\b")
_LEADER = re.compile(r"\S\s*(?:\.{4,}|(?:\.\s){3,}\.?|…{2,}|_{5,})\s*(?:\d+|[ivxlc]+)\s*$|\S\s{3,}\d+\s*$")
_DOTS = re.compile(r"\.{4,}|(?:\.\s){3,}|…{2,}")
_LONGEST = 200  # characters of a line of a table of contents
_MOST = 100  # characters of a line that repeats a heading
_SHARE = 0.3  # of a text: a notice that is more of it is what the text is about
_PLACE = re.compile(r"^[\d.]+\s+|[\s.…_]*\s[\divxlc]+\s*$")


def is_notice(text: str) -> bool:
    """Tell whether a paragraph or comment is a notice of copyright or licence."""
    return bool(_NOTICE.search(_BLANKS.sub(" ", text)))


def is_signature(text: str) -> bool:
    """Tell whether a line signs a text, ``-- Ada Cook <ada@example.org>``, without the day that changelogs tell."""
    found = _SIGNATURE.match(text)
    return found is not None and not _YEAR.search(text, found.end())


def leading_notices(paragraphs: Sequence[str], length: int) -> int:
    """Return how many paragraphs are notices, 0 when they are much of a text of ``length`` characters.

    ``paragraphs`` are those from the first on that is one.
    """
    notices = list(takewhile(is_notice, paragraphs))
    return len(notices) if sum(map(len, notices)) < _SHARE * length else 0


def is_contents(lines: Sequence[str], headings: Collection[str] = ()) -> bool:
    """Tell whether lines are a table of contents: most with a leader to a page, or most a heading of the document.

    ``headings`` are as :func:`entry` gives them.
    """
    if any(len(line) > _LONGEST for line in lines):
        return False
    if any(_DOTS.search(line) for line in lines if ".." in line or ". ." in line or "…" in line):
        return sum(bool(_LEADER.search(line)) for line in lines) * 3 >= len(lines) * 2
    short = len(lines) > 2 and bool(headings) and all(len(line) <= _MOST for line in lines)
    return short and sum(entry(line) in headings for line in lines) * 5 >= len(lines) * 4


def entry(line: str) -> str:
    """Return a heading, or its line in a table of contents, without number, page and leader."""
    return one_line(_PLACE.sub("", line.strip().lstrip("-*•. "))).casefold().rstrip(".: ")
