"""How a model is shown statements: those that there is room for, set out as their documents read. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from lexigraph.answering import citations
from lexigraph.model.graph import Source
from lexigraph.model.results import ScoredStatement
from lexigraph.model.tokens import count_tokens

_LABEL_TOKENS = 6  # of a label, a line break and a mark of what is left out
_OUTSIZED = 0.5  # of the room: a statement beyond is passed over
_GAP = 20  # characters between two statements beyond which something was left out there
_DATED = frozenset("date year created modified updated published released effective valid time timestamp".split())
_WORDS = re.compile(r"[^\W\d_]+")
_YEAR, _DAY = re.compile(r"\b\d{4}\b"), re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_DATES = 3


@dataclass(frozen=True, slots=True)
class Shown:
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
    def lead(self) -> str:
        """What the statement has before its words in the document, so that it stands alone; empty where it is reworded."""
        text, original = self.statement.text, self.statement.original
        return text.removesuffix(original).strip() if original and text.endswith(original) else ""

    def text(self, before: str = "") -> str:
        """What it says: on the line of its label, or below it, indented, where its lines matter.

        A lead that stands above as a heading, or that the statement ``before`` it has, is not said again.
        """
        said, prose = self.statement.text, self.statement.kind == "prose"
        if prose and self.lead and (self.lead == before or self.lead.rstrip(": ") in f"{self.source.title}\n{self.topic}"):
            said = self.statement.original
        if self.tokens:
            said = said[: max(1, len(said) * self.tokens // count_tokens(said))]
        if prose:
            return f" {citations.defused(said)}"
        return "".join(f"\n    {line}" for line in citations.defused_lines(said).splitlines())

    def facts(self) -> list[str]:
        return [f"    fact: {citations.defused(fact)}" for fact in self.statement.facts]


class Budget:
    """What is left of the room for statements and the headings above them."""

    def __init__(self, tokens: int, include_facts: bool) -> None:
        self.all = self.left = tokens
        self.include_facts = include_facts
        self.headed: set[tuple[str, str]] = set()

    def filled(self, ranked: Iterable[Shown]) -> list[Shown]:
        """Return those of the statements that there is room for, taken in their order up to the first that does not fit.

        One that would take most of the room is passed over; but the very first is cut to it.
        """
        kept: list[Shown] = []
        for shown in ranked:
            above = {("", shown.source.id): shown.heading, (shown.source.id, shown.topic): shown.below}
            around = _LABEL_TOKENS + sum(count_tokens(text) for key, text in above.items() if key not in self.headed)
            around += sum(map(count_tokens, shown.facts())) if self.include_facts else 0
            size = count_tokens(shown.text())
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


def context_of(best: Iterable[Shown]) -> list[Shown]:
    """Return the statements before and after the best ones in their documents, those of the best first."""
    return [Shown(beside, shown.source, shown.topic) for shown in best for beside in shown.statement.context]


def set_out(kept: Sequence[Shown], include_facts: bool) -> list[str]:
    """Return the lines that show statements, which bear their labels in the order given: by source, topic and place."""
    order: dict[str, int] = {}
    for shown in kept:
        order.setdefault(shown.source.id, len(order))
    labelled = [(citations.label(at), shown) for at, shown in enumerate(kept, 1)]
    labelled.sort(key=lambda pair: (order[pair[1].source.id], pair[1].place))
    lines: list[str] = []
    for _, of_source in groupby(labelled, key=lambda pair: pair[1].source.id):
        topic, end, lead = "", None, ""
        for label, shown in of_source:
            if end is None:
                lines += ["", shown.heading]
            if shown.below != topic:
                topic, lead = shown.below, ""
                lines += [topic] if topic else []
            elif end is not None and shown.place[0] > end + _GAP:
                lines.append("...")
            lines.append(f"[{label}]{shown.text(lead)}")
            lines += shown.facts() if include_facts else []
            end, lead = max(end or 0, shown.place[1]), shown.lead
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
