"""Documents become chunks, so that a changed sentence changes one or two of them.

Blocks part a document first: paragraphs stand alone; list items, table rows and csv rows under one heading gather, and a
very short block goes with the next. Whether two blocks go together depends on these two alone. What is still longer than
a chunk is cut where its content says: each place between two sentences (rows, items, lines of code) has a number, the
hash of the sentence after it, and the smallest numbers are cut at, until every piece fits. A place keeps its number
whatever changes elsewhere, so the cuts stay where they are; filling chunks one after the other would move all that follow.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING

from lexigraph.model.document import Block, ChunkText, LoadedDocument
from lexigraph.model.errors import InvalidInput, LexigraphError

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter

# 8 letters of a word, or a sign, are a token: within 1 % of MiniLM's word pieces over English prose, 7 % on one passage
_TOKEN = re.compile(r"[^\W\u3040-\u9fff\uac00-\ud7af]{1,8}|\S")
_CLAUSE = r"[^,.;:]+[,.;:]*|[,.;:]+"  # keeps every character, unlike LlamaIndex's own
_WINDOW = re.compile(r".{1,4000}(?:\s|$)|.{1,4000}", re.DOTALL)
# where a sentence may end, and what keeps it from ending there
_STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*(?:\[\d+\])*\s+|[。！？]+[”’」』）]*\s*|\n+")
_OPENING = "\"'“‘«([¿¡"
_ABBREVIATED = """
    mr mrs ms dr st prof gen col lt sgt capt maj rev hon sen rep gov pres jr sr vs cf fig figs eq no nos vol pp p ed eds al
    approx ca inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec etc dept est ave blvd mt ft ch sec
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_SHORT = 16  # tokens below which a block goes with the next
_GATHERED = frozenset({"list", "table", "row"})


def count_tokens(text: str) -> int:
    """Return about the number of word pieces in a text; needs no model and no network."""
    return len(_TOKEN.findall(text))


def chunk(document: LoadedDocument, *, max_tokens: int = 256, overlap: int = 25) -> list[ChunkText]:
    """Return the chunks of a document in reading order; together they hold the text of all its blocks.

    No chunk has more than ``max_tokens`` (see :func:`count_tokens`). The pieces of a block that is longer begin with the
    last sentences of the piece before, as many as fit in ``overlap`` tokens. Raise ``InvalidInput`` when ``overlap`` is
    more than half of ``max_tokens``.
    """
    if not 0 <= overlap <= max_tokens // 2:
        raise InvalidInput(f"chunk_overlap is {overlap}; it may be 0 to {max_tokens // 2}, half of chunk_tokens")
    chunks: list[ChunkText] = []
    for group in _groups(document):
        for start, end, role in _pieces(document.text, group, max_tokens, overlap):
            text = document.text[start:end]
            blocks = tuple(_within(sized.block, start, end) for sized in group if _touches(sized.block, start, end))
            chunks.append(ChunkText(len(chunks), document.title, group[0].block.headings, text, start, end, role, blocks))
    return chunks


def _touches(block: Block, start: int, end: int) -> bool:
    return block.start < end and start < block.end


def _within(block: Block, start: int, end: int) -> Block:
    """A block's part in a chunk, its offsets in the chunk's text."""
    return replace(block, start=max(block.start, start) - start, end=min(block.end, end) - start)


# ---------------------------------------------------------------- what goes together


@dataclass(frozen=True, slots=True)
class _Sized:
    block: Block
    tokens: int


def _groups(document: LoadedDocument) -> Iterator[list[_Sized]]:
    """Yield runs of blocks that go together."""
    group: list[_Sized] = []
    for block in document.blocks:
        text = document.text[block.start : block.end]
        if text.isspace() or not text:
            continue
        sized = _Sized(block, count_tokens(text))
        if group and not _joins(group[-1], sized, document.text):
            yield group
            group = []
        group.append(sized)
    if group:
        yield group


def _joins(first: _Sized, second: _Sized, text: str) -> bool:
    """Tell whether a block goes with the next: both of one table or list, or the first short or an introduction."""
    a, b = first.block, second.block
    if a.headings != b.headings or "heading" in (a.role, b.role):
        return False
    if a.role != "paragraph":
        return a.role == b.role and a.role in _GATHERED
    return first.tokens < _SHORT or (b.role != "paragraph" and text[a.end - 1] == ":")


# ---------------------------------------------------------------- what is too long


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is never cut: a block that fits, or a sentence of ``block`` (where that begins, -1 for a whole block)."""

    start: int
    end: int
    tokens: int
    role: str
    block: int = -1


def _pieces(text: str, group: list[_Sized], max_tokens: int, overlap: int) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, role) of the chunks of a group."""
    if sum(sized.tokens for sized in group) <= max_tokens:
        yield group[0].block.start, group[-1].block.end, group[-1].block.role
        return
    # the same for every group, so that one block that grows does not move the cuts between all others
    limit = max_tokens - overlap
    atoms = [atom for sized in group for atom in _atoms(text, sized, limit)]
    cuts = content_cuts([text[a.start : a.end] for a in atoms], [a.tokens for a in atoms], limit)
    for before, first, last in zip([0, *cuts], cuts, cuts[1:], strict=False):
        begin = _overlapping(atoms, before, first, overlap)
        yield atoms[begin].start, atoms[last - 1].end, atoms[last - 1].role


def _overlapping(atoms: Sequence[_Atom], before: int, first: int, overlap: int) -> int:
    """Return where a piece begins with its overlap: whole sentences of one block, not all of the piece ``before``."""
    begin, room = first, overlap
    while begin - 1 > before and atoms[begin - 1].block == atoms[first].block >= 0 and atoms[begin - 1].tokens <= room:
        begin -= 1
        room -= atoms[begin].tokens
    return begin


def content_cuts(texts: Sequence[str], tokens: Sequence[int], limit: int) -> list[int]:
    """Return where to cut a sequence so that no piece has more than ``limit`` tokens: indexes from 0 to its length.

    The places are tried by the hash of what follows them; a piece that is too long is cut there, unless a part would have
    less than a quarter of the limit. No text may have more than ``limit`` tokens itself.
    """
    before = [0, *accumulate(tokens)]
    order = sorted(
        range(1, len(texts)), key=lambda i: (blake2b(texts[i].encode("utf-8", "replace"), digest_size=8).digest(), i)
    )
    cuts = [0, len(texts)]
    for smallest in (limit // 4, 0):  # a long sentence may leave no place but near an end
        for place in order:
            at = bisect_left(cuts, place)
            left, right = cuts[at - 1], cuts[at]
            sizes = before[place] - before[left], before[right] - before[place]
            if place != right and sum(sizes) > limit and min(sizes) >= smallest:
                cuts.insert(at, place)
    return cuts


def _atoms(text: str, sized: _Sized, limit: int) -> Iterator[_Atom]:
    block = sized.block
    if sized.tokens <= limit:
        yield _Atom(block.start, block.end, sized.tokens, block.role)
        return
    body = text[block.start : block.end]
    at = 0
    for part in body.splitlines(keepends=True) if block.role == "code" else _sentences(body):
        for piece in [part] if count_tokens(part) <= limit else _fragments(part, limit):
            start = body.index(piece, at)
            at = start + len(piece)
            bare = piece.strip()
            if bare:
                start += piece.index(bare)
                absolute = block.start + start
                yield _Atom(absolute, absolute + len(bare), count_tokens(bare), block.role, block.start)


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
    """Split a sentence that is too long at its clauses, else between words, else anywhere."""
    for window in _WINDOW.findall(sentence):
        if len(window.split()) > 1:
            yield from _splitter(limit).split_text(window)
        else:  # which the splitter would take letter by letter
            yield from (window[i : i + limit] for i in range(0, len(window), limit))


@lru_cache(maxsize=8)
def _splitter(limit: int) -> "SentenceSplitter":
    """Return LlamaIndex's splitter, with tokens counted here.

    It is given the sentences: its own tokenizer knows no abbreviation (``Dr.`` ends a sentence), and NLTK refuses to read
    the data of that tokenizer where the installer made hard links, as uv does.
    """
    try:
        from llama_index.core.node_parser import SentenceSplitter
    except ModuleNotFoundError:
        raise LexigraphError('splitting long sentences needs LlamaIndex: pip install "lexigraph[llama-index]"') from None
    return SentenceSplitter(
        chunk_size=limit,
        chunk_overlap=0,
        tokenizer=_TOKEN.findall,
        chunking_tokenizer_fn=lambda text: list(_sentences(text)),
        secondary_chunking_regex=_CLAUSE,
    )
