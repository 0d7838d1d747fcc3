"""Markdown as people write it for several tools."""

from lexigraph.ingestion.readers.markdown import read_markdown
from lexigraph.settings import load_settings


def parts(source: str) -> list[tuple[str, str, str]]:
    """Each block as (role, heading path, text)."""
    parsed = read_markdown(source.encode(), load_settings())
    return [(b.role, " > ".join(b.headings), parsed.text[b.start : b.end]) for b in parsed.blocks]


def test_a_list_of_links_into_the_page_is_a_table_of_contents() -> None:
    source = """\
# Kilns

- [Heat](#heat)
  1. [Cones](#cones)
- [Wood](#wood)
- [Glazes](glazes.md)

## Heat {#heat}

- [Cones](cones.md)
- [Clay](clay.md)
- [Ash](ash.md)
"""
    assert parts(source) == [
        ("boilerplate", "Kilns", "Heat\nCones\nWood\nGlazes"),
        ("list", "Kilns > Heat", "- Cones"),
        ("list", "Kilns > Heat", "- Clay"),
        ("list", "Kilns > Heat", "- Ash"),
    ]


def test_badges_say_nothing_and_other_pictures_what_they_show() -> None:
    source = """\
# kiln [![npm](https://img.shields.io/npm/v/kiln.svg)](https://www.npmjs.com/package/kiln)

[![CI](https://github.com/kiln/kiln/actions/workflows/ci.yml/badge.svg)](https://github.com/kiln/kiln/actions)
![Coverage](https://codecov.io/gh/kiln/kiln/graph.svg)

<p><a href="#"><img src="https://badgen.net/npm/dt/kiln" alt="Downloads"></a> <img src="kiln.svg" alt="A kiln at dusk"></p>

[![The badge of a guild](img/badge.png)](img/large.png)
"""
    assert parts(source) == [("paragraph", "kiln", "A kiln at dusk"), ("paragraph", "kiln", "The badge of a guild")]


def test_a_line_in_bold_is_a_heading_and_a_sentence_in_bold_is_none() -> None:
    source = """\
**For potters**

# Kiln

**Examples**

Fire it slowly.

**Never open it hot.**

**Woods:**

- Oak

> **Ash**

## Glazes

Dip them twice.
"""
    assert parts(source) == [
        ("paragraph", "", "For potters"),
        ("paragraph", "Kiln > Examples", "Fire it slowly."),
        ("paragraph", "Kiln > Examples", "Never open it hot."),
        ("paragraph", "Kiln > Examples", "Woods:"),
        ("list", "Kiln > Examples", "- Oak"),
        ("paragraph", "Kiln > Examples", "Ash"),
        ("paragraph", "Kiln > Glazes", "Dip them twice."),
    ]


def test_callouts_of_all_kinds_begin_with_what_they_are() -> None:
    source = """\
> [!WARNING]
> Open the flue first.

!!! note "Before you light it"
    Dry the clay.

```{tip}
:class: margin
Use dry {ref}`wood <all-woods>`. See {program}`kiln` and [the cones][].
```

```{versionadded} 3.1
```

```{versionchanged} 3.2
It waits.
```

[the cones]: cones.md

:::caution

It is hot.

:::
"""
    assert [text for _, _, text in parts(source)] == [
        "Warning: Open the flue first.",
        "Note: Dry the clay.",
        "Tip: Use dry wood. See kiln and the cones.",
        "New in version 3.1",
        "Changed in version 3.2: It waits.",
        "Caution: It is hot.",
    ]


def test_code_is_whole_and_signs_for_tools_are_no_text() -> None:
    source = """\
(label)=

# Code <a id="code"></a>

[TOC]

<!-- a comment -->
1. Light it:

   ```python
   kiln.light()

   kiln.wait()
   ```

```{code-block} python
:caption: two

kiln.open()
```

```{toctree}
:hidden:
clay
```

[a definition]: https://example.org
"""
    assert parts(source) == [
        ("list", "Code", "1. Light it:"),
        ("code", "Code", "kiln.light()\n\nkiln.wait()"),
        ("code", "Code", "kiln.open()"),
        ("boilerplate", "Code", "clay"),
    ]


def test_lists_are_read_however_deep_people_nest_them() -> None:
    source = "".join(f"{'  ' * depth}- point {depth}\n" for depth in range(40))
    assert [text for _, _, text in parts(source)] == [f"- point {depth}" for depth in range(40)]


def test_quotations_are_read_however_deep_an_exchange_goes() -> None:
    source = "".join(f"{'>' * depth} answer {depth}\n{'>' * depth}\n" for depth in range(1, 60))
    assert [text for _, _, text in parts(source)] == [f"answer {depth}" for depth in range(1, 60)]
