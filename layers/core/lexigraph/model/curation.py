"""What a person decided about the names of a tenant: which mean the same. Decisions are kept, and undone, never edited."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["merge", "alias", "synonyms"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Other names of an entity.

    ``name`` is the entity that ``others`` mean. A ``merge`` joins entities that documents name, an ``alias`` adds a name
    that need not be there yet, ``synonyms`` are the pairs of a synonyms file (``others`` then are ``other = name``).
    ``undone_at`` is empty while it holds. Times are UTC.
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
        """Return (other name, name) pairs; none once it is undone."""
        if self.undone_at:
            return []
        if self.kind == "synonyms":
            split = (pair.partition("\t") for pair in self.others)
            return [(other, name) for other, _, name in split]
        return [(other, self.name) for other in self.others]
