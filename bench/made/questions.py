"""Questions about a made-up world, of three types, with the documents and sentences that hold the evidence."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bench.made.pages import Page
from bench.made.world import Fact, Thing, World
from lexigraph.model.errors import InvalidInput

TYPES = ("direct", "multi", "bridge")
_THREE_HOPS = 3  # of ten bridges
_TRIES = 3_000  # failed attempts in a row before a world is called too small
_WORD = re.compile(r"[A-Z][a-z]{2,}")
# words of names that say what a thing is: to share them is not to share a name
_COMMON = frozenset("The Works Brothers Company College Institute Academy Fair Festival".split())


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer and the facts it rests on, in the order of the chain; ``named`` are the things it names."""

    question: str
    answer: str
    facts: tuple[Fact, ...]
    named: tuple[Thing, ...]
    type: str


class Asker:
    """Asks questions whose answer is the only one: every name in them means one thing, every relation has one object."""

    def __init__(self, world: World, pages: Sequence[Page], rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self.told = {fact: (at, sentence) for at, page in enumerate(pages) for fact, sentence in page.told.items()}
        self.texts = [f"{page.title}\n{page.text}" for page in pages]
        self.facts = list(self.told)
        self.alike: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        self.to: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            self.alike[fact.relation.kind, fact.relation.name].append(fact)
            if fact.relation.nouns:
                self.to[fact.relation.target].append(fact)

    def ask(self, type_: str, count: int) -> Iterator[Asked]:
        """Yield ``count`` different questions of a type. Raise ``InvalidInput`` when the world has not as many."""
        seen: set[tuple[Fact, ...]] = set()
        makers: dict[str, Callable[[], Asked | None]] = {
            "direct": self._direct,
            "multi": lambda: (self._compare, self._same, self._compare, self._both)[len(seen) % 4](),
            "bridge": lambda: self._bridge(3 if len(seen) % 10 < _THREE_HOPS else 2),
        }
        failed = 0
        while len(seen) < count:
            if failed == _TRIES:
                has = f"this world has only {len(seen)} {type_} ones"
                raise InvalidInput(f"questions: {has}, not {count}: make more documents")
            asked = makers[type_]()
            failed += 1
            if asked and asked.facts not in seen and self.sound(asked):
                seen.add(asked.facts)
                failed = 0
                yield replace(asked, question=asked.question[0].upper() + asked.question[1:])

    def sound(self, asked: Asked) -> bool:
        """Tell whether each fact has a document of its own, and the answer is found only at the end.

        Of a bridge: the last document names nothing that the question names, and no document before it holds the answer.
        """
        places = [self.told[fact][0] for fact in asked.facts]
        if len(set(places)) < len(places):
            return False
        if asked.type == "multi":
            return True
        if asked.answer.casefold() in asked.question.casefold():
            return False
        if asked.type == "direct":
            return True
        *before, last = (self.texts[at] for at in places)
        names = {w for thing in asked.named for w in _WORD.findall(thing.asked)} - _COMMON
        between = [f.answer for f in asked.facts[:-1]]
        return (
            not names & set(_WORD.findall(last))
            and not any(asked.answer in text for text in before)
            and not any(name in asked.question for name in between)
        )

    # ------------------------------------------------------------ the three types

    def _direct(self) -> Asked:
        fact = self.rng.choice(self.facts)
        return Asked(self._question(fact, fact.subject.asked), fact.answer, (fact,), (fact.subject,), "direct")

    def _bridge(self, hops: int) -> Asked | None:
        """Follow facts, each about what the one before named, and ask for the last without the names between."""
        chain = [self.rng.choice(self.facts)]
        while len(chain) < hops:
            reached = chain[-1].object
            if not isinstance(reached, Thing) or not chain[-1].relation.nouns:
                return None
            onwards = [f for f in self.world.facts.get(reached, {}).values() if f in self.told]
            if not onwards:
                return None
            chain.append(self.rng.choice(onwards))
        start = chain[0].subject
        if chain[-1].object == start or len({f.subject for f in chain}) < len(chain):
            return None
        name = start.asked
        for fact in chain[:-1]:
            name = self.rng.choice(fact.relation.nouns).format(x=name)
        return Asked(self._question(chain[-1], name), chain[-1].answer, tuple(chain), (start,), "bridge")

    def _compare(self) -> Asked | None:
        """Ask which of two or three things has the least or most of something."""
        fact = self.rng.choice(self.facts)
        if not fact.relation.compares:
            return None
        among = self.alike[fact.relation.kind, fact.relation.name]
        facts = [fact, *self.rng.sample(among, min(len(among), self.rng.choice((1, 1, 2))))]
        amounts = sorted(_amount(f) for f in facts)
        if len(set(amounts)) < max(2, len(facts)):
            return None
        best = amounts[0] if fact.relation.order == "first" else amounts[-1]
        answer = next(f.subject.asked for f in facts if _amount(f) == best)
        *names, last = (f.subject.asked for f in facts)
        question = self.rng.choice(fact.relation.compares).format(them=f"{', '.join(names)} or {last}")
        return Asked(question, answer, tuple(facts), tuple(f.subject for f in facts), "multi")

    def _same(self) -> Asked | None:
        """Ask whether two things lead to the same third: half of the time they do."""
        one = self.rng.choice(self.facts)
        if not one.relation.nouns:
            return None
        wanted = self.rng.random() < 0.5
        others = [f for f in self.to[one.relation.target] if f.subject != one.subject and (f.object == one.object) == wanted]
        if not others:
            return None
        other = self.rng.choice(others)
        first, second = (self.rng.choice(f.relation.nouns).format(x=f.subject.asked) for f in (one, other))
        question = self.rng.choice((f"Is {first} also {second}?", f"Are {first} and {second} one and the same?"))
        return Asked(question, "yes" if wanted else "no", (one, other), (one.subject, other.subject), "multi")

    def _both(self) -> Asked | None:
        """Ask two questions at once."""
        one, other = self.rng.sample(self.facts, 2)
        first, second = (self._question(f, f.subject.asked) for f in (one, other))
        question = f"{first[:-1]}, and {second[0].lower()}{second[1:]}"
        return Asked(question, f"{one.answer}; {other.answer}", (one, other), (one.subject, other.subject), "multi")

    def _question(self, fact: Fact, name: str) -> str:
        return self.rng.choice(fact.relation.asks).format(x=name)


def _amount(fact: Fact) -> int:
    return int(fact.answer.replace(",", ""))
