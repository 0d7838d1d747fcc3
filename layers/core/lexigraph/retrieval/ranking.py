"""How chunks and statements are ranked: pure functions of what was found, no I/O (DESIGN section 5).

A chunk's own score says how well it fits the question: likeness (BM25 and cosine), the share of the question's words that
it holds, whether its source is titled by a name in the question, and which of the question's entities it names. A chunk
that a link leads to is scored by what it *adds*: the words of the question that the chunk before it left open, and how
specific the link is. Likeness to the whole question, which pushes such bridge evidence down, decides only how well it fits
by itself. Every score is a sum of named parts, every tie is broken by id.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.graph import Entity, Link
from lexigraph.model.normalise import entity_key, without_brackets
from lexigraph.retrieval.args import TraversalArgs
from lexigraph.retrieval.text import stem, stems, words

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of the ranking, with the reason of each. Chosen together on four public sets, see docs/retrieval.md."""

    # Holding the question's words is an absolute measure, where BM25 and cosine only order: it makes the lexical side count
    # for more the closer a chunk comes to answering alone (chat logs), and for little when no chunk does (multi-hop).
    coverage: float = 0.5
    coverage_power: float = 2.0
    # A source titled by a name in the question is what the question is about; shared among sources of one title.
    title: float = 0.5
    # A link's worth: a start for being linked at all, more when few lead there, most for the open words it answers.
    link: float = 0.5
    link_base: float = 0.5
    link_specificity: float = 0.3
    link_coverage: float = 1.0
    # Against the direction of a mention the evidence is weaker; and sharing an entity alone is no reason to be read.
    named: float = 0.6
    shared: float = 0.6
    # A second hop must answer what the first left open, and is worth less for being further away.
    decay: float = 0.7
    # A statement within its chunk: how much of the chunk's worth follows its own fit, and the loss for each one before it.
    fit: float = 0.2
    rerank: float = 0.1
    within: float = 0.5
    repeat: float = 0.9
    # Answers to a subquery count a little less than answers to the question itself.
    subquery: float = 0.9

    @property
    def best_link(self) -> float:
        """The highest bonus a link can bring."""
        return self.link * (self.link_base + self.link_specificity + self.link_coverage)

    @property
    def bound(self) -> float:
        """The highest score a statement can have; shown scores are divided by it, which keeps them in 0 to 1."""
        return 1.0 + self.best_link + self.fit + self.rerank


WEIGHTS = Weights()


@dataclass(slots=True)
class Candidate:
    """A chunk that may hold evidence, with what is known of it.

    ``cosine`` and ``bm25`` are likeness to the question from 0 to 1, ``title_match`` says how far the question names the
    title of its source, ``entities`` are the ids of the entities it names or its source is titled by, ``reason`` is how it
    was found first: ``chunk``, ``entity`` or ``link``.
    """

    id: str
    title: str
    text: str
    cosine: float = 0.0
    bm25: float = 0.0
    title_match: float = 0.0
    entities: frozenset[str] = frozenset()
    reason: str = "chunk"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk with its score and the parts that sum up to it.

    ``path`` are the names that led to it. ``wanted`` marks the question's words that were open when it was reached, all when
    it was found directly; ``open`` those that still are. ``via`` is the link that brought its bonus.
    """

    id: str
    score: float
    parts: Mapping[str, float]
    reason: str
    path: tuple[str, ...]
    wanted: Array
    open: Array
    via: Link | None = None


class Coverage:
    """The question's words (as stems), weighted by how few of the texts seen hold them."""

    def __init__(self, question: str, texts: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(stems(question)))
        self._at = {word: i for i, word in enumerate(self.words)}
        held = [self.held(text) for text in texts]
        df = np.sum(held, axis=0) if held else np.zeros(len(self.words))
        self.idf: Array = np.log(1 + (len(held) - df + 0.5) / (df + 0.5))

    def held(self, text: str) -> Array:
        """Return 1.0 for each word of the question that the text holds, else 0.0."""
        row = np.zeros(len(self.words))
        row[[self._at[s] for word in set(words(text)) if (s := stem(word)) in self._at]] = 1.0
        return row

    def share(self, held: Array, of: Array | None = None) -> float:
        """Return the weighted share of the words ``of`` (all by default) that are held, 0 to 1."""
        wanted = self.idf if of is None else self.idf * of
        total = float(wanted.sum())
        return float((wanted * held).sum()) / total if total > 0 else 0.0

    def shares(self, held: Sequence[Array], of: Array) -> list[float]:
        """Return :meth:`share` of many at once."""
        wanted = self.idf * of
        total = float(wanted.sum())
        return (np.stack(held) @ wanted / total).tolist() if total > 0 and held else [0.0] * len(held)


class Ranker:
    """Ranks the chunks found for one question.

    ``asked`` weighs the entities of the question by id; ``args`` are the weights that users set.
    """

    def __init__(
        self, coverage: Coverage, asked: Mapping[str, float], args: TraversalArgs, weights: Weights = WEIGHTS
    ) -> None:
        self.coverage, self.asked, self.args, self.weights = coverage, asked, args, weights
        self._held: dict[str, Array] = {}
        self._share: dict[str, float] = {}

    def held(self, candidate: Candidate) -> Array:
        """Return which of the question's words a chunk holds, its title included."""
        row = self._held.get(candidate.id)
        if row is None:
            row = self._held[candidate.id] = self.coverage.held(f"{candidate.title}\n{candidate.text}")
            self._share[candidate.id] = self.coverage.share(row) ** self.weights.coverage_power
        return row

    def own(self, candidate: Candidate) -> dict[str, float]:
        """Return the parts of a chunk's own score, not yet scaled."""
        w, args = self.weights, self.args
        total = sum(self.asked.values())
        self.held(candidate)
        named = sum(weight for entity, weight in self.asked.items() if entity in candidate.entities)
        return {
            "vector": args.chunk_weight * (1 - args.bm25_weight) * candidate.cosine,
            "bm25": args.chunk_weight * args.bm25_weight * candidate.bm25,
            "coverage": w.coverage * self._share[candidate.id],
            "title": w.title * candidate.title_match,
            "entity": args.entity_weight * named / total if total else 0.0,
        }

    def rank(
        self,
        candidates: Mapping[str, Candidate],
        links: Iterable[Link] = (),
        entities: Mapping[str, Entity] | None = None,
        hops: Sequence[Sequence[str]] = (),
    ) -> list[Ranked]:
        """Return the chunks best first: own score, scaled so that the best has 1, plus the best bonus by a link.

        ``hops`` are the chunks whose ``links`` were followed, hop by hop; a hop starts from what the one before reached.
        """
        parts = {i: self.own(c) for i, c in candidates.items()}
        top = max((sum(p.values()) for p in parts.values()), default=0.0) or 1.0
        state: dict[str, Ranked] = {}
        for i, own in parts.items():
            scaled = {name: value / top for name, value in own.items()}
            total, c = sum(scaled.values()), candidates[i]
            every = np.ones(len(self.coverage.words))
            state[i] = Ranked(i, total, scaled, c.reason, (), every, every - self.held(c))
        leaving: dict[str, list[Link]] = defaultdict(list)
        for link in links:
            leaving[link.from_chunk].append(link)
        for hop, starts in enumerate(hops):
            self._follow(state, candidates, leaving, entities or {}, starts, self.weights.decay**hop)
        return sorted(state.values(), key=lambda r: (-round(r.score, 6), r.id))

    def _follow(
        self,
        state: dict[str, Ranked],
        candidates: Mapping[str, Candidate],
        leaving: Mapping[str, Sequence[Link]],
        entities: Mapping[str, Entity],
        starts: Sequence[str],
        decay: float,
    ) -> None:
        """Give each chunk the best bonus that a link from ``starts`` brings, all of them valued as before this hop."""
        gained: dict[str, tuple[float, str, Link]] = {}
        for start in sorted(set(starts) & state.keys()):
            before = state[start]
            out = [link for link in leaving.get(start, ()) if link.to_chunk in state and link.to_chunk != start]
            answered = self.coverage.shares([self.held(candidates[link.to_chunk]) for link in out], before.open)
            for link, share in zip(out, answered, strict=True):
                value = decay * min(before.score, 1.0) * self._worth(link, entities.get(link.entity_id), share)
                best = gained.get(link.to_chunk, (0.0, "", link))
                if (round(value, 6), best[1], best[2].entity_id) > (round(best[0], 6), start, link.entity_id):
                    gained[link.to_chunk] = (value, start, link)
        origin = dict(state)
        for to, (value, start, link) in gained.items():
            now, before = origin[to], origin[start]
            if value <= now.parts.get("link", 0.0):
                continue
            own = {name: part for name, part in now.parts.items() if name != "link"}
            entity = entities.get(link.entity_id)
            steps = (*before.path, candidates[start].title, entity.value if entity else "")
            still_open = before.open * (1.0 - self.held(candidates[to]))
            path = tuple(name for at, name in enumerate(steps) if name and name not in steps[:at])
            parts, total = {**own, "link": value}, sum(own.values()) + value
            state[to] = Ranked(to, total, parts, now.reason, path, before.open, still_open, link)

    def _worth(self, link: Link, entity: Entity | None, answered: float) -> float:
        """Return what a link is worth, given the share of the open words that its target answers."""
        w = self.weights
        rare = w.link_specificity / math.sqrt(max(entity.df, 1) if entity else 1)
        worth = rare + w.link_coverage * answered
        if link.kind == "shared":
            return w.link * w.shared * worth
        return w.link * (worth + w.link_base) * (w.named if link.kind == "named" else 1.0)

    def diversify(self, ranked: Sequence[Ranked], candidates: Mapping[str, Candidate]) -> list[Ranked]:
        """Order chunks so that each adds what those before it lack: repeated words of the question cost up to ``diversity``."""
        held = np.stack([self.held(candidates[r.id]) for r in ranked]) if ranked else np.zeros((0, 0))
        weighted = held * self.coverage.idf
        total = np.maximum(weighted.sum(axis=1), 1e-9)
        scores = np.array([r.score for r in ranked])
        seen, left, chosen = np.zeros(len(self.coverage.words)), np.ones(len(ranked), bool), []
        while left.any():
            worth = np.round(scores * (1 - self.args.diversity * (weighted @ seen) / total), 6)
            at = int(np.argmax(np.where(left, worth, -1.0)))  # the first of equals, which is the better ranked
            chunk, left[at] = ranked[at], False
            repeated = float(worth[at]) - chunk.score
            chosen.append(replace(chunk, score=float(worth[at]), parts={**chunk.parts, "diversity": repeated}))
            seen = np.maximum(seen, held[at])
        return chosen


def title_matches(titles: Mapping[str, str], asked: Iterable[str]) -> dict[str, float]:
    """Return, by chunk, how far the question names its title: 1 over the chunks that bear the title named, else 0.

    ``titles`` maps chunks to titles, ``asked`` are the keys of the names in the question, longest match first. A qualifier
    in brackets may be missing in the question.
    """
    names = set(asked)
    keys = {i: {entity_key(title), entity_key(without_brackets(title))} & names for i, title in titles.items()}
    count = Counter(key for found in keys.values() for key in found)
    return {i: max((1.0 / count[key] for key in found), default=0.0) for i, found in keys.items()}
