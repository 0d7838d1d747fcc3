"""Documents about a made-up world: pages of things, and newspapers that tell of several. Each fact is told exactly once."""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.made import words
from bench.made.world import Fact, Thing, World

_IN_PAPERS = 4  # facts told in one newspaper
_QUALIFIED, _HEADLINE = 0.2, 0.08  # shares of pages titled by name and kind, and by another phrase
_JOINED = 0.25  # share of facts told in one sentence with the next
_SLOT = re.compile(r"\{(person|company|town|product|school|festival|book|region)\}")


@dataclass(frozen=True, slots=True)
class Page:
    """A document, and for each fact that it tells the sentence that does."""

    title: str
    text: str
    told: Mapping[Fact, str]


def write_pages(world: World, papers: int, rng: random.Random) -> list[Page]:
    """Return a page of each thing and ``papers`` newspapers, in random order; newspapers take facts from the pages."""
    facts = world.all_facts
    taken = rng.sample(facts, min(len(facts) // 4, papers * _IN_PAPERS))
    elsewhere = set(taken)
    writer = _Writer(world, rng)
    pages = [
        writer.page(thing, [f for f in world.facts.get(thing, {}).values() if f not in elsewhere])
        for of_kind in world.things.values()
        for thing in of_kind
    ]
    pages += [writer.paper(number, taken[number::papers]) for number in range(papers)]
    rng.shuffle(pages)
    return pages


class _Writer:
    def __init__(self, world: World, rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self.alike: dict[tuple[str, str], list[Thing]] = defaultdict(list)
        for of_kind in world.things.values():
            for thing in of_kind:
                for word in set(thing.name.split()):
                    self.alike[thing.kind, word].append(thing)

    def page(self, thing: Thing, facts: list[Fact]) -> Page:
        """Write about one thing: a lead, its facts in any order, asides between them; one to four paragraphs."""
        rng, told = self.rng, {}
        rng.shuffle(facts)
        sentences = (
            [rng.choice(words.LEADS[thing.kind]).format(name=thing.name, word=thing.word)] if rng.random() < 0.85 else []
        )
        body = [*self._groups(facts), *([()] * rng.randint(2, 6))]
        rng.shuffle(body)
        of_person = False  # whether the sentence before names another person, so that a pronoun would be unclear
        asides = rng.sample(words.ASIDES[thing.kind], len(words.ASIDES[thing.kind]))
        for group in body:
            names = self._names(thing, first=not sentences, unclear=of_person)
            if group:
                sentence = _sentence([rng.choice(_wordings(f, len(group))) for f in group], names, group)
                told.update(dict.fromkeys(group, sentence))
                of_person = any(isinstance(f.object, Thing) and f.object.kind == "person" for f in group)
            else:
                template = asides.pop()
                sentence, of_person = self._aside(template, names, thing), "{person}" in template
            sentences.append(sentence)
        return Page(self._title(thing), self._paragraphs(sentences), told)

    def paper(self, number: int, facts: list[Fact]) -> Page:
        """Write a newspaper: facts of things that have nothing to do with each other, all by their full names."""
        told = {}
        for fact in facts:
            names = dict.fromkeys(("X", "x"), fact.subject.asked) | {"Xs": _possessive(fact.subject.asked)}
            told[fact] = _sentence([self.rng.choice(fact.relation.sentences)], names, [fact])
        asides = [a.format(n=self.rng.randint(2, 40)) for a in self.rng.sample(words.PAPER_ASIDES, 2)]
        sentences = [*told.values(), *asides]
        self.rng.shuffle(sentences)
        title = f"{words.PAPERS[number % len(words.PAPERS)]} No. {self.rng.randint(1, 9) * 1000 + number}"
        return Page(title, self._paragraphs(sentences), told)

    def _groups(self, facts: list[Fact]) -> list[tuple[Fact, ...]]:
        groups, rest = [], list(facts)
        while rest:
            alike = {f.relation.name for f in rest[:2]} == {"born", "year"}  # both say "was born in"
            joined = self.rng.random() < _JOINED and not alike and all(_wordings(f, 2) for f in rest[:2])
            size = 2 if joined and len(rest) > 1 else 1
            groups.append(tuple(rest[:size]))
            rest = rest[size:]
        return groups

    def _names(self, thing: Thing, *, first: bool, unclear: bool) -> dict[str, str]:
        """Choose what a sentence calls its page's thing: the name, a short form, or a pronoun."""
        person = thing.kind == "person"
        short = thing.name.split()[-1] if person else f"the {thing.word}"
        pronouns = (("She", "Her") if thing.woman else ("He", "His")) if person else ("It", "Its")
        kind = "name" if first else self.rng.choice(("name", "short", "short" if unclear else "pronoun"))
        called = thing.name if kind == "name" else short
        if kind == "pronoun":
            return {"X": pronouns[0], "Xs": pronouns[1], "x": short}
        return {"X": called, "Xs": _possessive(called), "x": called}

    def _aside(self, template: str, names: Mapping[str, str], thing: Thing) -> str:
        """Fill in an aside; the other things it names are often such as share a word with this page's."""
        own = {thing, *(f.object for f in self.world.facts.get(thing, {}).values())}

        def other(found: re.Match[str]) -> str:
            near = [t for word in thing.name.split() for t in self.alike[found[1], word] if t not in own]
            among = near if near and self.rng.random() < 0.5 else self.world.things[found[1]]
            return self.rng.choice([t for t in among if t not in own] or among).asked

        text = _SLOT.sub(other, template)
        return _capital(text.format(**names, year=self.rng.randint(1925, 2015), n=self.rng.randint(2, 40)))

    def _title(self, thing: Thing) -> str:
        chance = self.rng.random()
        if thing.shared or chance < _QUALIFIED:
            return thing.key
        return self.rng.choice(words.HEADLINES).format(name=thing.name) if chance < _QUALIFIED + _HEADLINE else thing.name

    def _paragraphs(self, sentences: list[str]) -> str:
        count = self.rng.randint(1, min(4, max(1, len(sentences) // 2)))
        cuts = sorted(self.rng.sample(range(1, len(sentences)), count - 1)) if count > 1 else []
        return "\n\n".join(" ".join(sentences[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=True))


def _wordings(fact: Fact, together: int) -> list[str]:
    """Return the sentences that tell a fact; joined with another, those that begin with the subject."""
    return [
        s for s in fact.relation.sentences if together == 1 or (s.startswith("{X} ") and "," not in s and "{x}" not in s)
    ]


def _sentence(templates: list[str], names: Mapping[str, str], facts: Iterable[Fact]) -> str:
    """Fill in the sentences; a second one goes on from the first with "and"."""
    first, *more = (t.format(**names, y=f.answer) for t, f in zip(templates, facts, strict=True))
    return _capital(
        "".join([first, *(f" and {text.removeprefix(names['X']).lstrip()}" for text in more)]).replace(". and ", " and ")
    )


def _possessive(name: str) -> str:
    return f"{name}'s"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
