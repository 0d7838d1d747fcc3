"""Documents become chunks of about 200 tokens, so that a changed sentence changes one to three of them.

A document is a row of atoms: sentences, list items, rows, blocks of code. Each place between two has a strength: it parts
least within a paragraph, most between sections of different chapters; among equals the hash of what follows it decides. The
strongest places are cut at first, until every piece fits; at last pieces that fit together are joined. A place keeps its
strength whatever changes elsewhere, so an edit is felt only nearby; filling chunks one after the other would move all that
follow.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate, chain, pairwise, takewhile

from lexigraph.ingestion.language import code_of
from lexigraph.model.document import BOILERPLATE, Block, ChunkText, LoadedDocument
from lexigraph.model.errors import InvalidInput
from lexigraph.model.sentences import ABBREVIATIONS
from lexigraph.model.tokens import count_tokens

_CLAUSE = re.compile(r"[^,.;:]+[,.;:]*|[,.;:]+")
_LONG_WORD = re.compile(r"\s*\S{1,24}\s*|\s+")
_FRAGMENTS = 8  # parts of a sentence too long for a chunk, as many as fit into one at least
# where a sentence may end, and what keeps it from ending there; a run of signs is looked at from its beginning alone
_STOP = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’»)\]]*(?:\[\d+\])*\s+|[。！？]+[”’」』）]*\s*|\n+")
_BLANK_LINE = re.compile(r"\n\s*\n")
_OPENING = "\"'“‘«([¿¡"
_ABBREVIATIONS = ABBREVIATIONS | {"etc"}
# how items begin: a sign, a number, a term
_ITEM = re.compile(r"[-*+•‣◦▪·○●–]\s|\(?\w{1,4}[.)]\s|[^\n:.]{1,100}: ")
_SECTIONS, _DEPTH = 3, 6  # strength between sections of a common chapter of this depth; a shallower one adds to it
_SMALL = 100  # tokens below which what stands in a section goes together with what its neighbours hold
_TERM_WORDS = 3  # of a line that is a term itself
_LONGEST_LIST = 1_000  # items beyond which nothing is looked for that leads to them
_TOPIC_CHUNKS = 2  # a section in more chunks, or sections of equal headings, are more than one topic


def chunk(document: LoadedDocument, *, max_tokens: int = 256, overlap: int = 25) -> list[ChunkText]:
    """Return the chunks of a document in reading order; together they hold the text of all blocks but boilerplate.

    No chunk has more than ``max_tokens`` (see :func:`~lexigraph.model.tokens.count_tokens`). Each is told the last
    sentences before it in its section, as many as fit in ``overlap`` tokens but at least one: they are read with it and are
    no part of it. Raise ``InvalidInput`` when ``overlap`` is more than half of ``max_tokens``.
    """
    if not 0 <= overlap <= max_tokens // 2:
        raise InvalidInput(f"chunk_overlap must be between 0 and {max_tokens // 2} (half of chunk_tokens), got {overlap}")
    text = document.text
    atoms = _atoms(text, document.blocks, max_tokens)
    texts = [text[atom.start : atom.end] for atom in atoms]
    sizes = ([atom.tokens for atom in atoms], [atom.above for atom in atoms], [atom.apart for atom in atoms])
    cuts = content_cuts(texts, *sizes, max_tokens)
    sections = [{document.blocks[atom.block].headings for atom in atoms[first:last]} for first, last in pairwise(cuts)]
    held_by = Counter(section for held in sections for section in held)
    return [
        _made(document, seq, atoms, *held, overlap, any(held_by[section] > _TOPIC_CHUNKS for section in sections[seq]))
        for seq, held in enumerate(pairwise(cuts))
    ]


# ---------------------------------------------------------------- what is never cut


@dataclass(slots=True)
class _Atom:
    """A stretch of a block: a sentence, an item, a row, a block of code; ``above`` are the tokens of the headings before it.

    ``block`` is the number of its block, ``apart`` the strength of the place before it. Atoms of one ``section`` stand under
    the same headings in a row.
    """

    start: int
    end: int
    tokens: int
    above: int
    block: int
    apart: int
    section: int


def _atoms(text: str, blocks: Sequence[Block], limit: int) -> list[_Atom]:
    atoms: list[_Atom] = []
    end = above = section = 0
    last: Block | None = None
    for number, block in enumerate(blocks):
        above += count_tokens(text[end : block.start])
        end = max(end, block.end)
        if block.role == BOILERPLATE:
            continue
        apart = _apart(text, last, block)
        section += apart >= _SECTIONS
        for start, stop, tokens in _stretches(text, block, limit):
            atoms.append(_Atom(start, stop, tokens, above, number, apart, section))
            last, apart, above = block, 0, 0
    return atoms


def _apart(text: str, a: Block | None, b: Block) -> int:
    """Tell how strongly two blocks in a row are parted; an introduction or signature not at all from what it leads to."""
    if a is None:
        return _SECTIONS
    if a.headings != b.headings:
        return _SECTIONS + max(0, _DEPTH - _shared(a, b))
    goes_on = a.role == b.role == "list" and not _ITEM.match(text, b.start, b.end)  # with the item above
    signature = a.role == "code" and b.role == "paragraph" and "\n" not in text[a.start : a.end].strip()
    if goes_on or signature or text[a.end - 1] == ":":
        return 0
    return 1 if a.role == b.role != "paragraph" else 2


def _shared(a: Block, b: Block) -> int:
    """Return how many headings two blocks have in common."""
    pairs = zip(a.headings, b.headings, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _stretches(text: str, block: Block, limit: int) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and tokens of the atoms of a block: prose by sentences, all else whole if it fits.

    Code that does not is parted at blank lines, else at line ends.
    """
    body = text[block.start : block.end]
    parts: Iterable[str] = [body]
    if block.role == "code" and count_tokens(body) > limit:
        stretches = _BLANK_LINE.split(body)
        parts = chain.from_iterable([s] if count_tokens(s) <= limit else s.splitlines() for s in stretches)
    elif block.role in ("paragraph", "list") or count_tokens(body) > limit:
        parts = _sentences(body)
    at = 0
    for part in parts:
        for piece in [part] if count_tokens(part) <= limit else _fragments(part, limit):
            start = body.index(piece, at)
            at = start + len(piece)
            if bare := piece.strip():
                start += block.start + piece.index(bare)
                yield start, start + len(bare), count_tokens(bare)


# ---------------------------------------------------------------- where to cut


def content_cuts(
    texts: Sequence[str], tokens: Sequence[int], above: Sequence[int], apart: Sequence[int], limit: int
) -> list[int]:
    """Return where to cut a sequence so that no piece has more than ``limit`` tokens: indexes from 0 to its length.

    Places are taken from the strongest (``apart`` of what follows, then its hash) to the weakest; one is cut at when what it
    is in is too long, or holds two sections of some size, unless a part would have less than a quarter of the limit. Then
    cuts go, from the weakest to the strongest, where two pieces fit together after all. A piece of several sections holds
    the headings ``above`` them all, a piece of one section does not.
    """
    count = len(texts)
    before = [0, *accumulate(own + head for own, head in zip(tokens, above, strict=True))]
    sections = list(accumulate(strength >= _SECTIONS for strength in apart))

    def size(begin: int, end: int) -> int:
        return before[end] - before[begin] - (above[begin] if sections[begin] == sections[end - 1] else 0)

    def wanted(begin: int, place: int, end: int, least: int) -> bool:
        smaller = min(size(begin, place), size(place, end))
        return smaller >= least and (size(begin, end) > limit or (apart[place] >= _SECTIONS and smaller >= _SMALL))

    places = [(-apart[i], blake2b(texts[i].encode("utf-8", "replace"), digest_size=8).digest(), i) for i in range(1, count)]
    places.sort()
    cuts = [0, count] if count else [0]
    for least in (limit // 4, 0):  # a long sentence may leave no place but near an end
        for _, _, place in places:
            at = bisect_left(cuts, place)
            if cuts[at] != place and wanted(cuts[at - 1], place, cuts[at], least):
                cuts.insert(at, place)
    inner = set(cuts[1:-1])
    for _, _, place in sorted((-strength, text, i) for strength, text, i in places if i in inner):
        at = bisect_left(cuts, place)
        if not wanted(cuts[at - 1], place, cuts[at + 1], 0):
            cuts.pop(at)
    return cuts


# ---------------------------------------------------------------- what a chunk holds


def _made(
    document: LoadedDocument, seq: int, atoms: Sequence[_Atom], first: int, last: int, overlap: int, long: bool
) -> ChunkText:
    """Return the chunk of the atoms from ``first`` to ``last`` (exclusive)."""
    text, held = document.text, document.blocks[atoms[first].block : atoms[last - 1].block + 1]
    said = [block for block in held if block.role != BOILERPLATE]
    headings = said[0].headings[: min(_shared(said[0], block) for block in said)]
    start, end = atoms[first].start, atoms[last - 1].end
    # several sections: the headings that they do not share stand in the text, but for one above what an earlier chunk holds
    above = document.blocks[atoms[first].block - 1].end if atoms[first].block else 0
    if first and atoms[first - 1].block == atoms[first].block:
        above = atoms[first - 1].end
    for heading in reversed(said[0].headings[len(headings) :]):
        if (at := text.rfind(heading, above, start)) >= 0:
            start = at
    roles = Counter[str]()
    for atom in atoms[first:last]:
        roles[document.blocks[atom.block].role] += atom.tokens
    return ChunkText(
        seq,
        document.title,
        headings,
        text[start:end],
        start,
        end,
        roles.most_common(1)[0][0],
        tuple(replace(b, start=max(b.start, start) - start, end=min(b.end, end) - start) for b in held),
        _before(document, atoms, first, overlap),
        long,
        code_of(document.metadata.get("language")),
    )


def _before(document: LoadedDocument, atoms: Sequence[_Atom], first: int, room: int) -> str:
    """Return the last sentences before an atom in its section: as many as fit in ``room`` tokens, but at least one.

    Before an item of a list stands the line that leads to the list, on a line of its own.
    """
    begin, section = first, atoms[first].section
    while room > 0 and begin and atoms[begin - 1].section == section and _is_prose(document, atoms[begin - 1]):
        if begin < first and atoms[begin - 1].tokens > room:
            break
        begin -= 1
        room -= atoms[begin].tokens
    if begin == first:
        return ""
    last, lead = document.text[atoms[begin].start : atoms[first - 1].end], _lead(document, atoms[first], atoms[begin].block)
    return f"{lead}\n{last}" if lead else last


def _lead(document: LoadedDocument, atom: _Atom, before: int) -> str:
    """Return the line above block ``before`` that leads to the list that an atom is in; nothing where there is none."""
    item = document.blocks[atom.block]
    if item.role != "list":
        return ""
    mark, inner = _mark(document.text[item.start : item.end]), False  # inner: of a list in an item beside it
    passed: set[str] = set()
    for block in reversed(document.blocks[max(0, before - _LONGEST_LIST) : before]):
        text = document.text[block.start : block.end].rstrip()
        found = _mark(text) if block.role == "list" else ""
        if block.headings != item.headings or block.role not in ("paragraph", "list"):
            return ""
        if text.endswith(":") and (block.role == "paragraph" or not (inner or (mark and found == mark))):
            if len(text.split()) <= _TERM_WORDS and _mark(f"{text} ") in passed - {mark}:
                return ""  # it leads to a list of its own, which ended at the item passed
            return " ".join(list(_sentences(text))[-1].split())
        if block.role == "paragraph":
            return ""
        if found:
            inner = found != mark
            passed.add(found)
    return ""


def _mark(text: str) -> str:
    """Return how an item is marked: ``1`` for ``12.``, ``a`` for ``b)``, its bullet, ``a (1)`` for ``Size (5):``."""
    found = _ITEM.match(text)
    return re.sub(r"\d+", "1", re.sub(r"[a-z_]+", "a", found[0].strip().lower())) if found else ""


def _is_prose(document: LoadedDocument, atom: _Atom) -> bool:
    return document.blocks[atom.block].role in ("paragraph", "list")


# ---------------------------------------------------------------- sentences


def _sentences(text: str) -> Iterator[str]:
    """Split a text where a sentence certainly ends, and at line breaks; the parts together are the text."""
    start = 0
    for stop in _STOP.finditer(text):
        if _ends(text, stop):
            yield text[start : stop.end()]
            start = stop.end()
    if start < len(text):
        yield text[start:]


def _ends(text: str, stop: re.Match[str]) -> bool:
    if stop[0][0] in "\n。！？":
        return True
    following = text[stop.end() : stop.end() + 3].lstrip(_OPENING)[:1]
    if following.islower() or stop[0][0] != ".":
        return not following.islower()
    words = text[max(0, stop.start() - 16) : stop.start()].split()
    last = words[-1].lstrip(_OPENING) if words else ""
    initial = len(last) == 1 and last.isupper()
    return not (initial or "." in last or last.lower() in _ABBREVIATIONS)


def _fragments(sentence: str, limit: int) -> Iterator[str]:
    """Split a sentence that is too long at its clauses, a long clause between words, a long word anywhere.

    The parts are much smaller than a chunk, so that what is cut between them follows their content, too.
    """
    most = max(1, limit // _FRAGMENTS)
    for clause in (found[0] for found in _CLAUSE.finditer(sentence)):
        if count_tokens(clause) <= most:
            yield clause
            continue
        held, room = "", most
        for word in (found[0] for found in _LONG_WORD.finditer(clause)):
            tokens = count_tokens(word)
            if held and tokens > room:
                yield held
                held, room = "", most
            held, room = held + word, room - tokens
        yield held
