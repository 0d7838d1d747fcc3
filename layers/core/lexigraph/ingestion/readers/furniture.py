"""What of a page is furniture: navigation, tables of contents, feet, what an e-mail quotes.

It is told by names and by the share of links.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

_ROLES = frozenset({"navigation", "menu", "menubar", "search", "contentinfo", "doc-toc", "directory"})
# names of classes and ids that say it alone, and those that say it of something made of links
_NAVIGATION = re.compile(r"nav(?:bar|box|igation|header|footer|links|path)?|breadcrumbs?|crumbs|pagination|pager|prev-?next")
_LINKED = re.compile(
    r"(?:.*[-_])?(?:toc|toctree-wrapper|contents|tableofcontents|shortcontents|sidebar|sphinxsidebar|menu|header|footer|"
    r"navfooter|navheader|nav|navigation|breadcrumbs?|related|rellinks|catlinks|printfooter|bodytoc)(?:[-_].*)?"
)
_TURNS = frozenset("next previous prev up home top back forward first last contents index main page".split())
_ARROW = re.compile(r"<<|[«‹←⇐]|(?:>>|[»›→⇒])\s*$")
_WORD = re.compile(r"\w+")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|/", re.IGNORECASE)
_LISTS = frozenset({"ul", "ol", "dl", "table", "menu"})
_BLOCKS = _LISTS | {"div", "p", "section", "header", "footer", "aside", "center", "td", "tr"}
# how programs for e-mail call what a reply quotes, the line above it and the signature
_MAIL = frozenset(
    "gmail_quote gmail_attr gmail_signature moz-cite-prefix moz-signature yahoo_quoted protonmail_quote".split()
)
_FORWARDED = re.compile(r"forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado", re.IGNORECASE)
_MOST = 0.9
_HALF = 0.5
_TURNING_CHARS = 200
_FIRST_TEXTS = 5
_FEW = 3  # links below which a list is no table of contents


@dataclass(slots=True)
class _Count:
    """What an element holds.

    Letters: all, within links, in links to places near, in tables of contents. Links. Headings of the page. Stretches of
    text that turn pages ("Next", "Up"), and stretches outside links that do not.
    """

    chars: int = 0
    linked: int = 0
    near: int = 0
    listed: int = 0
    links: int = 0
    heads: int = 0
    turns: int = 0
    other: int = 0

    def add(self, inner: "_Count") -> None:
        self.chars += inner.chars
        self.linked += inner.linked
        self.near += inner.near
        self.listed += inner.listed
        self.links += inner.links
        self.heads += inner.heads
        self.turns += inner.turns
        self.other += inner.other


def furniture(root: Any) -> set[Any]:
    """Return the elements below ``root`` that are navigation, tables of contents, or quoted in an e-mail.

    A page that holds little but lists of links is an index: its lists are what it says.
    """
    turning: list[tuple[Any, int]] = []
    listing: list[Any] = []
    quoted: set[Any] = set()
    total = _Count()
    for tag, count in _counted(root):
        if tag is root:
            total = count
        elif _is_of_mail(tag):
            quoted.add(tag)
        elif tag.tag in _BLOCKS and count.links and not count.heads:
            if _turns(tag, count):
                turning.append((tag, count.chars))
            elif _lists(tag, count):
                count.listed = count.chars
                listing.append(tag)
    found = {tag for tag, chars in turning if chars < total.chars * _MOST}
    around = sum(chars for tag, chars in turning if tag in found)
    return found | quoted | set(listing if total.chars - around - total.listed > total.listed else ())


def _is_of_mail(tag: Any) -> bool:
    """Tell what a reply quotes, not what it forwards, and signatures."""
    if tag.tag not in ("blockquote", "div", "pre"):
        return False
    if (tag.get("type") or "").casefold() != "cite" and _MAIL.isdisjoint(_names(tag)):
        return False
    return not _FORWARDED.search("".join(islice(tag.itertext(), _FIRST_TEXTS)))


def _counted(root: Any) -> Iterator[tuple[Any, _Count]]:
    """Yield each element with its count, the inner ones first."""
    from lxml import etree

    open_counts = [_Count()]
    links = 0
    for event, tag in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            links += _is_link(tag)
            open_counts.append(_Count())
            _letters(open_counts[-1], tag.text, links > 0)
            continue
        count = open_counts.pop()
        if _is_link(tag):
            links -= 1
            count.links += 1
            count.near = 0 if _ELSEWHERE.match(tag.get("href")) else count.linked
        elif tag.tag == "img":
            _letters(count, tag.get("alt"), links > 0)
        elif tag.tag in ("h1", "h2", "h3"):
            count.heads += tag.tag == "h1" or not count.links
        yield tag, count
        open_counts[-1].add(count)
        if tag is not root:
            _letters(open_counts[-1], tag.tail, links > 0)


def _is_link(tag: Any) -> bool:
    return tag.tag == "a" and bool(tag.get("href"))


def _letters(count: _Count, text: str | None, linked: bool) -> None:
    bare = text.strip() if text else ""
    if not any(map(str.isalpha, bare)) and not _ARROW.search(bare):
        return
    count.chars += len(bare)
    count.linked += len(bare) * linked
    words = _WORD.findall(bare.casefold()) if len(bare) < _TURNING_CHARS else ["other"]
    if (words and _TURNS.issuperset(words)) or (linked and _ARROW.search(bare)):
        count.turns += 1
    elif words and not linked:
        count.other += 1


def _names(tag: Any) -> list[str]:
    return f"{tag.get('class') or ''} {tag.get('id') or ''}".casefold().split()


def _turns(tag: Any, count: _Count) -> bool:
    """Tell navigation: by its role or name, or as words such as "Next" and "Up" beside links and nothing else."""
    if tag.get("role") in _ROLES or any(map(_NAVIGATION.fullmatch, _names(tag))):
        return True
    return not count.other and count.turns * 2 >= max(count.links, 1)


def _lists(tag: Any, count: _Count) -> bool:
    """Tell a table of contents: a thing of that name made of links, or a list of links into this page and to its side."""
    if count.linked > count.chars * _HALF and any(map(_LINKED.fullmatch, _names(tag))):
        return True
    return tag.tag in _LISTS and count.links >= _FEW and count.near > count.chars * _MOST
