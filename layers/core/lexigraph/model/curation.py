"""Curation decisions: which names of a tenant mean the same entity. Decisions can be undone, never edited."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["merge", "alias", "synonyms"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that ``others`` are other names of the entity ``name``.

    A ``merge`` joins entities that documents name, an ``alias`` adds a name that no document needs to contain, ``synonyms``
    are the pairs of a synonyms file (``others`` then holds pairs). ``undone_at`` is empty while the decision is in effect.
    Times are UTC.
    """

    id: str
    kind: Kind
    name: str
    others: tuple[str, ...]
    by: str = ""
    note: str = ""
    made_at: str = ""
    undone_at: str = ""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The (other name, name) pairs; empty once the decision is undone."""
        if self.undone_at:
            return []
        if self.kind == "synonyms":
            split = (pair.partition("\t") for pair in self.others)
            return [(other, name) for other, _, name in split]
        return [(other, self.name) for other in self.others]
