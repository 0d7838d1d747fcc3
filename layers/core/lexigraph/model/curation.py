"""Curation decisions: which names of a tenant mean the same entity, and which name means two.

Decisions can be undone, never edited.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["merge", "alias", "split", "synonyms"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that ``others`` are other names of the entity ``name``, or of a ``split`` the name of another entity.

    A ``merge`` joins entities that documents name, an ``alias`` adds a name that no document needs to contain, ``synonyms``
    are the pairs of a synonyms file (``others`` then holds pairs). With a ``split``, ``name`` means the only one of
    ``others`` in ``documents``, which are (namespace, URI) pairs. ``undone_at`` is empty while the decision is in effect.
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
    documents: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The (other name, name) pairs; empty for a split, or once the decision is undone."""
        if self.undone_at or self.kind == "split":
            return []
        if self.kind == "synonyms":
            split = (pair.partition("\t") for pair in self.others)
            return [(other, name) for other, _, name in split]
        return [(other, self.name) for other in self.others]

    @property
    def senses(self) -> list[tuple[str, str]]:
        """The (name, name of what it means in the documents) pair of a split; empty once the decision is undone."""
        return [(self.name, other) for other in self.others] if self.kind == "split" and not self.undone_at else []
