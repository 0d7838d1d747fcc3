"""What a question asks for: its words by how rare they are, its names, and what kind of answer it expects. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, pairwise, takewhile

from lexigraph.answering.candidates import EDGES, Candidate, names_in, says_name, words_of
from lexigraph.answering.compared import RELATION, Side, compared
from lexigraph.answering.identifiers import identifiers, numbered, share_held
from lexigraph.answering.wording import stems
from lexigraph.model.normalise import entity_key
from lexigraph.model.scripts import told_language
from lexigraph.retrieval.stages.text import STOP_WORDS, unframed

_ASKS = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|why|how|list|name|compare|explain|tell|show)\b", re.IGNORECASE
)
# what begins another clause: what is asked for stands before it
_ASIDE = re.compile(r"[,;:]|\b(?:that|which|who|whom|whose|where|when|after|if|behind)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[.?!,:;]\s")
_FOR_A_NAME = re.compile(r"\b(?:who|whom|whose|where|person|city|country|place|site)\b", re.IGNORECASE)
_FOR_A_TIME = re.compile(
    r"\b(?:when|how (?:long|often|late|soon|old)|(?:what|which) (?:year|day|date|time|week|month)"
    r"|how many (?:seconds|minutes|hours|days|weeks|months|years))\b",
    re.IGNORECASE,
)
_FOR_A_RELEASE = re.compile(
    r"\bwhen\b.{0,200}\b(?:added|changed|deprecated|introduced|removed)\b"
    r"|\b(?:since when|(?:which|what) (?:[\w.+-]{1,40} ){0,2}(?:version|release))\b",
    re.IGNORECASE,
)
_RELEASE = re.compile(r"\b(?:version|release|since|in):? v?\d+\.\d", re.IGNORECASE)
_FOR_WORDS_OF = re.compile(
    r"\bwhat (?:did|does|do|has|have|had)\b.{0,200}\b(?:sa(?:y|id)|wr(?:ite|itten|ote)|th(?:ink|ought)|t(?:ell|old)"
    r"|(?:announce|answer|ask|explain|mention|propose|recommend|repl(?:y|i)|report|suggest)(?:e?d)?)\b",
    re.IGNORECASE,
)
# of a message: who wrote it, to whom, when, and what about
_FOR_AN_ENVELOPE = re.compile(
    r"\bwho (?:sent|wrote|mailed)\b|\b(?:when|whom) (?:did|has) .{0,200} (?:send|sent|write|written|mail)\b"
    r"|\b(?:subject|date|senders?|recipients?) of (?:the|that|this|an?) (?:e-?mail|mail|message)\b",
    re.IGNORECASE,
)
_MESSAGE = re.compile(
    r"\b(?:(?:the|that|this|an?) )?(?:sen[dt]|wr(?:ite|ote|itten)|(?:e-?)?mail(?:ed)?|message)\b", re.IGNORECASE
)
_FOR_A_NUMBER = re.compile(r"\b(?:number|extension|how (?:many|much|large|big|far|tall|high))\b", re.IGNORECASE)
_FOR_A_REASON = re.compile(r"\b(?:why|reason|cause|caused)\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:1[0-9]|20)[0-9]{2}\b|\b[0-9]{1,2}:[0-9]{2}\b|\b(?:march|may) [0-9]|[0-9] (?:march|may)\b"
    r"|\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|quarters?|years?|decades?|centur(?:y|ies)|daily|weekly|monthly|yearly"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|april|june|july|august|september|october|november|december"
    r"|spring|summer|autumn|winter|morning|noon|evening|midnight)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|hundred|thousand|million)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\W*\d+[.)]\s")  # the number of a list's item is no answer
# since then, version 3 or Linux 2.6 is a time
_REASON = re.compile(
    r"\b(?:because|since(?!\s+(?:then|version|release|\w*\s?v?\d))|so that|causes?|caused|reasons?|due to|in order"
    r"|therefore)\b",
    re.IGNORECASE,
)
# what a question does with its subject, and how it asks for it: no document need say that
_REQUEST = re.compile(
    r"^\W*(?:please\W+|can you\W+|could you\W+)?(?:describe|explain|outline|summari[sz]e|introduce|tell me about)\b"
    r"|\bsays?(?= (?:about|of|on)\b)|\b(?:answers?|asks?|repl(?:y|ies)|responds?|speaks?|talks?|writes?)(?= about\b)"
    r"|\b(?:answer|reply|respond)(?=\W*$)"
    r"|\b(?:the|this|that|these|those|my|our) (?:documents?|e-?mails?|notebooks?|transcripts?)\b"
    r"|^\s*请?(?:你)?(?:描述|说明|介绍|解释|概述|总结|讲讲|说说)(?:一下)?|^\s*请"
    r"|什么时候|什么样|为什么|是什么|有哪些|什么|哪里|哪儿|哪些|哪个|怎么样|怎么|如何|怎样|多少|几点|吗|呢|谁"
    r"|[をについ]*て?(?:説明|教え|紹介)して(?:ください|下さい)?|とは何(?:ですか)?|何ですか|誰が|いつ|どこ|なぜ|どのように"
    r"|(?<=\bwie )(?:groß|hoch|lange?|oft|viele?|weit)\b"
    r"|^\W*(?:опишите|объясните|расскажите о|beschreiben? sie|erkläre?n? sie|beschreibe|erkläre|décri[st]|expliquez?)\b",
    re.IGNORECASE,
)
# a "when" that asks for no time: what happens when ...; when ..., what happens?
_SUBORDINATE = re.compile(
    r"(\b(?:how|what|where|which|who|whom|whose|why)\b[^.?!,;]{0,200}?)(?<!\band)(?<!\bor) when\b"
    r"|^(\W*)when\b(?= (?:should|to|would)\b|[^.?!]*, (?:are|can|did|do|does|how|is|should|what|where|which|who|why)\b)",
    re.IGNORECASE,
)
_INNER_CAPITAL = re.compile(r"\b[A-Za-z]*[a-z][A-Z]\w*")
_NAME_IN_CODE = re.compile(r"(?=\w*(?:[a-z][A-Z]|[^\W_]_[^\W_]))[\w.]+(?:\(\))?")
_NAMED_ALONE = re.compile(r"(?:^|, )(\w+)(?!\w)(?! [A-Z])")  # of terms; a name of several words is that of a thing
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_FOR_ALL = re.compile(r"\b(?:list|all|every|each|enumerate)\b", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what)\s+(?:(?:are|were|of)\s+)?(?:the\s+)?", re.IGNORECASE)
_PLURAL = re.compile(r"\w{2,}(?<![sui])s|criteria|people", re.IGNORECASE)
_BEHIND_A_VERB = frozenset("the a an it its that this these them their to".split())
_BEHIND_A_PLURAL = frozenset(
    "and apply are can could did do does exist for had have may might must of or should were will would".split()
)
# in the third person: "which option prevents execution"; the others may be plurals, first in a question: "which limits of"
_VERB = re.compile(
    r"\w+(?:fi|[iy][sz])es|(?:add|allow|aris|becom|begin|belong|bring|caus|com|contain|creat|decid|defin|delet|describ|determin"
    r"|disabl|distinguish|enabl|ensur|explain|follow|get|giv|happen|help|hold|ignor|includ|indicat|keep|let|mak|manag|prevent"
    r"|produc|provid|read|remov|represent|requir|say|send|specif|tak|tell|writ)e?s|exists|goes|has|lies",
    re.IGNORECASE,
)
_VERB_OR_PLURAL = re.compile(
    r"(?:chang|control|find|flow|forc|influenc|limit|need|print|result|return|run|set|show|start|stop|support|turn|us|work)e?s",
    re.IGNORECASE,
)
# LIMIT = 10, pub const LIMIT: u32 = 10, #define LIMIT 10
_DECLARED = re.compile(
    r"^(?:#[ \t]*define[ \t]+(?=\w+[ \t])|(?:[a-z]{2,12}[ \t]+){0,4}(?=\w+[ \t]*(?:=(?!=)|:[^=\n]{0,80}=(?!=))))(\w+)",
    re.MULTILINE,
)
_DASHED = re.compile(r"\S{2,80}(?= [-\u2013\u2014] )")  # the term of an item: ReadonlyDeep - a type of ...
_SIGNATURE = re.compile(r"(?<=\w)[(\[<=].*", re.DOTALL)  # fs.rm(path[, options]), --size=MB: what stands behind a name
# what a question may say beside a name: What does the option X do?
_KINDS = frozenset(
    stems(
        "argument class code command constant error event exception field flag function mean method module option parameter"
        " property setting type variable"
    )
)
_OF_A_TERM = 80  # characters at most
_SOURCES = 3  # at most that have a setting or function as a term
_NEARLY_ALL = 0.8  # of the words of a question, by rarity
_MOSTLY = 0.5  # of the words of a question, by rarity
_OF_A_NAME = 3  # words that the name of what is asked for may have: UNIX socket types


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read beside what was found for it, in its own ``language``.

    ``worth`` is how rare each of its words is among that, 0 to 1: a word that nothing says has more than any other.
    ``focus`` are its words that say what is asked for, not of what; ``names`` those that something found is named by;
    ``identifiers`` its words that are no words of a language and its acronyms, in lower case; ``found`` the words that
    something found has; ``sides`` the things that it compares; ``settings`` its words that are written as names of settings
    and functions are: ``StrictHostKeyChecking``; ``for_words`` tells whether what somebody says is asked for,
    ``for_an_envelope`` whether who wrote a message is, when or to whom, ``for_a_time`` whether a time is,
    ``for_a_release`` a version.
    """

    text: str
    worth: dict[str, float]
    focus: frozenset[str]
    names: frozenset[str]
    identifiers: frozenset[str]
    found: frozenset[str]
    sides: tuple[Side, ...] = ()
    settings: frozenset[str] = frozenset()
    for_words: bool = False
    for_an_envelope: bool = False
    for_a_time: bool = False
    for_a_release: bool = False
    language: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """The words of the question, as written, that nothing found has."""
        written = dict.fromkeys(word.strip(EDGES) for word in self.text.split())
        said = {word: self.worth.keys() & stems(word, self.language) for word in written}
        return tuple(word for word in written if said[word] and not said[word] & self.found)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The acronyms of the question that nothing found has, and the names of an English one of which nothing has a word.
        A word that begins a sentence is no name by itself, nor is a day or a month.
        """
        missing = frozenset(self.missing)
        acronyms = _acronyms(self.missing)
        runs = [] if self.language else _runs_of_capitals(self.text)
        return tuple(dict.fromkeys([*(" ".join(run) for run in runs if missing.issuperset(run)), *acronyms]))

    @property
    def is_a_name(self) -> bool:
        """Whether it asks of a name and says nothing else: "Who is Mira Holm?", "Can I use Ollama?"."""
        name = " ".join(chain(*_runs_of_capitals(self.text)))
        return bool(self.worth) and self.worth.keys() <= set(stems(name, self.language))

    @property
    def in_latin(self) -> bool:
        """Whether at least half of its letters are Latin ones."""
        return 2 * len(_LATIN.findall(self.text)) >= sum(c.isalpha() for c in self.text)

    @property
    def is_foreign(self) -> bool:
        """Whether it is told to be in another language than English, or mostly in another script."""
        return bool(self.language) or not self.in_latin

    @property
    def for_all(self) -> bool:
        """Whether all of something is asked for."""
        return bool(_FOR_ALL.search(self.text))

    @property
    def for_several(self) -> bool:
        """Whether more than one thing is asked for: all, or which things."""
        return self.for_all or any(_begins_with_a_plural(self.text[asks.end() :]) for asks in _WHICH.finditer(self.text))

    def share(self, words: frozenset[str]) -> float:
        """Return how much of what is asked for is among some words, 0 to 1."""
        return _weight(self.focus & words, self.worth) / (_weight(self.focus, self.worth) or 1.0)

    def mass(self, words: AbstractSet[str]) -> float:
        """Return how many words of the question are among some words, the rare ones counted most."""
        return _weight(self.worth.keys() & words, self.worth)

    def identified(self, c: Candidate) -> float:
        """Return the share of the question's identifiers that a statement has, or the name of its source; 1 without any."""
        return share_held(self.identifiers, c.whole)

    def is_held_by(self, c: Candidate) -> bool:
        """Tell whether a row has all words of the question, some as names of columns and some as values, or a statement
        nearly all, with its identifiers.
        """
        held = self.mass(c.about) / (self.mass(self.worth.keys()) or 1.0)
        if c.is_row and held == 1.0 and frozenset[str]() < self.worth.keys() & c.columns < self.worth.keys():
            return True
        return bool(self.identifiers) and held >= _NEARLY_ALL and self.identified(c) == 1.0

    def is_defined_by(self, c: Candidate) -> bool:
        """Tell whether a statement stands below a term or signature that has an identifier of the question, or sets it."""
        return bool(self.identifiers) and share_held(self.identifiers, " ".join(_terms(c))) > 0

    def belongs(self, c: Candidate) -> bool:
        """Tell whether a statement is by its place what is asked for, whatever it says."""
        return self.is_set_by(c) or self.is_said_by_whom_it_names(c) or self.is_envelope_asked_for(c)

    def is_envelope_asked_for(self, c: Candidate) -> bool:
        """Tell whether who wrote, when and to whom is asked for, and a statement is the fields of a message about it."""
        return self.for_an_envelope and c.is_envelope and self.mass(c.about) >= _NEARLY_ALL * self.mass(self.worth.keys())

    def is_set_by(self, c: Candidate) -> bool:
        """Tell whether a statement stands below a setting or function that the question names, or is its value."""
        if not self.identifiers.isdisjoint(name.casefold() for name in _declared(c)):
            return True
        if not self.settings:
            return False
        return not self.settings.isdisjoint(name for term in _terms(c) for name in _NAMED_ALONE.findall(term))

    def is_said_by_whom_it_names(self, c: Candidate) -> bool:
        """Tell whether what somebody says is asked for, and the statement's document is by somebody of that name.

        The fields of a message are not what somebody says.
        """
        author = str(c.citation.metadata.get("author", "")) if self.for_words else ""
        return bool(author) and not c.is_envelope and not self.worth.keys().isdisjoint(words_of(author, self.language))

    def is_of(self, heading: str) -> bool:
        """Tell whether a heading or term is what the question asks of: all of its words, and most of the question's."""
        words = set(stems(_SIGNATURE.sub("", heading), self.language))
        return words <= self.worth.keys() and self.mass(words) > _MOSTLY * self.mass(self.worth.keys())

    def beyond(self, heading: str) -> frozenset[str]:
        """Return the words of the question that a heading does not have."""
        return frozenset(self.worth.keys() - set(stems(heading, self.language)))

    def is_heading(self, c: Candidate) -> bool:
        """Tell whether a statement stands below the name of something in code, and the question asks what that is or does.

        ``fs.rm(path[, options])`` is what "What does fs.rm do?" asks for.
        """
        if not self.settings and not self.identifiers:
            return False
        values = (one.partition("=")[2] for one in self.identifiers if one.startswith("-"))
        words = self.worth.keys() - _KINDS - set(stems(" ".join(values), self.language))
        terms = (*_terms(c), c.heading.rpartition(" > ")[2])
        named = (frozenset(stems(_SIGNATURE.sub("", term), self.language)) for term in terms)
        return any(name and words == name - _KINDS for name in named)

    def is_told_by(self, lead: str, quoted: str) -> bool:
        """Tell whether what leads to a quotation has a word of the question, or the time asked for, that it lacks.

        Or is what the question names: ``dot`` says of what "Hidden files match, too, if dot is set" is told. The name of a
        class or function is always told: what stands below says nothing without it.
        """
        if _NAME_IN_CODE.fullmatch(lead) and lead not in quoted:
            return True
        leads, begins = set(stems(lead, self.language)), quoted.casefold().startswith(lead.casefold())
        named = share_held(self.identifiers, lead) > share_held(self.identifiers, quoted)
        said = self.worth.keys() & (leads - set(stems(quoted, self.language)))
        named = named or bool(leads and leads <= self.worth.keys() and not begins)
        timed = self.for_a_time and _TIME.search(lead) and not _TIME.search(quoted)
        return bool(named or said or timed)

    def is_told_by_row(self, row: str) -> bool:
        """Tell whether a row of a table has an identifier of the question, or the number of one, or nearly all its words."""
        if any(share_held([one.rpartition(" ")[2]], row) for one in self.identifiers):
            return True
        return self.mass(frozenset(stems(row, self.language))) >= _NEARLY_ALL * (self.mass(self.worth.keys()) or 1.0)

    def is_answered_by(self, c: Candidate) -> bool:
        """Tell whether a statement has what is asked for: a name, a time, a version, a number or a reason."""
        text = c.citation.resolved or c.citation.text
        return bool(
            (_FOR_A_NAME.search(self.text) and c.says - self.names - names_in(self.text))
            or (self.for_a_time and _TIME.search(text))
            or (self.for_a_release and _RELEASE.search(text))
            or (_FOR_A_NUMBER.search(self.text) and _NUMBER.search(_ITEM.sub("", text)))
            or (_FOR_A_REASON.search(self.text) and _REASON.search(text))
        )


def read(question: str, found: Sequence[Candidate], entities: Sequence[str] = ()) -> Asked:
    """Return what a question asks for; ``entities`` are names that retrieval knows to be in it."""
    sides = compared(question, found)
    content = _REQUEST.sub(" ", RELATION.sub(" ", question) if sides else question)
    content = unframed(content)
    for_words, for_an_envelope = bool(_FOR_WORDS_OF.search(question)), bool(_FOR_AN_ENVELOPE.search(question))
    if for_an_envelope and any(c.is_envelope for c in found):
        content = _MESSAGE.sub(" ", content)
    language = told_language(question)
    words = set(stems(content, language)) or set(stems(question, language))
    counts = Counter(word for c in found for word in words & c.about)
    scale = math.log(2 * (1 + len(found)))
    worth = {word: math.log((1 + len(found)) / (counts[word] or 0.5)) / scale for word in sorted(words)} if found else {}
    known = {name for c in found for name in c.names}
    names = names_in(question) | {key for name in entities if says_name(key := entity_key(name), question)}
    focus = frozenset(stems(_focus(question), language)) & words or frozenset(words)
    written = () if question.isupper() else _acronyms(word.strip(EDGES) for word in question.split())
    sought = identifiers(question).union(numbered(question), (word.casefold() for word in written))
    return Asked(
        question,
        worth,
        focus,
        frozenset(names & known),
        sought,
        frozenset(counts),
        sides,
        _settings(question, found),
        for_words,
        for_an_envelope,
        bool(_FOR_A_TIME.search(_SUBORDINATE.sub(r"\1\2", question))),
        bool(_FOR_A_RELEASE.search(question)),
        language,
    )


def _settings(question: str, found: Sequence[Candidate]) -> frozenset[str]:
    """Return the words written as names of settings, but for those above statements of many sources: speakers in chats."""
    written = frozenset(_INNER_CAPITAL.findall(question))
    terms = {(name, c.home) for c in found for term in _terms(c) for name in _NAMED_ALONE.findall(term)} if written else ()
    sources = Counter(name for name, _ in terms)
    return frozenset(name for name in written if sources[name] <= _SOURCES)


def _terms(c: Candidate) -> list[str]:
    """Return the terms, headings and signatures that a statement stands below, of code what it declares."""
    if c.citation.kind == "code":
        return _declared(c)
    *above, said = (c.citation.resolved or c.citation.text).split(": ")
    dashed = _DASHED.match(said)
    return [term for term in (*above, dashed[0] if dashed else "") if 0 < len(term) <= _OF_A_TERM]


def _declared(c: Candidate) -> list[str]:
    """Return the constants that code declares where its lines begin; nothing of other statements."""
    return _DECLARED.findall(c.citation.text) if c.citation.kind == "code" else []


def _acronyms(words: Iterable[str]) -> list[str]:
    return [word for word in words if len(word) > 1 and word.isalpha() and word.isupper()]


def _runs_of_capitals(text: str) -> list[list[str]]:
    """Return the words of what is written like a name: capitals in a row, of which one is not the first of a sentence."""
    runs: list[list[str]] = [[]]
    later = set[int]()
    for before, token in pairwise([".", *text.split()]):
        word, begins = token.strip(EDGES), before[-1] in ".?!:"
        capital = word[:1].isupper() and not _TIME.search(word)
        if begins or not capital:
            runs.append([])
        if capital and stems(word):
            runs[-1].append(word)
            later |= set() if begins else {len(runs)}
    return [run for at, run in enumerate(runs, 1) if at in later]


def _focus(question: str) -> str:
    """Return the clause that says what is asked for: from the last question word that begins one."""
    begin = [at for at in _ASKS.finditer(question) if not stems(_CLAUSE.split(question[: at.start()])[-1])]
    clause = question[begin[-1].end() :] if begin else question
    aside = next((a for a in _ASIDE.finditer(clause) if stems(clause[: a.start()])), None)
    return clause[: aside.start()] if aside else clause


def _begins_with_a_plural(text: str) -> bool:
    """Tell whether the first noun of a text seems to be a plural: "limits does it have", not "option limits the size"."""
    words = text.split()[: _OF_A_NAME + 1]
    name = takewhile(lambda word: word.casefold() not in STOP_WORDS, words[:_OF_A_NAME])
    for at, (word, then) in enumerate(zip(name, [*words[1:], ""], strict=False)):
        bare, behind = word.strip(EDGES), then.casefold()
        verb = _VERB.fullmatch(bare) or (at and _VERB_OR_PLURAL.fullmatch(bare))
        if verb and behind and behind not in _BEHIND_A_PLURAL:
            return False
        if _PLURAL.fullmatch(bare) and behind not in _BEHIND_A_VERB:
            return True
    return False


def _weight(words: AbstractSet[str], worth: dict[str, float]) -> float:
    return math.fsum(worth.get(word, 0.0) for word in words)
