"""The beam of semantic-guided search: from the statements found along links, best first.

A node is a chunk with its statements: a statement alone seldom holds both the name that leads on and the words that say
whether it is worth it. The graph is asked three times at most, for the statements of the seeds and for two neighbourhoods;
deeper, the beam runs over what these have brought.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from lexigraph.inference.protocols import Reranker
from lexigraph.model.graph import ChunkStatements, Entity, Link
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.semantic.statement_anchors import StatementAnchors, StatementLikeness
from lexigraph.retrieval.stages.expansion import Expansion
from lexigraph.retrieval.stages.ranking import Candidate, Weights
from lexigraph.retrieval.stages.reranking import min_max, scored
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import EvidenceRequest, Neighbourhood, SearchRequest

FETCHED = 2  # depths whose neighbourhood is fetched


class Beam(Expansion[SemanticArgs]):
    """Collects the evidence for one question, guided by how like it the statements are.

    ``judge`` is a reranker that says how like the question chunks are, in place of cosine and BM25.
    """

    def __init__(
        self,
        stores: BoundStores,
        question: str,
        anchors: StatementAnchors,
        args: SemanticArgs,
        weights: Weights,
        judge: Reranker | None,
    ) -> None:
        super().__init__(stores, question, anchors, args, weights)
        self.question, self.seeds, self.judge = question, anchors, judge
        self._judged: dict[str, float] = {}
        self.measured: StatementLikeness = anchors.likeness  # type: ignore[assignment]  # find_statements made it
        self.cosines = self.measured.cosines

    def start(self) -> None:
        """Collect the statements found, all others of their chunks, and those of the entities asked for."""
        entities, most = self.seeds.entities, self.args.keyword_top_k
        request = EvidenceRequest(
            statements=(*self.seeds.by_vector, *self.seeds.by_words),
            whole_chunks=True,
            neighbours=False,
            entities=tuple(a.entity.id for a in entities),
            per_entity=max(1, most // max(len(entities), 1)),
            facts=self.args.include_facts,
        )
        rows, nearest = self.stores.evidence("evidence", request), set(self.seeds.by_vector)
        by_vector = {row.chunk_id for row in rows if row.id in nearest}
        self._add((row, "statement" if row.chunk_id in by_vector else "keyword") for row in rows)
        self._refresh(self.found.rows)
        self.ranker.coverage.weigh([c.held for c in self.found.candidates.values()])

    def run(self, expand: bool) -> None:
        """Expand the best chunks not expanded yet, depth by depth; then keep the ``beam_width`` best that this added.

        Without ``expand`` only learn how like the question the chunks found are.
        """
        direct = set(self.found.candidates)
        for _ in range(self.args.max_depth if expand and self.args.beam_width else 0):
            self.follow_links()
        if not self.found.hops:
            self.score("scores_1")
        for candidate in self.found.candidates.values():
            if candidate.reason == "link":
                candidate.reason = "beam"
        if len(self.found.candidates) > len(direct) + self.args.beam_width:
            added = [i for i in self.rank().ids if i not in direct]
            for i in added[self.args.beam_width :]:
                del self.found.candidates[i], self.found.rows[i]
        self.seeds.entities = [a for a in self.seeds.entities if a.entity.id in self.ranker.asked]

    def score(self, step: str, new: Collection[str] = (), ranked: Sequence[str] = ()) -> None:  # noqa: ARG002  # all count
        """Learn how like the question all statements found and their chunks are."""
        vector, known = self.measured.goals[0].vector, self.cosines
        rows = {i: self.found.said(i) for i in self.found.candidates}
        unknown = {i: told for i, of_chunk in rows.items() if (told := [s for s in of_chunk if s not in known])}
        ids = tuple(sorted(set().union(*unknown.values())))
        known.update(dict.fromkeys(ids, 0.0))
        chunks = tuple(sorted(rows.keys() - self.measured.whole.keys()))
        if (ids or chunks) and vector is not None:
            requests = [
                SearchRequest("statement", vector=vector, ids=ids, texts=False),
                SearchRequest("chunk", vector=vector, ids=chunks, texts=False),
            ]
            of_statements, of_chunks = self.stores.search(step, requests)
            self.measured.know(of_statements)
            self.measured.know_whole(of_chunks)
        if unknown or chunks or new:
            self._refresh({*unknown, *chunks, *new})

    def _liken(self, candidates: Mapping[str, Candidate], changed: Iterable[str]) -> None:
        """Bring up to date what depends on all that was found: a share of the best is another when there is a better."""
        self.measured.measure(self.found.candidates, self.found.rows, changed)
        super()._liken(candidates, candidates)
        self._weigh_entities()
        self._judge()

    def _judge(self) -> None:
        """Let the reranker say how like the question the chunks most like it are; the others count as unlike."""
        if self.judge is None or not self.found.candidates:
            return
        if self._judged.keys() != self.found.candidates.keys():
            self._judged = dict.fromkeys(self.found.candidates, 0.0) | self._scores(self.judge)
        for i, candidate in self.found.candidates.items() if self.judge else ():
            candidate.cosine = candidate.bm25 = self._judged[i]

    def _scores(self, judge: Reranker) -> dict[str, float]:
        """Return the reranker's scores of the ``beam_width`` chunks most like the question, 0 to 1."""
        share = self.args.bm25_weight
        likeness = {i: (1 - share) * c.cosine + share * c.bm25 for i, c in self.found.candidates.items()}
        best = sorted(likeness, key=lambda i: (-round(likeness[i], 6), i))[: self.args.beam_width]
        texts, trace = [self.found.candidates[i].text for i in best], self.stores.trace
        scores = scored(
            judge, [self.question], texts, trace, instead="the beam search used similarity instead", step="beam_rerank"
        )
        if scores is None:
            self.judge = None
            return {}
        return dict(zip(best, min_max(scores, equal=1.0), strict=True))

    def _weigh_entities(self) -> None:
        """Weigh the entities of the question by how many sources name them: by the graph, else by what was found.

        What nothing found names has no weight: the search of names does not see filters, nor whether a name is in use.
        """
        self.ranker.asked, ids = {}, {asked.entity.id for asked in self.seeds.entities}
        sources: dict[str, set[str]] = {i: set() for i in ids}
        for candidate in self.found.candidates.values():
            for i in ids & candidate.entities:
                sources[i].add(candidate.source)
        for at, asked in enumerate(self.seeds.entities):
            known = self.found.entities.get(asked.entity.id)
            naming = sources[asked.entity.id]
            df = known.df if known else len(naming)
            self.seeds.entities[at] = weighed = replace(asked, entity=asked.entity._replace(df=df))
            if naming:
                self.ranker.asked[asked.entity.id] = weighed.worth

    def _around(self, step: str, starts: Sequence[str], ids: Mapping[str, Sequence[str]]) -> Neighbourhood:
        if len(self.found.hops) < FETCHED:
            return super()._around(step, starts, ids)
        return self._within(starts, ids)

    def _preferred(self) -> Sequence[str]:
        return sorted(self.found.candidates, key=self._by_likeness)

    def _by_likeness(self, chunk_id: str) -> tuple[float, str]:
        candidate = self.found.candidates[chunk_id]
        return -round(candidate.cosine + candidate.bm25, 6), chunk_id

    def _within(self, starts: Sequence[str], ids: Mapping[str, Sequence[str]]) -> Neighbourhood:
        """Return the links from some chunks to others found, as the graph would, without asking it."""
        titled, naming = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for i in self._preferred():
            candidate = self.found.candidates[i]
            for entity in self._title_ids(candidate.title):
                titled[entity].append(i)
            for entity in self.found.mentioned(i):
                naming[entity].append(i)
        known = dict(self.found.entities)
        for entity, chunks in titled.items():
            df = len({self.found.candidates[i].source for i in (*chunks, *naming[entity])})
            known.setdefault(entity, Entity(entity, self.found.candidates[chunks[0]].title, df=df))
        links: set[Link] = set()
        most, rare = self.args.max_links_per_entity, self.args.max_link_df
        for start in starts:
            own = self._title_ids(self.found.candidates[start].title)
            for entity in {*self.found.mentioned(start), *ids[start]} & known.keys():
                links |= {Link(start, entity, to, "about") for to in titled[entity][:most]}
                if known[entity].df <= rare:
                    links |= {Link(start, entity, to, "shared") for to in naming[entity][:most]}
            for entity in own & known.keys():
                if known[entity].df <= 4 * rare:
                    links |= {Link(start, entity, to, "named") for to in naming[entity][:most]}
        kept = sorted((x for x in links if x.from_chunk != x.to_chunk), key=_place)
        return Neighbourhood(tuple(kept), tuple(self._again(i) for i in dict.fromkeys(x.to_chunk for x in kept)), known)

    def _again(self, chunk_id: str) -> ChunkStatements:
        """Return a chunk found before as a link leads to it."""
        rows = tuple(self.found.said(chunk_id).values())
        return ChunkStatements(chunk_id, rows[0].source, tuple(self.found.mentioned(chunk_id)), lambda: rows)


def _place(link: Link) -> tuple[str, str, str, str]:
    return link.from_chunk, link.entity_id, link.to_chunk, link.kind
