"""Which line leads to which items of a list; a nested list has a line of its own. Pure text, no model."""

import re
from dataclasses import dataclass
from typing import Protocol

MARKED = "marked"  # the kind of a list whose items have any mark

_ROMAN = re.compile(r"[ivx]+")
_TERM = "term "  # what the kind of an item without a mark begins with
_WORDS = ((re.compile(r"[^\W\d]+"), "a"), (re.compile(r"\d+"), "1"), (re.compile(r"(?:[a1][_.-]?)+"), "a"))


class Marked(Protocol):
    """What is known of the first sentence of an item: its bullet or number, what it defines, whether it needs its lead."""

    text: str
    mark: str
    term: str
    says: bool
    hangs: bool


@dataclass(frozen=True, slots=True)
class Level:
    """A list within a list: the line that leads to it and how its items are marked, ``""`` where that is open.

    A ``loose`` one is marked as the list that it stands in: nothing but its items' need of the line tells where it ends.
    """

    lead: str
    kind: str = ""
    loose: bool = False


class Levels:
    """The lists that are open at an item, the innermost last."""

    def __init__(self, lead: str, kind: str = "", *, within: bool = False) -> None:
        self._open = [Level(lead, kind)]
        self._announced = ""
        self._last = "an item before" if within else ""  # how the last item was marked

    def announce(self, lead: str) -> None:
        """Take note of an item that ends with a line that leads to the items below it."""
        self._announced = lead

    def lead_to(self, item: Marked, *, leads: bool = False) -> str:
        """Return the line that leads to an item, empty where there is none; one that ``leads`` has a list of its own."""
        kind = kind_of(item)
        heads = leads and not (item.mark or item.term or self._last or self._open[0].lead)  # the first line leads to all
        if (not kind or heads) and not self._announced:  # it goes on with the item above, or nothing is marked here
            return "" if self._last or len(self._open) > 1 else self._open[0].lead
        if self._announced and not self._last and item.mark:
            self._open, self._announced = [Level(self._announced, MARKED)], ""
        elif self._announced:
            self._open.append(Level(self._announced, kind, loose=kind == self._last or not item.mark))
            self._announced = ""
        elif len(self._open) == 1 and kind.startswith(_TERM) and not (self._open[0].kind or _TERM).startswith(_TERM):
            self._open = [Level("")]  # the items before stood in what an earlier term means
        else:
            while len(self._open) > 1 and not _holds(self._open[-1], kind, item, leads):
                self._open.pop()
        self._last = kind
        innermost = self._open[-1]
        return innermost.lead if innermost.kind in ("", kind) or (item.mark and innermost.kind == MARKED) else ""


def _holds(level: Level, kind: str, item: Marked, leads: bool) -> bool:
    return level.kind == kind and not (level.loose and (leads or (item.says and not item.hangs)))


def kind_of(item: Marked) -> str:
    """Return how an item is marked, the same for ``a)`` and ``b)``, for ``0x01`` and ``0x10``."""
    if item.mark:
        return _shape(item.mark)
    # a line that says nothing but leads on is a term, too: what it means is a list
    term = item.term or (item.text[:-1] if item.text.endswith(":") and not item.says else "")
    return f"{_TERM}{_shape(term)}" if term else ""


def _shape(mark: str) -> str:
    if mark[:1] in "-+" and len(mark) > 1:
        return "-option"
    bare = mark.strip("().")
    if _ROMAN.fullmatch(bare):
        return mark.replace(bare, "i")
    for pattern, sign in _WORDS:
        mark = pattern.sub(sign, mark)
    return mark
