"""Regular expressions from users, bounded: RE2 runs them in linear time, over texts that hold what they cannot do without.

A pattern is found anywhere in a text (``^`` and ``$`` stand for the beginning and the end of a line), upper and lower case
are the same unless it says ``(?-i)``. RE2 knows neither look-around nor back-references; that is what keeps it linear.
"""

import re
from dataclasses import dataclass
from typing import Any

from lexigraph.model.errors import InvalidInput

MAX_CHARS = 200
_MAX_FRAGMENTS = 16  # a pattern that needs any of more than these is tried on every text
_MAX_PROGRAM = 5_000  # instructions; `.{1000}` has a thousand
_MEMORY = 1 << 19  # bytes of one compiled pattern and of what it remembers while it runs
_WORK = 50_000_000  # characters times instructions of one search: about a quarter of a second at worst
# what no prose holds: a question mark after a word, full stops and brackets are not enough
_METACHARACTERS = re.compile(r"[\\\[\]{}^$*|]|\w\?\w|\w\+(?!\+|#)(?=\w|$)|\.\+|\(\?[:imsUP]|\)[+?]\w")
_BOUNDS = re.compile(r"(\d+)(?:,\d*)?\}", re.ASCII)
_LEADING_FLAGS = re.compile(r"^\(\?[imsU-]+\)")


def looks_like_pattern(text: str) -> bool:
    """Tell whether a text holds metacharacters of regular expressions that words and sentences do not."""
    return bool(_METACHARACTERS.search(text))


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern, and the ``fragments`` of which a text that it is found in holds one (none: unknown)."""

    compiled: Any
    fragments: tuple[str, ...]

    def share(self, text: str) -> float:
        """Return what share of a text the first match takes up: over 0 where there is one, 1 for all of it."""
        found = self.compiled.search(text)
        return _share(found, len(text)) if found else 0.0

    def covers(self, texts: list[str]) -> list[float]:
        """Return the shares of several texts; those that would cost too much together count as not found, the last first."""
        left = _WORK // max(1, self.compiled.programsize)
        shares = []
        for text in texts:
            left -= len(text)
            shares.append(self.share(text) if left >= 0 else 0.0)
        return shares


def _share(found: Any, length: int) -> float:
    # an empty match is still a match
    taken: int = found.end() - found.start()
    return max(taken, 0.5) / max(length, 1)


def compile_pattern(text: str) -> Pattern:
    """Return a user's pattern. Raise ``InvalidInput`` when it is too long, too large, wrong, or RE2 is not installed."""
    if len(text) > MAX_CHARS:
        raise InvalidInput(
            f"query must have at most {MAX_CHARS} characters as a regular expression, got {len(text):,}: "
            "shorten it or omit force_regex"
        )
    return pattern_of(text)


def pattern_of(text: str) -> Pattern:
    """Return a pattern of any length; the same errors otherwise."""
    try:
        import re2
    except ImportError:
        raise InvalidInput('regular expressions need google-re2: pip install "lexigraph[api]"') from None
    options = re2.Options()
    options.max_mem, options.log_errors, options.case_sensitive = _MEMORY, False, False
    try:
        compiled = re2.compile(f"(?m){text}", options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        reason = said.partition(": ")[0]  # behind it stands the part of the pattern that is wrong
        raise InvalidInput(
            f"query is not a valid RE2 regular expression ({reason}): correct it or omit force_regex"
        ) from None
    if compiled.programsize > _MAX_PROGRAM:
        raise InvalidInput(f"query compiles to {compiled.programsize:,} steps, more than {_MAX_PROGRAM:,}: repeat less")
    fragments = _Reader(text).fragments()
    return Pattern(compiled, fragments if len(fragments) <= _MAX_FRAGMENTS else ())


class _Reader:
    """Reads a pattern once, from left to right, for what a text must hold literally; what is unclear says nothing."""

    def __init__(self, pattern: str) -> None:
        self._rest = list(reversed(_LEADING_FLAGS.sub("", pattern)))
        self._unclear = False

    def fragments(self) -> tuple[str, ...]:
        """Return fragments of which a match holds any, in lower case; empty when it may do without."""
        found = self._alternatives()
        return () if self._unclear else tuple(dict.fromkeys(found))

    def _alternatives(self) -> list[str]:
        """Read up to the end of a group: a fragment of each alternative, none when one of them has none."""
        branches = [self._sequence()]
        while self._rest and self._rest[-1] == "|":
            self._rest.pop()
            branches.append(self._sequence())
        return [fragment for branch in branches for fragment in branch] if all(branches) else []

    def _sequence(self) -> list[str]:
        """Read one alternative: of what it needs throughout, that whose shortest fragment is the longest."""
        needed: list[list[str]] = []
        literal = ""
        while self._rest and self._rest[-1] not in "|)":
            atom = self._atom()
            always, once = self._times()
            if isinstance(atom, str) and always:
                literal += atom
                if once:
                    continue
            elif isinstance(atom, list) and atom and always:
                needed.append(atom)
            needed.append([literal])
            literal = ""
        needed.append([literal])
        return max((f for f in needed if all(f)), key=lambda f: (min(map(len, f)), len(f) == 1), default=[])

    def _times(self) -> tuple[bool, bool]:
        """Read quantifiers; return whether what stands before must occur, and whether it does exactly once."""
        always, once = True, True
        while self._rest and self._rest[-1] in "*+?{":
            mark = self._rest.pop()
            least = self._least() if mark == "{" else int(mark == "+")
            always, once = always and least > 0, False
        return always, once

    def _atom(self) -> str | list[str]:
        """Read an atom: a letter is itself, a boundary "", a group its fragments, any of several letters an empty list."""
        c = self._rest.pop()
        if c == "\\":
            return self._escaped()
        if c == "[":
            return self._class()
        if c == "(":
            return self._group()
        if c in "^$":
            return ""
        return c.lower() if c != "." and c.isascii() and c.isprintable() else []

    def _escaped(self) -> str | list[str]:
        c = self._rest.pop() if self._rest else ""
        if c in ("p", "P"):
            named = bool(self._rest) and self._rest.pop() == "{"
            while named and self._rest and self._rest.pop() != "}":
                pass
            return []
        # codes and quotations
        self._unclear |= c in ("x", "Q") or c.isdigit()
        if c in ("b", "B", "A", "z"):
            return ""
        return c if c.isascii() and c.isprintable() and not c.isalnum() else []

    def _class(self) -> list[str]:
        first = True
        while self._rest:
            c = self._rest.pop()
            if c == "\\" and self._rest:
                self._rest.pop()
            elif c == "[" and self._rest and self._rest[-1] == ":":
                while self._rest and self._rest.pop() != "]":
                    pass
            elif c == "]" and not first:
                break
            first = first and c == "^"
        return []

    def _group(self) -> list[str]:
        if self._flags().endswith(")"):
            return []
        fragments = self._alternatives()
        if self._rest:
            self._rest.pop()
        return fragments

    def _flags(self) -> str:
        flags = ""
        if self._rest and self._rest[-1] == "?":
            while self._rest and flags[-1:] not in (":", ">", ")"):
                flags += self._rest.pop()
        return flags

    def _least(self) -> int:
        bounds = ""
        while self._rest and bounds[-1:] != "}":
            bounds += self._rest.pop()
        found = _BOUNDS.fullmatch(bounds)
        self._unclear |= found is None  # a brace that is no quantifier is itself
        return int(found[1]) if found else 0
