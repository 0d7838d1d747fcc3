"""Word lists of English that the rules of local extraction use."""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")


def listed(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


def encodable(text: str) -> str:
    """Return a text as UTF-8 can hold it: what is half a character becomes U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


THING = listed("it its itself")
MANY = listed("they them their theirs themselves")
PERSON = listed("he she him his her hers himself herself")
FINITE = listed("VBZ VBP VBD MD")  # tags of verbs that make a sentence

MONTHS_AND_DAYS = listed(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday spring summer autumn fall winter
    """
)

# never a name by themselves
NO_NAMES = MONTHS_AND_DAYS | listed(
    """
    i me my mine you your yours he him his she her hers it its we us our ours they them their theirs this that these
    those who whom whose which what when where why how and or but nor for so yet if as at by in of on to from with the a
    an not no yes ok okay mr mrs ms dr sir madam lord lady inc ltd co corp jr sr ii iii iv etc eg ie vs am pm ad bc d.c
    figure fig note notes example see also however there here then now today yesterday tomorrow first second third one
    two three four five six seven eight nine ten north south east west northern southern eastern western hey hi hello
    thanks thank please sure yeah yep lol wow great awesome good lead new old big fm mw kw mhz khz ghz hz kg km cm mm tv
    hereinafter hereafter cd dvd lp ep zip erp hd url uri id rr ipa mph part volume version appendix
    """
)

# begin a sentence that tells the reader what to do, and no name
IMPERATIVES = listed(
    """
    Add Allow Apply Avoid Build Call Change Check Choose Click Compile Configure Copy Create Define Delete Disable Display
    Do Download Edit Enable Ensure Enter Execute Find Fix Fixed Get Give Go Ignore Import Include Install Issue Issuing Keep
    Launch Let Limit List Load Look Make Mark Modify Move Note Open Order Pass Perform Prevent Print Put Read Refer Remove
    Rename Replace Request Reset Return Returns Run Save See Select Send Set Show Specify Start Stop Store Submit Support
    Supports Switch Take Test Try Turn Type Update Updated Upgrade Use Using Verify View Visit Write
    """
)

# what a document may be about: "the film" stands for a film of that title, and alone names nothing
KINDS = listed(
    """
    academy act agency agreement airline airport album algorithm archive area army article artist asteroid association
    attack author award band bank base battle bay bill board boat book border borough bridge brand building campaign
    canal canton capital car castle cathedral center centre chain chamber championship channel character charity church
    city clan class club coast code college comedy commission committee commune community company competition conference
    conflict congress constituency constitution continent convention convoy corporation council country county course
    court creek cup currency dam database department deputy desert diocese director disease district dynasty edition
    election empire engine episode estate event exhibition express facility faith family festival fiction film firm flag
    fleet force forest fort foundation framework franchise game games garden gene genre glacier government group guild
    gulf hall harbor harbour highway hill history holiday hospital hotel house household hurricane industry institute
    institution instrument invasion island islands journal kingdom label lake language law league legislature library
    lighthouse line magazine manager mall mansion manufacturer market massacre match mausoleum memorial minister
    ministry mission model module monarchy monastery monument mosque motorway mountain mountains movement movie
    municipality museum musical mutiny network newspaper novel ocean office opera operation orchestra order organisation
    organization palace paper parish park parliament party pass peninsula people place plan planet plant platform play
    player plaza poem police port president prize product production program programme project protein protocol province
    publication publisher quarter queen race railroad railway range rebellion record regiment region reign religion
    republic reservoir resort restaurant review revolution river road route ruler school sea season senate sequel series
    service settlement shipyard shop show sea ship single sitcom site society software song soundtrack species sport
    square stadium state statement station store storm strait street studio suburb subway summit supermarket system team
    television temple territory theater theatre theory tool tournament tower town township track tract trail train
    treaty tribe trilogy tunnel union unit university valley vehicle vessel video village volcano war waterfall website
    wing work writer zone zoo
    """
)

PERSON_KINDS = listed("artist author deputy director manager minister player president queen ruler writer")

# before a person's name; the name is the same without them
HONORIFICS = listed(
    """
    prof professor dr sir dame lord lady king queen prince princess captain colonel general lieutenant major president
    senator governor mayor judge justice pope saint rev reverend bishop archbishop cardinal don archduke archduchess count
    duke emperor mr mrs ms miss admiral sergeant chancellor minister
    """
)

RULERS = listed("king queen emperor empress sultan emir tsar prince princess archduke archduchess duke duchess")

# ranks of rulers and peers, as in "John II, Duke of Cleves"
RANKS = listed(
    """
    king queen prince princess duke duchess count countess earl baron baroness baronet marquess marquis marquise viscount
    viscountess emperor empress landgrave landgravine margrave margravine elector palatine archduke archduchess tsar tsarina
    lord lady sir dame grand crown hereditary infante infanta sultan
    """
)

# ends of names of organizations
ORGANIZATIONS = listed(
    "university college institute company corporation association league union army navy party church states"
)

# inside a name, between capitalised words
LINKS = listed(
    """
    of de la le les du des del della di da das do dos van von der den ter zu al el bin ibn for & y
    """
)

# what may follow a possessive inside a name: St. John's College
AFTER_POSSESSIVE = listed(
    """
    academy army basin bay beach bridge castle cathedral church city club college corner court creek cross cup day
    championship championships hall harbor head hill hospital house island lake landing law league open palace park
    party peak point press prize republic ridge river school square state town university wood world
    """
)

_REGIONS = """
    Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|
    Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|
    Nevada|New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|
    Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia|Wisconsin|
    Wyoming|D.C|Puerto Rico|Alberta|British Columbia|Manitoba|New Brunswick|Newfoundland and Labrador|Nova Scotia|Ontario|
    Prince Edward Island|Quebec|Saskatchewan|Yukon|New South Wales|Northern Territory|Queensland|South Australia|Tasmania|
    Victoria|Western Australia|England|Scotland|Wales|Northern Ireland
"""
# places whose towns are titled "Town, Place"
REGIONS = frozenset(name.strip().casefold() for name in _REGIONS.split("|"))
