"""What Neptune's openCypher lacks, and what its documentation leaves open: refused by the stand-in.

Nothing here knows the queries of the product: a query is taken apart into tokens, and these are looked through.
"""

import re
from itertools import pairwise, takewhile

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|(?P<quoted>`[^`]*`)
    |(?P<parameter>\$\w+)|(?P<number>\d+\.\d+(?:[eE][+-]?\d+)?|\d+)|(?P<name>[A-Za-z_]\w*)|(?P<sign><>|<=|>=|=~|\.\.|\+=|.)""",
    re.VERBOSE | re.DOTALL,
)
CLAUSES = set("CALL CREATE DELETE LIMIT MATCH MERGE ON ORDER REMOVE RETURN SET SKIP UNION UNWIND WHERE WITH".split())
UPDATES = {"CREATE", "MERGE", "SET", "REMOVE", "DELETE"}
# the functions of Neptune's openCypher (user guide, "openCypher specification compliance"), in lower case
_FUNCTIONS = set(
    """abs acos asin atan atan2 avg ceil coalesce collect cos cot count degrees e endnode epochmillis exists exp floor head
    id join keys labels last left length log log10 ltrim max min nodes percentilecont percentiledisc pi properties radians
    rand randomuuid range relationships removekeyfrommap replace reverse right round rtrim sign sin size split sqrt
    startnode stdev stdevp substring sum tail tan timestamp toboolean tofloat tointeger tolower tostring toupper trim
    type""".split()
)
# what a bracket may follow that is no function
_WORDS = CLAUSES | set("ALL AND AS BY CASE CONTAINS DETACH DISTINCT ELSE IN IS NOT OPTIONAL OR THEN WHEN XOR".split())
# reserved by the openCypher specification (version 9, which Neptune follows): no variable or parameter without backticks
_RESERVED = _WORDS | set(
    """ADD ASC ASCENDING CONSTRAINT DESC DESCENDING DO DROP ENDS EXISTS FALSE FOR IS MANDATORY NULL OF REQUIRE SCALAR STARTS
    TRUE UNIQUE END""".split()
)
_NO_CLAUSES = {"FOREACH", "LOAD", "INDEX", "CONSTRAINT", "YIELD", "MANDATORY"}


class Unsupported(Exception):
    """Neptune refuses the query; ``code`` is the one of its data API."""

    def __init__(self, message: str, code: str = "MalformedQueryException") -> None:
        super().__init__(message)
        self.code = code


class Token(str):
    """A word or sign of a query, and the blanks before it."""

    blank = ""


def tokens(query: str) -> list[Token]:
    """Take a query apart."""
    solid: list[Token] = []
    blank = ""
    for found in _TOKEN.finditer(query):
        if found.lastgroup == "blank":
            blank = " "
        else:
            solid.append(Token(found.group()))
            solid[-1].blank, blank = blank, ""
    return solid


def writes(solid: list[Token]) -> bool:
    """Whether a query changes anything."""
    return any(token.upper() in UPDATES and not is_member(solid, at) for at, token in enumerate(solid))


def is_member(solid: list[Token], at: int) -> bool:
    """Whether a name is a property, a label, a type or the key of a map, not a word of the language."""
    before, after = solid[at - 1] if at else "", solid[at + 1] if at + 1 < len(solid) else ""
    return before in (".", ":", "|", "$") or after == ":"


def refuse(solid: list[Token]) -> None:
    """Raise ``Unsupported`` for a query that Neptune refuses, or of which nobody says that it does not."""
    variables = {
        solid[at + 1] for at, token in enumerate(solid[:-1]) if token == "(" or solid[at - 1 : at + 1] == ["-", "["]
    }
    _refuse_names(solid)
    _refuse_nulls(solid)
    _refuse_unknown(solid)
    for at, token in enumerate(solid):
        after = solid[at + 1] if at + 1 < len(solid) else ""
        if token == "`~id`" and solid[at - 1] == "." and solid[at - 2] in variables:
            raise Unsupported("an id is read as id(n) and never changed", "UnsupportedOperationException")
        if is_member(solid, at):
            continue
        word = token.upper()
        if word in _NO_CLAUSES or (word == "CALL" and after != "{"):
            raise Unsupported(f"{word} is not supported")
        if after == "(" and re.match(r"[A-Za-z_]", token) and word not in _WORDS and token.lower() not in _FUNCTIONS:
            raise Unsupported(f"function {token}() is not supported")
        if token == "^" or (token == "]" and after == "."):
            raise Unsupported("the operator ^, and a property of list[index], are not supported")
        if after == "{" and word in ("EXISTS", "COUNT", "COLLECT"):
            raise Unsupported(f"{word} {{}} is not supported")
        if word == "SET" and re.match(r"\w+$", after) and solid[at + 2 : at + 3] == ["="]:
            raise Unsupported("the stand-in replaces no whole node; SET n += map adds", "UnsupportedOperationException")
        if word in ("SKIP", "LIMIT") and not (after.isdigit() or after.startswith("$")):
            raise Unsupported(f"{word} takes a number or a parameter")
    if "UNION" in [token.upper() for token in solid] and writes(solid):
        raise Unsupported("UNION of queries that update is not supported", "UnsupportedOperationException")


def _refuse_names(solid: list[Token]) -> None:
    for before, token in pairwise(solid):
        name = token[1:] if token.startswith("$") else token if before.upper() == "AS" else ""
        if name.upper() in _RESERVED:
            raise Unsupported(f"{name} is reserved")


def _refuse_nulls(solid: list[Token]) -> None:
    """Refuse SET on what an OPTIONAL MATCH may leave null, and another OPTIONAL MATCH from there.

    No documentation says what Neptune does: a look for what has the id null, or stands beside null, could be one at all
    nodes.
    """
    bound, nullable, fresh, clause = set[str](), set[str](), set[str](), ""
    outside: list[tuple[set[str], set[str]] | None] = []  # what was known before each bracket that is open; None of a map
    for at, token in enumerate(solid[1:], 1):
        before, called = solid[at - 1], _is_called(solid, at - 2)
        if token == "{":
            outside.append((set(bound), set(nullable)) if before.upper() == "CALL" else None)
        elif token == "}" and (known := outside.pop()):
            bound, nullable = known
        elif token.upper() == "UNION":
            bound, nullable = map(set, outside[-1] or (set(), set())) if outside else (set(), set())
        elif token.upper() in CLAUSES and not is_member(solid, at):
            clause = "OPTIONAL" if before.upper() == "OPTIONAL" else token.upper()
            fresh = set()
            if token.upper() == "WITH":
                kept = set(takewhile(lambda word: word.upper() not in CLAUSES, solid[at + 1 :]))
                bound, nullable = bound & kept, nullable & kept
        elif clause == "OPTIONAL" and token in nullable - fresh and before in ("(", ":"):
            raise Unsupported(f"OPTIONAL MATCH from {token}, which may be null")
        elif before.upper() == "AS" and solid[at - 3] == "." and solid[at - 4] in nullable:
            nullable.add(token)
        elif before.upper() == "AS" or (before in ("(", "[") and not called):
            if clause != "OPTIONAL":
                nullable.discard(token)
            elif token not in bound:
                nullable.add(token)
                fresh.add(token)
            bound.add(token)
        elif clause == "SET" and token in nullable:
            raise Unsupported(f"SET on {token}, which may be null")


def _refuse_unknown(solid: list[Token]) -> None:
    """Refuse properties of what came out of a list that was computed, until a MATCH says that it is a node.

    Neptune has to know what it reads a property of ("Property access over ambiguous type is not supported in this release",
    awslabs/graphrag-toolkit issue 12): maps of parameters, since engine 1.4.1.0, and variables of patterns.
    """
    unknown, unwound = set[str](), ""
    for at, token in enumerate(solid[:-1]):
        before, after = solid[at - 1] if at else "", solid[at + 1]
        if token.upper() == "UNWIND":
            unwound = "" if after.startswith("$") or solid[at + 2] == "." else after
        elif before.upper() == "AS":
            if unwound or (solid[at - 2] == "]" and _is_index(solid, at - 2)):
                unknown.add(token)
            else:
                unknown.discard(token)
            unwound = ""
        elif (before == "(" and not _is_called(solid, at - 2)) or (before == "[" and after.upper() == "IN"):
            unknown.discard(token)
        elif token in unknown and after == "." and before != ".":
            raise Unsupported(f"the type of {token} is not known", "UnsupportedOperationException")


def _is_called(solid: list[Token], at: int) -> bool:
    return bool(re.match(r"[A-Za-z_]", solid[at])) and solid[at].upper() not in _WORDS


def _is_index(solid: list[Token], end: int) -> bool:
    depth = 0
    for at in range(end, 0, -1):
        depth += (solid[at] == "]") - (solid[at] == "[")
        if not depth:
            return bool(re.match(r"[\w`)\]]", solid[at - 1])) and solid[at - 1].upper() not in _WORDS
    return False
