"""From anchors to evidence: statements of chunks and entities, then what their links lead to. Three graph calls at most,
two vector calls at most, whatever is found.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from lexigraph.model.graph import Entity, Link, StatementRow
from lexigraph.model.ids import node_id
from lexigraph.retrieval.anchors import Anchors, spread_over_sources
from lexigraph.retrieval.args import TraversalArgs
from lexigraph.retrieval.ranking import (
    WEIGHTS,
    Candidate,
    Coverage,
    Ranked,
    Ranker,
    Weights,
    title_keys,
    title_matches,
)
from lexigraph.retrieval.text import Name, longest, names
from lexigraph.retrieval.topics import FoundTopic, best_topics, grow
from lexigraph.retrieval.trace import BoundStores
from lexigraph.storage.protocols import EvidenceRequest, Neighbourhood

_MAX_TITLE_CHARS = 200


@dataclass(slots=True)
class Evidence:
    """Chunks that may answer, their statements, and the links that were followed, hop by hop."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    rows: dict[str, dict[str, StatementRow]] = field(default_factory=dict)
    links: dict[tuple[str, str, str, str], Link] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    hops: list[list[str]] = field(default_factory=list)
    topics: dict[str, FoundTopic] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)


class Expansion:
    """Collects the evidence for one question; each step is at most one call of a store."""

    def __init__(
        self, stores: BoundStores, question: str, anchors: Anchors, args: TraversalArgs, weights: Weights = WEIGHTS
    ) -> None:
        self.stores, self.anchors, self.args = stores, anchors, args
        self.likeness = anchors.likeness
        self._pool: list[str] = []
        self.found = Evidence()
        further = [(goal.text, goal.weight) for goal in anchors.likeness.goals[1:]]
        self.ranker = Ranker(Coverage(question, further), {a.entity.id: a.worth for a in anchors.entities}, args, weights)

    def rank(self, limit: int | None = None) -> list[Ranked]:
        """Return what was found so far, best first, at most ``limit`` chunks."""
        found = self.found
        return self.ranker.rank(found.candidates, found.links.values(), found.entities, found.hops, limit)

    def start(self) -> None:
        """Collect the statements of the best chunks, of the entities asked for, and of the topics that a beam finds."""
        chunks = dict.fromkeys(self._best_chunks())
        seeds = best_topics(self.anchors.topics, self.ranker.coverage, self.args)
        request = EvidenceRequest(
            chunks=tuple(chunks),
            entities=tuple(a.entity.id for a in self.anchors.entities),
            per_entity=self.args.max_statements_per_entity,
            topics=tuple(seeds),
            per_topic=self.args.topic_statements,
            topic_reach=self.args.topic_beam_max_depth,
            topic_links=self.args.max_links_per_entity if self.args.topic_beam_max_depth else 0,
            facts=self.args.include_facts,
        )
        asked = self.ranker.asked.keys()
        rows = self.stores.evidence("evidence", request)
        self.found.topics = grow(seeds, rows, self.ranker.coverage, self.args)
        self.found.titles = {row.topic_id: row.topic for row in rows}
        going_on = {row.topic_id for row in rows if row.chunk_id in chunks}
        for row in rows:
            reason = "chunk" if row.chunk_id in chunks else "entity" if asked & set(row.entities) else "topic"
            # the rest is what the beam might have reached
            if reason != "topic" or not seeds or row.topic_id in self.found.topics or row.topic_id in going_on:
                self._add(row, reason)
        self._refresh(self.found.rows)
        if not chunks:
            self.ranker.coverage.weigh([c.held for c in self.found.candidates.values()])

    def follow_links(self) -> None:
        """Follow the links out of the best chunks not followed yet, and learn how like the question the new ones are."""
        hop = len(self.found.hops) + 1
        followed = {i for starts in self.found.hops for i in starts}
        ranked = self.rank(len(followed) + self.args.link_seeds)
        starts = [r.id for r in ranked if r.id not in followed][: self.args.link_seeds]
        in_text = {i: self._names_in(i) for i in starts}
        ids = {i: sorted({self._entity_id(n.key) for n in found}) for i, found in in_text.items()}
        around = self._around(f"links_{hop}", starts, ids)
        self.found.entities.update(around.entities)
        self.found.hops.append(starts)
        for link in self._sound(around, in_text):
            self.found.links[link.from_chunk, link.entity_id, link.to_chunk, link.kind] = link
        reached = {key[2] for key in self.found.links}
        new = [row for row in around.statements if row.chunk_id in reached]
        for row in new:
            self._add(row, "link")
        self.score(f"scores_{hop}", {row.chunk_id for row in new})

    def score(self, step: str, new: Collection[str] = ()) -> None:
        """Learn how like the question the ``new`` chunks, and all others found, are."""
        lacking = self.likeness.lacking(self.found.candidates)
        if lacking:
            self.likeness.take(self.stores.search(step, self.likeness.requests(len(lacking), lacking)), lacking)
        self._refresh({*lacking, *new})

    def _best_chunks(self) -> list[str]:
        """Choose ``vss_top_k`` chunks of the pool by their own score, spread over sources."""
        coverage = self.ranker.coverage
        pool = {
            i: Candidate(i, self.likeness.sources[i], _first_line(text), text, coverage.held(text))
            for i, text in self.likeness.texts.items()
        }
        coverage.weigh([c.held for c in pool.values()])
        self._liken(pool, pool)
        k, factor = self.args.vss_top_k, self.args.vss_diversity_factor
        self._pool = [r.id for r in self.ranker.rank(pool)]
        ordered = self._pool[: k * (factor or 1)]
        return spread_over_sources(ordered, self.likeness.sources, k) if factor else ordered

    def _add(self, row: StatementRow, reason: str) -> None:
        self.found.rows.setdefault(row.chunk_id, {}).setdefault(row.id, row)
        if row.chunk_id not in self.found.candidates:
            nothing = np.zeros(len(self.ranker.coverage.words))
            self.found.candidates[row.chunk_id] = Candidate(
                row.chunk_id, row.source.id, row.source.title, "", nothing, reason=reason
            )

    def _refresh(self, chunk_ids: Collection[str]) -> None:
        """Bring what is known of some candidates up to date."""
        for i in chunk_ids:
            candidate, rows = self.found.candidates[i], self.found.rows[i].values()
            text = self.likeness.texts.get(i) or "\n".join(row.value for row in rows)
            if text != candidate.text:
                candidate.text = text
                candidate.held = self.ranker.coverage.held(f"{candidate.title}\n{text}")
            candidate.entities = frozenset(e for row in rows for e in row.entities) | self._title_ids(candidate.title)
            found = [self.found.topics[row.topic_id] for row in rows if row.topic_id in self.found.topics]
            if found:
                topic = min(found, key=lambda t: (-t.score, t.id))
                candidate.topic = topic.score
                if candidate.reason == "topic":
                    candidate.path = tuple(self.found.titles[t] for t in topic.path)
        self._liken(self.found.candidates, chunk_ids)

    def _liken(self, candidates: Mapping[str, Candidate], changed: Iterable[str]) -> None:
        titles = {i: c.title for i, c in candidates.items()}
        matches = title_matches(titles, self.anchors.names)
        for i in changed:
            candidates[i].cosine, candidates[i].bm25 = self.likeness.of(i)
        for i, candidate in candidates.items():
            candidate.title_match = matches.get(i, 0.0)

    def _around(self, step: str, starts: Sequence[str], ids: Mapping[str, Sequence[str]]) -> Neighbourhood:
        """Return the links out of some chunks; ``ids`` are those of the names in their texts."""
        args = self.args
        most = args.max_link_df, args.max_links_per_entity
        return self.stores.neighbourhood(step, starts, ids, *most, self._preferred(), args.include_facts)

    def _preferred(self) -> Sequence[str]:
        """Return the chunks to lead to where links lead to many: those known to be like the question, best first."""
        return self._pool

    def _names_in(self, chunk_id: str) -> list[Name]:
        """Return what may be a name in a chunk's text, without the parts of names that it is known to mention."""
        mentioned = self._mentioned(chunk_id)
        found = list(names(self.found.candidates[chunk_id].text))
        whole = longest(n for n in found if self._entity_id(n.key) in mentioned)
        home = {at: name for name in whole for at in range(name.first, name.last)}
        return [n for n in found if (within := home.get(n.first)) is None or n.last > within.last or n == within]

    def _mentioned(self, chunk_id: str) -> set[str]:
        return {e for row in self.found.rows[chunk_id].values() for e in row.entities}

    def _sound(self, around: Neighbourhood, in_text: Mapping[str, Sequence[Name]]) -> Iterable[Link]:
        """Yield the links worth following: not by a name that only is part of a longer one, nor back to the same title."""
        parts: dict[str, set[str]] = {}
        own: dict[str, frozenset[str]] = {}
        for i, found in in_text.items():
            known = [n for n in found if self._entity_id(n.key) in around.entities]
            whole = {self._entity_id(n.key) for n in longest(known)}
            own[i] = self._title_ids(self.found.candidates[i].title)
            parts[i] = {self._entity_id(n.key) for n in known} - whole - self._mentioned(i) - own[i]
        home = {row.chunk_id: row.source.id for row in around.statements}
        for link in around.links:
            by_part = link.entity_id in parts[link.from_chunk]
            to_itself = link.entity_id in own[link.from_chunk] and (
                link.kind == "about" or home.get(link.to_chunk) == self.found.candidates[link.from_chunk].source
            )
            if not by_part and not to_itself:
                yield link

    def _title_ids(self, title: str) -> frozenset[str]:
        return frozenset(map(self._entity_id, title_keys(title)))

    def _entity_id(self, key: str) -> str:
        return _entity_id(self.stores.tenant, key)


def _first_line(text: str) -> str:
    """Return where the title stands in an indexed text; a line too long for one is none."""
    line = text.split("\n", 1)[0]
    return line if len(line) <= _MAX_TITLE_CHARS else ""


@lru_cache(maxsize=65_536)
def _entity_id(tenant: str, key: str) -> str:
    return node_id("entity", tenant, key)


def gather(
    stores: BoundStores, question: str, anchors: Anchors, args: TraversalArgs, weights: Weights = WEIGHTS
) -> Expansion:
    """Collect all evidence for a question: statements of the anchors, then ``link_rounds`` hops along links."""
    expansion = Expansion(stores, question, anchors, args, weights)
    expansion.start()
    for _ in range(args.link_rounds):
        expansion.follow_links()
    expansion.score("scores_1")
    return expansion
