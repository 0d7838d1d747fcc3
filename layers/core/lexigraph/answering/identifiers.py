"""Identifiers of a text: words of no language, such as options, paths, file names and versions. Pure."""

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise

from lexigraph.answering.candidates import EDGES
from lexigraph.answering.wording import stems

# CVE-2023-25652, max_user_watches, /proc/sys, --partscan, 2.38.5; limits.conf, pipe.c, but Node.js is a name
_IDENTIFIER = re.compile(
    r"(?=.*\d)(?=.*[^\W\d]).*|.*\w[_/=]\w.*|-{1,2}\w.*|/\w.*|(?![A-Z][a-z])\w{2,}(?:\.\w{2,})*\.(?:\w{2,}|[a-z])|\d+(?:\.\d+){2,}",
    re.DOTALL,
)
# a member behind its owner; what ends so is a file
_FILES = "conf|toml|yaml|json|html|java|properties|lock"
_MEMBER = re.compile(rf"(?:\w+\.)*([^\W\d]\w+)\.(?!(?:{_FILES})\Z)([^\W\d]\w{{3,}})")
_DECIMAL = re.compile(r"\d+\.\d+")  # behind another word it is a version: Git 2.30
# one of several that are numbered: valve 17, exit code 4; a year is none, nor is the number of what follows: cost 4 euros
_NUMBERED = re.compile(
    r"(?<![\w'.-])(?!(?:aged?|number) )([^\W\d_]{3,30}) (?:no\. ?|number |#)?(?!(?:1\d|20)\d\d\b)(\d{1,15})"
    r"(?=\W*$|[^\w\s]+ | means?\b| ([^\W\d_]+))"
)


def identifiers(text: str) -> frozenset[str]:
    """Return the words of a text that are no words of a language, in lower case."""
    written = [word.strip(EDGES).removesuffix("()") for word in text.split()]
    versions = {word for before, word in pairwise(written) if _DECIMAL.fullmatch(word) and stems(before)}
    return frozenset(versions).union(word.casefold() for word in written if _IDENTIFIER.fullmatch(word))


def numbered(question: str) -> frozenset[str]:
    """Return what a question names by a number, in lower case: ``valve 17``. With a capital it is a title: Big Hero 6."""
    found = ((m[1], m[2]) for m in _NUMBERED.finditer(question) if stems(m[1]) and not stems(m[3] or ""))
    return frozenset(f"{name.casefold()} {number}" for name, number in found if not name[0].isupper())


def share_held(sought: Collection[str], text: str) -> float:
    """Return the share of some identifiers that a text has, each by itself: no GPL-2 in LGPL-2.1; 1 without any."""
    folded = text.casefold()
    return sum(bool(_standing(one).search(folded)) for one in sought) / len(sought) if sought else 1.0


@lru_cache(maxsize=1_024)
def _standing(identifier: str) -> re.Pattern[str]:
    """Return what finds an identifier that is no part of another: ``2.30`` in ``v2.30.0``, not in ``2.30.9``; ``UTF-8`` in
    ``utf_8``, too; ``--color=always`` in ``--color=<never|always>``. What is named by a number stands where both words do:
    ``notes 76 and 77``; a member where its owner is named and it is declared or called: ``click.confirm`` in
    ``def confirm(`` of click.
    """
    name, _, number = identifier.partition(" ")
    if number:
        return re.compile(
            rf"(?s)\A(?=.*(?<!\w){name[: max(3, len(name) - 1)]})(?=.*(?<![\w.,])(?<!\w\(){number}(?![.,]?\w))"
        )
    bare = re.sub(r"^v(?=\d)", "", identifier)
    sought, _, value = bare.partition("=") if bare.startswith("-") else (bare, "", "")
    begins = r"(?<![a-z0-9])(?<!\d\.)v?" if sought[0].isdecimal() else r"(?<![a-z0-9_-])" if sought[0] != "/" else ""
    ends = r"(?:\.0)*(?!\.?[0-9])" if sought[-1].isdecimal() else r"(?![a-z]|-[a-z])" if sought[0] == "-" else r"(?![a-z])"
    if value := re.escape(value):  # --color=always, or where --color=<never|always> or --color=<mode> is told of
        ends = rf"(?:(?:[= ]|=[<([{{][^\n]{{0,200}}?(?<!\w)){value}(?!\w)|=<\w+>)"
    parts = map(re.escape, re.split(r"(?<=[^\W_])[-_](?=[^\W_])", sought))
    whole = begins + "[-_ ]".join(parts) + ends
    if member := _MEMBER.fullmatch(sought):
        owner, called = member.groups()
        declared = rf"(?<![\w.]){called}(?: ?[(=]|\??:|\n|\Z)"
        return re.compile(rf"(?s){whole}|\A(?=.*(?<![\w.]){owner}(?!\w))(?=.*{declared})")
    return re.compile(whole)
