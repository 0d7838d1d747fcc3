"""The macros of ``mdoc(7)`` that stand within lines: what they enclose, and how their words are said."""

import re
from collections.abc import Callable, Mapping, Sequence

OPENING, _MIDDLE, CLOSING = frozenset("(["), frozenset("|"), frozenset(".,:;)]?!")
DELIMITERS = OPENING | _MIDDLE | CLOSING
# what encloses the rest of its line, the macros that open and close the same over lines, the signs
_ENCLOSURES = (
    ("Op", "Oo", "Oc", "[", "]"),
    ("Pq", "Po", "Pc", "(", ")"),
    ("Bq", "Bo", "Bc", "[", "]"),
    ("Brq", "Bro", "Brc", "{", "}"),
    ("Aq", "Ao", "Ac", "<", ">"),
    ("Dq", "Do", "Dc", "“", "”"),
    ("Sq", "So", "Sc", "‘", "’"),
    ("Qq", "Qo", "Qc", '"', '"'),
    ("Ql", "", "", "‘", "’"),
    ("", "Xo", "Xc", "", ""),
    ("", "Eo", "Ec", "", ""),
    ("", "Fo", "Fc", "", ""),
)
LINES = {line: (opening, closing) for line, _, _, opening, closing in _ENCLOSURES if line}
OPENING_MACROS = {begin: (opening, closing) for _, begin, _, opening, closing in _ENCLOSURES if begin}
CLOSING_MACROS = {end: begin for _, begin, end, _, _ in _ENCLOSURES if end}

_SYSTEMS = {"Bsx": "BSD/OS", "Dx": "DragonFly", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Ux": "UNIX"}
_POSIX = re.compile(r"-p1003\.(\w+)(?:-(\d\d)?(\d\d))?")
_STANDARDS = {
    "-ansiC": "ANSI X3.159-1989 (“ANSI C89”)",
    "-ansiC-89": "ANSI X3.159-1989 (“ANSI C89”)",
    "-isoC": "ISO/IEC 9899:1990 (“ISO C90”)",
    "-isoC-90": "ISO/IEC 9899:1990 (“ISO C90”)",
    "-isoC-99": "ISO/IEC 9899:1999 (“ISO C99”)",
    "-isoC-2011": "ISO/IEC 9899:2011 (“ISO C11”)",
    "-isoC-2023": "ISO/IEC 9899:2024 (“ISO C23”)",
    "-xpg3": "X/Open Portability Guide Issue 3 (“XPG3”)",
    "-xpg4": "X/Open Portability Guide Issue 4 (“XPG4”)",
    "-xpg4.2": "X/Open Portability Guide Issue 4, Version 2 (“XPG4.2”)",
    "-susv1": "Version 1 of the Single UNIX Specification (“SUSv1”)",
    "-susv2": "Version 2 of the Single UNIX Specification (“SUSv2”)",
    "-susv3": "Version 3 of the Single UNIX Specification (“SUSv3”)",
    "-susv4": "Version 4 of the Single UNIX Specification (“SUSv4”)",
    "-svid4": "System V Interface Definition, Fourth Edition (“SVID4”)",
    "-ieee754": "IEEE Std 754-1985",
}


def _standard(words: Sequence[str]) -> list[str]:
    given, *rest = [*words, ""][: max(len(words), 1)]
    if found := _POSIX.fullmatch(given):
        year = f"-{found[2] or '19'}{found[3]}" if found[3] else ""
        return [f"IEEE Std 1003.{found[1]}{year} (“POSIX.{found[1]}”)", *rest]
    return [_STANDARDS.get(given, given.lstrip("-")), *rest]


def _att(words: Sequence[str]) -> list[str]:
    given, *rest = [*words, ""][: max(len(words), 1)]
    system, _, release = given.partition(".")
    if system == "V":
        return [f"AT&T System V{f' Release {release}' if release else ''} UNIX", *rest]
    version = given.removeprefix("v").upper()
    return ["AT&T System III UNIX" if given == "III" else f"Version {version} AT&T UNIX" if given else "AT&T UNIX", *rest]


def _library(words: Sequence[str]) -> list[str]:
    known = "Standard C Library (libc, -lc)"
    return [known if word == "libc" else f"{word} (-l{word.removeprefix('lib')})" for word in words]


def _link(words: Sequence[str]) -> list[str]:
    return [f"{' '.join(words[1:])}: {words[0]}" if words[1:] else "".join(words)]


def _system(name: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda words: [" ".join([name, *words])]


# how the words of a macro are said, of those that have no default and do more than to mark them
SAID: Mapping[str, Callable[[Sequence[str]], list[str]]] = {
    "Fl": lambda words: [f"-{word}" for word in words] or ["-"],
    "Xr": lambda words: [f"{words[0]}({words[1]})" if words[1:] else "".join(words), *words[2:]],
    "Fn": lambda words: [f"{words[0]}({', '.join(words[1:])})"] if words else [],
    "Fa": lambda words: [", ".join(words)],
    "In": lambda words: [f"<{' '.join(words)}>"],
    "An": lambda words: [word for word in words if word not in ("-split", "-nosplit")],
    "Bx": lambda words: [f"{''.join(words[:1])}BSD{''.join(f'-{word}' for word in words[1:2])}", *words[2:]],
    "At": _att,
    "St": _standard,
    "Lb": _library,
    "Lk": _link,
    **{name: _system(system) for name, system in _SYSTEMS.items()},
}
DEFAULTS = {"Ar": ["file", "..."], "Pa": ["~"], "Mt": ["~"]}
_AS_THEY_ARE = "Ad Cd Cm Dv Em Er Ev Fd Fr Ft Hf Ic Li Ms Nm No Sx Sy Tn Va Vt %A %B %C %D %I %J %N %O %P %Q %R %T %U %V"
WORDS = frozenset([*_AS_THEY_ARE.split(), *SAID, *DEFAULTS])
INLINE = WORDS.union(LINES, OPENING_MACROS, CLOSING_MACROS, ("Ns", "Ap", "Pf", "Ta"))
NOT_CALLED = frozenset(("Fd", "Lb"))  # they are macros at the head of a line only
ON_NEW_LINE = frozenset("Nm Fn Fo Ft In Fd Vt Cd".split())  # in a synopsis
REFERENCE = "ATBIJRNVUPQCDO"  # the parts of a reference, in the order in which they are printed
