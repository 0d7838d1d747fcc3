"""Questions drafted from the facts of documents, for people who have none: to be read and mended before they are trusted."""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from lexigraph.evaluation.expectations import plain
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.batches import batched
from lexigraph.model.graph import FactRow, Source, StatementRow
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.stages.text import stems
from lexigraph.storage.protocols import EvidenceRequest

_CHUNKS_A_CALL = 500
_MOST_WORDS = 6  # of what is asked for
_MOST_GIVEN = 12  # words of what is given
_TRIES = 30  # names that are tried in the place of one
_RELATIVE = re.compile(r"(?:which|that|who|whose|where)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Draft:
    """A question with what is expected; ``statement`` is what it was made of. Without ``expected`` it is unanswerable."""

    question: str
    type: str
    statement: str
    file: str
    expected: str = ""

    def to_dict(self, number: int) -> dict[str, Any]:
        """Return a line of the format that :func:`~lexigraph.evaluation.expectations.read_expectations` reads."""
        known = {"expected": [self.expected], "files": [self.file]} if self.expected else {"unanswerable": True}
        told = {"type": self.type, "draft": True, "statement": self.statement}
        return {"id": f"draft-{number}", "question": self.question, **known, **told}


def statements_of(index: LexicalGraphIndex) -> list[StatementRow]:
    """Return all live prose statements with their facts, a graph call for 500 chunks, in the order of documents."""
    tenant = Tenant(index.settings.tenant)
    chunks = [chunk for record in index.documents(tenant=index.settings.tenant) for chunk in record.intended]
    found: list[StatementRow] = []
    for some in batched(chunks, _CHUNKS_A_CALL):
        request = EvidenceRequest(chunks=tuple(some), neighbours=False)
        found += index.stores.graph.evidence(tenant, request)
    prose = (row for row in found if row.kind == "prose")
    return sorted(prose, key=lambda row: (row.source.uri, row.seq, row.position, row.id))


def cloze(rows: Sequence[StatementRow], number: int, *, seed: int) -> list[Draft]:
    """Return ``number`` questions at most, each about a fact of which one part is asked for, spread over the files.

    What is asked for stands literally in the statement, and no other fact answers the question differently.
    """
    clear, names = _Clear(rows), file_names(row.source for row in rows)
    by_file = defaultdict[str, list[Draft]](list)
    for row in rows:
        drafts = (draft for fact in row.facts for draft in clear.drafts(fact, row, names[row.source.id]))
        by_file[row.source.id] += drafts
    return _spread(list(by_file.values()), number, random.Random(seed))  # noqa: S311  # not for secrets


def swapped(rows: Sequence[StatementRow], number: int, *, seed: int) -> list[Draft]:
    """Return ``number`` questions at most that the documents should not answer: a subject replaced by one of elsewhere.

    No chunk that has the new name says anything with the words of the predicate. Names come from other documents, where
    there are several, else from other chunks.
    """
    rng = random.Random(seed)  # noqa: S311  # not for secrets
    names = file_names(row.source for row in rows)
    said = _Said(rows)
    facts = [(fact, row) for row in rows for fact in row.facts if _can_be_put(fact, row) and stems(fact.predicate)]
    rng.shuffle(facts)
    found: list[Draft] = []
    used: set[str] = set()
    for fact, row in facts:
        if len(found) == number:
            break
        other = said.stranger(fact, row, facts, rng)
        if other and not {fact.subject_id, other} & used:
            used |= {fact.subject_id, other}
            found.append(Draft(_about_object(other, fact.predicate), "swapped", row.value, names[row.source.id]))
    return found


def file_names(sources: Iterable[Source]) -> dict[str, str]:
    """Return what each source is called: its id, else the last part of its path, or its URI where that names another too."""
    known = {source.id: source for source in sources}
    ends = defaultdict[str, list[str]](list)
    for id_, source in known.items():
        given = source.metadata.get("id")
        ends[str(given) if given else PurePosixPath(unquote(urlsplit(source.uri).path)).name].append(id_)
    return {id_: end if len(ids) == 1 else known[id_].uri for end, ids in ends.items() for id_ in ids}


class _Clear:
    """Facts by what they say, to tell which have a part that nothing else could be."""

    def __init__(self, rows: Sequence[StatementRow]) -> None:
        self._objects = defaultdict[tuple[str, str], set[str]](set)
        self._subjects = defaultdict[tuple[str, str], set[str]](set)
        self._homes = defaultdict[tuple[str, str, str], set[str]](set)
        for row in rows:
            for fact in row.facts:
                subject, predicate, object_ = self._keys(fact)
                self._objects[subject, predicate].add(object_)
                self._subjects[predicate, object_].add(subject)
                self._homes[subject, predicate, object_].add(row.source.id)

    def drafts(self, fact: FactRow, row: StatementRow, file: str) -> Iterator[Draft]:
        """Yield the questions that a fact answers."""
        subject, predicate, object_ = self._keys(fact)
        if len(self._homes[subject, predicate, object_]) > 1 or not _can_be_put(fact, row):
            return
        about_object, about_subject = _about_object(fact.subject, fact.predicate), f"What {fact.predicate} {fact.object}?"
        if len(self._objects[subject, predicate]) == 1 and _can_be_asked_for(fact.object, row, about_object):
            yield Draft(about_object, "cloze", row.value, file, fact.object)
        fits = stems(fact.object) and len(fact.object.split()) <= _MOST_GIVEN
        if fits and len(self._subjects[predicate, object_]) == 1 and _can_be_asked_for(fact.subject, row, about_subject):
            yield Draft(about_subject, "cloze", row.value, file, fact.subject)

    @staticmethod
    def _keys(fact: FactRow) -> tuple[str, str, str]:
        return entity_key(fact.subject), plain(fact.predicate), plain(fact.object)


class _Said:
    """What chunks say, to tell whether one says something of a name."""

    def __init__(self, rows: Sequence[StatementRow]) -> None:
        texts = defaultdict[str, list[str]](list)
        for row in rows:
            texts[row.chunk_id].append(row.value)
        self._texts = {chunk: plain(" ".join(said)) for chunk, said in texts.items()}
        self._stems = {chunk: frozenset(stems(text)) for chunk, text in self._texts.items()}
        self._several = len({row.source.id for row in rows}) > 1

    def stranger(
        self, fact: FactRow, row: StatementRow, others: Sequence[tuple[FactRow, StatementRow]], rng: random.Random
    ) -> str:
        """Return a name of which nothing is said with the words of the fact's predicate; empty when none is found."""
        wanted = frozenset(stems(fact.predicate))
        for candidate, elsewhere in rng.sample(others, min(_TRIES, len(others))):
            near = elsewhere.source.id == row.source.id if self._several else elsewhere.chunk_id == row.chunk_id
            if not near and not self._say(candidate.subject, wanted):
                return candidate.subject
        return ""

    def _say(self, name: str, wanted: frozenset[str]) -> bool:
        key = plain(name)
        return any(key in text and wanted <= self._stems[chunk] for chunk, text in self._texts.items())


def _about_object(subject: str, predicate: str) -> str:
    # a name is written as it is, also at the beginning
    return f"{subject} {predicate} what?"


def _can_be_put(fact: FactRow, row: StatementRow) -> bool:
    """Tell whether subject and predicate make a clause that says alone what it is about: a name does what the verb says."""
    name = re.escape(fact.subject)
    # "Tern's crew sings": the crew does, not Tern
    of_it = re.search(rf"\bof (?:the |an? )?{name}|{name}['\u2019]s\b", row.value, re.IGNORECASE)
    named = stems(fact.subject) and any(c.isupper() or c.isdigit() or c in "_.(" for c in fact.subject)
    whole = all(text.count("(") == text.count(")") for text in (fact.subject, fact.predicate, fact.object))
    # "city: Ghent" of a record has a name where others have a verb
    verb = not _RELATIVE.match(fact.predicate) and f"{plain(fact.predicate)}:" not in plain(row.value)
    return bool(named and whole and verb and not of_it)


def _can_be_asked_for(part: str, row: StatementRow, question: str) -> bool:
    """Tell whether a part of a fact is short and stands in the document, and the question says enough, but not that part."""
    asked = stems(part)
    short = bool(asked) and len(part) > 1 and len(part.split()) <= _MOST_WORDS
    clear = len(stems(question)) > 1 and not set(asked) & set(stems(question))  # "PATH is what?" is about anything
    return short and clear and plain(part) in plain(row.original or row.value)


def _spread(groups: Sequence[list[Draft]], number: int, rng: random.Random) -> list[Draft]:
    """Take from all groups in turn, in an order by chance; no statement is asked about twice."""
    for group in groups:
        rng.shuffle(group)
    waiting = [iter(group) for group in rng.sample(groups, len(groups))]
    found: list[Draft] = []
    asked: set[str] = set()
    while waiting and len(found) < number:
        left = []
        for drafts in waiting:
            draft = next((d for d in drafts if d.statement not in asked), None)
            if draft and len(found) < number:
                asked.add(draft.statement)
                found.append(draft)
                left.append(drafts)
        waiting = left
    return found
