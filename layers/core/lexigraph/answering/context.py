"""What a language model is shown: the best statements within a budget, numbered by rank, set out as their documents read.

Pure, but for the nonce of the fence.
"""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from lexigraph.answering import citations
from lexigraph.model.errors import InvalidInput
from lexigraph.model.graph import Source, StatementRow
from lexigraph.model.ids import content_hash
from lexigraph.model.results import Citation, Notice, ScoredStatement, SearchResults
from lexigraph.model.tokens import count_tokens
from lexigraph.retrieval.stages.results import scored_statement

MAX_EXTERNAL = 50
MAX_EXTERNAL_CHARS = 40_000
MAX_HISTORY = 100
MAX_HISTORY_CHARS = 100_000
EXTERNAL = "external"  # the reason of a text that came with the question
CONTEXT = "context"  # the reason of a statement that is there for the one beside it
_WITH_NEIGHBOURS = 10  # of the best statements
_LABEL_TOKENS = 6  # of a label, a line break and a mark of what is left out
_OUTSIZED = 0.5  # of the room: a statement beyond is passed over
_GAP = 20  # characters between two statements beyond which something was left out there
_DATED = frozenset("date year created modified updated published released effective valid time timestamp".split())
_WORDS = re.compile(r"[^\W\d_]+")
_YEAR, _DAY = re.compile(r"\b\d{4}\b"), re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_DATES = 3

External = str | Mapping[str, str]
Turn = Mapping[str, str] | tuple[str, str]


@dataclass(frozen=True, slots=True)
class ExternalText:
    """A text that the asker brings along (E-38): quotable like a statement, after all statements."""

    id: str
    text: str


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
    beside: Sequence[StatementRow] = (),
    include_facts: bool = False,
    max_tokens: int = 6_000,
) -> AnswerContext:
    """Return the best statements that fit into ``max_tokens`` tokens, set out as their documents read.

    Labels go by rank: S1 is the best statement, and more room adds labels behind. What is shown is grouped by source, that
    of the best statement first, and inside by place, below its topic. Of the room that is left, the statements before and
    after the best ones get theirs: ``beside`` holds the statements of :func:`chunks_to_read`. ``include_facts`` adds each
    statement's facts (G-23). External texts come last and are not counted.
    """
    ranked = sorted((_Shown(s, r.source, r.topic) for r in results.results for s in r.statements), key=lambda s: -s.score)
    budget = _Budget(max_tokens, include_facts)
    best = budget.filled(ranked)
    kept = [*best, *budget.filled(_neighbours(best, beside))]
    sources = [citations.statement_citation(at, s.statement, s.source) for at, s in enumerate(kept, 1)]
    lines = _set_out(kept, include_facts)
    if external:
        lines += ["", "Given with the question"]
    for text in external:
        sources.append(external_citation(len(sources) + 1, text))
        lines.append(f"[{sources[-1].label}] {citations.defused(text.text)}")
    detail = f"the model was shown {len(best)} of {len(ranked)} statements, best first (max_context_tokens={max_tokens})"
    cut = (Notice("context_cut", detail),) if len(best) < len(ranked) else ()
    headings = (*(f"{s.heading}\n{s.topic}" for s in kept), *("" for _ in external))
    return AnswerContext("\n".join(lines).strip(), tuple(sources), headings, cut)


def chunks_to_read(results: SearchResults) -> tuple[str, ...]:
    """Return the chunks of the statements whose neighbours are shown, too: those of the best ones."""
    best = sorted(results.statements, key=lambda s: -s.score)[:_WITH_NEIGHBOURS]
    return tuple(dict.fromkeys(s.chunk_id for s in best if s.chunk_id))


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


@dataclass(frozen=True, slots=True)
class _Shown:
    """A statement to be shown, below the title of its source and its topic; of one that is too long about ``tokens``."""

    statement: ScoredStatement
    source: Source
    topic: str
    tokens: int = 0

    @property
    def score(self) -> float:
        return self.statement.score

    @property
    def place(self) -> tuple[int, int]:
        return self.statement.start, self.statement.end

    @property
    def heading(self) -> str:
        """Title, name of the file, dates."""
        name = self.source.uri.rstrip("/").rpartition("/")[2]
        known = dict.fromkeys(filter(None, [self.source.title, name, *_dates(self.source.metadata)]))
        return citations.defused(f"Source: {' | '.join(known) or self.source.uri}")

    @property
    def below(self) -> str:
        """The topic, without the title that it begins with; empty where it says no more."""
        topic = self.topic.removeprefix(self.source.title).lstrip(" >:")
        return citations.defused(f"Topic: {topic}") if topic else ""

    @property
    def text(self) -> str:
        """What it says: on the line of its label, or below it, indented, where its lines matter."""
        said, prose = self.statement.text, self.statement.kind == "prose"
        if prose and self._led_by_heading():
            said = self.statement.original
        if self.tokens:
            said = said[: max(1, len(said) * self.tokens // count_tokens(said))]
        if prose:
            return f" {citations.defused(said)}"
        return "".join(f"\n    {line}" for line in citations.defused_lines(said).splitlines())

    def facts(self) -> list[str]:
        return [f"    fact: {citations.defused(fact)}" for fact in self.statement.facts]

    def _led_by_heading(self) -> bool:
        """Tell whether all that the statement has before its original words is a heading that it stands under anyway."""
        text, original = self.statement.text, self.statement.original
        lead = text.removesuffix(original).rstrip(": ") if original and text.endswith(original) else ""
        return bool(lead) and lead in f"{self.source.title}\n{self.topic}"


class _Budget:
    """What is left of the room for statements and the headings above them."""

    def __init__(self, tokens: int, include_facts: bool) -> None:
        self.all = self.left = tokens
        self.include_facts = include_facts
        self.headed: set[tuple[str, str]] = set()

    def filled(self, ranked: Iterable[_Shown]) -> list[_Shown]:
        """Return those of the statements that there is room for, taken in their order up to the first that does not fit.

        One that would take most of the room is passed over; but the very first is cut to it.
        """
        kept: list[_Shown] = []
        for shown in ranked:
            above = {("", shown.source.id): shown.heading, (shown.source.id, shown.topic): shown.below}
            around = _LABEL_TOKENS + sum(count_tokens(text) for key, text in above.items() if key not in self.headed)
            around += sum(map(count_tokens, shown.facts())) if self.include_facts else 0
            size = count_tokens(shown.text)
            if around + size > self.left:
                if self.headed and size > self.all * _OUTSIZED:
                    continue
                if self.headed:
                    break
                size = max(1, self.left - around)
                shown = replace(shown, tokens=size)
            kept.append(shown)
            self.left -= around + size
            self.headed.update(above)
        return kept


def _neighbours(best: Sequence[_Shown], rows: Sequence[StatementRow]) -> list[_Shown]:
    """Return the statements before and after the best ones in their documents, those of the best first."""
    there = {(row.id, row.chunk_id): at for at, row in enumerate(rows)}
    taken = {(s.statement.id, s.statement.chunk_id) for s in best}
    found = []
    for shown in best[:_WITH_NEIGHBOURS]:
        at = there.get((shown.statement.id, shown.statement.chunk_id))
        for row in [] if at is None else [*rows[max(0, at - 1) : at], *rows[at + 1 : at + 2]]:
            key = row.id, row.chunk_id
            if row.source.id == shown.source.id and key not in taken:
                taken.add(key)
                found.append(_Shown(scored_statement(row, 0.0, CONTEXT, {}), row.source, row.topic))
    return found


def _set_out(kept: Sequence[_Shown], include_facts: bool) -> list[str]:
    """Return the lines that show statements, which bear their labels in the order given: by source, topic and place."""
    order: dict[str, int] = {}
    for shown in kept:
        order.setdefault(shown.source.id, len(order))
    labelled = [(citations.label(at), shown) for at, shown in enumerate(kept, 1)]
    labelled.sort(key=lambda pair: (order[pair[1].source.id], pair[1].place))
    lines: list[str] = []
    for _, of_source in groupby(labelled, key=lambda pair: pair[1].source.id):
        topic, end = "", None
        for label, shown in of_source:
            if end is None:
                lines += ["", shown.heading]
            if shown.below != topic:
                topic = shown.below
                lines += [topic] if topic else []
            elif end is not None and shown.place[0] > end + _GAP:
                lines.append("...")
            lines.append(f"[{label}]{shown.text}")
            lines += shown.facts() if include_facts else []
            end = max(end or 0, shown.place[1])
    return lines


def _dates(metadata: Mapping[str, object]) -> list[str]:
    """Return what the metadata says of when: ``published: 2024-05-01``."""
    dated = [
        f"{name}: {value}"
        for name, value in metadata.items()
        if isinstance(value, (str, int))
        and (_DAY.match(str(value)) or (_DATED & set(_WORDS.findall(name.lower())) and _YEAR.search(str(value))))
    ]
    return dated[:_MOST_DATES]
