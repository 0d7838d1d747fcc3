"""What may be done with results before they are used: rerank statements, drop repetitions, complete them, name sources.

Each takes a :class:`~lexigraph.model.results.SearchResults` and returns another, so that they combine in any order and work
after every retriever. What fails leaves the results as they were, with a warning.
"""

import math
import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from lexigraph import telemetry
from lexigraph.inference.protocols import LanguageModel, Prompt, Reranker
from lexigraph.model.errors import InvalidInput, LexigraphError, ModelUnavailable, in_general
from lexigraph.model.graph import Source
from lexigraph.model.results import Notice, ScoredStatement, SearchResult, SearchResults
from lexigraph.retrieval.stages.args import check_number
from lexigraph.retrieval.stages.prompts import ENHANCE, ENHANCE_SCHEMA, ENHANCE_SYSTEM
from lexigraph.retrieval.stages.reranking import reranker_name, scored
from lexigraph.retrieval.stages.text import stem, words
from lexigraph.retrieval.stages.trace import Trace
from lexigraph.settings import Settings, load_settings

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATIONS = frozenset("not no nor never neither none nobody nothing without cannot t".split())
_AT_ONCE = 20  # statements of one reply
_LONGEST = 4  # an enhanced statement may be so many times as long as it was ...
_SPARE = 400  # ... and so many characters longer


@runtime_checkable
class PostProcessor(Protocol):
    """Anything that turns results into better ones."""

    def process(self, found: SearchResults) -> SearchResults:
        """Return other results for the same question; degrade with a warning."""


class SentenceReranker:
    """Orders statements by a reranker alone, by their text against the question, and keeps the ``top_n`` best (None: all).

    ``reranker`` is a name (``model``: a cross-encoder, ``bedrock``, ``tfidf``) or a ``Reranker``. Scores outside 0 to 1 are
    scaled to it. The difference to the score before is the part ``sentence``. A bridge statement resembles the question
    little, so few kept statements can lose one: hence 20 by default, where the peer keeps 2.
    """

    def __init__(
        self, reranker: str | Reranker = "model", *, top_n: int | None = 20, settings: Settings | None = None
    ) -> None:
        """Raise ``InvalidInput`` for a number out of range or a name that is not known."""
        from lexigraph.inference.factory import make_reranker

        check_number("top_n", top_n, 1, 10_000, optional=True)
        reranker_name(reranker)
        made = make_reranker(reranker, settings or load_settings()) if isinstance(reranker, str) else reranker
        if made is None:
            raise InvalidInput(f"SentenceReranker: reranker must be model, bedrock, tfidf or a Reranker, got {reranker!r}")
        self.reranker, self.top_n = made, top_n

    def process(self, found: SearchResults) -> SearchResults:
        """Return the best statements, rescored; all as they are with a warning (``rerank_failed``) when the model fails."""
        statements, trace = found.statements, Trace()
        raw = scored(
            self.reranker, [found.question], [s.text for s in statements], trace, instead="results keep their order"
        )
        if raw is None:
            return replace(found, warnings=(*found.warnings, *trace.warnings))
        low, high = min([0.0, *raw]), max([1.0, *raw])
        scores = {s.id: round((r - low) / (high - low), 6) for s, r in zip(statements, raw, strict=True)}
        best = sorted(scores, key=lambda i: (-scores[i], i))[: self.top_n]
        return _changed(found, {i: lambda s: _rescored(s, scores[s.id], "sentence") for i in best})


class StatementDiversityPostProcessor:
    """Drops statements that say again what a better one says: tf-idf cosine of stems and pairs of stems above a threshold.

    Pairs keep "A beat B" and "B beat A" apart; statements with other numbers, or of which one is negated, are never taken
    for the same. The rarity of words is that within the results.
    """

    def __init__(self, similarity_threshold: float = 0.975) -> None:
        """Raise ``InvalidInput`` when the threshold is not from 0 to 1."""
        check_number("similarity_threshold", similarity_threshold, 0.0, 1.0)
        self.similarity_threshold = similarity_threshold

    def process(self, found: SearchResults) -> SearchResults:
        """Return the results without repetitions; the best of those alike stays, of equals the one with the smaller id."""
        ordered = sorted(found.statements, key=lambda s: (-s.score, s.id))
        holding: dict[tuple[Any, str], list[tuple[int, float]]] = defaultdict(list)
        kept: list[int] = []
        for at, vector in enumerate(_tfidf([_terms(s.text) for s in ordered])):
            marks = _marks(ordered[at].text)
            likeness: dict[int, float] = defaultdict(float)
            for term, weight in vector.items():
                for other, its in holding[marks, term]:
                    likeness[other] += weight * its
            if round(max(likeness.values(), default=0.0), 9) > self.similarity_threshold:
                continue
            kept.append(at)
            for term, weight in vector.items():
                holding[marks, term].append((at, weight))
        return _changed(found, {ordered[at].id: lambda s: s for at in kept})


class StatementEnhancementPostProcessor:
    """Lets a language model complete statements that cannot be understood alone: pronouns, "the company", missing years.

    Statements go to the model in batches of one topic after the other, at most ``max_concurrent`` batches at once, with
    title, topic and the statements around them, as fenced data. Ids, scores and places in the document stay, and so do the
    words that are quoted. Code and tables are not sent.
    """

    def __init__(self, llm: LanguageModel, *, max_concurrent: int = 4) -> None:
        """Raise ``InvalidInput`` for a number out of range, or when ``llm`` is no language model."""
        check_number("max_concurrent", max_concurrent, 1, 32)
        if not isinstance(llm, LanguageModel):
            raise InvalidInput("StatementEnhancementPostProcessor needs a language model: pass llm")
        self.llm, self.max_concurrent = llm, max_concurrent

    def process(self, found: SearchResults) -> SearchResults:
        """Return the results with completed statements; what the model leaves out or spoils stays as it was, with a warning
        (``enhancement_failed``).
        """
        pairs = [(result, s) for result in found.results for s in result.statements if s.kind == "prose"]
        batches = [pairs[at : at + _AT_ONCE] for at in range(0, len(pairs), _AT_ONCE)]
        with ThreadPoolExecutor(min(self.max_concurrent, max(len(batches), 1))) as pool:
            replies = list(pool.map(telemetry.carried(self._ask), batches))
        texts = {i: text for reply in replies if reply for i, text in reply.items()}
        told = _changed(found, {s.id: lambda s: _completed(s, texts.get(s.id, s.text)) for s in found.statements})
        if None in replies:
            return _warned(told, "enhancement_failed", "the language model failed; some statements are unchanged")
        return told

    def _ask(self, batch: Sequence[tuple[SearchResult, ScoredStatement]]) -> dict[str, str] | None:
        """Return the new text of statements by id, None when the model failed."""
        lines, shown = list[str](), None
        for number, (result, statement) in enumerate(batch, 1):
            if result is not shown:
                lines.append(f"Source: {_line(result.source.title)} | Topic: {_line(result.topic)}")
            lines.append(f"{number}. {_line(statement.text)}")
            shown = result
        text = "\n".join(lines)
        while (nonce := secrets.token_hex(8)) in text:
            pass
        prompt = Prompt(ENHANCE.format(nonce=nonce, statements=text), ENHANCE_SYSTEM.format(nonce=nonce), max_tokens=4096)
        try:
            reply = self.llm.structured(prompt, ENHANCE_SCHEMA, "statements")
        except ModelUnavailable:
            return None
        return _texts(reply, [s for _, s in batch])


class EnrichSourceDetails:
    """Adds what is known of a source to its title, so that whoever reads the results, or the model, sees it: year, author.

    ``source_metadata_fn`` says what to add; by default the metadata, as ``key: value``. Empty text adds nothing.
    """

    def __init__(self, source_metadata_fn: Callable[[Source], str] | None = None) -> None:
        """Raise ``InvalidInput`` when it is no function."""
        if source_metadata_fn is not None and not callable(source_metadata_fn):
            raise InvalidInput("source_metadata_fn must be a function that takes a Source and returns a string")
        self.source_metadata_fn = source_metadata_fn or _metadata

    def process(self, found: SearchResults) -> SearchResults:
        """Return the results with longer titles of sources; all as they are with a warning (``source_details_failed``) when
        the function fails or returns no text.
        """
        try:
            return replace(found, results=tuple(replace(r, source=self._named(r.source)) for r in found.results))
        except Exception as error:  # noqa: BLE001  # a user's own function
            detail = f"source_metadata_fn failed ({type(error).__name__}); titles are unchanged"
            return _warned(found, "source_details_failed", detail)

    def _named(self, source: Source) -> Source:
        details = " ".join(self.source_metadata_fn(source).split())
        return replace(source, title=f"{source.title or source.uri} ({details})") if details else source


def as_post_processors(given: Any) -> tuple[PostProcessor, ...]:
    """Return the processors in ``given``, none for None; types that need no arguments are made.

    Raise ``InvalidInput`` for what is no processor.
    """
    wanted = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    made = []
    for one in wanted:
        if one is StatementEnhancementPostProcessor:
            raise InvalidInput("StatementEnhancementPostProcessor needs a language model: pass an instance with llm")
        processor = _made(one) if isinstance(one, type) else one
        if not isinstance(processor, PostProcessor):
            raise InvalidInput(f"post_processors: {one!r:.80} has no method process(results)")
        made.append(processor)
    return tuple(made)


def processed(found: SearchResults, processor: PostProcessor) -> SearchResults:
    """Return what a processor makes of results; as they are with a warning (``post_processing_failed``) when it fails."""
    try:
        done = processor.process(found)
        fault = "" if isinstance(done, SearchResults) else f"it returned {type(done).__name__}"
    except Exception as error:  # noqa: BLE001  # a user's own; its text may hold that of documents
        fault = in_general(error)
    if not fault:
        return done
    detail = f"the post-processor {type(processor).__name__} failed ({fault}); the results are unchanged"
    return _warned(found, "post_processing_failed", detail)


def _made(kind: type) -> Any:
    try:
        return kind()
    except LexigraphError:
        raise
    except Exception as error:
        raise InvalidInput(
            f"post_processors: {kind.__name__} needs arguments ({type(error).__name__}): pass an instance"
        ) from error


# ---------------------------------------------------------------- results


def _changed(found: SearchResults, change: Mapping[str, Callable[[ScoredStatement], ScoredStatement]]) -> SearchResults:
    """Return the results with the statements in ``change``, changed; others are left out. Order and scores are set anew."""
    results = []
    for result in found.results:
        kept = [change[s.id](s) for s in result.statements if s.id in change]
        if kept:
            kept.sort(key=lambda s: -s.score)  # stable: of equals the order stays
            results.append(replace(result, statements=tuple(kept), score=kept[0].score))
    results.sort(key=lambda r: -r.score)
    return replace(found, results=tuple(results))


def _rescored(statement: ScoredStatement, score: float, part: str) -> ScoredStatement:
    before = sum(value for name, value in statement.parts.items() if name != part)
    return replace(statement, score=score, parts={**statement.parts, part: round(score - before, 6)})


def _warned(found: SearchResults, type_: str, detail: str) -> SearchResults:
    return replace(found, warnings=(*found.warnings, Notice(type_, detail)))


# ---------------------------------------------------------------- texts


def _terms(text: str) -> Counter[str]:
    stemmed = [stem(word) for word in words(text)]
    return Counter([*stemmed, *(f"{a} {b}" for a, b in pairwise(stemmed))])


def _tfidf(texts: Sequence[Counter[str]]) -> list[dict[str, float]]:
    """Return unit vectors."""
    df = Counter(term for counts in texts for term in counts)
    vectors = []
    for counts in texts:
        weights = {t: (1 + math.log(n)) * (1 + math.log((1 + len(texts)) / (1 + df[t]))) for t, n in counts.items()}
        length = math.sqrt(math.fsum(w * w for w in weights.values()))
        vectors.append({t: w / length for t, w in weights.items()})
    return vectors


def _marks(text: str) -> tuple[tuple[str, ...], int]:
    """Return what changes the meaning however alike the rest is: the numbers, and how often the text negates."""
    return tuple(sorted(_NUMBER.findall(text))), sum(word in _NEGATIONS for word in words(text))


def _completed(statement: ScoredStatement, text: str) -> ScoredStatement:
    """Return a statement with another text, and its words for quoting."""
    return statement if text == statement.text else replace(statement, text=text, original=statement.quoted)


def _metadata(source: Source) -> str:
    return "; ".join(f"{key}: {value}" for key, value in sorted(source.metadata.items()))


def _line(text: str) -> str:
    return " ".join(text.split())


def _texts(reply: Any, asked: Sequence[ScoredStatement]) -> dict[str, str] | None:
    """Return the usable texts of a reply by statement id, None when it has no list of them."""
    given: Iterable[Any] | None = reply.get("statements") if isinstance(reply, Mapping) else None
    if not isinstance(given, list):
        return None
    texts = {}
    for item in given:
        number, text = (item.get("number"), item.get("text")) if isinstance(item, Mapping) else (None, None)
        if isinstance(number, int) and isinstance(text, str) and 1 <= number <= len(asked) and text.strip():
            statement = asked[number - 1]
            if len(text) <= _LONGEST * len(statement.text) + _SPARE:
                texts[statement.id] = _line(text)
    return texts
