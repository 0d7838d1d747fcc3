"""What a language model is shown: numbered statements grouped by source and topic. Pure, but for the nonce of the fence."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lexigraph.answering import citations
from lexigraph.model.errors import InvalidInput
from lexigraph.model.ids import content_hash
from lexigraph.model.results import Citation, Notice, ScoredStatement, SearchResult, SearchResults

MAX_EXTERNAL = 50
MAX_EXTERNAL_CHARS = 40_000
MAX_HISTORY = 100
MAX_HISTORY_CHARS = 100_000
EXTERNAL = "external"  # the reason of a text that came with the question

External = str | Mapping[str, str]
Turn = Mapping[str, str] | tuple[str, str]


@dataclass(frozen=True, slots=True)
class ExternalText:
    """A text that the asker brings along (E-38): quotable like a statement, after all statements."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """``sources`` are the citations a model may make, S1 first; ``text`` shows them; ``notices`` say what was left out."""

    text: str
    sources: tuple[Citation, ...]
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
    max_chars: int = 24_000,
) -> AnswerContext:
    """Return the statements of the results that fit into ``max_chars`` characters, best first, in the results' order.

    A group of statements is headed by its source and topic; ``include_facts`` adds each statement's facts (G-23).
    External texts come last and are not counted.
    """
    kept = _within(results.results, include_facts, max_chars)
    lines: list[str] = []
    sources: list[Citation] = []
    for at, result in enumerate(results.results):
        chosen = [s for i, s in enumerate(result.statements) if (at, i) in kept]
        if chosen:
            lines += ["", _heading(result)]
        for statement in chosen:
            sources.append(citations.statement_citation(len(sources) + 1, statement, result.source))
            lines.append(f"[{sources[-1].label}]{_shown(statement)[:max_chars]}")
            lines += _fact_lines(statement.facts) if include_facts else []
    if external:
        lines += ["", "Given with the question"]
    for text in external:
        sources.append(external_citation(len(sources) + 1, text))
        lines.append(f"[{sources[-1].label}] {citations.defused(text.text)}")
    total = len(results.statements)
    detail = f"the model was shown the best {len(kept)} of {total} statements (max_context_chars={max_chars})"
    cut = (Notice("context_cut", detail),) if len(kept) < total else ()
    return AnswerContext("\n".join(lines).strip(), tuple(sources), cut)


def external_texts(given: Sequence[External]) -> tuple[ExternalText, ...]:
    """Check the texts that come with a question: strings, or objects with ``text`` and perhaps ``id`` (E-38)."""
    if not isinstance(given, (list, tuple)) or len(given) > MAX_EXTERNAL:
        raise InvalidInput(f"context must be a list of at most {MAX_EXTERNAL} texts")
    texts = []
    for item in given:
        text = item.get("text") if isinstance(item, Mapping) else item
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput("context: each item is a text, or an object with 'text' (and 'id')")
        name = item.get("id") if isinstance(item, Mapping) else None
        texts.append(ExternalText(str(name) if name else f"external:{content_hash(text)[:16]}", text))
    if (size := sum(len(t.text) for t in texts)) > MAX_EXTERNAL_CHARS:
        raise InvalidInput(f"context holds {size:,} characters; at most {MAX_EXTERNAL_CHARS:,} are allowed: shorten it")
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
                raise InvalidInput("history: each turn has 'role' (user or assistant) and 'content' (text)")
    if (size := sum(len(content) for _, content in turns)) > MAX_HISTORY_CHARS:
        raise InvalidInput(f"history holds {size:,} characters; at most {MAX_HISTORY_CHARS:,} are allowed: drop old turns")
    return tuple((role, content) for role, content in turns if content)


def external_citation(number: int, given: ExternalText) -> Citation:
    """Return the citation that stands for a text given with the question."""
    return Citation(
        label=citations.label(number),
        statement_id=given.id,
        text=given.text,
        source_id="",
        uri="",
        title="",
        chunk_id="",
        start=0,
        end=len(given.text),
        score=0.0,
        reason=EXTERNAL,
    )


def _within(results: Sequence[SearchResult], include_facts: bool, max_chars: int) -> set[tuple[int, int]]:
    """Return the places (result, statement) of the best statements whose lines together stay within the budget."""
    places = [(at, i) for at, result in enumerate(results) for i in range(len(result.statements))]
    places.sort(key=lambda place: -results[place[0]].statements[place[1]].score)
    kept: set[tuple[int, int]] = set()
    headed: set[int] = set()
    left = max_chars
    for at, i in places:
        statement = results[at].statements[i]
        cost = len(_shown(statement)) + 7 + (0 if at in headed else len(_heading(results[at])) + 2)
        cost += sum(map(len, _fact_lines(statement.facts))) if include_facts else 0
        if cost > left and kept:
            break
        kept.add((at, i))
        headed.add(at)
        left -= cost
    return kept


def _shown(statement: ScoredStatement) -> str:
    """Return a statement behind its label: on the same line, or below it, indented, where its lines matter."""
    if statement.kind == "prose":
        return f" {citations.defused(statement.text)}"
    return "".join(f"\n    {line}" for line in citations.defused_lines(statement.text).splitlines())


def _heading(result: SearchResult) -> str:
    return citations.defused(f"Source: {result.source.title or result.source.uri} | Topic: {result.topic}")


def _fact_lines(facts: Sequence[str]) -> list[str]:
    return [f"    fact: {citations.defused(fact)}" for fact in facts]
