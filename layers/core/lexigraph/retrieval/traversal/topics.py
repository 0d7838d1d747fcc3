"""A beam over topics: from the topics most like a question to those beside them. Pure: what was fetched in, topics out."""

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lexigraph.model.graph import StatementRow
from lexigraph.retrieval.stages.anchors import Likeness
from lexigraph.retrieval.stages.ranking import Coverage
from lexigraph.retrieval.traversal.args import TraversalArgs

# How much of a topic's score a step keeps at best. A topic of the same chunk is nearest; a text goes on forwards rather
# than backwards; an entity in common says least, and less the more topics have it.
SAME_CHUNK, NEXT_CHUNK, PREVIOUS_CHUNK, SHARED_ENTITY = 0.9, 0.8, 0.6, 0.5
# What a step keeps when the topic it leads to says nothing of the question itself.
BASE = 0.5

Near = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class FoundTopic:
    """A topic with its score, 0 to 1, and the topics that led to it: from a seed to the topic itself."""

    id: str
    score: float
    path: tuple[str, ...]


def best_topics(likeness: Likeness, coverage: Coverage, args: TraversalArgs) -> dict[str, float]:
    """Return the ``topic_top_k`` topics most like the question with how far they stand out from the rest, 0 to 1.

    What a topic stands out from is the best of those left out: where all are about as like the question (chat logs parted
    by date), none counts for anything. Cosine and the share of the question's words in the topic's name are both absolute,
    so the best is not taken for good because the others are worse. Ties go by id.
    """
    if not likeness.texts:
        return {}
    named = coverage.best_shares(coverage.held(list(likeness.texts.values()))).tolist()
    scores = {
        i: round((1 - args.bm25_weight) * likeness.of(i)[0] + args.bm25_weight * share, 6)
        for i, share in zip(likeness.texts, named, strict=True)
    }
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    floor = max((score for _, score in ranked[args.topic_top_k :]), default=0.0)
    return {i: (score - floor) / (1 - floor) for i, score in ranked[: args.topic_top_k] if score > floor}


def grow(
    seeds: Mapping[str, float], rows: Collection[StatementRow], coverage: Coverage, args: TraversalArgs
) -> dict[str, FoundTopic]:
    """Return the seeds and what the beam adds; ``rows`` are the statements of all topics that it may reach."""
    if not seeds:
        return {}
    texts: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        texts[row.topic_id].append(f"{row.value}\n{row.details}" if texts[row.topic_id] else f"{row.topic}\n{row.value}")
    held = coverage.held(["\n".join(said) for said in texts.values()])
    worth = dict(zip(texts, coverage.best_shares(held).tolist(), strict=True))
    return beam(seeds, beside(rows), worth, width=args.topic_beam_width, max_depth=args.topic_beam_max_depth)


def beam(
    seeds: Mapping[str, float], near: Near, worth: Mapping[str, float], *, width: int, max_depth: int
) -> dict[str, FoundTopic]:
    """Return the seeds and up to ``width`` topics that at most ``max_depth`` steps lead to, best first, ties by id.

    ``seeds`` maps topics to their scores, ``near`` a topic to those beside it with the share of a score that the step keeps,
    ``worth`` a topic to how much it says of the question itself; all are 0 to 1. A step to a topic has
    ``score of the one before * near * (BASE + (1 - BASE) * worth)``, so a score never rises on the way, and the first way
    found to a topic is its best. The budget is for new topics alone: however many seeds there are, the beam goes on.
    """
    found: dict[str, FoundTopic] = {}
    waiting: list[tuple[float, int, tuple[str, ...]]] = [(-round(score, 6), 0, (id_,)) for id_, score in seeds.items()]
    heapq.heapify(waiting)
    while waiting:
        negative, depth, path = heapq.heappop(waiting)
        here = path[-1]
        if here in found or (here not in seeds and width < 1):
            continue
        width -= here not in seeds
        found[here] = FoundTopic(here, -negative, path)
        if depth == max_depth:
            continue
        for there, strength in near.get(here, {}).items():
            if there not in found:
                kept = -negative * strength * (BASE + (1 - BASE) * worth.get(there, 0.0))
                heapq.heappush(waiting, (-round(kept, 6), depth + 1, (*path, there)))
    return found


def beside(rows: Iterable[StatementRow]) -> dict[str, dict[str, float]]:
    """Return which topics stand beside which, as far as the statements tell, and how near they are (see :func:`beam`)."""
    at: dict[tuple[str, int], set[str]] = defaultdict(set)
    naming: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        at[row.source.id, row.seq].add(row.topic_id)
        for entity in row.entities:
            naming[entity].add(row.topic_id)
    near: dict[str, dict[str, float]] = defaultdict(dict)
    for a, b, strength in (*_in_reading_order(at), *_sharing(naming)):
        if a != b:
            near[a][b] = max(near[a].get(b, 0.0), strength)
    return near


def _in_reading_order(at: Mapping[tuple[str, int], set[str]]) -> Iterator[tuple[str, str, float]]:
    for (source, seq), topics in at.items():
        for step, strength in ((0, SAME_CHUNK), (1, NEXT_CHUNK), (-1, PREVIOUS_CHUNK)):
            for there in at.get((source, seq + step), ()):
                yield from ((here, there, strength) for here in topics)


def _sharing(naming: Mapping[str, set[str]]) -> Iterator[tuple[str, str, float]]:
    for topics in naming.values():
        if len(topics) > 1:
            strength = SHARED_ENTITY / math.sqrt(len(topics) - 1)
            yield from ((a, b, strength) for a in topics for b in topics)
