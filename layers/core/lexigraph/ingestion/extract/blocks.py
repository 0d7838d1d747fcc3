"""What a chunk shows rather than says: code and tables, each one statement to be found and quoted whole. No model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from lexigraph.ingestion.extract.topics import topic_title
from lexigraph.ingestion.extract.words import encodable
from lexigraph.model.document import BOILERPLATE, Block, ChunkText
from lexigraph.model.extraction import ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.sentences import sentences
from lexigraph.model.tokens import count_tokens

KINDS = frozenset(["code", "table"])
_SILENT = frozenset([BOILERPLATE, "heading"])
_MAX_LEAD_CHARS = 300
_FEW_TOKENS = 75  # said around code and tables: too little to ask a model about
_ANNOUNCES = re.compile(
    r"(?i)[\w:,]$|\b(?:following|follows|below|like this|looks? like|for (?:example|instance)|e\.g\.|"
    r"here (?:is|are)|examples?|this is)\b"
)
# how a sentence goes on after the code that stands in it, "where FILE is the name of ...", and what speaks of that code
_TAIL = re.compile(
    r"(?:where|which|whose|and|or|but|will|would|with|to|then|gives?|prints?|produces?|displays?|shows?|is|are|in|on|instead|"
    r"into|as|for|from|that|if|when|because|so|followed|Here,|The output|"
    r"This (?:will )?(?:prints?|outputs?|produces?|generates?|displays?|shows?|creates?|runs?|yields?|gives?|matche?s?)|"
    r"(?:(?:In|As in) )?[Tt](?:his|he (?:above|preceding|previous)) (?:example|code|command|output|snippet|program))\b"
)


def verbatim(chunk: ChunkText) -> list[ExtractedStatement]:
    """Return one statement a code block and one a stretch of table rows, with the offsets of the block.

    Its value is the sentence that leads to it, if there is one in its section, and on the lines below the text as it is;
    its original then is the text alone.
    """
    found = []
    for lead, (kind, start, end) in _led(chunk):
        text = chunk.text[start:end]
        bare = text.strip("\n").rstrip()
        if any(c.isalnum() for c in bare):
            start += len(text) - len(text.lstrip("\n"))
            value, original = (f"{lead}\n{bare}", bare) if lead else (bare, "")
            value, original = (encodable(words) for words in (value, original))
            found.append(ExtractedStatement(value, start, start + len(bare), kind=kind, original=original))
    return found


def prose(chunk: ChunkText) -> list[Block]:
    """Return the parts of a chunk that say something: no code, no table, no boilerplate, no heading above nothing."""
    kept = [part for part in chunk.parts if part.role not in KINDS and part.role not in _SILENT]
    return [part for part in kept if any(c.isalnum() for c in chunk.text[part.start : part.end])]


def says(chunk: ChunkText) -> bool:
    """Tell whether a chunk says enough to ask a model: more than what announces its code and tables, and a line or two."""
    spoken = _unannouncing(chunk)
    shows = any(part.role in KINDS for part in chunk.parts)
    return bool(spoken) and not (shows and sum(count_tokens(chunk.text[p.start : p.end]) for p in spoken) < _FEW_TOKENS)


def as_it_stands(chunk: ChunkText) -> Extraction:
    """Return what a chunk holds that no model is asked about: its few sentences as they are, its code and tables."""
    topics = []
    for headings, run in groupby(_unannouncing(chunk), key=lambda part: part.headings):
        spans = [span for part in run for span in sentences(chunk.text, part.start, part.end)]
        said = [ExtractedStatement(encodable(" ".join(chunk.text[a:b].split())), a, b) for a, b in spans]
        if said:
            topics.append(ExtractedTopic(topic_title(chunk, headings, said), tuple(said)))
    return with_verbatim(Extraction(tuple(topics)), chunk)


def _unannouncing(chunk: ChunkText) -> list[Block]:
    """What a chunk says beside the sentences that :func:`verbatim` has: those that announce its code and tables."""
    following = {part: after for part, after in pairwise(chunk.parts) if part.headings == after.headings}
    shown = {part for part, after in following.items() if after.role in KINDS and _announces(chunk.text, part)}
    return [part for part in prose(chunk) if part not in shown]


def announces(sentence: str) -> bool:
    """Tell whether a sentence announces the code or the table below it."""
    return len(sentence) <= _MAX_LEAD_CHARS and bool(_ANNOUNCES.search(sentence.rstrip()))


def tail(text: str, part: Block) -> int:
    """Return where in a part of a text the sentence ends that began before the code above it; its start if there is none.

    What announces the next code, "if disabled:", does not speak of the code above.
    """
    goes_on = _TAIL.match(text, part.start) and not _announces(text, part)
    spans = sentences(text, part.start, part.end) if goes_on else []
    return spans[0][1] if spans else part.start


def _announces(text: str, part: Block) -> bool:
    bare = text[part.start : part.end].rstrip()
    return bare.endswith(":") and len(bare) <= _MAX_LEAD_CHARS and len(sentences(text, part.start, part.end)) == 1


def with_verbatim(extraction: Extraction, chunk: ChunkText) -> Extraction:
    """Return an extraction with the code and tables of its chunk, each in the topic of the statement before it.

    Without a statement before they are of the first topic, or of one that is named by their section.
    """
    topics = [(topic.title, list(topic.statements)) for topic in extraction.topics]
    for shown in verbatim(chunk):
        before = [(s.start, at) for at, (_, said) in enumerate(topics) for s in said if s.start <= shown.start]
        at = max(before, default=(0, 0))[1]
        if not topics:
            topics.append((topic_title(chunk, headings_at(chunk, shown.start), [shown]), []))
        topics[at][1].append(shown)
    return replace(extraction, topics=tuple(ExtractedTopic(title, tuple(said)) for title, said in topics))


def headings_at(chunk: ChunkText, start: int) -> tuple[str, ...]:
    """Return the headings above a place in a chunk."""
    return next((part.headings for part in chunk.parts if part.start <= start < part.end), chunk.headings)


def _led(chunk: ChunkText) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Yield the stretches of code and tables, each with the sentence that announces it, and the question that it answers if
    nothing else does; code with how that goes on below.
    """
    lead, headings = _last_sentence(chunk.before), chunk.parts[0].headings
    question = lead if lead.endswith("?") else ""
    parts = list(_stretches(chunk.parts))
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if part.headings != headings:
            lead, headings, question = "", part.headings, ""
        if part.role in KINDS:
            goes_on = part.role == "code" and after and after.role == "paragraph" and after.headings == headings
            yield (
                _asked(question, _short(lead, part.role)),
                (part.role, part.start, tail(chunk.text, after) if goes_on and after else part.end),
            )
            lead = lead if part.role == "code" else ""
        elif part.role not in _SILENT:
            lead = _last_sentence(chunk.text[part.start : part.end])
            if lead.endswith("?"):
                question = lead
            elif not _announces(chunk.text, part):
                question = ""


def _asked(question: str, lead: str) -> str:
    line = " ".join(question.split())
    return f"{line} {lead}".strip() if len(line) <= _MAX_LEAD_CHARS and line != lead else lead


def _stretches(parts: Sequence[Block]) -> Iterator[Block]:
    """The blocks, with the rows of a table together."""
    for (role, headings), run in groupby(parts, key=lambda part: (part.role, part.headings)):
        blocks = list(run)
        yield from [Block(blocks[0].start, blocks[-1].end, headings, role)] if role == "table" else blocks


def _last_sentence(text: str) -> str:
    spans = sentences(text)
    return text[slice(*spans[-1])] if spans else ""


def _short(lead: str, role: str) -> str:
    """A lead on one line: what stands above a table always is one, what stands above code when it announces that."""
    line = " ".join(lead.split())
    return line if announces(line) or (role == "table" and len(line) <= _MAX_LEAD_CHARS) else ""
