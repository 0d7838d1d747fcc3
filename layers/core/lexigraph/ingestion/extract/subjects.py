"""Who a pronoun, a short name or ``the film`` stands for, within one chunk."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from lexigraph.ingestion.extract.names import title_name
from lexigraph.ingestion.extract.words import KINDS, LINKS, MANY, PERSON, PERSON_KINDS, THING, listed
from lexigraph.model.normalise import entity_key

_FIRST = listed("i me my mine myself")
_SECOND = listed("you your yours yourself")
_MEMBERS = listed("band team group duo trio company club family tribe people party agency association")
_NOT_BEFORE_END = LINKS | {"the", "a", "an", "and", "in", "on", "at", "to", "with", "from"}
PRONOUNS = PERSON | THING | MANY | _FIRST

_OPENING = re.compile(rf"\W*(?:({'|'.join(sorted(PRONOUNS))})|(?:the|this)\s+([a-z]+))\b(?!\s+of\b)(?!-)", re.IGNORECASE)
_COPULA = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the)\s+([^.;:()]{2,120})", re.IGNORECASE)
_AFTER_NOUN = re.compile(
    r",|\b(?:of|in|on|at|by|for|from|to|with|that|which|who|where|near|located|based|written|directed)\b"
)
_WORD = re.compile(r"\w+")
_QUALIFIER = re.compile(r"\(([^()]*)\)")
_HANDLE = re.compile(r"(?:[A-Z][a-z]+){2,4}")
_JOINED_NAME = re.compile(r"([a-z])(?=[A-Z])")
_FILE = re.compile(r"[\\/]|\.\w{2,5}$|_")
_GENERIC = listed(
    """
    introduction overview readme notes note untitled home index faq summary contents preface abstract conclusion
    appendix changelog license contributing document report agenda minutes
    """
)
_GENERIC_OPENING = re.compile(
    r"(?:how|why|what|when|where|who|list|index|guide|chapter|part|section|step|table|figure)\b", re.IGNORECASE
)
_MAX_TITLE_WORDS = 10
_OPENING_CHARS = 40


def names_one_thing(title: str) -> bool:
    """Tell whether a document of this title is about what the title names: not ``Introduction``, not ``notes_3.txt``."""
    words = _WORD.findall(title)
    cased = [c for c in title if c.islower() or c.isupper()]
    if not words or len(words) > _MAX_TITLE_WORDS or not any(c.isalpha() for c in title) or _FILE.search(title):
        return False
    if cased and not any(c.isupper() for c in cased):
        return False
    return entity_key(title) not in _GENERIC and not _GENERIC_OPENING.match(title) and not title.endswith((":", "?", "."))


class Subjects:
    """What the names, pronouns and definite nouns of one chunk stand for.

    ``title`` is the name of what the document is about, empty when it is not about one thing. The focus is what was last
    spoken of: the title at first, then the subject of each sentence.
    """

    def __init__(self, title: str, text: str, names: Iterable[tuple[str, str]], speakers: Iterable[str] = ()) -> None:
        bare = title_name(title)
        starts = _whole_words(bare)
        said = starts.search(text, 0, _OPENING_CHARS + len(bare)) if starts and any(c.isupper() for c in bare) else None
        self.title = bare if said or names_one_thing(bare) else ""
        self._key = entity_key(self.title)
        self._forms = {self._key: self.title} if self.title else {}
        self._classes: dict[str, Counter[str]] = {}
        self._speakers = dict.fromkeys(speakers)
        for name, class_ in (*names, *((s, "Person") for s in self._speakers)):
            key = entity_key(name)
            self._forms.setdefault(key, name)
            self._classes.setdefault(key, Counter()).update([class_] if class_ else [])
        self._pattern = _whole_words(self.title)
        self._kinds = self._kinds_of(title, text) if self.title else frozenset()
        self._full = self._short_forms()
        self.variant = self._variant(text)
        if self.variant:
            self._full[entity_key(self.variant)] = self.title
        self.spoken_of = self.named_in(text) or bool(self.variant)
        self.speaker = ""
        self.focus = self.title
        self.person = ""
        self._heard: set[str] = set()

    def heard(self, subject: str, people: Sequence[str]) -> None:
        """Take note of a sentence: its subject, if an entity, and the people that it names."""
        if subject == self.speaker:
            subject = ""
        self.focus = subject or self.focus
        self._heard.update(people)
        if subject and self.class_of(subject) == "Person":
            self.person = subject
        elif people:
            self.person = people[-1]

    # ---- what a document is

    def _kinds_of(self, title: str, text: str) -> frozenset[str]:
        """The words for the kind of thing that the title names: ``film`` from ``(1926 film)`` or ``is a silent film``."""
        found = {w for qualifier in _QUALIFIER.findall(title) for w in _words(qualifier) if w in KINDS}
        last = _words(self.title)[1:][-1:]
        found.update(w for w in last if w in KINDS)
        said = _COPULA.search(text, 0, 400)
        before = text[: said.start()] if said else ""
        if said and (self.named_in(before) or before.strip().casefold() in PRONOUNS):
            noun = _words(_AFTER_NOUN.split(said.group(1))[0])
            found.update(w for at, w in enumerate(noun) if w in KINDS or at == len(noun) - 1)
        # the falls, in a document on the Little Missouri Falls
        return frozenset(w for w in [*found, *(last if found else [])] if w.isalpha())

    def named_in(self, text: str) -> bool:
        """Tell whether the text holds the title as whole words."""
        return bool(self._pattern and self._pattern.search(text))

    def title_spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the text holds the title as whole words."""
        return [m.span() for m in self._pattern.finditer(text)] if self._pattern else []

    def class_of(self, name: str) -> str:
        """Return the class most often seen for a name in the chunk; empty when unknown, ties by the smallest."""
        key = entity_key(name)
        seen = self._classes.get(key)
        class_ = min(seen.items(), key=lambda kv: (-kv[1], kv[0]))[0] if seen else ""
        # the words of the text outweigh the model's guess: Neptune Database is a database
        return "" if class_ == "Person" and key == self._key and self._kinds & KINDS - PERSON_KINDS else class_

    # ---- short forms

    def _short_forms(self) -> dict[str, str]:
        """Surnames of the people named in full, towns of titles such as ``Tucson, Arizona``, last words of the title."""
        full: dict[str, set[str]] = {}
        for key, form in self._forms.items():
            words = key.split()
            if 2 <= len(words) <= 4 and self.class_of(form) == "Person":
                full.setdefault(words[-1], set()).add(form)
        found = {short: next(iter(forms)) for short, forms in full.items() if len(forms) == 1}
        for speaker in self._speakers:
            first = entity_key(spoken_name(speaker).split()[0])
            others = [s for s in self._speakers if entity_key(spoken_name(s).split()[0]) == first]
            found.update({first: speaker} if len(others) == 1 else {})
        words = self._key.split()
        gerund = bool(words) and words[0].endswith("ing")  # OpenSSL is not Maintaining OpenSSL
        if 2 <= len(words) <= 5 and not gerund and self.class_of(self.title) not in ("Location", "Group"):
            # Fuga in a document on the Nissan Fuga, but not Paris in one on Playboy of Paris, nor York in one on New York
            ends = [at for at in range(1, len(words)) if words[at - 1] not in _NOT_BEFORE_END and words[-1] not in KINDS]
            found.update({" ".join(words[at:]): self.title for at in ends})
        if "," in self.title:
            found[entity_key(self.title.split(",")[0])] = self.title
        # Howard in a document on Howard University
        if len(words) > 1 and all(w in KINDS for w in words[1:]) and self.class_of(words[0]) != "Location":
            found.setdefault(words[0], self.title)
        return found

    def _variant(self, text: str) -> str:
        """The name with which the text opens, when it is the title in another form: with middle names, without a realm."""
        words = _plain(self._key)
        first = next((f for f in self._forms.values() if f != self.title and f in text[: _OPENING_CHARS + len(f)]), "")
        said = _plain(entity_key(first))
        if not words or not said or said == words or self.class_of(first) in ("Location", "Organization", "Group"):
            return ""
        if len(words) > 1 and len(said) > 1 and (said[0], said[-1]) == (words[0], words[-1]):
            return first
        if len(words) > 1 and _in_order(words, said):
            return first
        return first if self._key.startswith((f"{entity_key(first)} of ", f"{entity_key(first)} the ")) else ""

    def full(self, name: str) -> str:
        """Return the name in full for which a short one stands in this chunk, else the name itself."""
        return self._full.get(entity_key(name), name)

    # ---- what stands for a name

    def pronoun(self, word: str) -> str:
        """Return the name that a pronoun stands for, empty when there is none of its kind."""
        word = word.casefold()
        if word in _FIRST:
            return self.speaker
        if word in _SECOND:
            others = [s for s in self._speakers if s != self.speaker]
            return others[0] if self.speaker and len(others) == 1 else ""
        if word not in PRONOUNS:
            return ""  # we: whoever wrote
        if word in PERSON:
            return self.person or (self.title if self._may_be_person() else "")
        return next((name for name in (self.focus, self.title) if name and self._fits(word, name)), "")

    def surely_person(self, name: str) -> bool:
        """Tell whether a personal pronoun can mean nobody but ``name``: the only one named, or a person with a page."""
        words = name.split()
        titled = name == self.title and (self.spoken_of or (1 < len(words) < 5 and all(w[0].isupper() for w in words)))
        return titled or self._heard == {name}

    def _may_be_person(self) -> bool:
        return self.class_of(self.title) in ("Person", "") and not self._kinds & KINDS - PERSON_KINDS

    def _fits(self, word: str, name: str) -> bool:
        class_ = self.class_of(name)
        if word in MANY:
            return class_ in ("Organization", "Group") or (name == self.title and bool(self._kinds & _MEMBERS))
        return class_ not in ("Person", "Group")

    def refer(self, how: str, word: str) -> str:
        """Return the name for which a word stands as a ``pronoun``, a ``kind`` or a ``described kind``; empty if none.

        ``whole`` asks what ``the <part>`` is a part of: ``The editor is ...`` in a document on a journal.
        """
        if how == "whole":
            return self.title if self.focus == self.title and word not in KINDS else ""
        if how == "pronoun":
            name = self.pronoun(word)
            return name if name != self.title or self.spoken_of or word.casefold() in PERSON else ""
        return self.kind(word, described=how != "kind") if self.spoken_of or word.casefold() in self._kinds else ""

    def opening(self, sentence: str) -> str:
        """Return the name for which the first words of a sentence stand: ``She``, ``Its``, ``The film``; empty if none."""
        match = _OPENING.match(sentence)
        if not match:
            return ""
        pronoun, noun = match.groups()
        return self.pronoun(pronoun) if pronoun else self.kind(noun)

    def kind(self, noun: str, *, described: bool = False) -> str:
        """Return the title when ``the <noun>`` stands for it, else nothing; what is described must be known as its kind."""
        noun = noun.casefold()
        if noun in self._kinds:
            return self.title
        if described or self._kinds or noun not in KINDS or self.class_of(self.title) == "Person":
            return ""
        return self.title if self.focus == self.title else ""


def _plain(key: str) -> list[str]:
    """The words of a name without ``Jr`` and the like."""
    return [w for w in key.split() if w.rstrip(".") not in ("jr", "sr")]


def _in_order(words: Sequence[str], among: Sequence[str]) -> bool:
    rest = iter(among)
    return all(word in rest for word in words)


def spoken_name(handle: str) -> str:
    """Return a speaker's name as it is said: ``Jennifer Moore`` for ``JenniferMoore``."""
    return _JOINED_NAME.sub(r"\1 ", handle) if _HANDLE.fullmatch(handle) else handle


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _whole_words(name: str) -> re.Pattern[str] | None:
    """A pattern that finds a title whatever stands between its words, in any case when it has several words."""
    words = _WORD.findall(name)
    if not words:
        return None
    whole = r"[\W_]{1,3}".join(map(re.escape, words))
    # Tucson alone names Tucson, Arizona in a document of that title
    town = name.split(",")[0].strip() if "," in name else ""
    short = f"|{re.escape(town)}" if names_one_thing(town) and len(town.split()) < 4 else ""
    return re.compile(rf"(?<!\w)(?:{f'(?i:{whole})' if len(words) > 1 else whole}{short})(?!\w)")
