"""From anchors to evidence: statements of chunks, entities and topics, then what their links lead to. Three graph calls at
most, two vector calls at most, whatever is found.
"""

from collections.abc import Collection, Iterable, Sequence

from lexigraph.model.graph import StatementRow
from lexigraph.model.normalise import entity_key
from lexigraph.model.results import Stop
from lexigraph.retrieval.stages.anchors import spread_over_sources
from lexigraph.retrieval.stages.expansion import Expansion
from lexigraph.retrieval.stages.ranking import Candidate, title_keys
from lexigraph.retrieval.stages.statements import RANKED
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.retrieval.traversal.topics import FoundTopic, best_topics, grow
from lexigraph.storage.protocols import EvidenceRequest, SearchRequest

_MAX_TITLE_CHARS = 200
_READ = 30  # best chunks of the pool, whose statements are read where nobody says how many


class TraversalExpansion(Expansion[TraversalArgs]):
    """Collects the evidence for one question, starting from its anchors."""

    def run(self) -> None:
        """Collect the statements of the anchors, then go ``link_rounds`` hops along links."""
        self._start()
        for _ in range(self.args.link_rounds):
            self.follow_links()
        if not self.found.hops:
            self.score("scores_1", ranked=self.rank().ids)

    def score(self, step: str, new: Collection[str] = (), ranked: Sequence[str] = ()) -> None:
        """Learn how like the question the chunks are and, in the last hop, the statements of those that may be returned."""
        lacking = self.likeness.lacking(self.found.candidates)
        requests = self.likeness.requests(len(lacking), lacking) if lacking else []
        of_chunks = len(requests)
        if len(self.found.hops) >= self.args.link_rounds and (vector := self.likeness.goals[0].vector) is not None:
            said = tuple(sorted({i for chunk in (*ranked[:RANKED], *new) for i in self.found.said(chunk)}))
            requests += [SearchRequest("statement", vector=vector, ids=said, texts=False)] if said else []
        answers = self.stores.search(step, requests)
        if lacking:
            self.likeness.take(answers[:of_chunks], lacking)
        self.cosines.update((hit.id, hit.score) for hits in answers[of_chunks:] for hit in hits)
        if lacking or new:
            self._refresh({*lacking, *new})

    def _start(self) -> None:
        """Collect the statements of the best chunks, of the entities asked for, and of the topics that a beam finds."""
        args = self.args
        chunks = dict.fromkeys(self._best_chunks())
        seeds = best_topics(self.anchors.topics, self.ranker.coverage, args)
        request = EvidenceRequest(
            chunks=tuple(chunks),
            entities=tuple(a.entity.id for a in self.anchors.entities),
            per_entity=args.max_statements_per_entity,
            topics=tuple(seeds),
            per_topic=args.topic_statements,
            topic_reach=args.topic_beam_max_depth,
            topic_links=args.max_links_per_entity if args.topic_beam_max_depth else 0,
            facts=args.include_facts,
        )
        asked = set(self.ranker.asked)
        rows = self.stores.evidence("evidence", request)
        self._topics: dict[str, FoundTopic] = grow(seeds, rows, self.ranker.coverage, args)
        self._titles = {row.topic_id: row.topic for row in rows}
        going_on = {row.topic_id for row in rows if row.chunk_id in chunks}
        called = {entity_key(a.entity.value) for a in self.anchors.entities}
        kept = []
        for row in rows:
            named = not asked.isdisjoint(row.entities) or not called.isdisjoint(title_keys(row.source.title))
            reason = "chunk" if row.chunk_id in chunks else "entity" if named else "topic"
            # the rest is what the beam might have reached
            if reason != "topic" or not seeds or row.topic_id in self._topics or row.topic_id in going_on:
                kept.append((row, reason))
        self._add(kept)
        self._refresh(self.found.rows)
        if not chunks:
            self.ranker.coverage.weigh([c.held for c in self.found.candidates.values()])

    def _best_chunks(self) -> list[str]:
        """Choose ``vss_top_k`` chunks of the pool by their own score, spread over sources; by default the best besides."""
        texts, sources = self.likeness.texts, self.likeness.sources
        held = self.ranker.coverage.held(list(texts.values()))
        pool = {
            i: Candidate(i, sources[i], _first_line(text), text, row)
            for (i, text), row in zip(texts.items(), held, strict=True)
        }
        self.ranker.coverage.weigh(held)
        self._liken(pool, pool)
        k, factor = self.args.start_chunks, self.args.vss_diversity_factor
        self._pool: Sequence[str] = self.ranker.rank(pool).ids
        ordered = self._pool[: k * (factor or 1)]
        start = spread_over_sources(ordered, self.likeness.sources, k) if factor else ordered
        return [*start, *(self._pool[:_READ] if self.args.vss_top_k is None else ())]

    def _refresh(self, chunk_ids: Collection[str]) -> None:
        for i in chunk_ids if self._topics else ():
            self._take_topic(self.found.candidates[i], self.found.said(i).values())
        super()._refresh(chunk_ids)

    def _take_topic(self, candidate: Candidate, rows: Iterable[StatementRow]) -> None:
        found = [self._topics[row.topic_id] for row in rows if row.topic_id in self._topics]
        if found:
            topic = min(found, key=lambda t: (-t.score, t.id))
            candidate.topic = topic.score
            if candidate.reason == "topic":
                candidate.path = tuple(Stop(self._titles[t], t) for t in topic.path)

    def _preferred(self) -> Sequence[str]:
        return self._pool


def _first_line(text: str) -> str:
    """Return where the title stands in an indexed text; a line too long for one is none."""
    line = text.split("\n", 1)[0]
    return line if len(line) <= _MAX_TITLE_CHARS else ""
