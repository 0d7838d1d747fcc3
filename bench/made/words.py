"""What a made-up world is told with: of each relation the sentences and the wordings of questions, and what else pages say.

In a sentence ``{X}`` is the subject where a sentence may begin with it (a name, its short form or a pronoun), ``{Xs}`` the
same as a possessive, ``{x}`` the subject elsewhere, ``{y}`` the object. In ``asks`` and ``nouns`` ``{x}`` is the subject.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
    """How one property of one kind of thing is told and asked for.

    ``target`` is the kind of the object, or the name of a list of ``VALUES``, or ``year``, ``count`` or ``thousands``.
    ``nouns`` embed the object into a longer question ("the town where {x} was born"); ``compares`` ask which of several
    things has the least (``first``) or most (``last``) of it. ``share`` is how many things of the kind have it told.
    """

    kind: str
    name: str
    target: str
    sentences: tuple[str, ...]
    asks: tuple[str, ...]
    nouns: tuple[str, ...] = ()
    compares: tuple[str, ...] = ()
    order: str = ""
    share: float = 0.7


def _relation(head: str, sentences: str, asks: str, nouns: str = "", compares: str = "", share: float = 0.7) -> Relation:
    kind, name, target, *order = head.split()
    return Relation(
        kind, name, target, _parts(sentences), _parts(asks), _parts(nouns), _parts(compares), "".join(order), share
    )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split("|") if part)


# kind: share of the documents, words for it, how a question tells it from another thing of the same name
KINDS: dict[str, tuple[float, str]] = {
    "person": (0.36, "person"),
    "company": (0.18, "company"),
    "town": (0.13, "town"),
    "product": (0.12, "lamp|kettle|bicycle|stove|radio|loom|clock|harmonium"),
    "school": (0.06, "school"),
    "festival": (0.06, "festival"),
    "book": (0.06, "novel"),
    "region": (0.03, "region"),
}
PROFESSIONS = (
    "glassblower|engineer|botanist|printer|watchmaker|architect|surveyor|chemist|weaver|shipwright|baker|luthier|cartographer"
    "|painter|teacher|potter"
).split("|")

RELATIONS: tuple[Relation, ...] = (
    _relation(
        "person born town",
        "{X} was born in {y}.|{X} came into the world in {y}, above a bakery.|{Xs} birthplace is {y}."
        "|A native of {y}, {x} could row before being able to read.",
        "Where was {x} born?|In which town was {x} born?|What is the birthplace of {x}?",
        "the town where {x} was born|the birthplace of {x}|the place {x} was born in",
        share=0.9,
    ),
    _relation(
        "person year year first",
        "{X} was born in {y}.|The parish book gives {y} as the year of {x}.|{X} was born in the wet spring of {y}.",
        "In which year was {x} born?|When was {x} born?",
        compares="Who was born first, {them}?|Who is the oldest, {them}?",
        share=0.95,
    ),
    _relation(
        "person studied school",
        "{X} studied at {y}.|{X} took a degree at {y} after two false starts."
        "|For four years {y} was home to {x}, as a student.",
        "Where did {x} study?|Which school did {x} attend?",
        "the school where {x} studied|the school that {x} attended",
    ),
    _relation(
        "person spouse person",
        "{X} is married to {y}.|{X} married {y} in a registry office on a rainy Tuesday.|{Xs} spouse is {y}.",
        "Who is {x} married to?|Who is the spouse of {x}?",
        "the spouse of {x}|the person {x} is married to",
        share=0.4,
    ),
    _relation(
        "person teacher person",
        "{X} learned the trade from {y}.|{y} taught {x} for six winters.|{Xs} teacher was {y}.",
        "Who taught {x}?|Who was the teacher of {x}?|From whom did {x} learn the trade?",
        "the teacher of {x}|the person who taught {x}",
        share=0.5,
    ),
    _relation(
        "person plays instruments",
        "{X} plays the {y}.|At weekends {x} plays the {y} with friends.|{X} is also a passable player of the {y}.",
        "Which instrument does {x} play?|What instrument is played by {x}?",
    ),
    _relation(
        "person prize prizes",
        "{X} received the {y}.|{X} was given the {y} at a dinner nobody enjoyed.|The {y} went to {x} that autumn.",
        "Which prize did {x} receive?|What award was {x} given?",
        share=0.5,
    ),
    _relation(
        "company founder person",
        "{X} was founded by {y}.|{y} started {x} with a loan from an aunt.|{X} was set up by {y} in a rented shed.",
        "Who founded {x}?|Who set up {x}?|Who started {x}?",
        "the founder of {x}|the person who founded {x}|whoever set up {x}",
        share=0.9,
    ),
    _relation(
        "company founded year first",
        "{X} was founded in {y}.|{X} has been in business since {y}.|The first ledger of {x} dates from {y}.",
        "In which year was {x} founded?|When was {x} founded?",
        compares="Which was founded first, {them}?|Which has been in business longest, {them}?",
        share=0.9,
    ),
    _relation(
        "company seat town",
        "{X} has its head office in {y}.|{X} is run from a brick building in {y}.|The head office of {x} is in {y}.",
        "In which town does {x} have its head office?|Where is the head office of {x}?|From where is {x} run?",
        "the town where {x} has its head office|the town {x} is run from",
        share=0.9,
    ),
    _relation(
        "company owner company",
        "{X} belongs to {y}.|Since the merger {x} has been owned by {y}.|{Xs} owner is {y}.",
        "Which company owns {x}?|Who owns {x}?",
        "the company that owns {x}|the owner of {x}",
        share=0.4,
    ),
    _relation(
        "company chief person",
        "{X} is led by {y}.|{y} has been chief executive of {x} since the reorganisation.|{Xs} chief executive is {y}.",
        "Who leads {x}?|Who is the chief executive of {x}?",
        "the chief executive of {x}|the person who leads {x}",
        share=0.6,
    ),
    _relation(
        "company goods goods",
        "{X} makes {y}.|{X} earns its living with {y}.|What leaves the yard of {x} is mostly {y}.",
        "What does {x} make?|Which goods does {x} produce?",
        share=0.9,
    ),
    _relation(
        "company staff count last",
        "{X} employs {y} people.|{X} has {y} people on the payroll.|There are {y} names on the payroll of {x}.",
        "How many people does {x} employ?|How many people work for {x}?",
        compares="Which employs the most people, {them}?|Which has the longest payroll, {them}?",
    ),
    _relation(
        "town region region",
        "{X} lies in {y}.|{X} is a market town in {y}.|On old maps {x} is the last town of {y}.",
        "In which region is {x}?|Which region does {x} lie in?",
        "the region in which {x} lies|the region around {x}",
        share=0.95,
    ),
    _relation(
        "town river rivers",
        "The {y} runs through {x}.|{X} stands on the {y}.|{X} grew up around a ford of the {y}.",
        "Which river runs through {x}?|On which river does {x} stand?",
        share=0.9,
    ),
    _relation(
        "town people thousands last",
        "{X} has {y} inhabitants.|At the last count {y} people lived in {x}.|{X} counts {y} souls.",
        "How many people live in {x}?|How many inhabitants does {x} have?",
        compares="Which has the most inhabitants, {them}?|Which is the most populous, {them}?",
        share=0.9,
    ),
    _relation(
        "town known pride",
        "{X} is known for its {y}.|Visitors come to {x} for the {y}.|{X} owes its fame to the {y}.",
        "What is {x} known for?|What do visitors come to {x} for?",
        share=0.9,
    ),
    _relation(
        "town mayor person",
        "{y} is mayor of {x}.|{X} elected {y} as mayor.|The mayor of {x} is {y}.",
        "Who is mayor of {x}?|Who is the mayor of {x}?",
        "the mayor of {x}|the person elected mayor of {x}",
    ),
    _relation(
        "town twin town",
        "{X} is twinned with {y}.|{Xs} twin town is {y}.",
        "Which town is {x} twinned with?|What is the twin town of {x}?",
        "the twin town of {x}|the town that {x} is twinned with",
        share=0.5,
    ),
    _relation(
        "product maker company",
        "{X} is made by {y}.|{y} has built {x} in two sizes.|{X} comes from the workshops of {y}.",
        "Which company makes {x}?|Who makes {x}?",
        "the company that makes {x}|the maker of {x}",
        share=0.95,
    ),
    _relation(
        "product designer person",
        "{X} was designed by {y}.|{y} drew {x} on the back of a menu.|{Xs} designer was {y}.",
        "Who designed {x}?|Who was the designer of {x}?",
        "the designer of {x}|the person who designed {x}",
    ),
    _relation(
        "product launched year first",
        "{X} came onto the market in {y}.|{X} was first sold in {y}.|Deliveries of {x} began in {y}.",
        "In which year did {x} come onto the market?|When was {x} first sold?",
        compares="Which came onto the market first, {them}?|Which was sold earliest, {them}?",
        share=0.9,
    ),
    _relation(
        "product material materials",
        "{X} is made of {y}.|Its frame of {y} sets {x} apart.|{X} has a body of {y}.",
        "What is {x} made of?|Of which material is the body of {x}?",
        share=0.9,
    ),
    _relation(
        "school place town",
        "{X} is in {y}.|{X} occupies an old warehouse in {y}.|The buildings of {x} stand in {y}.",
        "In which town is {x}?|Where do the buildings of {x} stand?",
        "the home town of {x}|the town that houses {x}",
        share=0.95,
    ),
    _relation(
        "school opened year first",
        "{X} opened its doors in {y}.|{X} was opened in {y}.|Lessons at {x} began in {y}.",
        "In which year was {x} opened?|When did {x} open its doors?",
        compares="Which opened first, {them}?|Which is the oldest, {them}?",
        share=0.9,
    ),
    _relation(
        "school head person",
        "{X} is headed by {y}.|{y} became head of {x} by a single vote.|{Xs} head is {y}.",
        "Who is the head of {x}?|Who heads {x}?",
        "the head of {x}|the person who heads {x}",
    ),
    _relation(
        "school subject subjects",
        "{X} is best known for teaching {y}.|People go to {x} for {y}.|{X} began with a single course, {y}.",
        "Which subject is {x} best known for?|Which subject do people go to {x} for?",
        share=0.9,
    ),
    _relation(
        "festival place town",
        "{X} is held in {y}.|{X} fills the squares of {y}.|Every year {y} is host to {x}.",
        "Where is {x} held?|Which town is host to {x}?",
        "the town where {x} is held|the host town of {x}",
        share=0.95,
    ),
    _relation(
        "festival since year first",
        "{X} was first held in {y}.|{X} goes back to {y}.",
        "In which year was {x} first held?|When was {x} held for the first time?",
        compares="Which was held first, {them}?|Which is the oldest, {them}?",
        share=0.9,
    ),
    _relation(
        "festival director person",
        "{X} is directed by {y}.|{y} runs {x} from a caravan.|{Xs} director is {y}.",
        "Who directs {x}?|Who runs {x}?|Who is the director of {x}?",
        "the director of {x}|the person who runs {x}",
    ),
    _relation(
        "festival month months",
        "{X} takes place in {y}.|{X} is a matter of one weekend in {y}.",
        "In which month does {x} take place?|Which month is {x} in?",
        share=0.9,
    ),
    _relation(
        "book author person",
        "{X} was written by {y}.|{y} wrote {x} in a single winter.|{X} is the work of {y}.",
        "Who wrote {x}?|Who is the author of {x}?",
        "the author of {x}|the person who wrote {x}",
        share=0.95,
    ),
    _relation(
        "book published year first",
        "{X} was published in {y}.|{X} reached the shops in {y}.",
        "In which year was {x} published?|When did {x} reach the shops?",
        compares="Which was published first, {them}?|Which reached the shops earliest, {them}?",
        share=0.9,
    ),
    _relation(
        "book setting town",
        "{X} is set in {y}.|{X} follows a family of millers in {y}.|Readers recognise {y} as the scene of {x}.",
        "Where is {x} set?|In which town does {x} take place?",
        "the town in which {x} is set|the setting of {x}",
        share=0.8,
    ),
    _relation(
        "region governor person",
        "{X} is governed by {y}.|{y} was appointed governor of {x}.|{Xs} governor is {y}.",
        "Who is the governor of {x}?|Who governs {x}?",
        "the governor of {x}|the person who governs {x}",
        share=0.9,
    ),
    _relation(
        "region capital town",
        "{X} has its assembly in {y}, its capital.|The capital of {x} is {y}.",
        "What is the capital of {x}?|Which town is the capital of {x}?",
        "the capital of {x}|the capital town of {x}",
        share=0.9,
    ),
    _relation(
        "region bird birds",
        "{X} has the {y} on its coat of arms.|The bird of {x} is the {y}.",
        "Which bird stands for {x}?|What is the bird of {x}?",
        share=0.9,
    ),
)

VALUES: dict[str, tuple[str, ...]] = {
    name: _parts(text)
    for name, text in {
        "instruments": "cello|oboe|accordion|banjo|bassoon|trombone|zither|mandolin|bagpipes|double bass|tuba|clarinet",
        "prizes": "Golden Thistle Medal|Aldous Prize|Copper Compass|Order of the Lantern|Hartmoor Award|Silver Plumb Line"
        "|Guild Cup|Winter Laurel|Ferris Medal|Blue Ribbon of Crafts",
        "goods": "bicycle saddles|water pumps|church bells|fishing nets|roof tiles|enamel signs|ship chandlery|piano strings"
        "|waxed coats|barometers|marmalade|matches|paper bags|violin varnish|rope|lenses|buttons|ploughs",
        "rivers": "Orle|Sarn|Tivet|Lune|Brask|Wendel|Marn|Issel|Corve|Dreva|Yarl|Pell|Nadder|Ouze",
        "pride": "salt works|covered bridges|smoked eel|plum orchards|tin mines|bell tower|horse market|sundials|lace"
        "|hot springs|hanging gardens|cider presses|rope walk|dovecotes|chalk figures|puppet theatre|leaning mill",
        "materials": "copper|beech wood|pressed steel|cast iron|bakelite|brass|porcelain|aluminium|walnut|tinplate",
        "subjects": "hydraulics|bookbinding|navigation|dyeing|midwifery|forestry|stonemasonry|optics|veterinary medicine"
        "|bridge building|typography|beekeeping",
        "months": "January|February|March|April|June|July|August|September|October|November",
        "birds": "bittern|lapwing|kestrel|wagtail|nightjar|dipper|shrike|crossbill|avocet|hoopoe",
    }.items()
}

# what a page says besides: {Person}, {town} ... is another thing of that kind, {year} and {n} are numbers
ASIDES: dict[str, tuple[str, ...]] = {
    "person": _parts(
        "{X} once turned down a post at {company}.|{X} spent a summer in {town} but did not stay."
        "|{X} is sometimes confused with {person}, who is no relation.|Letters to {person} have survived."
        "|{X} never finished reading {book}.|{X} applied to {school} twice and was refused."
        "|A repaired {product} stood on the desk.|{X} missed {festival} only in {year}.|{X} disliked travelling."
        "|Neighbours remember a dry sense of humour.|{X} kept a diary in a code of {n} signs.|{X} collects tram tickets."
        "|A street was nearly named after {x}, but the council ran out of money."
    ),
    "company": _parts(
        "A move to {town} was considered and dropped.|{company} sued over a patent and lost."
        "|{person} refused a seat on the board.|Tools were lent to {school} for a while."
        "|The canteen bought {n} copies of {book}.|A stand at {festival} was given up."
        "|An imitation of {product} was withdrawn in {year}.|The accounts are audited twice a year.|Strikes have been rare."
        "|The gates are painted green every spring.|In {year} a fire destroyed the pattern store."
    ),
    "town": _parts(
        "A railway to {town} was planned in {year} and never built.|{person} stayed at the inn for a week."
        "|{company} looked at a site by the station and went elsewhere.|Some claim that {book} was begun at the inn."
        "|The bakery opens at five.|Trains stop on request.|The old town wall has {n} gates left."
        "|{festival} was to move here, but the council said no.|The library has a {product} behind glass."
        "|Fog is common until noon."
    ),
    "product": _parts(
        "{person} was asked to improve it and declined.|{company} offered a cheaper copy.|One is on show in {town}."
        "|It was advertised at {festival}.|Reviewers preferred {product}.|Spare parts are hard to find."
        "|The manual has {n} pages.|A green version was dropped in {year}.|Collectors pay a good price for it."
    ),
    "school": _parts(
        "{person} was refused as a pupil.|A branch in {town} closed in {year}.|{company} gave {n} benches."
        "|Every pupil is handed a copy of {book}.|The bell is rung by hand.|Evening courses are free.|The roof leaks."
        "|The rowing match against {school} is lost every year."
    ),
    "festival": _parts(
        "{person} once arrived a day late.|{town} offered to take it over.|{company} paid for the lamps in {year}."
        "|{n} bakers take part.|Rain is part of it.|Readings from {book} were tried and given up.|Dogs are welcome."
        "|It is older than {festival}, its organisers like to say."
    ),
    "book": _parts(
        "{person} reviewed it badly.|A film was to be shot in {town}.|It is dedicated to the staff of {company}."
        "|The first printing had {n} errors.|It is read aloud at {festival}.|A sequel was announced in {year}."
        "|Critics compare it with {book}.|It has been translated into six languages."
    ),
    "region": _parts(
        "{person} walked across it in {n} days.|The road to {town} is closed in winter.|{company} holds a quarry there."
        "|Census takers were chased off in {year}.|Sheep outnumber people.|The dialect has no word for hurry."
    ),
}

LEADS: dict[str, tuple[str, ...]] = {
    "person": ("{name} is a {word}.", "{name} works as a {word}.", "{name}, a {word}, is known for patience."),
    "company": ("{name} is a company.", "{name} is a family business.", "{name} is a company with a long memory."),
    "town": ("{name} is a town.", "{name} is a small town with a market."),
    "product": ("{name} is a {word}.", "{name} is a {word} for everyday use."),
    "school": ("{name} is a school.", "{name} is a school of crafts."),
    "festival": ("{name} is a festival.", "{name} is a yearly festival."),
    "book": ("{name} is a novel.", "{name} is a novel in three parts."),
    "region": ("{name} is a region.", "{name} is a region of hills and moors."),
}
HEADLINES = ("How {name} began", "A day with {name}", "Remembering {name}", "Five questions about {name}")
PAPERS = ("Harbour Courier", "Guild Letter", "Evening Lantern", "Valley Gazette", "Market Observer", "Tidings")
PAPER_ASIDES = _parts(
    "The weather kept readers indoors.|Letters to the editor are on page {n}.|Last week's crossword had an error."
    "|The price of flour rose again.|The ferry ran late all week.|The chess club lost to visitors."
)
