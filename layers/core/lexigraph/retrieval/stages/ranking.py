"""How chunks and statements are ranked: pure functions of what was found, no I/O.

A chunk's own score says how well it fits the question: likeness (BM25 and cosine), the share of the question's words that
it holds, whether its source is titled by a name in the question, and which of the question's entities it names. A chunk
that a link leads to is scored by what it *adds*: the words of the question that the chunk before it left open, and how
specific the link is. Likeness to the whole question, which pushes such bridge evidence down, decides only how well it fits
by itself. Every score is a sum of named parts, every tie is broken by id. How much each part counts is set in
``Weights``, or by users in the parameters of a retriever.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.graph import Entity, Link
from lexigraph.model.normalise import entity_key, without_brackets
from lexigraph.model.results import Stop
from lexigraph.model.scripts import told_language
from lexigraph.retrieval.stages.args import RankingArgs
from lexigraph.retrieval.stages.text import Name, StemFinder, longest, stems, unframed

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of the ranking, with the reason of each. How they were chosen: docs/decisions.md."""

    # Holding the question's words is an absolute measure, where BM25 and cosine only order: it makes the lexical side count
    # for more the closer a chunk comes to answering alone (chat logs), and for little when no chunk does (multi-hop).
    coverage: float = 0.5
    coverage_power: float = 1.5
    # A source titled by a name in the question is what the question is about; shared among sources of one title.
    title: float = 0.6
    # A topic speaks most for a chunk that is unlike the question itself: what is like it both ways would count twice over,
    # and push down what only a link can find.
    topic_lift: float = 3.0
    # A link's worth: a start for being linked at all, more when few lead there, most for the open words it answers.
    link: float = 0.75
    link_base: float = 0.5
    link_specificity: float = 0.4
    link_coverage: float = 1.0
    # Being linked at all says less by as many times as more sources than these name what was passed: a page about a country
    # answers what is open by chance.
    common: float = 15.0
    # A name that chunks share tells less of each by as many times as more sources than these, or than this share of the
    # sources found, name it: in a folder of manuals many say HTTP or Linux, whatever they are about.
    few: float = 3.0
    few_of: float = 0.05
    # What is called otherwise in the text may be meant by it or not: a king of Imereti also was a *George VI*.
    other_name: float = 0.5
    # Against the direction of a mention the evidence is weaker; and sharing an entity alone is no reason to be read: there
    # what counts is what is said of it.
    named: float = 0.6
    shared: float = 0.52
    # Each step of a chain must hold: what a chunk half as good as the best leads to is worth less than half.
    start_power: float = 1.5
    # A name that leads to many chunks, all of a long document, says less of each; a little, since it leads to the document.
    fan: float = 0.3
    # A second hop must answer what the first left open, and is worth less for being further away.
    decay: float = 0.8
    # A statement alone says little, a chunk alone does not say where: how much the statement's own likeness counts.
    statement: float = 0.35
    # What reranking adds to a statement.
    rerank: float = 0.1
    # The share of a link's worth that a statement loses for answering less of what was open than the best of its chunk.
    within: float = 0.5
    # A further statement of a chunk that was heard, and a further chunk of a topic, counts a little less each time, so that
    # others are heard too. Not of a source: a long document must not lose for being long.
    repeat: float = 0.93
    same_topic: float = 0.9
    # What ``diversity`` counts for words of any kind that were said, and for words of the question: these are what the best
    # evidence has in common.
    said_again: float = 1.3
    asked_again: float = 0.6
    # Answers to a subquery count a little less than answers to the question itself.
    subquery: float = 0.9

    @property
    def best_link(self) -> float:
        """The highest bonus a link can bring."""
        return self.link * (self.link_base + self.link_specificity + self.link_coverage)

    @property
    def bound(self) -> float:
        """The highest score a statement can have; shown scores are divided by it, which keeps them in 0 to 1."""
        return 1.0 + self.best_link + self.rerank


WEIGHTS = Weights()
OWN_PARTS = ("vector", "bm25", "coverage", "title", "entity", "topic")


@dataclass(slots=True)
class Candidate:
    """A chunk that may hold evidence, with what is known of it.

    ``cosine`` and ``bm25`` are likeness to the question from 0 to 1, ``title_match`` says how far the question names the
    title of its source, ``entities`` are the ids of the entities it names or its source is titled by, ``reason`` is how it
    was found first: ``chunk``, ``entity``, ``topic`` or ``link``. ``held`` marks the question's words it holds. ``topic`` is
    the score of the best of its topics that a search of topics found, 0 to 1, and ``path`` the topics that led there.
    """

    id: str
    source: str
    title: str
    text: str
    held: Array
    cosine: float = 0.0
    bm25: float = 0.0
    title_match: float = 0.0
    entities: set[str] = field(default_factory=set)
    reason: str = "chunk"
    topic: float = 0.0
    path: tuple[Stop, ...] = ()


class Ranked(NamedTuple):
    """A chunk with its score and the parts that sum up to it.

    ``path`` is what led to it. ``wanted`` marks the question's words that were open when it was reached, all when
    it was found directly; ``open`` those that still are. ``via`` is the link that brought its bonus.
    """

    id: str
    score: float
    parts: Mapping[str, float]
    path: tuple[Stop, ...]
    wanted: Array
    open: Array
    via: Link | None = None


class _Weighed(NamedTuple):
    """Links between ranked chunks, an entry a link: which entity it passes, from which row to which, and its worth, which is
    ``base`` plus ``slope`` times the share of the open words that ``says``, the question's words that the target holds.
    """

    links: Sequence[Link]
    passed: Sequence[Entity | None]
    starts: NDArray[np.intp]
    targets: NDArray[np.intp]
    base: Array
    slope: Array
    says: Array


class Coverage:
    """The words of the question and its subqueries (as stems), weighted by how few of the texts seen hold them.

    ``subqueries`` are texts with their weights.
    """

    def __init__(self, question: str, subqueries: Sequence[tuple[str, float]] = ()) -> None:
        language = told_language(question)
        asked = [(unframed(text), weight) for text, weight in ((question, 1.0), *subqueries)]
        goals = [(frozenset(stems(text, language)), weight) for text, weight in asked]
        said = " ".join(text for text, _ in asked)
        self.words = tuple(dict.fromkeys(stems(said, language)))
        self._goals = [(np.array([float(word in of) for word in self.words]), weight) for of, weight in goals]
        self._finder = StemFinder(self.words, language)
        self._held: dict[str, Array] = {}
        self.idf: Array = np.ones(len(self.words))

    def weigh(self, held: Sequence[Array] | Array) -> None:
        """Take the weights of the words from the texts whose words are given."""
        df = np.sum(held, axis=0) if len(held) else np.zeros(len(self.words))
        self.idf = np.log(1 + (len(held) - df + 0.5) / (df + 0.5))

    def held(self, texts: Sequence[str]) -> Array:
        """Return a row a text: 1.0 for each word of the question that it holds, else 0.0."""
        new = [text for text in dict.fromkeys(texts) if text not in self._held]
        rows = np.zeros((len(new), len(self.words)))
        if found := self._finder.found_in(new):
            rows[tuple(zip(*found, strict=True))] = 1.0
        self._held.update(zip(new, rows, strict=True))
        return np.array([self._held[text] for text in texts]).reshape(len(texts), len(self.words))

    def shares(self, held: Array, of: Array | float = 1.0) -> Array:
        """Return, for each row of ``held``, the weighted share of the words ``of`` (all by default) it holds, 0 to 1."""
        wanted = self.idf * of
        total = float(wanted.sum())
        shares: Array = held @ wanted / total if total > 0 else np.zeros(len(held))
        return shares

    def shares_each(self, held: Array, of: Array) -> Array:
        """Return, for each row of ``held``, the weighted share it holds of the words that the same row of ``of`` marks."""
        wanted = self.idf * of
        total = wanted.sum(axis=1)
        shares: Array = np.divide((held * wanted).sum(axis=1), total, out=np.zeros(len(held)), where=total > 0)
        return shares

    def best_shares(self, held: Array) -> Array:
        """Return, for each row of ``held``, the share it holds of the words of the question, or of one subquery."""
        best: Array = np.max([weight * self.shares(held, of) for of, weight in self._goals], axis=0)
        return best


class Ranking:
    """Scores of chunks, one row a chunk: by their own (``own``, a column a part), and by the best link to each."""

    def __init__(self, chunks: Sequence[Candidate], own: Array, held: Array) -> None:
        self.chunks, self.own, self.held = chunks, own, held
        self.total = own.sum(axis=1)
        self.bonus, self.wanted = np.zeros(len(chunks)), np.ones(held.shape)
        self.via: list[Link | None] = [None] * len(chunks)
        self.path = [c.path for c in chunks]

    @property
    def ids(self) -> list[str]:
        """The chunks, best first."""
        return [self.chunks[row].id for row in self._order()]

    def best(self, limit: int | None = None) -> list[Ranked]:
        """Return the ``limit`` best chunks (None: all), best first, with the parts of their scores."""
        return [self._ranked(row) for row in self._order()[:limit]]

    def _order(self) -> list[int]:
        order: list[int] = np.argsort(-(self.total + self.bonus).round(6), kind="stable").tolist()
        return order

    def _ranked(self, row: int) -> Ranked:
        parts = dict(zip(OWN_PARTS, self.own[row].tolist(), strict=True))
        parts["link"] = float(self.bonus[row])
        still_open = self.wanted[row] * (1.0 - self.held[row])
        path: dict[str, Stop] = {}
        for stop in self.path[row]:
            path.setdefault(stop.name, stop)
        path.pop("", None)
        id_, led = self.chunks[row].id, tuple(path.values())
        return Ranked(id_, sum(parts.values()), parts, led, self.wanted[row], still_open, self.via[row])


class Ranker:
    """Ranks the chunks found for one question.

    ``asked`` weighs the entities of the question by id; ``args`` are the weights that users set.
    """

    def __init__(
        self, coverage: Coverage, asked: Mapping[str, float], args: RankingArgs, weights: Weights = WEIGHTS
    ) -> None:
        self.coverage, self.asked, self.args, self.weights = coverage, asked, args, weights

    def rank(
        self,
        candidates: Mapping[str, Candidate],
        links: Iterable[Link] = (),
        entities: Mapping[str, Entity] | None = None,
        hops: Sequence[Sequence[str]] = (),
        told: Mapping[tuple[str, str], Array] | None = None,
        renamed: Collection[tuple[str, str]] = (),
    ) -> Ranking:
        """Rank the chunks: own score, scaled so that the best has 1, plus the best bonus by a link; ties go by id.

        ``hops`` are the chunks whose ``links`` were followed, hop by hop; a hop starts from what the one before reached.
        ``told`` marks the question's words that a chunk says of an entity: of one that only shares it, these alone count.
        ``renamed`` are the entities that a chunk names by another of their names only.
        """
        at = {i: row for row, i in enumerate(sorted(candidates))}
        chunks = [candidates[i] for i in at]
        held = np.array([c.held for c in chunks]).reshape(len(chunks), len(self.coverage.words))
        ranking = Ranking(chunks, self._own(chunks, held), held)
        between = (x for x in links if x.from_chunk in at and x.to_chunk in at and x.from_chunk != x.to_chunk)
        weighed = self._weighed(sorted(between), entities or {}, ranking, at, told or {}, renamed) if hops else None
        starts: set[int] = set()
        for hop, new in enumerate(hops):
            starts.update(at[i] for i in new if i in at)  # a chunk that the hop before has lifted passes more on
            if weighed:
                self._follow(ranking, weighed, starts, self.weights.decay**hop)
        return ranking

    def _own(self, chunks: Sequence[Candidate], held: Array) -> Array:
        """Return the parts of the chunks' own scores, scaled so that the best sum is 1."""
        w, args = self.weights, self.args
        total = sum(self.asked.values()) or 1.0
        asked = set(self.asked)
        shared = [asked & c.entities for c in chunks]
        named = [math.fsum(map(self.asked.__getitem__, names)) / total if names else 0.0 for names in shared]
        known = np.array([(c.cosine, c.bm25, c.title_match, c.topic) for c in chunks]).reshape(-1, 4)
        vector = args.chunk_weight * (1 - args.bm25_weight) * known[:, 0]
        bm25 = args.chunk_weight * args.bm25_weight * known[:, 1]
        title, topic = known[:, 2], known[:, 3]
        parts = np.stack(
            [
                vector,
                bm25,
                w.coverage * self.coverage.best_shares(held) ** w.coverage_power,
                w.title * title,
                args.entity_weight * np.array(named),
                args.topic_weight * (topic + w.topic_lift * np.maximum(topic - vector - bm25, 0.0)),
            ],
            axis=1,
        )
        top = float(parts.sum(axis=1).max(initial=0.0))
        return parts / top if top > 0 else parts

    def _weighed(
        self,
        links: Sequence[Link],
        entities: Mapping[str, Entity],
        ranking: Ranking,
        at: Mapping[str, int],
        told: Mapping[tuple[str, str], Array],
        renamed: Collection[tuple[str, str]],
    ) -> _Weighed:
        """Return what each link is worth when its target answers nothing, and what answering all open words adds to it.

        A name that leads to many chunks is worth less for each: of a long document about it, each has a part.
        """
        w = self.weights
        starts, targets = [at[x.from_chunk] for x in links], [at[x.to_chunk] for x in links]
        passed = [entities.get(x.entity_id) for x in links]
        about = [_aboutness(x, e, ranking.chunks[to].title) for x, e, to in zip(links, passed, targets, strict=True)]
        ways = [(x.from_chunk, x.entity_id, x.kind) for x in links]
        fan = Counter(way for way, part in zip(ways, about, strict=True) if part)
        split = np.array([max(fan[way], 1) for way in ways], np.float64) ** w.fan
        naming = np.array([max(entity.df, 1) if entity else 1 for entity in passed], np.float64)
        rare = w.link_specificity / np.sqrt(naming)
        kind = np.array([w.named if x.kind == "named" else 1.0 for x in links])
        named = w.link_base * np.array(about) / np.maximum(naming / w.common, 1.0)
        shared = np.array([x.kind == "shared" for x in links], np.bool_)
        link = w.link * np.array([w.other_name if (x.from_chunk, x.entity_id) in renamed else 1.0 for x in links])
        base = link * np.where(shared, named / split + w.shared * rare, kind * (named + rare) / split)
        most = max(w.few, w.few_of * len({c.source for c in ranking.chunks}))
        slope = link * kind * w.link_coverage * np.where(shared, np.minimum(most / naming, 1.0), 1.0)
        says = ranking.held[targets]
        for row in np.flatnonzero(shared).tolist():
            says[row] = told.get((links[row].to_chunk, links[row].entity_id), says[row])
        return _Weighed(links, passed, np.array(starts, np.intp), np.array(targets, np.intp), base, slope, says)

    def _follow(self, ranking: Ranking, known: _Weighed, starts: Collection[int], decay: float) -> None:
        """Give each chunk the best bonus that a link out of ``starts`` brings, all of them valued as before this hop."""
        used = np.flatnonzero(np.isin(known.starts, list(starts)))
        start, target = known.starts[used], known.targets[used]
        value = np.minimum(ranking.total + ranking.bonus, 1.0) ** self.weights.start_power
        still_open = ranking.wanted * (1.0 - ranking.held)
        answered = self.coverage.shares_each(known.says[used], still_open[start])
        bonus = (decay * value[start] * (known.base[used] + known.slope[used] * answered)).round(6)
        best, gained = ranking.bonus.tolist(), dict[int, int]()
        for link, to, brought in zip(used.tolist(), target.tolist(), bonus.tolist(), strict=True):
            if brought > best[to]:
                best[to], gained[to] = brought, link
        path = list(ranking.path)
        for to, link in gained.items():
            a, entity = int(known.starts[link]), known.passed[link]
            passed = Stop(entity.value, entity.id) if entity else Stop("", "")
            ranking.path[to] = (*path[a], Stop(ranking.chunks[a].title, ranking.chunks[a].id), passed)
            ranking.via[to] = known.links[link]
        rows = list(gained)
        ranking.wanted[rows] = still_open[known.starts[list(gained.values())]]
        ranking.bonus[:] = best


@lru_cache(maxsize=65_536)
def title_keys(title: str) -> frozenset[str]:
    """Return the keys under which a title is a name: as it is, and without a qualifier in brackets."""
    return frozenset({entity_key(title), entity_key(without_brackets(title))} - {""})


@lru_cache(maxsize=65_536)
def title_share(title: str, name: str) -> float:
    """Return the share of a title's words that a name in it is: *The Early Years of Ada Lovelace* is about her by a third.

    0 for a name that is not in the title; both are compared as entities are.
    """
    whole, key = entity_key(title), entity_key(name)
    return len(key.split()) / len(whole.split()) if key and f" {key} " in f" {whole} " else 0.0


def _aboutness(link: Link, entity: Entity | None, title: str) -> float:
    """Return how far a link has to do with what a title says: all, or, where two chunks only share a name, its share."""
    return 1.0 if link.kind != "shared" else title_share(title, entity.value) if entity else 0.0


def title_matches(titles: Mapping[str, str], asked: Iterable[Name]) -> dict[str, float]:
    """Return, by chunk, how far the question names its title: 1 over the number of chunks that bear the same title.

    ``titles`` maps chunks to titles, ``asked`` are the stretches of the question that may be names; the longest one that is
    a title counts, and no part of it, though a keyword may be one. Chunks whose title is not named are left out.
    """
    bearing: dict[str, set[str]] = defaultdict(set)
    asked = list(asked)
    keys = {n.key for n in asked}
    for i, title in titles.items():
        for key in title_keys(title) & keys:
            bearing[key].add(i)
    matches: dict[str, float] = {}
    named = {n.key for n in longest(n for n in asked if n.key in bearing)}
    for key in named:
        if not any(f" {key} " in f" {longer} " for longer in named - {key}):
            for i in bearing[key]:
                matches[i] = max(matches.get(i, 0.0), 1.0 / len(bearing[key]))
    return matches
