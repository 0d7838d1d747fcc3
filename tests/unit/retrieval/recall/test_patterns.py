"""Regular expressions from users: what is one, what it is looked up by, and that none takes long."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.recall.patterns import MAX_CHARS, compile_pattern, looks_like_pattern
from tests.processor import soon

FRAGMENTS = {
    "KnownHostsFile": ("knownhostsfile",),
    r"\w+KnownHostsFile": ("knownhostsfile",),
    r"JWT-\d+": ("jwt-",),
    "^JWT authentication": ("jwt authentication",),
    "JWT|OAuth": ("jwt", "oauth"),
    "(JWT|OAuth) tokens?": (" token",),
    "(?i)jwt": ("jwt",),
    "colou?r": ("colo",),
    "foo{0,2}bar": ("bar",),
    "ab{2}c": ("ab",),
    r"\bnode\b": ("node",),
    r"C\+\+ code": ("c++ code",),
    r"\w+(tion|sion)": ("tion", "sion"),
    "JWT.*decision": ("decision",),
    r"\p{Greek} word": (" word",),
    "(?P<name>alpha) beta": ("alpha",),
    "[[:alpha:]]+ xyz": (" xyz",),
    r"\d{4}-\d{2}": ("-",),
}
UNKNOWN = [
    r"\d{4}",
    "x*|long",  # one alternative does without
    "(?:alpha|)",
    "(alpha)?",
    "(alpha)*",
    "(alpha){0,3}",
    r"\x41lpha|beta",
    r"\Qa.b\E word",
    "a{x|b",  # a brace that is no quantifier
    "\u05e9\u05dc",
    "",
]


@pytest.mark.parametrize(("pattern", "fragments"), FRAGMENTS.items())
def test_a_pattern_tells_what_it_cannot_do_without(pattern: str, fragments: tuple[str, ...]) -> None:
    assert compile_pattern(pattern).fragments == fragments


@pytest.mark.parametrize("pattern", UNKNOWN)
def test_a_pattern_that_may_do_without_tells_nothing(pattern: str) -> None:
    assert compile_pattern(pattern).fragments == ()


def test_a_pattern_of_very_many_fragments_tells_nothing() -> None:
    assert compile_pattern("|".join(f"word{n}" for n in range(17))).fragments == ()


# what a pattern may consist of, with something that each matches
_ATOMS = [("ab", "ab"), ("cde", "cde"), ("x", "x"), (" ", " "), ("-", "-"), (r"\d", "7"), (r"\w", "q"), (".", "z")]
_ATOMS += [("[a-c]", "b"), (r"\s", " "), (r"\.", "."), (".", " ")]
_TIMES = {"": (1, 1), "?": (0, 1), "*": (0, 2), "+": (1, 2), "{0,2}": (0, 2), "{2}": (2, 2)}


@st.composite
def matched(draw: st.DrawFn, depth: int = 2) -> tuple[str, str]:
    """A pattern and a text that it matches from the beginning to the end."""
    pattern, text = "", ""
    for _ in range(draw(st.integers(1, 4))):
        one, other = (draw(matched(depth - 1)) for _ in range(2)) if depth and draw(st.booleans()) else (None, None)
        times = draw(st.sampled_from(list(_TIMES)))
        count = draw(st.integers(*_TIMES[times]))
        if one and other:
            group = draw(st.sampled_from([f"({one[0]}|{other[0]})", f"(?:{one[0]})"]))
            pattern, text = pattern + group + times, text + one[1] * count
        else:
            atom, example = draw(st.sampled_from(_ATOMS))
            letter = atom if atom[0] in "\\[" else atom[-1]
            pattern += atom + times
            text += example[: len(example) - 1] + example[-1] * count if letter != atom else example * count
    return pattern, text


@pytest.mark.nightly
@settings(max_examples=200, derandomize=True, database=None)
@given(matched())
def test_what_a_pattern_matches_holds_one_of_its_fragments(pair: tuple[str, str]) -> None:
    pattern, text = pair
    if len(pattern) > MAX_CHARS:
        return
    compiled = compile_pattern(pattern)
    assert compiled.covers([text]) != [0.0]
    if compiled.fragments:
        assert any(fragment in text.lower() for fragment in compiled.fragments), (text, compiled.fragments)


@pytest.mark.parametrize(
    "query", ["^JWT", "INV-\\d+", "a|b", "foo.*bar", "colou?r", "[A-Z]{3}", "x+y", "(foo)?bar", "(?i)jwt", "end$"]
)
def test_metacharacters_make_a_pattern(query: str) -> None:
    assert looks_like_pattern(query)


@pytest.mark.parametrize(
    "query", ["Who founded Acme?", "C++ and C#", "what is pi (3.14)?", "node.js", "A+ grade.", "R&D (2020)", "e.g. this"]
)
def test_sentences_are_no_patterns(query: str) -> None:
    assert not looks_like_pattern(query)


@pytest.mark.requirement("M-10")
def test_a_pattern_is_found_anywhere_in_any_case_and_lines_begin_and_end() -> None:
    def found(pattern: str, text: str) -> bool:
        return compile_pattern(pattern).covers([text]) != [0.0]

    assert found("wt", "JWT is used")
    assert found("^second", "First.\nSecond.")
    assert not found("^irst", "First.")
    assert found("first$", "This is first\nand more")
    assert found("(?-i)JWT", "JWT")
    assert not found("(?-i)jwt", "JWT")
    assert found("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd")


def test_the_more_of_a_text_a_match_takes_up_the_better() -> None:
    whole, half, none, empty = compile_pattern("a+").covers(["aaaa", "aabb", "bbbb", ""])
    assert (whole, half, none, empty) == (1.0, 0.5, 0.0, 0.0)
    assert compile_pattern("b*").covers(["aaaa"]) == [0.125]


@pytest.mark.requirement("M-22")
@pytest.mark.parametrize("pattern", ["(", "[a", "a{1001}", "(?=a)", r"(a)\1", "*a", "C++", "x" * 201])
def test_what_is_no_pattern_or_too_long_is_refused_with_the_remedy(pattern: str) -> None:
    with pytest.raises(InvalidInput, match=r"query .*(correct it|shorten it|repeat less)"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*$",
        "(x+x+)+y",
        "((a*)*)*b",
        "(.*)(.*)(.*)(.*)(.*)(.*)(.*)b",
        "(a|b|c|d|.){200}",
        ".{900}x",
        "(a?){99}a{99}",
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    texts = ["a" * 10_000 + "!", *["a" * 500 + "!"] * 1_500]

    def tried() -> None:
        try:
            assert len(compile_pattern(pattern).covers(texts)) == len(texts)
        except InvalidInput as error:
            assert "repeat less" in str(error)

    # ten times of what it takes at most: backtracking would take hours
    assert soon(tried, seconds=10)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(hunter2", "missing )"),
        ("hunter2)", "unexpected )"),
        ("[hunter2", "missing ]"),
        ("x(?<hunter2)", "invalid named capture group"),
        ("x{2}**hunter2", "bad repetition operator"),
    ],
)
def test_a_wrong_pattern_is_refused_with_the_reason_and_without_its_text(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_pattern(pattern)
    assert f"({reason})" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert "**" not in str(refused.value)
