"""Sections of articles for a question: found by one search, grouped, ranked and cut; and the facts that they state."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from lexigraph.inference.protocols import FloatArray, Reranker
from lexigraph.model.errors import InvalidInput
from lexigraph.model.graph import Source
from lexigraph.model.normalise import text_key
from lexigraph.model.results import LEFT_OUT
from lexigraph.retrieval.stages.args import Args, Range, Share, names_of
from lexigraph.retrieval.stages.reranking import scored
from lexigraph.retrieval.stages.results import passage
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import ChunkPlace, Hit, SearchRequest

# W-19: num_docs, max_sections, min_relevance
PRESETS: Mapping[str, tuple[int, int, float]] = {
    "factual": (3, 2, 0.8),
    "explanatory": (5, 3, 0.7),
    "comprehensive": (7, 5, 0.6),
    "specific": (3, 3, 0.85),
}
FIRST, WIDEST = 100, 2_000  # sections that the first search returns at most, and the last
Section = dict[str, Any]
_Span = tuple[str, int, int]  # source, start, end

_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])[\"'”’»)\]]*(?:\[\d+\])*\s+|\s*\n\s*\n\s*|\n\s*(?=[-*•|#]|\d+[.)]\s)")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Gen|Col|Inc|Ltd|Co|vs|cf|e\.g|i\.e|etc|No|Fig|approx|ca)\.$"
)
_BEHIND_END = re.compile(r"(?:[\"'”’»)\]]|\[\d+\])+$")
_LONG = 40  # characters: what is shorter and does not end like a sentence is a heading, or an item that says little
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
# what says something about the page, not about the world
_METADATA = re.compile(
    r"(?:categor(?:y|ies)|tags?|authors?|url|isbn|doi|see also|references|external links|further reading)\s*:"
    r"|(?:last (?:modified|updated|edited)|retrieved)(?:\s*:|\s+(?:on|from)\b)"
    r"|(?:see also|references|external links|further reading)\.?$|[|#{}=<$]|/[/*]|\*/|\[\[|https?://\S+$|-{3,}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class MultidocArgs(Args):
    """Parameters of multi-document search; None takes the value of the preset.

    | parameter | meaning | default |
    |---|---|---|
    | ``preset`` | ``factual`` (3, 2, 0.8), ``explanatory`` (5, 3, 0.7), ``comprehensive`` (7, 5, 0.6) or ``specific`` \
(3, 3, 0.85) | explanatory |
    | ``num_docs`` | maximum articles, 1 to 10 | 5 |
    | ``max_sections`` | maximum sections per article, 1 to 10 | 3 |
    | ``min_relevance`` | minimum relevance of a section, (1 + cosine) / 2, 0 to 1 | 0.7 |
    """

    num_docs: Annotated[int, Range(1, 10)]
    max_sections: Annotated[int, Range(1, 10)]
    min_relevance: Share

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the parameters. Raise ``InvalidInput`` for a preset that is unknown or a value out of range."""
        own = {name: value for name, value in given.items() if name != "preset" and value is not None}
        preset = given.get("preset", "explanatory")
        if preset not in PRESETS:
            raise InvalidInput(f"preset {str(preset)[:80]!r} is unknown: use one of {', '.join(PRESETS)}")
        return cls(**{**dict(zip(names_of(cls), PRESETS[preset], strict=True)), **own})

    @property
    def width(self) -> int:
        """How many sections the first search returns: enough that most articles show as many as they may."""
        return min(FIRST, self.num_docs * self.max_sections * 4)

    def left_out(self, best: float) -> str:
        """Return what to tell when the best section there is has this relevance, less than the least."""
        least = math.floor(100 * best) / 100
        passing = {relevance: name for name, (_, _, relevance) in PRESETS.items() if relevance <= best}
        preset = f", or use preset={passing[max(passing)]}" if passing else ""
        wanted = f"no section reaches min_relevance={self.min_relevance:g}"
        there = f"the best has {best:.3f} (0.5 means unrelated)"
        return f"{wanted}; {there}. Set min_relevance to {least:g} or less{preset}."


@dataclass(frozen=True, slots=True)
class Article:
    """An article with its best sections, best first; ``relevance`` is what it is ranked by (:func:`rank`)."""

    title: str
    source: Source
    relevance: float
    sections: tuple[Section, ...]

    def described(self, words: int) -> dict[str, Any]:
        """Return the article as it is shown: title, category (from the metadata) and word count, and what else is known."""
        source = self.source
        page = {"title": self.title, "category": str(source.metadata.get("category", "")), "word_count": words}
        more = {"source_id": source.id, "uri": source.uri, "namespace": source.namespace}
        return {**page, "relevance": self.relevance, **more}


@dataclass(frozen=True, slots=True)
class Found:
    """Chunks that are relevant enough, with their relevance, best first, live or not.

    ``best`` is the relevance of the best chunk there is, relevant enough or not; None when there is none.
    """

    sections: Sequence[tuple[Hit, float]]
    best: float | None

    def of_each(self, most: int) -> list[tuple[Hit, float]]:
        """Return the best of each source, ``most`` of them."""
        seen = Counter[str]()
        kept = []
        for hit, relevance in self.sections:
            seen[hit.source_id] += 1
            if seen[hit.source_id] <= most:
                kept.append((hit, relevance))
        return kept


def find_sections(stores: BoundStores, question: str, vector: FloatArray | None, args: MultidocArgs) -> Found:
    """Return what is relevant enough, with a warning when that is none of what there is. Without a vector the words decide.

    The search widens, at twice the width each time, until ``num_docs`` sources are found or what is found is no longer
    relevant enough: one vector call, and one more for each doubling that a long document makes necessary (nine at most).
    """
    query = SearchRequest("chunk", vector=vector, text="" if vector is not None else question, k=args.width)
    while True:
        hits = stores.search("search", [query])[0]
        relevances = _relevances(hits, by_vector=vector is not None)
        passing = [(hit, r) for hit, r in zip(hits, relevances, strict=True) if r >= args.min_relevance]
        articles = len({hit.source_id for hit, _ in passing})
        if articles >= args.num_docs or len(passing) < query.k or query.k >= WIDEST:
            break
        query = replace(query, k=min(WIDEST, 2 * query.k))
    best = max(relevances, default=None)
    if best is not None and not passing:
        stores.trace.warn(LEFT_OUT, args.left_out(best))
    return Found(passing, best)


def _relevances(hits: Sequence[Hit], *, by_vector: bool) -> list[float]:
    """Return (1 + cosine) / 2 of each hit; of hits by words, BM25 as a share of the best."""
    best = max((hit.score for hit in hits), default=0.0)
    values = ((1 + hit.score) / 2 if by_vector else hit.score / best if best > 0 else 0.0 for hit in hits)
    return [round(value, 6) if math.isfinite(value) else 0.0 for value in values]


def find_articles(
    stores: BoundStores, question: str, found: Found, args: MultidocArgs, reranker: Reranker | None = None
) -> list[Article]:
    """Return the best articles of the sections found: one graph call.

    A ``reranker`` puts all articles found into its own order before they are cut; when it fails there is a warning.
    """
    hits = found.of_each(2 * args.max_sections)  # while a document is renewed, what it held before is found as well
    around = stores.adjacent("sections", [hit.id for hit, _ in hits])
    titles = distinct_titles(around.sources.values())
    sections: list[Section] = []
    for hit, relevance in hits:
        place = around.places.get(hit.id)  # a chunk that readers no longer see has none
        if place is None:
            continue
        source = around.sources[place.source_id]
        section = {"section_id": hit.id, "title": _heading(place, source), "content": passage(hit.text, place.placement)}
        where = {"source_id": source.id, "uri": source.uri, "start": place.placement.start, "end": place.placement.end}
        sections.append({**section, "article_title": titles[source.id], "score": relevance, **where})
    best = best_sections(group_by_article(sections), args.max_sections)
    ranked = _reranked(question, best, rank(best, args.num_docs), reranker, stores)[: args.num_docs]
    return [Article(t, around.sources[best[t][0]["source_id"]], relevance, tuple(best[t])) for t, relevance in ranked]


def _heading(place: ChunkPlace, source: Source) -> str:
    """Return the innermost heading that a chunk stands under, else the title of its source."""
    return place.placement.parent.rpartition(" > ")[2] or source.title


def distinct_titles(sources: Iterable[Source]) -> dict[str, str]:
    """Return a title for each source, by id: its own (its uri when it has none), with its uri when another has the same."""
    names = {s.id: (s.title or s.uri, f"{s.title} ({s.uri})", f"{s.title} ({s.namespace}: {s.uri})") for s in sources}
    shared = Counter(name for of in names.values() for name in of)
    return {i: next((name for name in of if shared[name] == 1), of[-1]) for i, of in names.items()}


def group_by_article(sections: Sequence[Section]) -> dict[str, list[Section]]:
    """Return the sections by ``article_title``, in the order given (W-13)."""
    grouped: dict[str, list[Section]] = {}
    for section in sections:
        grouped.setdefault(section["article_title"], []).append(section)
    return grouped


def rank_articles(grouped: Mapping[str, Sequence[Section]]) -> list[tuple[str, float]]:
    """Return (title, sum of the ``score`` of its sections), highest first, ties by title (W-14)."""
    totals = [(title, round(math.fsum(s["score"] for s in sections), 6)) for title, sections in grouped.items()]
    return sorted(totals, key=lambda pair: (-pair[1], pair[0]))


def best_sections(grouped: Mapping[str, Sequence[Section]], most: int) -> dict[str, list[Section]]:
    """Return the best sections of each article, ``most`` of them, best first, ties by id."""
    return {title: sorted(of, key=lambda s: (-s["score"], s["section_id"]))[:most] for title, of in grouped.items()}


def rank(best: Mapping[str, Sequence[Section]], num_docs: int) -> list[tuple[str, float]]:
    """Rank articles, given with their best sections, by cumulative relevance.

    Where there are more articles than wanted, only what the best sections of those wanted are like counts beside the best
    section of each: many middling sections, which every long article has, do not outdo one that answers.
    """
    first = sorted((of[0]["score"] for of in best.values()), reverse=True)
    least = first[num_docs - 1] if len(first) >= num_docs else 0.0
    counted = {title: [s for at, s in enumerate(of) if at == 0 or s["score"] >= least] for title, of in best.items()}
    return rank_articles(counted)


def extract_facts(sections: Sequence[Mapping[str, Any]], min_chars: int) -> dict[str, int]:
    """Return the facts of the sections' ``content`` in reading order, each once, and how many sections state it (W-15).

    A fact is a sentence of at least ``min_chars`` characters that is no question and says nothing about the page itself;
    headings, lines that lead to a list and lines of code are none. Sentences that differ in case, spaces or the final stop
    only are one. Sections that overlap in their document count once.
    """
    first: dict[str, str] = {}
    places: dict[str, set[_Span]] = {}
    for at, section in enumerate(sections):
        span = section.get("source_id", str(at)), section.get("start", 0), section.get("end", 0)
        for fact in sentences(section["content"]):
            if _is_fact(fact, min_chars):
                key = _key(fact)
                first.setdefault(key, fact)
                places.setdefault(key, set()).add(span)
    return {fact: _apart(places[key]) for key, fact in first.items()}


def sentences(text: str) -> list[str]:
    """Split a text at the ends of sentences, at blank lines and at items of lists; not after initials and abbreviations."""
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        piece = text[start : end.end()].strip()
        if "\n" in end.group() or not _ABBREVIATED.search(text[start : end.start()]):
            found.append(piece)
            start = end.end()
    return [" ".join(_BULLET.sub("", s).split()) for s in (*found, text[start:].strip()) if s]


def _is_fact(sentence: str, min_chars: int) -> bool:
    end = _BEHIND_END.sub("", sentence)[-1:]
    told = any(c.isalpha() for c in sentence) and end not in "?？:;{" and not _METADATA.match(sentence)
    return told and len(sentence) >= min_chars and (end in ".!…。！।۔" or len(sentence) >= _LONG)


def _apart(spans: Iterable[_Span]) -> int:
    """Count spans that do not overlap one counted before."""
    ends: dict[str, int] = {}
    count = 0
    for source, start, end in sorted(spans):
        if source not in ends or start >= ends[source]:
            count += 1
            ends[source] = end
    return count


def _key(sentence: str) -> str:
    return text_key(sentence).casefold().rstrip(".! ")


def _reranked(
    question: str,
    grouped: Mapping[str, Sequence[Section]],
    ranked: list[tuple[str, float]],
    reranker: Reranker | None,
    stores: BoundStores,
) -> list[tuple[str, float]]:
    if reranker is None:
        return ranked
    texts = ["\n".join((title, *(s["content"] for s in grouped[title]))) for title, _ in ranked]
    instead = "articles keep their order by relevance"
    scores = scored(reranker, [question], texts, stores.trace, instead=instead)
    if scores is None:
        return ranked
    order = sorted(range(len(ranked)), key=lambda at: (-scores[at], at))
    return [ranked[at] for at in order]
