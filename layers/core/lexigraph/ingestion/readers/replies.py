"""What the text of an e-mail is made of: what its author says, and what is quoted, forwarded or below every message."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.model.document import BOILERPLATE, Block

_QUOTED = re.compile(r" ?>(?!From )|[A-Z]{2,4}> ")  # some put the initials of the author first
_FORWARDED = re.compile(
    r"\W*(?:begin )?(?:forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado|doorgestuurd bericht"
    r"|(?:inizio )?messaggio inoltrato|mensagem encaminhada)\W*",
    re.IGNORECASE,
)
_ORIGINAL = re.compile(
    r"\W*(?:original (?:message|appointment)|urspr(?:ü|ue)ngliche nachricht|message d'origine|mensaje original)\W*",
    re.IGNORECASE,
)
_RULE = re.compile(r"[_-]{20,}")
_DATE = r"(?:sent|date|data|gesendet|datum|envoyé|enviado|inviato|verzonden)"
# what programs put above the message that is answered
_HEAD = re.compile(rf"\*?(?:from|von|de|da|van)\*?:.*\S.*\n(?:\S+:.*\n){{0,3}}?\*?{_DATE}\b.{{0,20}}:", re.IGNORECASE)
_DATES = re.compile(_DATE, re.IGNORECASE)
_ON = ("On ", "Am ", "Le ", "El ", "Il ", "Op ", "Em ", "Den ")
_WROTE = r"\b(?:wrote|writes|said|schrieb|écrit|escribió|ha scritto|schreef|escreveu|skrev)\b"
_ALL_BELOW = re.compile(rf".{{8,250}}{_WROTE}.{{0,60}}:", re.DOTALL)
_ATTRIBUTION = re.compile(rf".*(?:{_WROTE}.{{0,60}}|@.+|\d:\d\d.*)\s?:\s*", re.DOTALL)
_DIFF = re.compile(r"diff --?\w|Index: \S+$|--- \S.*\n\+\+\+ \S")
_DIFFSTAT = re.compile(r"\s*\S.*\|\s+(?:\d+ [+-]+|Bin\b.*)|\s*\d+ files? changed.*")
_SIGNATURE = re.compile(r"--\s?")
_SCRUBBED = re.compile(r"-{10,} next part -{10,}")  # an attachment, in the archive of a mailing list
_ARMOUR = re.compile(r"-----(BEGIN|END) PGP [A-Z ]+-----")
_GREETING = re.compile(
    r"(?:(?:hi|hello|hey|dear|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|hola|ciao|buongiorno|buon giorno|beste)\b|good \w+"
    r"|guten \w+)(?:[^\S\n]+[^\s.?!:]+){0,5}[\s,.!:–-]*",
    re.IGNORECASE,
)
_THANKS = r"(?:best|cheers|thanks|thank you)(?: (?:again|in advance|a lot|so much|very much))?"
_REGARDS = (
    r"(?:(?:with|and|thanks and) )?(?:(?:best|kind|warm|kindest|warmest|many) )*(?:regards|wishes)"
    r"|(?:yours )?(?:sincerely|truly)|yours|mit (?:freundlichen|besten|herzlichen) grüßen|(?:viele|liebe|beste|schöne) grüße"
    r"|cordialement|bien à vous|(?:cordiali )?saluti|(?:un )?saludos?|met vriendelijke groet|br|mfg"
)
_CLOSING = re.compile(rf"(?:(?P<regards>{_REGARDS})|{_THANKS})[\s,.!–-]*", re.IGNORECASE)
_DISCLAIMER = re.compile(
    r"(?:th(?:is|e) |any )(?:e-?mail|message|communication|transmission|information contained in this)\b.{0,200}"
    r"(?:confidential|privileged|intended (?:solely|only|recipient)|recipient)|not the intended recipient"
    r"|(?:received|receive) this (?:e-?mail|message|communication|transmission) (?:in error|by mistake)"
    r"|consider the environment before printing|diese e-?mail (?:enthält|und).{0,200}vertraulich"
    r"|^(?:sent from (?:my|outlook|mail for)|von meinem \w+ gesendet|get outlook for)\b",
    re.IGNORECASE | re.DOTALL,
)
_HEAD_LINES = 5
_FEW_LINES = 3  # of an attribution
_FOOT_LINES = 8  # of a mailing list
_SIGNED_LINES = 20  # below a closing
_MAX_LINE = 300  # characters of a line of a head that are looked at
_MAX_NAME = 60  # characters of a line below a closing


def unflowed(text: str, *, joined: bool) -> str:
    """Return text of ``format=flowed`` (RFC 3676) with its paragraphs on one line; without the blanks when ``joined``."""
    lines: list[str] = []
    above: int | None = None  # how often the line is quoted that goes on below
    for raw in text.split("\n"):
        bare = raw.lstrip(">")
        depth = len(raw) - len(bare)
        bare = bare.removeprefix(" ")
        goes_on = bare.endswith(" ") and bare != "-- "
        said = bare[:-1] if goes_on and joined else bare
        if above == depth and bare != "-- ":
            lines[-1] += said
        else:
            lines.append(f"{'>' * depth} {said}" if depth else said)
        above = depth if goes_on else None
    return "\n".join(lines)


def segments(text: str, *, forwarded: bool) -> Iterator[tuple[str, str]]:
    """Yield what a text is made of, each with what it is: ``said``, ``quoted``, ``furniture``, ``code``, ``forwarded``.

    What is forwarded is the last: the message below the line that says so. Where the subject says that all is
    ``forwarded``, so is what programs put below a reply.
    """
    lines = text.split("\n")
    said: list[str] = []
    first = True  # nothing is said yet below what stood last
    at = 0
    while at < len(lines):
        kind, begin, end = _what(lines, at, forwarded=forwarded, first=first)
        if not kind:
            said.append(lines[at])
            first = first and not lines[at].strip()
            at += 1
            continue
        above = len(said) - (_attribution(said) if kind == "quoted" else 0)
        yield "said", "\n".join(said[:above])
        yield kind, "\n".join([*said[above:], *lines[begin:end]])
        said, first, at = [], True, end
    yield "said", "\n".join(said)


def _what(lines: Sequence[str], at: int, *, forwarded: bool, first: bool) -> tuple[str, int, int]:
    """Return what begins at a line, where its text begins, and where it ends; nothing for what the author says."""
    line = lines[at]
    if _QUOTED.match(line):
        return "quoted", at, _end(lines, at, lambda below: bool(_QUOTED.match(below)) or not below.strip())
    if _DIFFSTAT.fullmatch(line):
        return "code", at, _end(lines, at, lambda below: bool(_DIFFSTAT.fullmatch(below)))
    if _DIFF.match("\n".join(lines[at : at + 2])):
        return "code", at, _end(lines, at, lambda below: not (_SIGNATURE.fullmatch(below) or below.startswith("diff ")))
    if _SIGNATURE.fullmatch(line):
        return "furniture", at, _end(lines, at, lambda below: not (_QUOTED.match(below) or is_original(below)))
    if first and _GREETING.fullmatch(line):
        return "furniture", at, at + 1
    if _CLOSING.fullmatch(line) and (signed := _signed(lines, at)):
        return "furniture", at, signed
    if found := _ARMOUR.match(line):
        body = found[1] == "BEGIN" and "SIGNED" not in line  # else what it says is below a few fields
        return "furniture", at, _end(lines, at, lambda below: not _ARMOUR.match(below) if body else bool(below.strip()))
    if _RULE.fullmatch(line) and len(lines) - at <= _FOOT_LINES and "list" in "\n".join(lines[at:]):
        return "furniture", at, len(lines)
    if _SCRUBBED.fullmatch(line):
        return "furniture", at, _end(lines, at, str.strip) if "scrubbed" in "".join(lines[at + 1 : at + 2]) else at + 1
    if _FORWARDED.fullmatch(line):
        return "forwarded", at + 1, len(lines)
    original = is_original(line)
    above = at + (original or bool(_RULE.fullmatch(line)))
    if original or _HEAD.match(_head_of(lines[above : above + _HEAD_LINES])):
        return ("forwarded", above, len(lines)) if forwarded else ("quoted", at, len(lines))
    if line.startswith(_ON) and _is_above_all(lines, at):
        return "quoted", at, len(lines)
    return "", at, at


def _is_above_all(lines: Sequence[str], at: int) -> bool:
    """Tell whether a line tells who wrote all that is below it, where no line is marked as quoted."""
    told = ("\n".join(lines[at : at + count])[:_MAX_LINE].rstrip() for count in range(1, _FEW_LINES + 1))
    told = (line for line in told if line.endswith(":"))
    return any(map(_ALL_BELOW.fullmatch, told)) and not any(map(_QUOTED.match, lines[at : at + _FOOT_LINES]))


def _end(lines: Sequence[str], at: int, goes_on: Callable[[str], object]) -> int:
    return next((n for n in range(at + 1, len(lines)) if not goes_on(lines[n])), len(lines))


def _signed(lines: Sequence[str], at: int) -> int:
    """Return where the names below a closing end; 0 when what stands there is none, as below thanks at the beginning."""
    last = min(at + _SIGNED_LINES + 1, len(lines))
    near = lines[at:last]
    end = at + _end(near, 0, lambda below: not (_QUOTED.match(below) or is_original(below) or _SIGNATURE.fullmatch(below)))
    if end == last < len(lines) or not all(map(_is_name, filter(str.strip, lines[at + 1 : end]))):
        return 0
    return end


def _is_name(line: str) -> bool:
    return len(line) < _MAX_NAME and line.rstrip()[-1] not in ".?!"


def _head_of(lines: Sequence[str]) -> str:
    """Return what of some lines may be the head of a message."""
    return "\n".join(line[:_MAX_LINE] for line in lines).lstrip()


def is_original(line: str) -> bool:
    """Tell whether a line stands above the message that is answered: ``-----Original Message-----``."""
    return bool(_ORIGINAL.fullmatch(line))


def _attribution(said: Sequence[str]) -> int:
    """Return how many lines at the end of what is said tell only who is quoted below: ``On Monday Ada wrote:``."""
    blank = next((n for n, line in enumerate(reversed(said)) if line.strip()), 0)
    tail = [line[-_MAX_LINE:] for line in said[: len(said) - blank][-_FEW_LINES:]]
    for first in range(len(tail)):
        if tail[first].startswith(_ON) and _ATTRIBUTION.fullmatch("\n".join(tail[first:])):
            return blank + len(tail) - first
    return blank + 1 if tail and _ATTRIBUTION.fullmatch(tail[-1]) else 0


# ---------------------------------------------------------------- blocks


def with_roles(parsed: Parsed, name_of: Callable[[str], str], *, forwarded: bool) -> Iterator[Block]:
    """Yield the blocks of messages, as boilerplate notices of confidentiality, greetings, what a page quotes below a head.

    What a page forwards stands under the heading of who wrote it; ``name_of`` returns the name in an address.
    """
    section = heading = ""
    below = closed = False  # the head of another message; the end of what its author says
    for block in parsed.blocks:
        text = parsed.text[block.start : block.end]
        if block.headings[:1] != (section,):
            section, below, closed = "".join(block.headings[:1]), False, False
        lines = text.split("\n")
        lines = lines[1:] if is_original(lines[0]) or _FORWARDED.fullmatch(lines[0]) else lines
        spoken = block.role in ("paragraph", "list")
        closing = _CLOSING.fullmatch(text.partition("\n")[0])
        closed = spoken and (bool(closing and closing["regards"]) or (closed and _is_name(text)))
        if block.role == "paragraph" and (_HEAD.match(_head_of(lines[:_HEAD_LINES])) or is_original(text)):
            below, heading = True, heading_of(lines, name_of)
            role, headings = ("table", (heading,)) if forwarded and heading else (BOILERPLATE, block.headings)
            yield replace(block, role=role, headings=headings)
        elif (below and not forwarded) or closed or (spoken and (closing or _says_nothing(text))):
            yield replace(block, role=BOILERPLATE)
        else:
            yield replace(block, headings=(heading, *block.headings[1:])) if below and heading else block


def heading_of(head: Sequence[str], name_of: Callable[[str], str]) -> str:
    """Return the heading of a message, who wrote it and when, by the lines of its head."""
    told = [(key.strip("* "), value.strip("* ")) for key, _, value in (line.partition(":") for line in head)]
    sender = told[0][1] if told else ""
    date = next((value for key, value in told if _DATES.fullmatch(key)), "")
    return ", ".join(filter(None, (name_of(sender) or sender, date)))


def _says_nothing(text: str) -> bool:
    return bool(_DISCLAIMER.search(text) or _GREETING.fullmatch(text))
