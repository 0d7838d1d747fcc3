"""Where to start: the chunks most like the question, and the entities that it names. One vector call, one graph call."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.graph import Entity
from lexigraph.model.ids import node_id
from lexigraph.model.normalise import entity_key
from lexigraph.retrieval.stages.text import Name, longest, names, unframed
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import Hit, IndexName, SearchRequest

POOL = 50  # chunks looked at by vectors, and as many by BM25, before the best are chosen
_NAMES_PER_KEYWORD = 5
_LOOK_PAST = 10  # times as many names are looked up where filters may admit few of them
_PARTIAL = 0.5  # an entity that shares only some words with a keyword
_CONNECTED = 0.3  # an entity that only shares a fact with one looked up
_CONNECTED_EACH = 3


@dataclass(frozen=True, slots=True)
class Goal:
    """A question to search for, the user's or a subquery, with its vector (None: search by words only) and its weight."""

    text: str
    vector: FloatArray | None
    weight: float = 1.0

    @property
    def words(self) -> str:
        """What is searched for by words."""
        return unframed(self.text)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is asked: the goals (the user's question first) and the keywords to look up."""

    goals: tuple[Goal, ...]
    keywords: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The user's question."""
        return self.goals[0].text

    def names(self) -> list[Name]:
        """Return every stretch of words of the goals and every keyword: what may be a name."""
        found: list[Name] = []
        for text in dict.fromkeys([*(g.text for g in self.goals), *self.keywords]):
            start = found[-1].last + 1 if found else 0
            shifted = (Name(n.key, n.form, n.first + start, n.last + start) for n in names(text, capitals=False))
            found += sorted(shifted, key=lambda n: n.last)
        return found


class Likeness:
    """How like the question the chunks (or the records of another ``index``) are, as far as it is known: cosine and BM25 by
    goal, each as a share of the best found.

    Zero means unlike whatever the collection, so that a chunk's value does not depend on how many others were looked at.
    With ``absolute`` a cosine is no share but itself.
    """

    def __init__(self, goals: Sequence[Goal], index: IndexName = "chunk", *, absolute: bool = False) -> None:
        self.goals, self.index, self.absolute = goals, index, absolute
        self.texts: dict[str, str] = {}
        self.sources: dict[str, str] = {}
        self._cosines: list[dict[str, float]] = [{} for _ in goals]
        self._bm25s: list[dict[str, float]] = [{} for _ in goals]
        self._most: dict[bool, dict[str, float]] = {True: {}, False: {}}  # cosine, BM25 of the goal it is most like
        self._best: list[float] = []
        self._settled: set[str] = set()

    def requests(self, k: int, ids: tuple[str, ...] | None = None) -> list[SearchRequest]:
        """Return the searches for all goals: the ``k`` best, or the scores of ``ids``."""
        found: list[SearchRequest] = []
        for goal in self.goals:
            if goal.vector is not None:
                found.append(SearchRequest(self.index, vector=goal.vector, k=k, ids=ids))
            found.append(SearchRequest(self.index, text=goal.words, k=k, ids=ids))
        return found

    def take(self, answers: Sequence[Sequence[Hit]], ids: Iterable[str] = ()) -> None:
        """Take in the answers to :meth:`requests`, in the same order, made with the same ``ids``."""
        if not self._best:
            self._best = [max((hit.score for hit in hits), default=0.0) for hits in answers]
        for (goal, known, is_cosine), best, hits in zip(self._searched(), self._best, answers, strict=True):
            top, most = 1.0 if self.absolute and is_cosine else best, self._most[is_cosine]
            for id_, score, text, source, *_ in hits:
                known[id_] = value = min(max(score, 0.0) / top, 1.0) * goal.weight if top > 0 else 0.0
                most[id_] = max(most.get(id_, 0.0), value)
                self.texts[id_], self.sources[id_] = text, source
        self._settled.update(ids)

    def of(self, chunk_id: str) -> tuple[float, float]:
        """Return cosine and BM25 of a chunk, 0 to 1, for the goal it is most like."""
        return self._most[True].get(chunk_id, 0.0), self._most[False].get(chunk_id, 0.0)

    def lacking(self, chunk_ids: Iterable[str]) -> tuple[str, ...]:
        """Return those of the chunks for which some search has not told a score yet."""
        unsettled, asked = set(chunk_ids) - self._settled, [known for _, known, _ in self._searched()]
        return tuple(sorted(i for i in unsettled if any(i not in known for known in asked)))

    def _searched(self) -> list[tuple[Goal, dict[str, float], bool]]:
        """Return the goal of each of :meth:`requests`, what is known by it, and whether that is cosines."""
        found: list[tuple[Goal, dict[str, float], bool]] = []
        for goal, cosines, bm25s in zip(self.goals, self._cosines, self._bm25s, strict=True):
            found += [(goal, cosines, True)] if goal.vector is not None else []
            found.append((goal, bm25s, False))
        return found


@dataclass(frozen=True, slots=True)
class AskedEntity:
    """An entity to start from: its weight (1 for a name of the question itself) and the names that led to it."""

    entity: Entity
    weight: float
    path: tuple[str, ...] = ()

    @property
    def worth(self) -> float:
        """The weight, less for an entity that many sources name."""
        return self.weight / math.sqrt(max(self.entity.df, 1))


@dataclass(slots=True)
class Anchors:
    """What the first calls found: likeness of chunks and of topics, and the entities asked for, the most telling first."""

    likeness: Likeness
    names: list[Name]
    entities: list[AskedEntity] = field(default_factory=list)
    topics: Likeness = field(default_factory=lambda: Likeness((), "topic"))


def find_anchors(
    stores: BoundStores, inquiry: Inquiry, *, pool: int, max_entities: int, expand_entities: bool, topics: int = 0
) -> Anchors:
    """Search for the question and look its names up.

    ``pool`` is how many chunks each search returns, 0 to leave chunks out; ``topics`` likewise; ``max_entities`` bounds the
    entities that are followed, 0 to leave them out.
    """
    goals = inquiry.goals
    anchors = Anchors(Likeness(goals), inquiry.names(), topics=Likeness(goals if topics else (), "topic", absolute=True))
    chunk_requests = anchors.likeness.requests(pool) if pool else []
    topic_requests = anchors.topics.requests(topics)
    keywords = inquiry.keywords if max_entities else ()
    k = _NAMES_PER_KEYWORD * (_LOOK_PAST if stores.filters else 1)
    name_requests = [SearchRequest("entity", text=word, k=k, prefix=True) for word in keywords]
    answers = stores.search("anchors", [*name_requests, *topic_requests, *chunk_requests])
    if chunk_requests:
        anchors.likeness.take(answers[-len(chunk_requests) :])
    anchors.topics.take(answers[len(keywords) :][: len(topic_requests)])
    if max_entities:
        near = dict(zip(keywords, answers, strict=False))
        anchors.entities = _entities(stores, anchors.names, near, max_entities, expand_entities)
        anchors.names += _further_names(anchors)
    return anchors


def _entities(
    stores: BoundStores, found_names: Sequence[Name], near: Mapping[str, Sequence[Hit]], most: int, expand: bool
) -> list[AskedEntity]:
    id_of = {name.key: node_id("entity", stores.tenant, name.key) for name in found_names}
    like = {hit.id for hits in near.values() for hit in hits}
    lookup = stores.entities("entities", sorted({*id_of.values(), *like}), _CONNECTED_EACH if expand else 0)
    partial: dict[str, float] = {}
    for keyword, hits in near.items():
        for hit in [hit for hit in hits if hit.id in lookup.found][:_NAMES_PER_KEYWORD]:
            partial[hit.id] = max(partial.get(hit.id, 0.0), _PARTIAL * overlap(keyword, hit.text))
    known = {*lookup.found, *lookup.aliases}
    exact = {id_of[n.key]: n.form for n in longest(n for n in found_names if id_of[n.key] in known)}
    asked: dict[str, AskedEntity] = {}
    for asked_id, form in exact.items():
        for entity in (*filter(None, [lookup.found.get(asked_id)]), *lookup.aliases.get(asked_id, ())):
            _offer(asked, AskedEntity(entity, 1.0, (form,)))
    covered = set(id_of.values())
    for entity_id, weight in partial.items():
        if entity_id not in covered:
            _offer(asked, AskedEntity(lookup.found[entity_id], weight))
    kept = sorted(asked.values(), key=lambda a: (-round(a.worth, 6), a.entity.id))[:most]
    followed = {a.entity.id: a for a in kept}
    for asked_id, entity in lookup.connected:
        start = followed.get(asked_id)
        if start and entity.id not in asked:
            _offer(followed, AskedEntity(entity, _CONNECTED * start.weight, (start.entity.value, entity.value)))
    return sorted(followed.values(), key=lambda a: (-round(a.worth, 6), a.entity.id))[:most]


def _further_names(anchors: Anchors) -> list[Name]:
    """Return the other names of what the question names, as if they stood after it: they may be titles, too."""
    said, end = {n.key for n in anchors.names}, max((n.last for n in anchors.names), default=0)
    meant = {entity_key(a.entity.value): a.entity.value for a in anchors.entities if a.weight == 1.0}
    further = sorted((key, form) for key, form in meant.items() if key not in said)
    return [Name(key, form, end + at, end + at + 1) for at, (key, form) in enumerate(further)]


def _offer(asked: dict[str, AskedEntity], new: AskedEntity) -> None:
    old = asked.get(new.entity.id)
    if old is None or new.weight > old.weight:
        asked[new.entity.id] = new


def overlap(keyword: str, name: str) -> float:
    """Return the share of the words of both that they have in common."""
    a, b = set(entity_key(keyword).split()), set(entity_key(name).split())
    return len(a & b) / len(a | b) if a | b else 0.0


def spread_over_sources(ordered: Sequence[str], source_of: Mapping[str, str], k: int) -> list[str]:
    """Pick ``k`` of the chunks: in turn the next best of each source not seen yet, then the second best of each (G-27)."""
    left, picked = list(ordered), list[str]()
    while left and len(picked) < k:
        seen: set[str] = set()
        again = []
        for chunk in left:
            source = source_of.get(chunk, chunk)
            if source in seen or len(picked) == k:
                again.append(chunk)
            else:
                seen.add(source)
                picked.append(chunk)
        left = again
    return picked
