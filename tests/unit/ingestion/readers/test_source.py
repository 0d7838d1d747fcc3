"""Source code and configuration: a section a definition, what its comments say, and the code as it stands."""

from pathlib import Path

import pytest

from tests.unit.ingestion.readers.reading import of_role, outline, parts, read, refused

PYTHON = '''\
#!/usr/bin/env python3
# -*- coding: utf-8 -*-
# Copyright 2026 The Harbour Authors
# SPDX-License-Identifier: Apache-2.0
"""Cranes of the harbour.

They lift what boats bring.
"""

import os

LIMIT = 20


@dataclass
class Crane:
    """What lifts crates."""

    load: int = 0


# Nobody may stand below.
def lift(crate, height=2):
    """Lift a crate from a boat.

    :param crate: what is lifted
    :rtype: float
    """
    # inner remark
    return os.path.join(crate, str(height))
'''

GO = """\
/*
 * Copyright (c) 2026 The Harbour Authors.
 * Licensed under the Apache License, Version 2.0.
 */

package harbour

// Pier is where boats lie.
type Pier struct {
	number int
}

// Moor lets a boat lie at the pier. It fails when
// the pier is taken.
func (p *Pier) Moor(boat string) error {
	return nil
}
"""

JAVA = """\
package harbour;

/**
 * Counts {@code boats} at the <b>gate</b>.
 *
 * @since 2
 */
public final class Gate {
    private int count;
SPARE
    /** Lets a boat in. @param is no tag here. */
    public void enter(Boat boat) {
        count++;
    }

    public int count() {
        return count;
    }
}
""".replace("SPARE\n", "".join(f"    private int spare{n};\n" for n in range(40)))


def test_definitions_are_sections_their_documentation_is_text_and_their_code_one_block(tmp_path: Path) -> None:
    document = read(tmp_path, "crane.py", PYTHON)
    assert document.title == f"{tmp_path.name}/crane.py"
    assert document.metadata["file_type"] == "source"
    assert parts(document) == [
        ("boilerplate", (), "Copyright 2026 The Harbour Authors\nSPDX-License-Identifier: Apache-2.0"),
        ("paragraph", (), "Cranes of the harbour."),
        ("paragraph", (), "They lift what boats bring."),
        ("code", (), "import os"),
        ("code", (), "LIMIT = 20"),
        ("paragraph", ("Crane",), "What lifts crates."),
        ("code", ("Crane",), "@dataclass\nclass Crane:\n\n    load: int = 0"),
        ("paragraph", ("lift",), "Nobody may stand below."),
        ("paragraph", ("lift",), "Lift a crate from a boat."),
        ("list", ("lift",), "- param crate: what is lifted"),
        ("list", ("lift",), "- returns float"),
        (
            "code",
            ("lift",),
            "def lift(crate, height=2):\n    # inner remark\n    return os.path.join(crate, str(height))",
        ),
    ]


def test_comments_of_other_languages_are_read_alike(tmp_path: Path) -> None:
    document = read(tmp_path, "pier.go", GO)
    assert outline(document) == [(), ("Pier",), ("Moor",)]
    assert of_role(document, "paragraph") == [
        "Pier is where boats lie.",
        "Moor lets a boat lie at the pier. It fails when\nthe pier is taken.".replace("\n", " "),
    ]
    assert len(of_role(document, "boilerplate")) == 1
    assert of_role(document, "code")[-1] == "func (p *Pier) Moor(boat string) error {\n\treturn nil\n}"


def test_a_long_class_is_cut_at_its_members(tmp_path: Path) -> None:
    document = read(tmp_path, "Gate.java", JAVA)
    assert outline(document) == [(), ("Gate",), ("Gate", "enter"), ("Gate", "count")]
    assert of_role(document, "paragraph")[0] == "Counts boats at the gate."
    assert of_role(document, "list") == ["- since 2"]
    assert "public int count() {\n    return count;\n}" in of_role(document, "code")[-1]


MEMBERS = """\
import { Boat } from "./boat";

/** What a gate is set to. */
export interface GateOptions {
    /** How many boats may pass at once. */
    readonly width?: number;
    /**
     * Opens for a boat.
     */
    open(boat: Boat): void;
    plain: string;
SPARE
}
""".replace("SPARE\n", "".join(f"    spare{n}: number;\n" for n in range(40)))

HEADER = """\
class HARBOUR_EXPORT Gate : public Door {
 public:
  /// How wide it stands, in metres.
  static const int kWidth = 4;
  /// Opens for a boat.
  virtual Status Open(const Boat& boat) = 0;
SPARE
};
""".replace("SPARE\n", "".join(f"  int spare{n};\n" for n in range(40)))


@pytest.mark.parametrize(
    ("name", "text", "sections"),
    [
        ("gate.d.ts", MEMBERS, [(), ("GateOptions",), ("GateOptions", "width"), ("GateOptions", "open")]),
        ("gate.h", HEADER, [("Gate",), ("Gate", "kWidth"), ("Gate", "Open")]),
    ],
)
def test_members_that_a_comment_documents_are_sections(
    tmp_path: Path, name: str, text: str, sections: list[tuple[str, ...]]
) -> None:
    document = read(tmp_path, name, text)
    assert outline(document) == sections
    assert "Opens for a boat." in of_role(document, "paragraph")


def test_notices_stand_anywhere_in_the_comment_at_the_head(tmp_path: Path) -> None:
    head = (
        "/* gate.c - opens and closes. */\n/*\n * Copyright 2026 The Harbour Authors\n *\n"
        " * Permission is  hereby  granted, free of charge.\n *\n"
        " * The above copyright notice shall be included in all copies.\n */\n"
        "// Licensed under the Apache License.\n//\n//     http://www.apache.org/licenses/LICENSE-2.0\n//\n"
        "// Unless required by applicable law, it is distributed as it is.\n//===---===//\n\n// Gates are shut at night.\n\n"
    )
    document = read(tmp_path, "gate.c", f"{head}int width = 4;\n")
    assert of_role(document, "paragraph") == ["gate.c - opens and closes.", "Gates are shut at night."]
    assert len(of_role(document, "boilerplate")) == 1


@pytest.mark.parametrize(
    ("name", "text", "sections"),
    [
        ("a.toml", 'name = "x"\n\n[tool.ruff]\nline-length = 9\n\n[[items]]\nid = 1\n', ["tool.ruff", "items"]),
        ("a.yaml", "name: x\njobs:\n  build:\n    steps: 2\non:\n  - push\n", ["jobs", "on"]),
        (
            "a.sql",
            "-- Boats\nCREATE TABLE IF NOT EXISTS boats (\n  name text\n);\n\ncreate or replace view free as select 1;\n",
            ["boats", "free"],
        ),
        ("a.sh", "set -e\n\nmoor() {\n  echo $1\n}\n\nfunction leave {\n  exit\n}\n", ["moor", "leave"]),
        ("a.js", "const a = 1;\n\nexport const moor = async (boat) => {\n  return boat;\n};\n", ["moor"]),
        ("a.c", "#include <stdio.h>\n\nstatic int\nmoor(int pier)\n{\n  return pier;\n}\n", ["moor"]),
        ("a.css", "body {\n  margin: 0;\n}\n\n.pier {\n  color: red;\n}\n", [".pier"]),
        ("Makefile", "all: build\n\nbuild: main.c  ## make it\n\tcc main.c\n", ["build"]),
    ],
)
def test_sections_are_found_in_many_languages(tmp_path: Path, name: str, text: str, sections: list[str]) -> None:
    document = read(tmp_path, name, text)
    assert [path[-1] for path in outline(document) if path] == sections
    code = "\n".join(of_role(document, "code"))
    assert all(line.strip() in code for line in text.splitlines() if line.strip() and not line.startswith("--"))


def test_minified_code_is_kept_and_says_nothing(tmp_path: Path) -> None:
    document = read(tmp_path, "a.ts", "function moor() {\n  return 1;\n}\n\nfunction all() {\n  " + "x=1;" * 1000 + "\n}\n")
    assert [role for role, _, _ in parts(document)] == ["code", "boilerplate"]


@pytest.mark.parametrize("name", ["jquery.min.js", "searchindex.js", "theme.css"])
def test_a_file_that_is_minified_is_refused_and_long_lines_of_data_are_not(tmp_path: Path, name: str) -> None:
    written = "/*! Moor 2.1 | MIT */\n" + "a{b:c}" * 1000 + "\n"
    assert refused(tmp_path, name, written) == "is minified: use the files that it was made from"
    assert read(tmp_path, "dump.sql", "INSERT INTO boats VALUES " + "(1,'Moor')," * 1000 + "(2,'Kelm');\n").text


def test_a_file_that_is_all_comment_is_text(tmp_path: Path) -> None:
    document = read(tmp_path, "a.py", "# Copyright 2026 The Harbour Authors\n# Licensed under the Apache License.\n")
    assert [role for role, _, _ in parts(document)] == ["paragraph"]


SETTINGS = """\
# Settings of the harbour. Lines that begin with a sign are ignored.

# How many boats may wait before the gate.
#
QUEUE_LENGTH\t12

# Where the tide is written down.
#TIDE_FILE=/srv/tide
#TIDE_LOG=/srv/tide.log

# Nobody may lift without a crane.

MODE strict
"""


def test_what_a_comment_says_belongs_to_the_setting_below_it_even_if_that_is_commented_out(tmp_path: Path) -> None:
    document = read(tmp_path, "harbour.conf", SETTINGS)
    assert parts(document) == [
        ("paragraph", (), "Settings of the harbour. Lines that begin with a sign are ignored."),
        ("paragraph", ("QUEUE_LENGTH",), "How many boats may wait before the gate."),
        ("code", ("QUEUE_LENGTH",), "QUEUE_LENGTH\t12"),
        ("paragraph", ("TIDE_FILE, TIDE_LOG",), "Where the tide is written down."),
        ("code", ("TIDE_FILE, TIDE_LOG",), "#TIDE_FILE=/srv/tide\n#TIDE_LOG=/srv/tide.log"),
        ("paragraph", ("MODE",), "Nobody may lift without a crane."),
        ("code", ("MODE",), "MODE strict"),
    ]


def test_settings_stand_in_the_section_of_their_file(tmp_path: Path) -> None:
    text = "[crane]\n; Crates at once.\nload = 3\n\n;   height 4\n;   width 2\n;   speed 9\n;   colour red\n"
    assert parts(read(tmp_path, "a.ini", text)) == [
        ("code", ("crane",), "[crane]"),
        ("paragraph", ("crane", "load"), "Crates at once."),
        ("code", ("crane", "load"), "load = 3"),
        ("code", ("crane",), ";   height 4\n;   width 2\n;   speed 9\n;   colour red"),
    ]


def test_configuration_in_braces_is_read_as_source_code(tmp_path: Path) -> None:
    document = read(tmp_path, "a.conf", "server {\n    port 80;\n}\n\n# Log\nmode strict\n")
    assert outline(document) == [()]


@pytest.mark.parametrize(
    ("name", "code", "blocks"),
    [
        (
            "limits.py",
            'import os\nfrom a import B\n\nRETRIES: int = 0\nNAMES = (\n    "a",\n)\nlog = get()\n\n# bytes\nCHUNK = 10\n',
            ["import os\nfrom a import B", 'RETRIES: int = 0\nNAMES = (\n    "a",\n)', "log = get()", "# bytes\nCHUNK = 10"],
        ),
        (
            "limits.h",
            "#ifndef LIMITS_H\n#include <a.h>\n\n#define LIMIT_OK  0\n#define LIMIT_ERR (-1)\n\nint run(int a);\n#endif\n",
            [
                "#ifndef LIMITS_H\n#include <a.h>",
                "#define LIMIT_OK  0\n#define LIMIT_ERR (-1)",
                "int run(int a);\n#endif",
            ],
        ),
        (
            "limits.rs",
            "use std::io;\n\npub const RETRIES: u32 = 3;\n",
            ["use std::io;", "pub const RETRIES: u32 = 3;"],
        ),
    ],
)
def test_constants_stand_apart_from_imports_each_run_of_them_a_block(
    tmp_path: Path, name: str, code: str, blocks: list[str]
) -> None:
    assert of_role(read(tmp_path, name, code), "code") == blocks
