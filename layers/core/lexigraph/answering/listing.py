"""What a document enumerates, for a question that asks for all of it: options, functions, fields, steps. Pure.

An item is known by the term that it defines, or by the line that leads to its list. Those of one section, written alike, are
an enumeration; which one is asked for is told by its heading, the line above it, or how its terms are written.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lexigraph.answering import citations
from lexigraph.answering.candidates import Candidate
from lexigraph.answering.extractive import Quotation, labelled, sentence
from lexigraph.answering.identifiers import share_held
from lexigraph.answering.wording import stems
from lexigraph.model.graph import StatementRow
from lexigraph.model.results import Citation
from lexigraph.retrieval.stages.results import scored_statement

_ASKS = re.compile(
    r"\W*(?:please |can you |could you |i (?:need|want) )?"
    r"(?:(?:list|enumerate|name|give(?: me)?|show(?: me)?)\b(?: (?:all|every|each|the|a|full|complete|list|of))*"
    r"|(?:what|which) are (?:all )?(?:of )?(?:the )?|(?P<open>what|which) ) ?(?P<rest>.+)",
    re.IGNORECASE,
)
_BEHIND = "of|in|for|does|do|did|is|are|that|which|can|may|to|on|by|has|have|exist"
_KIND = re.compile(rf"[^\s?.!,;:]+(?: [^\s?.!,;:]+)*?(?=[?.!,;:]|$| (?:{_BEHIND})\b)")
_SOME = re.compile(r"\b(?:that|which|who|whose)\b", re.IGNORECASE)
_HAS = re.compile(r"(?: (?:of|in|for) .+)? (?:do|does|did|has|have|can|may|exist|are there)\b", re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:for|about|concerning) (?P<about>[^?.!,;:]+)\W*$", re.IGNORECASE)
_PLURAL = re.compile(r"\w{2,}(?<![sui])s|criteria|people", re.IGNORECASE)
_TERM = re.compile(r"(?P<term>[^\s:][^\n]{0,78}?):\s")
_LED = re.compile(r"(?P<line>[^\n]{1,300}?):\s(?P<item>\S.*)", re.DOTALL)  # the first item has the line above it
_NO_TERM = frozenset("note notes warning example examples tip important caution".split())
_TERM_WORDS = 8  # at most
_LINE_WORDS = 4  # of a line that leads to a list, at least
LISTED = "listed"  # the reason of a statement that is there as one of an enumeration
_LEAST = 3  # items
_MOST = 200
_CALL = re.compile(r"(?:Function: [\w *]+? \**\w+ |[\w.:]+)\([^;\"]*\)(?: -> .+)?|class [\w.]+.*")
_WRITTEN = {
    "option": frozenset(stems("options flags switches arguments parameters")),
    "call": frozenset(stems("functions methods calls classes constructors routines procedures")),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One of an enumeration: what is shown of it, and the statement that says it."""

    text: str
    row: StatementRow


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The items that are asked for, and the ids of the statements of those that are not about what is asked."""

    items: Sequence[Item] = ()
    others: frozenset[str] = frozenset()


def kind_asked_for(question: str) -> frozenset[str]:
    """Return the stem of what a question asks a list of ("options", "socket types"); empty when it asks for none.

    "Which options show routes?" and "list the options that ..." ask for some of a list.
    """
    asks = _ASKS.match(question)
    kind = _KIND.match(asks["rest"]) if asks else None
    if not (asks and kind):
        return frozenset()
    words, behind = kind[0].split(), asks["rest"][kind.end() :]
    if not _PLURAL.fullmatch(words[-1]) or _SOME.search(behind) or (asks["open"] and not _HAS.match(behind)):
        return frozenset()
    return frozenset(stems(words[-1]))


def listing_source(question: str, found: Sequence[Candidate], sought: frozenset[str] = frozenset()) -> str:
    """Return the source that a question asks to list something of: its title names that, and most found is from it.

    One that lacks what is ``sought``, identifiers and acronyms of the question, is passed over for one that has that.
    """
    asked = frozenset(stems(question)) - kind_asked_for(question)
    sources = [c for c in found if c.citation.source_id]
    counts = Counter(c.home for c in sources)
    said: dict[str, list[str]] = defaultdict(list)
    for c in sources if sought else ():
        said[c.home].append(c.whole)
    held = {home: share_held(sought, "\n".join(texts)) for home, texts in said.items()}
    sources = [c for c in sources if held.get(c.home) == max(held.values(), default=None)]

    def likely(c: Candidate) -> float:
        told = asked.intersection(stems(f"{c.citation.title} {c.citation.uri.rpartition('/')[2].replace('-', ' ')}"))
        return len(told) / (len(asked) or 1) + counts[c.home] / counts.total()

    return max(sources, key=likely).home if sources else ""


def enumeration(question: str, rows: Iterable[StatementRow]) -> Enumeration:
    """Return the items that a question asks to list, among what a source says, as it reads; none without such a list."""
    kind = kind_asked_for(question)
    if not kind:
        return Enumeration()
    lists: dict[tuple[str, str], _List] = defaultdict(_List)
    for row in sorted(rows, key=lambda row: (row.chunk_start + row.start, row.position)):
        heading = _heading(row)
        if kind & frozenset(stems(heading)):  # one heading an item: "The first field", "The second field"
            lists["", "heading"].add(heading, f"{heading}: {row.value.removeprefix(f'{heading}: ')}", row, "")
        for written, term, text, line in _read(row):
            lists["" if written == "call" else heading, written].add(term, text, row, line)
    long = {key: of for key, of in lists.items() if len(of.items) >= _LEAST}
    fits = {key: fit for key, of in long.items() if (fit := _fit(kind, frozenset(stems(question)), key, of))}
    best = max(fits, key=lambda key: (fits[key], len(long[key].items)), default=None)
    if best is None:
        return Enumeration()
    alike = [key for key in fits if fits[key] == fits[best] and key[1] == best[1]]
    return _about(question, [item for key in alike for item in long[key].items.values()][:_MOST])


def _about(question: str, items: list[Item]) -> Enumeration:
    """Return the items that have all words of what a question asks them for ("options for the buffer size"); all of them
    where none or most have, and where that is how their source is called.
    """
    asked = _ABOUT.search(question)
    words = frozenset(stems(asked["about"])) if asked else frozenset()
    called = frozenset(stems(items[0].row.source.title))
    few = [item for item in items if words - called <= frozenset(stems(item.text.replace("_", " ")))]
    if not (words - called and 0 < 2 * len(few) < len(items)):
        return Enumeration(items)
    return Enumeration(few, frozenset(item.row.id for item in items) - {item.row.id for item in few})


class _List:
    """The items below one heading that are written alike, by what they define, and the lines that lead to them."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self.lines: set[str] = set()

    def add(self, term: str, text: str, row: StatementRow, line: str) -> None:
        known = self.items.get(term)
        if known is None or known.text == term:  # a bare signature, and what explains it
            self.items[term] = Item(text, row)
        self.lines.add(line)


def citation(number: int, item: Item, found: Sequence[Candidate]) -> Citation:
    """Return what a label stands for that is put behind an item; ``found`` knows how statements were found."""
    row = item.row
    known = (c.citation for c in found if (c.citation.statement_id, c.citation.chunk_id) == (row.id, row.chunk_id))
    if cited := next(known, None):
        return replace(cited, label=citations.label(number))
    return citations.statement_citation(number, scored_statement(row, 0.0, LISTED, {}), row.source)


def list_item(item: Item, cited: Citation) -> str:
    """Return an item as an answer shows it, on a line of its own."""
    return f"- {sentence(item.text)} [{cited.label}]"


def beside_list(listed: Enumeration, quoted: Sequence[Quotation], limit: int) -> tuple[Quotation, ...]:
    """Return those of the quotations that say more than a list, at most ``limit`` of its source, labelled behind it."""
    shown = {item.row.id for item in listed.items} | listed.others
    home = listed.items[0].row.source.id
    rest = [group for group in quoted if group[0].source_id in (home, "") and group[0].statement_id not in shown][:limit]
    return labelled(rest, len(listed.items))


def _read(row: StatementRow) -> list[tuple[str, str, str, str]]:
    """Return the item that a statement is, if it is one: how it is written, what it defines, its text, the line above."""
    text = row.original or row.value
    lead = row.value.removesuffix(text).strip() if row.value.endswith(text) else ""
    above = [bare for part in re.split(r":\s", lead) if (bare := part.strip(" :")) and not _is_heading(bare, row)]
    line = next((part for part in reversed(above) if len(part.split()) >= _LINE_WORDS and not _CALL.fullmatch(part)), "")
    if row.kind == "code":
        bare = text.strip()
        return [("call", bare, bare, "")] if _CALL.fullmatch(bare) else []
    own, led = _TERM.match(text), _LED.match(text)
    if led and len(led["line"].split()) >= _LINE_WORDS and (first := _TERM.match(led["item"])) and _is_term(first["term"]):
        text, own, line = led["item"], first, led["line"]
    if row.kind == "prose" and own and _is_term(own["term"]):
        return [(_written(own["term"]), own["term"], text, line)]
    if row.kind == "prose" and above and above[-1] != line:
        return [(_written(above[-1]), above[-1], f"{above[-1]}: {text}", line)]
    return [("item", text, text, line)] if line and row.kind == "prose" else []


def _heading(row: StatementRow) -> str:
    """Return the heading that a statement stands under, without the words by which a long section is told apart."""
    return row.topic.rpartition(" > ")[2].partition(": ")[0].rstrip(". ")


def _is_heading(part: str, row: StatementRow) -> bool:
    return part in row.topic or row.source.title.startswith(part)


def _is_term(words: str) -> bool:
    return len(words.split()) <= _TERM_WORDS and words.casefold() not in _NO_TERM and ". " not in words


def _written(term: str) -> str:
    return "option" if term[:1] == "-" else "call" if _CALL.fullmatch(term) else "term"


def _fit(kind: frozenset[str], asked: frozenset[str], key: tuple[str, str], of: _List) -> float:
    """Return how well a list is the one asked for: by its heading and the lines above it, less by how it is written."""
    heading, written = key
    above = frozenset(stems(heading))
    if written != "item":  # what is not known by what it defines is of the kind that its heading tells
        above |= frozenset(stems(" ".join(of.lines)))
    named = 2.0 * bool(kind & above) or float(bool(kind & _WRITTEN.get(written, frozenset())))
    if written == "heading":
        named = 1.0
    return named and named + len(asked & above) / (1 + len(asked))
