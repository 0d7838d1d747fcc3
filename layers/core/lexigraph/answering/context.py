"""What a language model is shown: the best statements within a budget, numbered by rank, set out as their documents read.

Pure, but for the nonce of the fence.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lexigraph.answering import citations
from lexigraph.answering.shown import Budget, Shown, context_of, set_out
from lexigraph.model.errors import InvalidInput
from lexigraph.model.ids import content_hash
from lexigraph.model.results import Citation, Notice, SearchResults
from lexigraph.model.sentences import Span, sentences

MAX_EXTERNAL = 50
MAX_EXTERNAL_CHARS = 40_000
MAX_HISTORY = 100
MAX_HISTORY_CHARS = 100_000
EXTERNAL = "external"  # the reason of a text that came with the question
_PASSAGE = 400  # characters of such a text that are quoted together
_STOPS = tuple('.!)"\u2026\u3002\uff01')

External = str | Mapping[str, str]
Turn = Mapping[str, str] | tuple[str, str]


@dataclass(frozen=True, slots=True)
class ExternalText:
    """A text that the asker brings along (E-38): quotable like a statement, after all statements."""

    id: str
    text: str

    @property
    def passages(self) -> list[Span]:
        """What can be quoted: all of a short text, else stretches of whole sentences, none past the end of a paragraph.

        A heading, and a line that leads to something, end none: they stay with what follows.
        """
        if len(self.text) <= _PASSAGE:
            return [(0, len(self.text))]
        found: list[Span] = []
        for start, end in sentences(self.text):
            begun, before = found[-1] if found else (start, start)
            ended = "\n\n" in self.text[before:start] and self.text[begun:before].endswith(_STOPS)
            if found and not ended and end - begun <= _PASSAGE:
                found[-1] = begun, end
            else:
                found.append((start, end))
        return found or [(0, len(self.text))]


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """``sources`` are the citations a model may make, S1 first; ``headings`` what stands above each; ``text`` shows them.

    ``notices`` say what was left out.
    """

    text: str
    sources: tuple[Citation, ...]
    headings: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()

    def nonce(self) -> str:
        """Return a random word that the text does not hold: only its author, not the documents', can close the fence."""
        while (word := secrets.token_hex(8)) in self.text:
            pass
        return word


def build_context(
    results: SearchResults,
    external: Sequence[ExternalText] = (),
    *,
    include_facts: bool = False,
    max_tokens: int = 6_000,
) -> AnswerContext:
    """Return the best statements that fit into ``max_tokens`` tokens, set out as their documents read.

    Labels go by rank: S1 is the best statement, and more room adds labels behind. What is shown is grouped by source, that
    of the best statement first, and inside by place, below its topic. Of the room that is left, the context of the best ones
    gets its own. ``include_facts`` adds each statement's facts (G-23). External texts come last and are not counted.
    """
    ranked = sorted((Shown(s, r.source, r.topic) for r in results.results for s in r.statements), key=lambda s: -s.score)
    budget = Budget(max_tokens, include_facts)
    best = budget.filled(ranked)
    kept = [*best, *budget.filled(context_of(best))]
    sources = [citations.statement_citation(at, s.statement, s.source) for at, s in enumerate(kept, 1)]
    lines = set_out(kept, include_facts)
    if external:
        lines += ["", "Given with the question"]
    for text in external:
        sources.append(external_citation(len(sources) + 1, text))
        lines.append(f"[{sources[-1].label}] {citations.defused(text.text)}")
    detail = f"the model saw the best {len(best)} of {len(ranked)} statements (max_context_tokens={max_tokens})"
    cut = (Notice("context_cut", detail),) if len(best) < len(ranked) else ()
    headings = (*(f"{s.heading}\n{s.topic}" for s in kept), *("" for _ in external))
    return AnswerContext("\n".join(lines).strip(), tuple(sources), headings, cut)


def external_texts(given: Sequence[External]) -> tuple[ExternalText, ...]:
    """Check the texts that come with a question: strings, or objects with ``text`` and perhaps ``id`` (E-38)."""
    if not isinstance(given, (list, tuple)) or len(given) > MAX_EXTERNAL:
        raise InvalidInput(f"context must be a list of at most {MAX_EXTERNAL} texts")
    texts = []
    for item in given:
        text = item.get("text") if isinstance(item, Mapping) else item
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput("context: each item must be a string, or an object with 'text' and optionally 'id'")
        name = item.get("id") if isinstance(item, Mapping) else None
        texts.append(ExternalText(str(name) if name else f"external:{content_hash(text)[:16]}", text))
    if (size := sum(len(t.text) for t in texts)) > MAX_EXTERNAL_CHARS:
        raise InvalidInput(f"context must have at most {MAX_EXTERNAL_CHARS:,} characters in total, got {size:,}")
    return tuple(texts)


def conversation(given: Sequence[Turn]) -> tuple[tuple[str, str], ...]:
    """Check earlier turns (E-39): (role, content) pairs or objects. Labels in them are dropped, they meant other sources."""
    if not isinstance(given, (list, tuple)) or len(given) > MAX_HISTORY:
        raise InvalidInput(f"history must be a list of at most {MAX_HISTORY} turns")
    turns = []
    for turn in given:
        pair = (turn.get("role"), turn.get("content")) if isinstance(turn, Mapping) else turn
        match pair:
            case ("user" | "assistant" as role, str(content)):
                turns.append((role, citations.without_labels(content)))
            case _:
                raise InvalidInput("history: each turn must have 'role' ('user' or 'assistant') and 'content' (a string)")
    if (size := sum(len(content) for _, content in turns)) > MAX_HISTORY_CHARS:
        raise InvalidInput(
            f"history must have at most {MAX_HISTORY_CHARS:,} characters, got {size:,}: drop the oldest turns"
        )
    return tuple((role, content) for role, content in turns if content)


def external_citation(number: int, given: ExternalText, passage: Span | None = None) -> Citation:
    """Return the citation that stands for a text given with the question, or for a passage of it."""
    start, end = passage or (0, len(given.text))
    return Citation(
        label=citations.label(number),
        statement_id=given.id,
        text=given.text[start:end],
        source_id="",
        uri="",
        title="",
        chunk_id="",
        start=start,
        end=end,
        score=0.0,
        reason=EXTERNAL,
    )
