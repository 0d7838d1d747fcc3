"""The stores as one question sees them: every call counted and timed, tenant and filters passed along."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from lexigraph import telemetry
from lexigraph.model.errors import StoreDamaged, StoreUnavailable
from lexigraph.model.filters import Filter, having, keys_of
from lexigraph.model.graph import StatementRow
from lexigraph.model.relations import Step
from lexigraph.model.results import Notice
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols import (
    Adjacency,
    EntityLookup,
    EvidenceRequest,
    FloatArray,
    GraphNode,
    GraphStore,
    Hit,
    Matches,
    Neighbourhood,
    RelatedRequest,
    SearchRequest,
    Surroundings,
    TextPattern,
    VectorRecord,
    VectorStore,
)

Asked = TypeVar("Asked")
Got = TypeVar("Got")
_COMPARED = ("chunk", "statement")
_OWN_KEYS = ("namespace", "uri", "title")  # that every source has


@dataclass(slots=True)
class Trace:
    """What happened on the way to an answer: store calls by store, milliseconds by step, and what went less well.

    ``cosines`` are those of chunks and statements, by id, with what the question itself was searched by, ``ranks`` their
    places from 1 in the searches that found them, ``vector`` and ``bm25``.
    """

    calls: dict[str, int] = field(default_factory=lambda: {"vector": 0, "graph": 0})
    timings: dict[str, float] = field(default_factory=dict)
    warnings: list[Notice] = field(default_factory=list)
    cosines: dict[str, float] = field(default_factory=dict)
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)
    _nearest: dict[str, float] = field(default_factory=dict)
    _question: FloatArray | None = None
    _words: str = ""
    _began: float = field(default_factory=time.perf_counter)

    @contextmanager
    def step(self, name: str, store: str = "") -> Iterator[None]:
        """Time a step under its name; with ``store``, count a call of it."""
        if store:
            self.calls[store] = self.calls.get(store, 0) + 1
        began = time.perf_counter()
        try:
            with telemetry.span(name):
                yield
        finally:
            self.timings[name] = round(self.timings.get(name, 0.0) + _since(began), 3)

    def compare(self, requests: Sequence[SearchRequest], answers: Sequence[Sequence[Hit]]) -> None:
        """Note how like the question chunks and statements are, and which search found them at which place.

        The first vector that is searched by is the question's, and so are the first words.
        """
        for request, hits in zip(requests, answers, strict=True):
            if self._question is None:
                self._question = request.vector
            self._words = self._words or request.text
            self._place(request, hits)
            if request.vector is not None and request.vector is self._question and request.index in _COMPARED:
                self.cosines.update([hit[:2] for hit in hits])
                best = hits[0].score if hits else -1.0
                self._nearest[request.index] = max(best, self._nearest.get(request.index, -1.0))

    def _place(self, request: SearchRequest, hits: Sequence[Hit]) -> None:
        """Note the places that a search of everything for the question itself gives; the first such search counts."""
        by_vector = request.vector is not None
        of_question = request.vector is self._question if by_vector else request.text == self._words
        if request.ids is None and request.index in _COMPARED and of_question:
            for rank, hit in enumerate(hits, 1):
                self.ranks.setdefault(hit.id, {}).setdefault("vector" if by_vector else "bm25", rank)

    @property
    def nearest(self) -> float | None:
        """The highest cosine of a chunk, of a statement where no chunks were compared; None without any."""
        return self._nearest.get("chunk", self._nearest.get("statement"))

    def finish(self) -> None:
        """Note the time since the beginning as ``total``."""
        self.timings["total"] = round(_since(self._began), 3)

    def warn(self, type_: str, detail: str) -> None:
        """Note a warning, each only once."""
        notice = Notice(type_, detail)
        if notice not in self.warnings:
            self.warnings.append(notice)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


@dataclass(frozen=True, slots=True)
class BoundStores:
    """Graph and vector store bound to one question: tenant and filters of every call are the question's."""

    graph: GraphStore
    vector: VectorStore
    tenant: Tenant
    filters: Filter | None
    trace: Trace

    def search(self, step: str, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Run searches in one call; the filters reach all but the index of names, whose records have no source."""
        if not requests:
            return []
        filtered = requests
        if self.filters is not None:
            filtered = [replace(r, filters=self.filters) if r.index != "entity" else r for r in requests]
        with self.trace.step(step, "vector"):
            answers = self._from_whole(
                filtered, lambda some: self.vector.search_many(self.tenant, some), lambda _: [list[Hit]()]
            )
        if isinstance(self.tenant, View) and (names := [r for r in requests if r.index == "entity"]):
            # no count of calls: whose names are searched is no matter of the question
            found = iter(self.graph.names(self.tenant, names))
            answers = [next(found) if r.index == "entity" else hits for r, hits in zip(requests, answers, strict=True)]
        self.trace.compare(requests, answers)
        return answers

    def tell_of_filter(self) -> None:
        """Where nothing was found, warn if no document at all passes the filter, and name keys that none has: perhaps they
        are misspelt.
        """
        if self.filters is None:
            return
        keys = [key for key in keys_of(self.filters) if key not in _OWN_KEYS]
        anything = np.full(self.vector.dimension, self.vector.dimension**-0.5, np.float32)
        asked = [SearchRequest("chunk", vector=anything, k=1, filters=f) for f in (self.filters, *map(having, keys))]
        try:
            with self.trace.step("filters", "vector"):
                passing, *known = self.vector.search_many(self.tenant, asked)
        except StoreUnavailable:
            return  # what could be said before is said
        if not passing:
            unknown = [key for key, hits in zip(keys, known, strict=True) if not hits]
            named = f"; no document has {', '.join(unknown)} in its metadata" if unknown else ""
            self.trace.warn(
                "filter_passes_nothing", f"no document matches the filter{named}: check the metadata of your documents"
            )

    def _unless_damaged(self, ask: Callable[[], Got], nothing: Got) -> Got:
        """Ask for more; do without it, with a warning, where it is damaged."""
        try:
            return ask()
        except StoreDamaged:
            self._warn_of_damage()
            return nothing

    def _warn_of_damage(self) -> None:
        self.trace.warn("store_damaged", "damaged records were skipped: run `lexigraph doctor`")

    def _from_whole(
        self, asked: Sequence[Asked], ask: Callable[[Sequence[Asked]], list[Got]], lost: Callable[[Asked], list[Got]]
    ) -> list[Got]:
        """Ask; over damage one by one, with a warning and ``lost`` for what is damaged. Raise when nothing is whole."""
        try:
            return ask(asked)
        except StoreDamaged:
            if len(asked) < 2:
                raise
        found, whole = list[Got](), 0
        for one in asked:
            try:
                found += ask([one])
                whole += 1
            except StoreDamaged as error:
                found += lost(one)
                last = error
        if not whole:
            raise last
        self._warn_of_damage()
        return found

    def entities(self, step: str, ids: Sequence[str], connected: int) -> EntityLookup:
        """Look up entities by id."""
        if not ids:
            return EntityLookup()
        with self.trace.step(step, "graph"):
            return self._unless_damaged(
                lambda: self.graph.entities(self.tenant, ids, connected=connected, filters=self.filters), EntityLookup()
            )

    def adjacent(self, step: str, chunks: Sequence[str], per_kind: int = 0) -> Adjacency:
        """Look up where chunks stand, and what is beside them."""
        if not chunks:
            return Adjacency()
        with self.trace.step(step, "graph"):
            return self.graph.adjacent(self.tenant, chunks, per_kind=per_kind, filters=self.filters)

    def texts(self, step: str, chunks: Sequence[str]) -> dict[str, VectorRecord]:
        """Fetch the records of chunks whose texts are shown."""
        if not chunks:
            return {}
        with self.trace.step(step, "text"):
            return self.vector.fetch(self.tenant, "chunk", chunks)

    def related(self, step: str, request: RelatedRequest) -> list[Step]:
        """Follow entities and relations out of some chunks, or out of the question."""
        if not (request.chunks or request.names or request.first):
            return []
        with self.trace.step(step, "graph"):
            return self._unless_damaged(lambda: self.graph.related(self.tenant, replace(request, filters=self.filters)), [])

    def evidence(self, step: str, request: EvidenceRequest) -> list[StatementRow]:
        """Collect statements of chunks, entities and topics."""
        if not (request.chunks or request.entities or request.statements or request.topics):
            return []
        with self.trace.step(step, "graph"):
            whole = replace(request, filters=self.filters)
            try:
                return self.graph.evidence(self.tenant, whole)
            except StoreDamaged:
                return self._from_whole(_parts(whole), self._evidence_of_each, lambda _: [])

    def _evidence_of_each(self, requests: Sequence[EvidenceRequest]) -> list[StatementRow]:
        return [row for request in requests for row in self.graph.evidence(self.tenant, request)]

    def nodes(self, step: str, ids: Sequence[str], near: Sequence[str] = ()) -> dict[str, GraphNode]:
        """Look up nodes of any kind that readers see."""
        if not ids:
            return {}
        with self.trace.step(step, "graph"):
            return self.graph.nodes(self.tenant, ids, near=near, filters=self.filters)

    def matching(self, step: str, pattern: TextPattern, ids: Sequence[str], near: Sequence[str] = ()) -> Matches:
        """Look up nodes, and those whose text a pattern is found in."""
        with self.trace.step(step, "graph"):
            return self.graph.matching(self.tenant, pattern, ids, near=near, filters=self.filters)

    def surroundings(self, step: str, ids: Sequence[str], per_node: int) -> Surroundings:
        """Look up what lies around nodes."""
        if not ids:
            return Surroundings()
        with self.trace.step(step, "graph"):
            return self._unless_damaged(
                lambda: self.graph.surroundings(self.tenant, ids, per_node=per_node, filters=self.filters), Surroundings()
            )

    def neighbourhood(
        self,
        step: str,
        chunks: Sequence[str],
        names: Mapping[str, Sequence[str]],
        max_df: int,
        per_entity: int,
        prefer: Sequence[str] = (),
        facts: bool = True,
    ) -> Neighbourhood:
        """Follow the links out of some chunks."""
        if not chunks:
            return Neighbourhood()
        with self.trace.step(step, "graph"):
            return self._unless_damaged(
                lambda: self.graph.neighbourhood(
                    self.tenant,
                    chunks,
                    names=names,
                    max_df=max_df,
                    per_entity=per_entity,
                    prefer=prefer,
                    facts=facts,
                    filters=self.filters,
                ),
                Neighbourhood(),
            )


def _parts(request: EvidenceRequest) -> list[EvidenceRequest]:
    """Return requests for one thing each that together ask for the same."""
    alone = replace(request, chunks=(), statements=(), entities=(), topics=())
    kinds = ("chunks", "statements", "entities", "topics")
    return [replace(alone, **{kind: (one,)}) for kind in kinds for one in getattr(request, kind)]  # type: ignore[arg-type]
