"""Sentences become statements that stand alone: what hangs on another sentence, a list's lead-in or a heading gets it.

A pronoun whose meaning is certain is written out. What else needs the sentence before is joined with it, an item that is no
sentence takes the line that leads to its list, and what has no subject of its own the heading that it stands under.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from lexigraph.ingestion.extract.segments import MAX_STATEMENT_CHARS
from lexigraph.ingestion.extract.words import listed
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact
from lexigraph.model.normalise import entity_key

_MAX_SENTENCES = 3
_MAX_LEAD_CHARS = 240
_MIN_FRAGMENT_WORDS = 3
_MAX_GATHERED_WORDS = 12
_LEADS = (":", "：")
_GAP = 3  # characters between two sentences that follow each other
_SIGNED = re.compile(r"\W*-- .*<\S+@\S+>")  # who wrote it, and when
_EM = re.compile(r"\s+[-–—]+\s+|\s*:\s+")
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,3})*\.?|[A-Z]\.)\s+(?=\S)")
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
    """
)


@dataclass(slots=True)
class Sentence:
    """A sentence, or a piece of one, ``text[start:end]`` of the chunk; ``text`` is it on one line.

    ``named`` is it with its pronoun written out, empty where there is none or its meaning is not certain: then it
    ``hangs``. ``says`` tells that it has a subject and a verb; ``part`` is the block that it stands in, ``item`` whether
    that is of a list, ``term`` what that item defines, ``shown`` whether code or a table follows, ``signature``
    the line of code above it that its first words speak of, ``marked`` that its item has a bullet.
    """

    start: int
    end: int
    text: str
    part: int
    named: str = ""
    hangs: bool = False
    says: bool = True
    item: bool = False
    turn: bool = False
    term: str = ""
    shown: bool = False
    signature: str = ""
    marked: bool = False
    names: dict[str, ExtractedEntity] = field(default_factory=dict)
    facts: list[ExtractedFact] = field(default_factory=list)

    @property
    def leads(self) -> bool:
        """Whether it announces what follows it."""
        return self.text.endswith(_LEADS)

    @property
    def announces(self) -> bool:
        """Whether it says little without what follows it: it leads to that, or asks for it."""
        return self.leads or self.text.endswith("?")

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
    """A statement in the making: the sentences that it is made of, and its ``value`` where that is not their text."""

    sentences: list[Sentence]
    value: str
    original: str = ""
    kind: str = "prose"

    @property
    def start(self) -> int:
        """Where its evidence begins in the chunk."""
        return self.sentences[0].start

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

    ``before`` is the sentence before the first of them.
    """
    return _Section(label(title, headings), short(title), before).read(sentences)


class _Section:
    def __init__(self, about: str, title: str, before: str) -> None:
        self._about = about
        self._title = title
        self._last = before
        self._spoken = -1  # the item that the last sentence stands in
        self._term = ""  # with what it is a term of
        self._made: list[Standing] = []

    def read(self, sentences: Sequence[Sentence]) -> list[Standing]:
        runs = [(item, list(run)) for item, run in groupby(sentences, key=lambda s: s.item)]
        lead = Sentence(0, 0, self._last, -1) if self._last.endswith(_LEADS) else None
        for at, (item, run) in enumerate(runs):
            if item:
                self._list(lead, run)
                self._term = ""
            else:
                follows = at + 1 < len(runs)
                lead = run.pop() if follows and run[-1].leads else None
                self._prose(run)
        return self._made

    # ---- prose

    def _prose(self, run: list[Sentence]) -> None:
        for at, s in enumerate(run):
            previous = run[at - 1] if at else None
            if s.leads and s.shown:
                continue  # it stands before the code or table that it announces
            if s.turn:
                self._made.append(Standing([s], s.text))
            elif previous and previous.announces and not previous.shown and self._joined(s):
                pass
            else:
                self._one(s)
            self._hear(s)

    def _one(self, s: Sentence) -> None:
        if looks_like_code(s):
            self._made.append(Standing([s], s.text, kind="code"))
        elif s.named:
            self._made.append(Standing([s], s.named, s.text))
        elif s.text.startswith("(") and self._joined(s):
            pass
        elif _continues(s):
            self._joined(s)  # else the end of a sentence that code stands in
        elif s.hangs:
            self._hanging(s)
        elif not s.says:
            self._fragment(s)
        else:
            described = self._term or s.signature.partition("(")[0]
            value = self._under(s.text, described) if described else s.text
            self._made.append(Standing([s], value, s.text if value != s.text else ""))

    def _hear(self, s: Sentence) -> None:
        if s.says:
            self._last, self._spoken = s.clear, s.part if s.item else -1

    def _joined(self, s: Sentence) -> bool:
        """Join a sentence to the statement before it, if that ends where it begins and there is room."""
        last = self._made[-1] if self._made else None
        if not last or last.kind != "prose" or s.start - last.end > _GAP:
            return False
        if len(last.sentences) >= _MAX_SENTENCES and not s.text.startswith("("):
            return False
        if len(last.value) + len(s.text) >= MAX_STATEMENT_CHARS or (s.item and last.sentences[-1].part != s.part):
            return False
        last.value += f" {s.text}"
        last.original += f" {s.text}" if last.original else ""
        last.sentences.append(s)
        return True

    def _hanging(self, s: Sentence) -> None:
        if self._joined(s):
            return
        near = self._spoken in (s.part, -1) or not s.item
        context = self._last if near and len(self._last) + len(s.text) < MAX_STATEMENT_CHARS else ""
        value = f"{context} {s.text}" if context else self._under(s.text)
        self._made.append(Standing([s], value, s.text if value != s.text else ""))

    def _under(self, text: str, signature: str = "") -> str:
        about = signature or self._term or self._about
        return f"{about}: {text}" if about and entity_key(about) not in entity_key(text) else text

    def _fragment(self, s: Sentence) -> None:
        """What has no verb or no subject: under its heading when it says something, else nothing."""
        last = self._made[-1] if self._made else None
        if last and _brief(s) and last.sentences[-1].part == s.part and self._joined(s):
            return
        if (len(s.text.split()) < _MIN_FRAGMENT_WORDS and not s.item) or _SIGNED.match(s.text):
            return
        value = self._under(s.text, s.signature)
        self._made.append(Standing([s], value, s.text if value != s.text else ""))

    # ---- lists

    def _list(self, lead: Sentence | None, run: list[Sentence]) -> None:
        items = [list(item) for _, item in groupby(run, key=lambda s: s.part)]
        if not lead and len(items) > 1 and len(items[0]) == 1 and run[0].leads and not run[0].term:
            (lead, *run), (_, *items) = run, items
        if lead and self._gathered(lead, run, items):
            return
        carried = False
        plain: list[Sentence] = []
        for item in items:
            first = item[0]
            bare = len(item) == 1 and not first.says and not first.term and not looks_like_code(first)
            if not lead and bare and _brief(first) and not self._term:
                plain.append(first)
                continue
            self._enumeration(plain)
            plain = []
            carried |= self._item(lead, item)
        self._enumeration(plain)
        if lead and lead.part >= 0 and not carried and lead.says and len(lead.text.split()) > _MAX_GATHERED_WORDS:
            self._made.append(Standing([lead], lead.clear, lead.text if lead.named else ""))
            self._made.sort(key=lambda made: made.start)

    def _gathered(self, lead: Sentence, run: list[Sentence], items: list[list[Sentence]]) -> bool:
        """A line and the short items that it leads to are one statement, when there is room."""
        size = len(lead.clear) + sum(len(s.text) + 2 for s in run)
        if lead.part < 0 or size > MAX_STATEMENT_CHARS or any(len(item) > 1 or item[0].term for item in items):
            return False
        if any(s.says and not _brief(s) for s in run):
            return False
        listed_ = " ".join(f"{s.text.rstrip(' ;,.')};" for s in run)[:-1]
        whole = Standing([lead, *run], f"{lead.clear} {listed_}", f"{lead.text} {listed_}" if lead.named else "")
        if (lead.hangs or not lead.says) and not lead.named:
            self._hanging_list(whole)
        else:
            self._made.append(whole)
        return True

    def _hanging_list(self, whole: Standing) -> None:
        context = self._last if len(self._last) + len(whole.value) < MAX_STATEMENT_CHARS else ""
        whole.original = whole.value
        whole.value = f"{context} {whole.value}" if context and whole.sentences[0].hangs else self._under(whole.value)
        self._made.append(whole)

    def _item(self, lead: Sentence | None, item: list[Sentence]) -> bool:
        """The sentences of an item; tell whether the first one needed the line that leads to it."""
        first, *rest = item
        if first.marked or first.term:
            self._term = ""  # else the item before goes on
        needs = bool(lead and not first.term and not first.named and (first.hangs or not first.says))
        if first.term:
            head = f"{first.term}: {first.text}" if first.text else first.term
            titled = self._title and self._title not in head
            self._term = f"{self._title}: {first.term}" if titled else first.term
            self._made.append(Standing([first], f"{self._title}: {head}" if titled else head, head))
        elif needs and lead and len(lead.clear) <= _MAX_LEAD_CHARS:
            self._made.append(Standing([first], f"{lead.clear} {first.text}", first.text))
        else:
            self._one(first)
        self._hear(first)
        self._prose(rest)
        return needs

    def _enumeration(self, items: list[Sentence]) -> None:
        """Items of a word or two, without a line before them, are one statement together."""
        while items:
            room, take = MAX_STATEMENT_CHARS - len(self._about) - 2, 0
            while take < len(items) and (room := room - len(items[take].text) - 2) >= 0:
                take += 1
            taken, items = items[: max(1, take)], items[max(1, take) :]
            text = "; ".join(s.text.rstrip(" ;,.") for s in taken)
            if len(taken) > 1 or len(text.split()) >= _MIN_FRAGMENT_WORDS:
                self._made.append(Standing(taken, self._under(text), text))


def _brief(s: Sentence) -> bool:
    return len(s.text.split()) <= _MAX_GATHERED_WORDS


def _continues(s: Sentence) -> bool:
    """Tell whether a text goes on in the middle of a sentence: it begins in lower case, and not with an identifier."""
    first = s.text.split(maxsplit=1)[0]
    return first.isalpha() and first.islower() and not s.says and not s.item


def looks_like_code(s: Sentence) -> bool:
    """Tell whether a text is code rather than prose: no clause, and mostly signs and identifiers."""
    if s.says or s.term:
        return False
    text = _REFERENCE.sub("", s.text)
    signs = sum(len(m.group()) for m in _SIGNS.finditer(text))
    return signs >= 2 and (signs * 8 > len(s.text) or (bool(_CODE_START.match(s.text)) and signs * 16 > len(s.text)))
