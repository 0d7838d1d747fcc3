"""Long documents with a chain of three links told far apart: made by seed, in the shape of chronicles and handbooks.

Each tells of many chains of one kind. The question follows one of them: it names the first thing and asks for the last, and
all the others are told in the very same words. Between them stand passages that talk like the question and answer nothing.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """A kind of document: its headings, the words of its three links, and what its passages are filled with."""

    title: str
    headings: str  # between commas, as words
    names: tuple[str, str, str, str]
    links: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    question: str
    direct: tuple[str, str, str]
    alike: tuple[str, ...]
    prose: tuple[str, ...]
    words: str


@dataclass(frozen=True)
class LongDocument:
    """A document as Markdown; ``links`` are the sentences of the chain that the ``question`` follows.

    ``direct`` are questions, each with the sentence that answers it alone.
    """

    title: str
    text: str
    question: str
    links: tuple[str, str, str]
    direct: tuple[tuple[str, str], ...]


THEMES = (
    Theme(
        "Chronicle of the Harbour of {place}",
        (
            "The Early Years, Weather and Tides, The Pilots, Trade in Grain, The Great Fire, "
            "The Customs House, Signals, The Breakwater, Strikes and Wages, The Winter of the Ice, "
            "Charts and Soundings, After the War"
        ),
        ("Captain {first} {last}", "the {ship}", "the {last} yard", "{first} {last}"),
        (
            (
                "{A} sailed out of the harbour as master of {b} for eleven seasons.",
                "In those years {A} had command of {b}, and would hear of no other ship.",
            ),
            (
                "{B} was laid down and launched at {c}, where the slips were the longest on that coast.",
                "It was at {c} that {b} had been built, of oak that was felled in the hills.",
            ),
            (
                "{C} was bought with the money of {d}, who never set foot on a ship.",
                "The money for {c} came from {d}, and was never paid back.",
            ),
        ),
        "Whose money paid for the yard that built the ship commanded by {a}?",
        ("Which ship did {a} command?", "At which yard was {b} built?", "Whose money paid for {c}?"),
        (
            "Whose money had built a ship, and who commanded her, was asked of every captain before he was given a berth.",
            "A captain who commanded a ship without a yard behind him had to find money of his own, and few paid in time.",
            "Yards built what captains wished for, and the money was paid in three parts, the last of them at the launch.",
            "The council asked who paid for the yards, and was told that money for building ships was nobody's business.",
        ),
        (
            "The {noun} was rebuilt in the {season} after the storm had carried off its roof.",
            "Nobody could remember a {season} when so many nets were hung out to dry along the {noun}.",
            "A clerk of the {noun} noted the price of salt, {number} shillings, and that the bread was bad.",
            "Ice lay before the {noun} until the middle of the {season}, and the pilots mended their boats.",
            "From the {noun} a lamp could be seen at {number} miles, or so the keeper said.",
            "Of the {number} families that lived behind the {noun} not one owned the house it lived in.",
            "The bell of the {noun} was rung at six, and again when the gates were closed.",
            "Complaints about the {noun} fill a whole drawer, most of them in the same hand.",
            "In the {season} the herring came late, and {number} barrels were all that was landed.",
            "An inspector found {number} rats in the {noun}, and advised that a cat be kept at public cost.",
            "The road to the {noun} was paved with ballast, which is why stones from far away lie there.",
            "What was written about the {noun} in the papers of the time is not to be trusted.",
        ),
        (
            "warehouse, rope walk, pilots' house, fish market, lighthouse, customs shed, north quay, "
            "chapel, sail loft, weigh house"
        ),
    ),
    Theme(
        "Operations Handbook of the {place} Platform",
        (
            "Introduction, Naming, Deployments, Backups, Monitoring, Incident Reports, Capacity, Access, "
            "Certificates, Networks, Retention of Logs, Glossary and History"
        ),
        ("the {word} service", "the {ship} queue", "the {last} worker", "{first} {last}"),
        (
            (
                "{A} writes its events to {b}, one message for each change.",
                "All events of {a} go to {b}, in the order in which they arose.",
            ),
            (
                "Messages in {b} are drained by {c}, which keeps four connections open.",
                "{C} drains {b} and retries each message three times.",
            ),
            (
                "{C} is maintained by {d}, who also wrote its first version.",
                "Questions about {c} go to {d}, who maintains it.",
            ),
        ),
        "Who maintains the worker that drains the queue to which {a} writes its events?",
        ("To which queue does {a} write its events?", "Which worker drains {b}?", "Who maintains {c}?"),
        (
            "A service that writes events to a queue must say which worker drains it and who maintains that worker.",
            "Workers drain queues in the order of their events, and whoever maintains one is asked before it is changed.",
            "If nobody maintains a worker any more, the queue that it drains is closed and its service writes to a file.",
            "Events that a service writes twice are dropped by the worker, so that the queue is drained all the same.",
        ),
        (
            "The {noun} is checked every {number} minutes, and a failed check is repeated once before anybody is woken.",
            "In the {season} the {noun} was moved to the second building without an interruption.",
            "Limits of the {noun} are set to {number} percent of what was measured in the load test.",
            "Do not restart the {noun} by hand: the supervisor does it within {number} seconds.",
            "A change to the {noun} needs a review, a test in staging and an entry in the calendar.",
            "The {noun} keeps its files for {number} days; older ones are compressed and moved.",
            "When the {noun} is full, alerts are sent by mail first and by telephone a quarter of an hour later.",
            "The format of the {noun} was changed in the {season}; readers accept both until further notice.",
            "Passwords of the {noun} are rotated each quarter, the last time in the {season}.",
            "Numbers in the report on the {noun} are medians over {number} runs.",
            "Whoever is on call finds the plan of the {noun} in the second folder, printed on paper.",
            "The {noun} once lost {number} entries, which the incident report explains in full.",
        ),
        (
            "dashboard, load balancer, backup store, name server, build cluster, log archive, test network, "
            "gateway, database, scheduler"
        ),
    ),
    Theme(
        "The University of {place}: A Guide to its Institutes",
        (
            "Foundation, The Library, Student Life, The Botanical Garden, Examinations, The Observatory, "
            "Prizes, The Refectory, Collections, The Senate, Journeys and Expeditions, Statutes"
        ),
        ("Professor {first} {last}", "the Institute of {word} Studies", "{last} Hall", "{first} {last}"),
        (
            (
                "{A} has been head of {b} since the reform of the faculties.",
                "At the head of {b} stands {a}, who came from abroad.",
            ),
            ("{B} has its rooms in {c}, on the two upper floors.", "In {c}, behind the old gate, {b} is housed."),
            (
                "{C} was designed by {d}, whose drawings are kept in the archive.",
                "The architect of {c} was {d}, who drew every window by hand.",
            ),
        ),
        "Which architect designed the building that houses the institute headed by {a}?",
        ("Which institute does {a} head?", "In which building is {b} housed?", "Who was the architect of {c}?"),
        (
            "An institute is headed by a professor and housed in a building that an architect designed for another purpose.",
            "Architects who designed buildings for institutes seldom asked the professors who were to head them.",
            "Which building houses which institute is decided by the senate, whatever the professor who heads it may wish.",
            "Every head of an institute is shown the building that houses it, and told the name of its architect once.",
        ),
        (
            "The {noun} is open from nine to five, and in the {season} until eight.",
            "Students complained that the {noun} was cold, and {number} of them signed a letter.",
            "A portrait of the founder hung in the {noun} until the {season} in which it was stolen.",
            "The {noun} holds {number} volumes, of which a third have never been lent.",
            "In the {season} examinations are held in the {noun}, by order of the alphabet.",
            "The {noun} was endowed with {number} crowns a year, which no longer pay for the candles.",
            "Visitors to the {noun} are asked to leave bags and umbrellas with the porter.",
            "Under the {noun} runs a stream that floods the cellar every few years.",
            "A prize for the best essay is handed over in the {noun}, with {number} guests at most.",
            "The roof of the {noun} was repaired with copper that the town had given.",
            "Nobody may smoke in the {noun}, a rule that is older than tobacco in this country.",
            "The guide to the {noun} is out of print, but the porter has {number} copies left.",
        ),
        (
            "reading room, great hall, herbarium, refectory, porter's lodge, boat house, map room, "
            "cloister, print shop, museum"
        ),
    ),
)
_FIRST = (
    "Ines Odile Marta Lena Clara Edith Hanna Petra Saskia Tilda Anton Bruno Casper Emil Felix Gustav Henrik Ivo Jonas Klaus"
).split()
_STEMS = "Callow Tarn Vel Hask Brenn Ost Dun Kell Lor Pend Quin Rav Sorr Wend Yar Bram Fen Gar Hol Jess".split()
_ENDS = "stead croft ard wick ley mond aker ine stone ton".split()
_WORDS = (
    "Aurelia Halcyon Meridian Cassiope Tamarisk Ondine Peregrine Sabrina Corinth Zephyr Lorelei Amaranth "
    "Calypso Vesper Galatea Iolanthe Marigold Nereid Pandora Selene Thetis Undine Verbena Arcadia Bellona"
).split()
_KINDS = (
    "Alluvial Baltic Comparative Dialect Estuarine Folklore Glacial Heraldic Insular Juridical "
    "Kinship Lacustrine Maritime Numismatic Oriental Palatine Quarry Rhetorical Sylvan Textile"
).split()
_PLACES = "Embermere Stowhaven Oakminster Millport Kestead Drayford Netherwick Lindcombe Harrowdale Pockness".split()
_CHAINS = 14  # told in one document; the question follows the first
_SENTENCES, _PASSAGES = (6, 9), 70


def long_document(seed: int) -> LongDocument:
    """Return the document of a seed: 70 passages of 100 to 150 words under twelve headings."""
    rng = random.Random(seed)
    theme = THEMES[seed % len(THEMES)]
    last = [stem + end for stem in _STEMS for end in _ENDS]
    pools = {name: rng.sample(words, len(words)) for name, words in (("last", last), ("ship", _WORDS), ("word", _KINDS))}

    def name(pattern: str) -> str:
        filled = {"first": rng.choice(_FIRST)} | {k: pool[-1] for k, pool in pools.items()}
        for key, pool in pools.items():
            if f"{{{key}}}" in pattern:
                pool.pop()
        return pattern.format(**filled)

    chains = [tuple(name(pattern) for pattern in theme.names) for _ in range(_CHAINS)]
    told = [_told(theme, chain, rng) for chain in chains]
    passages = [[sentence] for links in told for sentence in links] + [[sentence] for sentence in theme.alike * 2]
    passages += [[] for _ in range(_PASSAGES - len(passages))]
    for passage in passages:
        at = rng.randint(0, 3)
        filler = [_filler(theme, rng) for _ in range(rng.randint(*_SENTENCES))]
        passage[:] = [*filler[:at], *passage, *filler[at:]]
    rng.shuffle(passages)
    headings = theme.headings.split(", ")
    title = theme.title.format(place=rng.choice(_PLACES))
    each = len(passages) // len(headings) + 1
    sections = [
        f"## {heading}\n\n" + "\n\n".join(" ".join(p) for p in passages[n * each : (n + 1) * each])
        for n, heading in enumerate(headings)
    ]
    followed = [dict(zip("abcd", chain, strict=True)) for chain in chains]
    return LongDocument(
        title=title,
        text=f"# {title}\n\n" + "\n\n".join(sections),
        question=theme.question.format(**followed[0]),
        links=told[0],
        direct=tuple(
            (ask.format(**followed[n]), told[n][link]) for n in range(1, 3) for link, ask in enumerate(theme.direct)
        ),
    )


def _told(theme: Theme, chain: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    named = dict(zip("abcd", chain, strict=True))
    named |= {key.upper(): value[0].upper() + value[1:] for key, value in named.items()}
    return tuple(rng.choice(ways).format(**named) for ways in theme.links)


def _filler(theme: Theme, rng: random.Random) -> str:
    season = f"{rng.choice(('spring', 'summer', 'autumn', 'winter'))} of {rng.randint(1805, 1960)}"
    return rng.choice(theme.prose).format(noun=rng.choice(theme.words.split(", ")), season=season, number=rng.randint(3, 90))
