"""Sentences become statements that stand alone: what hangs on another sentence, a list's lead-in or a heading gets it.

A pronoun whose meaning is certain is written out. What else needs the sentence before is joined with it, an item that is no
sentence takes the line that leads to its list, and what has no subject of its own the heading that it stands under.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from lexigraph.ingestion.extract.blocks import announces
from lexigraph.ingestion.extract.lists import MARKED, Levels, kind_of
from lexigraph.ingestion.extract.segments import MAX_STATEMENT_CHARS, is_short
from lexigraph.ingestion.extract.topics import CHANGELOG
from lexigraph.ingestion.extract.words import listed
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact
from lexigraph.model.normalise import entity_key

_MAX_SENTENCES = 4
_MAX_HANGING = 6
_MAX_JOINED_CHARS = 900  # of sentences that need each other; what is embedded is not much longer
_MAX_LEAD_CHARS = 300
_MAX_TERM_LEAD_CHARS = 240
_MIN_LEAD_WORDS = 6
_MIN_FRAGMENT_WORDS = 3
_MAX_GATHERED_WORDS = 12
_MAX_TITLE_WORDS = 8
_FEW_WORDS = 4  # of an item beside others that are longer
_LEADS = (":", "：")
_OPEN = re.compile(r"\b(?:at|by|with|using|from|to|is|are|and|or|of|in|see|follows?\.?)$")  # something must follow
_GAP = 3  # characters between two sentences that follow each other
_ABOVE = 12  # and between a line and the item below it, with its bullet
_CLAUSE = re.compile(r"[,;] ")
_ELSEWHERE = re.compile(r"(?i)see[ -]also|references|further reading|related (?:links|topics|pages)|external links")
_PAGES = re.compile(r"(?i)see also|references")
_NUMBERED = re.compile(r"(?<!\S)\d+(?:\.\d+)+\.? (?=[A-Z])")  # a line of a table of contents
_FOOT = re.compile(r"[A-Z0-9_.@:+-]+\(\d\w*\)|\W*-- .*<\S+@\S+>.*|(?:\[\w+\]\s*)?https?://\S+")
# who signed the entry of a release, and when
_SIGNED = re.compile(r"-- (\S.*<\S+@\S+>) +(?:[A-Z][a-z]{2}, +)?(.*\b\d{4}\b.*)")
_LINKED = re.compile(r"https?://\S+|\S+@\S+|(?i:copyright).*")
_WORDS = re.compile(r"\b[^\W\dA-Z_]{3,}")  # more than a title has
_WORD = re.compile(r"[^\W\d_]{3,}")
_BELOW = re.compile(r"\b(?:following|below)\b")
_BULLET = re.compile(r"^(?:[-*+•‣◦▪–]|\(?\w{1,3}[.)])\s+")
_PRONOUN = re.compile(r"(?:It|They|He|She|This|That|These|Those|Such|Its|Their)\b")
_POINTS = re.compile(r"\b[Tt](?:his|hese|hose)\b")
_ENDED = re.compile(r"[^\w\s]$")
_OPENING = re.compile(r"[^\W\d_]{2,}(?: [^\W\d_]{2,})?[.!]")
_DEFINITE = re.compile(r"(?:The|Each|Any|Every|Such) ")
_LABELLED = re.compile(r"(\w[\w -]{0,30}): ")
_CONTENT = re.compile(r"[^\W\d_]{4,}")
_THAT_THING = re.compile(r"\b(?:these|those|such|this|(?<!so )(?:in|of|to|by|for|with|from|through|on) that) ([a-z]{4,})\b")
_HERE = listed(
    """
    license licence document section chapter manual page file guide book article program software library package release
    version project system time point case cases year month week means that which with when there also from more than
    things much many reason purpose include includes included including
    """
)
_TYPE_ONLY = re.compile(r"(?:\w+:\s*)?\{[^{}]*\}\W*|\([^()]*\)\W*")
_ALIKE = 5  # letters that words of one stem share
_EM = re.compile(r"\s+[-–—]+\s+|\s*:\s+")
# of a section; 2.3 (2026-03-04) and 2.3 (March 4th, 2026) are versions
_DAY = r"(?:(?:\d{1,2}|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}[ .,]{1,2}){0,2}\d{4}\b"
_NUMBERING = re.compile(rf"^(?:\(?\d{{1,2}}(?:\.\d{{1,3}})*[.)]?|[A-Z]\.|\(?[a-z]\))\s+(?=\S)(?!\W*{_DAY})")
_SIGNS = re.compile(r"[{}();=<>|&$#\\\[\]*+@~^%`]|--|::|->|=>|\w[/_]\w")
_REFERENCE = re.compile(r"(?<=\w)\(\d?\w{0,3}\)")  # of read(2) and pipe()
_CODE_START = re.compile(
    r"\s*(?:\$ |# |>>> |\.\.\. |#include|//|/\*|\w+\(\)|[\w.]+\s*=\s|<\w+[ >/]|--?\w[\w-]*[= ]?<?\w*>?$)"
)
_GENERIC = listed(
    """
    description options synopsis name notes note examples example introduction overview usage parameters returns return
    arguments details see-also summary background general remarks caveats bugs history author authors copyright files
    environment diagnostics standards conforming errors values value properties methods attributes events members fields
    commands functions types configuration installation basics features other miscellaneous
    compatibility outputs output implementation standards availability reporting-bugs limitations current-limitations
    """
)


@dataclass(slots=True)
class Sentence:
    """A sentence, or a piece of one, ``text[start:end]`` of the chunk; ``text`` is it on one line.

    ``named`` is it with its pronoun written out, empty where there is none or its meaning is not certain: then it
    ``hangs``, on what it calls ``noun`` if that is told. ``says`` tells that it has a subject and a verb; ``part`` is the
    block that it stands in, ``item`` whether that is of a list, ``mark`` the bullet or number, ``term`` what that item
    defines, from ``term_start`` on. ``shown`` tells that code or a table follows, ``tail`` that it ends a sentence that code
    stands in; ``signature`` is the line of code above it that it describes, ``owner`` the last one before it.
    """

    start: int
    end: int
    text: str
    part: int
    named: str = ""
    hangs: bool = False
    noun: str = ""
    says: bool = True
    item: bool = False
    turn: bool = False
    mark: str = ""
    term: str = ""
    term_start: int = -1
    shown: bool = False
    tail: bool = False
    signature: str = ""
    owner: str = ""
    names: dict[str, ExtractedEntity] = field(default_factory=dict)
    facts: list[ExtractedFact] = field(default_factory=list)

    @property
    def leads(self) -> bool:
        """Whether it announces what follows it."""
        return self.text.endswith(_LEADS) or (not self.item and bool(_OPEN.search(self.text)))

    @property
    def announces(self) -> bool:
        """Whether it says little without what follows it: it leads to that, or asks for it."""
        return self.leads or self.text.endswith("?")

    @property
    def defined(self) -> str:
        """Its text after what it defines."""
        return f"{self.term}: {self.text}" if self.term and self.text else self.term or self.text

    @property
    def clear(self) -> str:
        """Its text as clear as it could be made."""
        return self.named or self.text

    def add(self, name: str, class_: str) -> None:
        """Note a name in it; the class that is known wins over none."""
        key = entity_key(name)
        if key and (key not in self.names or (class_ and not self.names[key].class_)):
            self.names[key] = ExtractedEntity(self.names[key].name if key in self.names else name, class_)


@dataclass(slots=True)
class Standing:
    """A statement in the making: the sentences that it is made of, in a row, and its ``value``.

    ``borrowed`` sentences of other statements stand in front of it.
    """

    sentences: list[Sentence]
    value: str
    kind: str = "prose"
    borrowed: int = 0

    @property
    def start(self) -> int:
        """Where its evidence begins in the chunk."""
        first = self.sentences[0]
        return first.start if first.term_start < 0 else first.term_start

    @property
    def end(self) -> int:
        """Where its evidence ends."""
        return self.sentences[-1].end


def label(title: str, headings: Sequence[str]) -> str:
    """Return what a section is about in few words: its heading, or the title where the heading alone says nothing."""
    heading = _NUMBERING.sub("", headings[-1]) if headings else ""
    document = short(title)
    if not heading or entity_key(heading).replace(" ", "-") in _GENERIC or heading == title:
        outer = next((h for h in reversed(headings[:-1]) if entity_key(h).replace(" ", "-") not in _GENERIC), "")
        return short(outer) or document
    return heading.rstrip(" :")


def short(title: str) -> str:
    """Return a title up to its dash: ``pipe(7)`` of ``pipe(7) - overview of pipes``."""
    return _EM.split(_NUMBERING.sub("", title), maxsplit=1)[0].strip()


def stand(sentences: Sequence[Sentence], title: str, headings: Sequence[str], before: str = "") -> list[Standing]:
    """Return the statements of the sentences of one section in reading order.

    ``before`` are the last sentences before the first of them; where that is in a list, the first line leads to it.
    """
    if headings and _ELSEWHERE.fullmatch(headings[-1].strip()):
        return []
    about = label(title, headings)
    return _Section(about, title, before).read(sentences) or _only_lines(sentences, title, headings, before)


def _only_lines(sentences: Sequence[Sentence], title: str, headings: Sequence[str], before: str) -> list[Standing]:
    """A section of nothing but short lines, such as the names of its authors, says what its heading calls them.

    The names link it to nothing: the pages of one maintainer are not about the same.
    """
    kept = [replace(s, names={}, facts=[]) for s in sentences if not (_is_furniture(s) or s.announces or s.shown)]
    if not headings or before or not kept or not all(_brief(s) and not s.says and _WORD.search(s.text) for s in kept):
        return []
    text = "; ".join(s.defined.rstrip(" ;,.") for s in kept)
    value = _under(f"{headings[-1].rstrip(' :')}: {text}", short(title))
    return [Standing(kept, value)] if len(value) <= MAX_STATEMENT_CHARS else []


class _Section:
    def __init__(self, about: str, title: str, before: str) -> None:
        self._about = about
        self._scoped = about != short(title)  # by a heading of its own
        self._told = {word[:_ALIKE] for word in _CONTENT.findall(f"{about} {title}".casefold())}
        self._labelled = (-1, "")
        self._only = False  # whether the section has but one sentence
        lines = [" ".join(line.split()) for line in before.split("\n")]
        self._lead_before = next((line for line in (lines[0], lines[-1]) if line.endswith(_LEADS)), "")
        led = self._lead_before
        self._lead_before = _BULLET.sub("", self._lead_before)
        if _POINTS.search(self._lead_before):
            self._lead_before = _under(self._lead_before, about)
        last = " ".join(lines if lines[0] != led else lines[1:]).strip()
        self._chain = [last] if last else []  # the last sentence, with those before it on which it hangs
        self._last_before = bool(before)
        self._spoken = -1  # the item that the last sentence stands in
        self._term = ""  # with what it is a term of
        self._lines: dict[str, Sentence] = {}
        self._made: list[Standing] = []

    def read(self, sentences: Sequence[Sentence]) -> list[Standing]:
        sentences = _with_openings(sentences)
        self._only = len(sentences) == 1
        runs = [(item, list(run)) for item, run in groupby(sentences, key=lambda s: s.item)]
        lead: Sentence | None = None
        for at, (item, run) in enumerate(runs):
            if item:
                self._list(lead, run, self._lead_before if not at else "")
                self._term = ""
            else:
                below = runs[at + 1][1][0] if at + 1 < len(runs) else None
                lead = run.pop() if below and (_leads_on(run[-1]) or _introduces(run[-1], below)) else None
                self._prose(run)
        made = sorted(self._made, key=lambda made: made.start)
        if made and not self._last_before and self._about.endswith("?") and made[0].kind == "prose":
            made[0].value = _under(made[0].value, self._about)  # an answer
        return made

    # ---- prose

    def _prose(self, run: Sequence[Sentence]) -> None:
        for at, s in enumerate(run):
            previous = run[at - 1] if at else None
            if s.turn:
                self._made.append(Standing([s], s.text))
            elif s.tail or (s.shown and announces(s.text)) or (s.announces and at == len(run) - 1 and not self._only):
                continue  # of the code or table beside it; or what it announces is not here
            elif previous and previous.announces and not previous.shown and self._joined(s):
                pass
            else:
                self._one(s)
            self._hear(s)

    def _one(self, s: Sentence) -> None:
        described = self._term or s.signature.partition("(")[0] or self._label(s)
        if (signed := _SIGNED.fullmatch(s.text)) and (release := CHANGELOG.fullmatch(self._about)):
            signature = replace(s, start=s.start + signed.start(1))
            self._made.append(Standing([signature], f"{release[1]} was released by {signed[1]} on {signed[2]}"))
            return
        if _is_furniture(s) or _names_only(s):
            return
        if looks_like_code(s):
            self._made.append(Standing([s], s.text, kind="code"))
        elif (s.text.startswith("(") or described or s.item) and self._joined(s):
            pass
        elif _continues(s):
            self._joined(s)  # else the end of a sentence that code stands in
        elif s.hangs and not s.named:
            self._hanging(s)
        elif not s.says:
            self._fragment(s)
        elif described and entity_key(described) not in entity_key(s.clear):
            self._made.append(Standing([s], _under(s.clear, described)))
        elif self._scoped and self._leans(s) and self._joined(s):
            pass
        elif _LABELLED.match(s.clear) or self._needs_heading(s):
            self._made.append(Standing([s], _under(s.clear, self._owner(s))))
        else:
            self._made.append(Standing([s], s.clear))

    def _label(self, s: Sentence) -> str:
        """What stands with a colon at the head of the paragraph that a sentence goes on with."""
        if s.part != self._labelled[0]:
            found = _LABELLED.match(s.text)
            self._labelled = (s.part, found[1] if found else "")
            return ""
        return self._labelled[1]

    def _alone(self, s: Sentence) -> bool:
        """Tell whether nothing in a sentence says what it is about: no name, no word of its heading or the title."""
        return not (s.names or self._tells(s.clear))

    def _leans(self, s: Sentence) -> bool:
        """Tell whether a sentence speaks of *the* thing, or *that* thing, that only the one before it tells."""
        return _points_back(s.clear) or (bool(_DEFINITE.match(s.clear)) and self._alone(s))

    def _tells(self, text: str) -> bool:
        """Tell whether a text has a word of its heading or the title."""
        return any(word[:_ALIKE] in self._told for word in _CONTENT.findall(text.casefold()))

    def _needs_heading(self, s: Sentence) -> bool:
        """Tell whether a sentence speaks of the thing of its section without naming that."""
        if not self._scoped or entity_key(self._about) in entity_key(s.clear):
            return False
        return bool(_DEFINITE.match(s.clear)) or self._alone(s)

    def _hear(self, s: Sentence) -> None:
        if s.says:
            self._chain = [*(self._chain if s.hangs and not s.named else ()), s.clear]
            self._spoken = s.part if s.item else -1

    def _joined(self, s: Sentence) -> bool:
        """Join a sentence to the statement before it, if that ends where it begins and there is room."""
        last = self._made[-1] if self._made else None
        if not last or last.kind != "prose" or not 0 <= s.start - last.end <= _GAP:
            return False
        above = last.sentences[-1]
        if (above.item and not s.item) or not (above.says or above.item or _ENDED.search(above.text)):
            return False
        most = _MAX_HANGING if s.hangs else _MAX_SENTENCES
        if len(last.sentences) + last.borrowed >= most and not s.text.startswith("("):
            return False
        if len(last.value) + len(s.text) >= (_MAX_JOINED_CHARS if s.hangs else MAX_STATEMENT_CHARS) or (
            s.item and last.sentences[-1].part != s.part
        ):
            return False
        told = not s.noun or s.noun.removesuffix("s") in last.value.casefold()
        last.value += f" {s.text}" if s.start > last.end else s.text
        last.sentences.append(s)
        if not told:
            self._join_last_two()
        return True

    def _join_last_two(self) -> None:
        """What a sentence speaks of was not told in the one before it: it may be in the one before that."""
        if len(self._made) < 2:
            return
        first, last = self._made[-2:]
        one, *_ = first.sentences
        near = (
            last.start - first.end <= _GAP and first.kind == "prose" and not (one.turn or one.item or last.sentences[0].item)
        )
        if near and len(first.sentences) == 1 and len(first.value) + len(last.value) < MAX_STATEMENT_CHARS:
            first.value = " ".join([first.value, *(s.clear for s in last.sentences)])
            first.sentences += last.sentences
            self._made.pop()

    def _hanging(self, s: Sentence) -> None:
        if self._joined(s):
            return
        near = self._spoken == (s.part if s.item and (s.mark or self._term or self._spoken >= 0) else -1)
        near = near and bool(self._chain) and not self._chain[-1].endswith(_LEADS) and s.text not in self._chain
        told = [c for c in (self._chain, self._chain[-1:]) if near and not _PRONOUN.match(c[0]) and len(c) < _MAX_HANGING]
        fit = next((c for c in told if sum(map(len, c)) + len(s.text) < _MAX_JOINED_CHARS), [])
        value = " ".join([*fit, s.text])
        self._made.append(Standing([s], value if fit else _under(value, self._owner(s)), borrowed=len(fit)))

    def _owner(self, s: Sentence) -> str:
        return self._term or (s.signature or s.owner).partition("(")[0] or self._about

    def _fragment(self, s: Sentence) -> None:
        """What has no verb or no subject: under its heading when it says something, else nothing."""
        last = self._made[-1] if self._made else None
        if last and _brief(s) and last.sentences[-1].part == s.part and self._joined(s):
            return
        answers = self._about.endswith("?") and bool(_OPENING.fullmatch(s.text))
        if answers or len(s.text.split()) >= _MIN_FRAGMENT_WORDS:
            self._made.append(Standing([s], _under(s.text, self._term or s.signature or self._owner(s))))

    # ---- lists

    def _list(self, announcing: Sentence | None, run: list[Sentence], before: str) -> None:
        """The items with the lines that lead to them; a line that leads to a list in the list is no item."""
        items = list[list[Sentence]]()
        for _, part in groupby(run, key=lambda s: s.part):
            item = list(part)
            head = _leads_on(item[0]) and is_short(item[0].text) and kind_of(item[0])
            if items and not (head or item[0].mark or item[0].term) and items[0][0].mark:
                for s in item:  # a paragraph of the item above
                    s.part = items[-1][0].part
                items[-1] += item
            else:
                items.append(item)
        if announcing:
            alone = kind_of(announcing) and run[0].mark  # a term above its list, which ends at the next term
            levels = Levels(self._lead(announcing, ""), MARKED if alone else "")
        else:
            levels = Levels(before, kind_of(run[0]), within=bool(before))
        lead, led = "", list[list[Sentence]]()
        for at, item in enumerate(items):
            announces_more = _leads_on(item[-1]) and at + 1 < len(items)
            found = levels.lead_to(item[0], leads=announces_more)
            if found != lead or announces_more:
                self._items(lead, led)
                lead, led = found, []
            if announces_more:
                announcing = item.pop()
                self._items(lead, [item] if item else [])
                levels.announce(self._lead(announcing, lead))
            else:
                led.append(item)
        self._items(lead, led)

    def _lead(self, s: Sentence, outer: str) -> str:
        """What a line that leads to items says, with what it needs itself."""
        text = _NUMBERING.sub("", s.defined if s.term else s.clear)
        hangs = (s.hangs and not s.named) or _points_back(text)
        last = self._chain[-1] if hangs and self._chain and not self._chain[-1].endswith(_LEADS) else ""
        context = outer if len(s.text.split()) < _MIN_LEAD_WORDS else last
        if context and len(context) + len(text) < _MAX_LEAD_CHARS:
            text = f"{context} {text}"
        elif s.term or s.hangs or not s.says or (self._scoped and not self._tells(text)):
            text = _under(text, self._about)
        if len(text) > _MAX_LEAD_CHARS:
            text = _CLAUSE.split(text[-_MAX_LEAD_CHARS:], maxsplit=1)[-1]
        self._lines[text] = s
        self._hear(s)
        return text

    def _items(self, lead: str, items: list[list[Sentence]]) -> None:
        """Short items together, with the line that leads to them; the others one by one."""
        if lead and len(items) > 1 and all(len(item) == 1 and not item[0].leads for item in items):
            told = sum(len(item[0].defined) + 2 for item in items)
            if len(lead) + told <= MAX_STATEMENT_CHARS and not any(
                item[0].term or looks_like_code(item[0]) for item in items
            ):
                self._gathered(lead, [item[0] for item in items])
                return
        all_short = all(_short(item, lead) for item in items)
        few = _MAX_GATHERED_WORDS if all_short else _FEW_WORDS
        for short, run in groupby(items, key=lambda item: _short(item, lead) and len(item[0].text.split()) <= few):
            if short and (lead or not self._term):
                self._gathered(lead, [item[0] for item in run])
            else:
                for item in run:
                    self._item(lead, item)

    def _line(self, lead: str, first: Sentence) -> list[Sentence]:
        """The line itself, where it stands right above an item."""
        line = self._lines.get(lead)
        return [line] if line and 0 <= first.start - line.end <= _ABOVE + len(first.term) else []

    def _gathered(self, lead: str, items: list[Sentence]) -> None:
        """Items of a few words are one statement together, as many as there is room for."""
        while items:
            room, take = MAX_STATEMENT_CHARS - len(lead or self._about) - 2, 0
            while take < len(items) and (room := room - len(items[take].defined) - 2) >= 0:
                take += 1
            taken, items = items[: max(1, take)], items[max(1, take) :]
            text = "; ".join(s.defined.rstrip(" ;,.") for s in taken)
            if lead:
                self._made.append(Standing([*self._line(lead, taken[0]), *taken], f"{lead} {text}"))
            elif len(taken) > 1 or len(text.split()) >= _MIN_FRAGMENT_WORDS:
                self._made.append(Standing(taken, _under(text, self._about)))

    def _item(self, lead: str, item: list[Sentence]) -> None:
        """An item is one statement as far as there is room, and takes the line that leads to it."""
        first, *rest = item
        if first.mark or first.term:
            self._term = ""  # else the item before goes on
        if _is_furniture(first) or _lists_contents(item) or (first.announces and not rest):
            return
        if first.term:
            self._term = _under(first.term, self._about)
            led = 0 < len(lead) <= _MAX_TERM_LEAD_CHARS
            value = f"{lead} {first.defined}" if led else _under(first.defined, self._about)
            self._made.append(Standing([*self._line(lead if led else "", first), first], value))
        elif lead and not looks_like_code(first):
            self._made.append(Standing([*self._line(lead, first), first], f"{lead} {first.text}"))
        else:
            self._one(first)
        self._hear(first)
        self._prose(rest)


def _with_openings(run: Sequence[Sentence]) -> list[Sentence]:
    """Join a word or two that a paragraph begins with, as a sentence, to the next one: without "Not yet." in front of it,
    "We plan it for May." says the opposite.
    """
    joined = list[Sentence]()
    for s in run:
        first = joined[-1] if joined and joined[-1].part == s.part else None
        alone = len(joined) < 2 or joined[-2].part != s.part
        if (
            first
            and alone
            and not first.says
            and _OPENING.fullmatch(first.text)
            and not s.turn
            and s.start - first.end <= _GAP
        ):
            named = f"{first.text} {s.named}" if s.named else ""
            s = replace(s, start=first.start, text=f"{first.text} {s.text}", named=named, names=first.names | s.names)
            joined.pop()
        joined.append(s)
    return joined


def _leads_on(s: Sentence) -> bool:
    return s.leads and not s.turn and not s.shown


def _introduces(s: Sentence, item: Sentence) -> bool:
    """Tell whether a sentence speaks of the items below it that are no sentences themselves."""
    return bool(_BELOW.search(s.text)) and not (s.turn or s.shown or item.says or item.term)


def _under(text: str, about: str) -> str:
    """A text with what it is about in front, unless it begins with that."""
    if not about or entity_key(text).startswith(entity_key(about)) or text.startswith(about):
        return text
    return f"{about} {text}" if about.endswith("?") else f"{about.rstrip(' :.')}: {text}"


def _short(item: list[Sentence], lead: str) -> bool:
    """Tell whether an item says too little to be a statement of its own."""
    first = item[0]
    if len(item) > 1 or first.leads or looks_like_code(first) or _is_furniture(first):
        return False
    if first.term:
        return bool(lead) and not first.says and not first.term.startswith("-") and _brief(first)
    return _brief(first) and not first.says


def _brief(s: Sentence) -> bool:
    return len(s.text.split()) <= _MAX_GATHERED_WORDS


def _continues(s: Sentence) -> bool:
    """Tell whether a text goes on in the middle of a sentence: it begins in lower case, and not with an identifier."""
    first = s.text.split(maxsplit=1)[0]
    return first.isalpha() and first.islower() and not s.says and not s.item and not _LABELLED.match(s.text)


def _points_back(text: str) -> bool:
    """Tell whether a text speaks of *this* or *that* thing which it did not name before."""
    for found in _THAT_THING.finditer(text):
        if found[1].casefold() not in _HERE and found[1][:_ALIKE].casefold() not in text[: found.start()].casefold():
            return True
    return False


def _is_furniture(s: Sentence) -> bool:
    """Tell whether a text is a link, a page's foot, who signed, or a list of other pages."""
    nothing = not s.says and _TYPE_ONLY.fullmatch(s.text)
    return bool(nothing or _PAGES.fullmatch(s.term) or _FOOT.fullmatch(s.text))


def _names_only(s: Sentence) -> bool:
    """Tell whether a text is a title, with its number or without, or a line of names and links."""
    text = _LINKED.sub("", s.text)
    if text != s.text and not s.says and text.rstrip().endswith(_LEADS):
        return True
    bare = _NUMBERING.sub("", text)
    if _WORDS.search(bare) or (s.item and text == bare):
        return False
    return len(bare.split()) <= _MAX_TITLE_WORDS if text != bare else not _ENDED.search(text)


def _lists_contents(item: list[Sentence]) -> bool:
    """Tell whether an item is lines of a table of contents, with the numbers of its sections."""
    text = " ".join(s.defined for s in item)
    return len(_NUMBERED.findall(text)) > 1 and bool(_NUMBERING.match(text))


def looks_like_code(s: Sentence) -> bool:
    """Tell whether a text is code rather than prose: a comment, or no clause and mostly signs and identifiers."""
    if s.text.startswith("# "):
        return True
    if s.says or s.term:
        return False
    text = _REFERENCE.sub("", s.text)
    signs = sum(len(m.group()) for m in _SIGNS.finditer(text))
    return signs >= 2 and (signs * 8 > len(s.text) or (bool(_CODE_START.match(s.text)) and signs * 16 > len(s.text)))
