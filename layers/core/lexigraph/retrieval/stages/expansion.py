"""From what was found first to what its links lead to: a graph call and a vector call a hop at most, whatever is found."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from lexigraph.model.graph import ChunkStatements, Entity, Link, Source, StatementRow
from lexigraph.model.ids import node_id
from lexigraph.retrieval.stages.anchors import Anchors
from lexigraph.retrieval.stages.args import RankingArgs
from lexigraph.retrieval.stages.ranking import (
    Array,
    Candidate,
    Coverage,
    Ranker,
    Ranking,
    Weights,
    title_keys,
    title_matches,
)
from lexigraph.retrieval.stages.text import Name, holder, longest, names, same_thing
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import Neighbourhood

A = TypeVar("A", bound=RankingArgs, covariant=True)


@dataclass(slots=True)
class Evidence:
    """Chunks that may answer, their statements, and the links that were followed, hop by hop.

    ``rows`` are the statements read so far, ``linked`` the chunks that links lead to, ``told`` the words of the question
    that such a chunk says of an entity, ``renamed`` the entities that a chunk followed names by another of their names only.
    """

    candidates: dict[str, Candidate] = field(default_factory=dict)
    rows: dict[str, dict[str, StatementRow]] = field(default_factory=dict)
    linked: dict[str, ChunkStatements] = field(default_factory=dict)
    links: dict[tuple[str, str, str, str], Link] = field(default_factory=dict)
    told: dict[tuple[str, str], Array] = field(default_factory=dict)
    renamed: set[tuple[str, str]] = field(default_factory=set)
    entities: dict[str, Entity] = field(default_factory=dict)
    hops: list[list[str]] = field(default_factory=list)
    _read: set[str] = field(default_factory=set)

    def said(self, chunk_id: str) -> dict[str, StatementRow]:
        """Return the statements found of a chunk, by id: of one that a link leads to, all."""
        said = self.rows[chunk_id]
        if chunk_id in self.linked and chunk_id not in self._read:
            self._read.add(chunk_id)
            for row in self.linked[chunk_id].rows:
                said.setdefault(row.id, row)
        return said

    def mentioned(self, chunk_id: str) -> set[str]:
        """Return the ids of the entities that the statements found of a chunk name."""
        linked = self.linked.get(chunk_id)
        return {e for row in self.rows[chunk_id].values() for e in row.entities}.union(linked.entities if linked else ())


class Expansion(ABC, Generic[A]):
    """Collects the evidence for one question, along links from what the subclass starts with; each step is at most one call
    of a store.
    """

    def __init__(self, stores: BoundStores, question: str, anchors: Anchors, args: A, weights: Weights) -> None:
        self.stores, self.anchors, self.args = stores, anchors, args
        self.likeness = anchors.likeness
        self.found = Evidence()
        self.cosines: dict[str, float] = {}  # of statements with the question
        self._unnamed: set[str] = set()  # titles that the question names no part of
        further = [(goal.text, goal.weight) for goal in anchors.likeness.goals[1:]]
        self.ranker = Ranker(Coverage(question, further), {a.entity.id: a.worth for a in anchors.entities}, args, weights)

    def rank(self) -> Ranking:
        """Rank what was found so far."""
        found = self.found
        return self.ranker.rank(
            found.candidates, found.links.values(), found.entities, found.hops, found.told, found.renamed
        )

    def follow_links(self) -> None:
        """Follow the links out of the best chunks not followed yet, and learn how like the question the new ones are.

        Each hop follows half as many chunks as the one before: further out, only the best can still bring enough.
        """
        hop = len(self.found.hops) + 1
        most = max(1, self.args.link_seeds // 2 ** (hop - 1))
        followed = {i for starts in self.found.hops for i in starts}
        ranked = self.rank().ids
        starts = [i for i in ranked if i not in followed][:most]
        in_text = {i: self._names_in(i) for i in starts}
        ids = {i: sorted({entity for entity, _ in found}) for i, found in in_text.items()}
        around = self._around(f"links_{hop}", starts, ids)
        self.found.entities.update(around.entities)
        self.found.hops.append(starts)
        for link in self._sound(around, in_text):
            self.found.links[link.from_chunk, link.entity_id, link.to_chunk, link.kind] = link
        reached = {key[2] for key in self.found.links}
        new = [chunk for chunk in around.chunks if chunk.id in reached]
        for chunk in new:
            self._candidate(chunk.id, chunk.source, "link").entities.update(chunk.entities)
            self.found.linked.setdefault(chunk.id, chunk)
        self.score(f"scores_{hop}", {chunk.id for chunk in new}, ranked)
        self._hear()

    @abstractmethod
    def score(self, step: str, new: Collection[str] = (), ranked: Sequence[str] = ()) -> None:
        """Learn how like the question the ``new`` chunks, and all others found, and their statements are.

        ``ranked`` are the chunks known before, best first.
        """

    def _hear(self) -> None:
        """Learn what the chunks that only share an entity say of it: the rest of such a chunk is about something else."""
        found, known, coverage = self.found, self.found.candidates, self.ranker.coverage
        shared = dict.fromkeys(
            (link.to_chunk, link.entity_id)
            for link in found.links.values()
            if link.kind == "shared"
            and link.to_chunk in known
            # else it answers nothing that is open, whichever statement is asked
            and (known[link.to_chunk].held > known[link.from_chunk].held).any()
        )
        new = [key for key in shared if key not in found.told]
        texts = [[f"{r.value}\n{r.details}" for r in found.said(to).values() if e in r.entities] for to, e in new]
        held, at = coverage.held([text for of_chunk in texts for text in of_chunk]), 0
        for key, of_chunk in zip(new, texts, strict=True):
            if of_chunk:
                found.told[key] = held[at : at + len(of_chunk)].max(axis=0)
            at += len(of_chunk)

    def _add(self, found: Iterable[tuple[StatementRow, str]]) -> None:
        """Take in statements, each with the reason why it was found."""
        for row, reason in found:
            self._candidate(row.chunk_id, row.source, reason).entities.update(row.entities)
            self.found.rows[row.chunk_id].setdefault(row.id, row)

    def _candidate(self, chunk_id: str, source: Source, reason: str) -> Candidate:
        """Return the candidate that a chunk is, from now on if it was none; ``reason`` is why it was found first."""
        candidate = self.found.candidates.get(chunk_id)
        if candidate is None:
            entities, nothing = set(self._title_ids(source.title)), np.zeros(len(self.ranker.coverage.words))
            candidate = Candidate(chunk_id, source.id, source.title, "", nothing, entities=entities, reason=reason)
            self.found.candidates[chunk_id], self.found.rows[chunk_id] = candidate, {}
        return candidate

    def _refresh(self, chunk_ids: Collection[str]) -> None:
        """Bring what is known of some candidates up to date."""
        changed = []
        for i in chunk_ids:
            candidate = self.found.candidates[i]
            text = self.likeness.texts.get(i) or "\n".join([row.value for row in self.found.said(i).values()])
            if text != candidate.text:
                candidate.text = text
                changed.append(candidate)
        coverage = self.ranker.coverage
        held = np.maximum(coverage.held([c.title for c in changed]), coverage.held([c.text for c in changed]))
        for candidate, row in zip(changed, held, strict=True):
            candidate.held = row
        self._liken(self.found.candidates, chunk_ids)

    def _liken(self, candidates: Mapping[str, Candidate], changed: Iterable[str]) -> None:
        titles = {i: c.title for i, c in candidates.items() if c.title not in self._unnamed}
        matches, asked = title_matches(titles, self.anchors.names), {name.key for name in self.anchors.names}
        self._unnamed.update(title for title in titles.values() if asked.isdisjoint(title_keys(title)))
        for i in changed:
            candidates[i].cosine, candidates[i].bm25 = self.likeness.of(i)
        for i, candidate in candidates.items():
            candidate.title_match = matches.get(i, 0.0)

    def _around(self, step: str, starts: Sequence[str], ids: Mapping[str, Sequence[str]]) -> Neighbourhood:
        """Return the links out of some chunks; ``ids`` are those of the names in their texts."""
        args = self.args
        most = args.max_link_df, args.max_links_per_entity
        return self.stores.neighbourhood(step, starts, ids, *most, self._preferred(), args.include_facts)

    @abstractmethod
    def _preferred(self) -> Sequence[str]:
        """Return the chunks to lead to where links lead to many: those known to be like the question, best first."""

    def _names_in(self, chunk_id: str) -> list[tuple[str, Name]]:
        """Return what may be a name in a chunk's text, each with the id of its entity, without the parts of names that it is
        known to mention.
        """
        mentioned = self.found.mentioned(chunk_id)
        tenant, text = self.stores.tenant, self.found.candidates[chunk_id].text
        found = [(_entity_id(tenant, name.key), name) for name in names(text)]
        whole = holder(longest(name for entity, name in found if entity in mentioned))
        return [(entity, name) for entity, name in found if (home := whole(name)) is None or same_thing(name, home)]

    def _sound(self, around: Neighbourhood, in_text: Mapping[str, Sequence[tuple[str, Name]]]) -> Iterable[Link]:
        """Yield the links worth following: not by a name that only is part of a longer one, nor back to the same title, nor
        inside a source, where the names are everywhere and search finds what is near by itself.
        """
        parts: dict[str, set[str]] = {}
        own: dict[str, frozenset[str]] = {}
        plain: dict[str, set[str]] = {}
        for i, found in in_text.items():
            known = [(entity, name) for entity, name in found if entity in around.entities]
            whole = holder(longest(name for _, name in known))
            meant = {entity for entity, name in known if (longer := whole(name)) and same_thing(name, longer)}
            own[i] = self._title_ids(self.found.candidates[i].title)
            plain[i] = {entity for entity, _ in known} | self.found.mentioned(i) | own[i]
            parts[i] = plain[i] - meant - self.found.mentioned(i) - own[i]
        home = {chunk.id: chunk.source.id for chunk in around.chunks}
        for link in around.links:
            inside = home.get(link.to_chunk) == self.found.candidates[link.from_chunk].source
            to_itself = inside or (link.kind == "about" and link.entity_id in own[link.from_chunk])
            if link.entity_id not in plain[link.from_chunk]:
                self.found.renamed.add((link.from_chunk, link.entity_id))
            if link.entity_id not in parts[link.from_chunk] and not to_itself:
                yield link

    def _title_ids(self, title: str) -> frozenset[str]:
        return _title_ids(self.stores.tenant, title)

    def _entity_id(self, key: str) -> str:
        return _entity_id(self.stores.tenant, key)


@lru_cache(maxsize=65_536)
def _entity_id(tenant: str, key: str) -> str:
    return node_id("entity", tenant, key)


@lru_cache(maxsize=65_536)
def _title_ids(tenant: str, title: str) -> frozenset[str]:
    return frozenset(_entity_id(tenant, key) for key in title_keys(title))
