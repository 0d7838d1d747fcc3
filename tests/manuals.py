"""Manuals of tools that do not exist, in the shape and length of real ones: options, files, defaults, errors, examples.

All of them tell the same kinds of things in nearly the same words, and name their tool now and then, as manuals do.
"""

from dataclasses import dataclass
from random import Random

PURPOSES = {
    "tidegate": ("opens and closes the sluices of a harbour", "sluice"),
    "ferrysync": ("copies timetables between landing stages", "timetable"),
    "lampctl": ("switches the lamps of a lighthouse", "lamp"),
    "granaryd": ("keeps account of the grain in a silo", "silo"),
    "bellring": ("rings church bells at set hours", "bell"),
    "quarrymap": ("draws maps of quarries from soundings", "quarry"),
    "orchardscan": ("counts the fruit on photographs of trees", "tree"),
    "kilnwatch": ("records the heat of pottery kilns", "kiln"),
    "millrace": ("measures the water that drives a mill", "wheel"),
    "dovecote": ("carries short messages between farms", "message"),
    "tollhouse": ("collects road tolls from carriers", "carrier"),
    "saltpan": ("plans the flooding of salt pans", "pan"),
    "peatstore": ("weighs peat as it comes from the bog", "load"),
    "hopgarden": ("waters hops by the weather of the day", "row"),
    "rookery": ("listens for birds and tells their kinds", "call"),
    "weirkeeper": ("guards the level of a river above a weir", "gauge"),
}
VERBS = ("calibrate", "list", "merge", "export", "verify", "pause", "archive", "rename")


@dataclass(frozen=True)
class Tool:
    """A tool and what only its manual says of it."""

    name: str
    purpose: str
    thing: str
    port: int
    timeout: int
    tries: int
    user: str
    variable: str
    error: str

    @property
    def config(self) -> str:
        return f"/etc/{self.name}/{self.name}.conf"


def tools() -> list[Tool]:
    rng = Random(7)
    made = []
    for number, (name, (purpose, thing)) in enumerate(PURPOSES.items()):
        port, timeout = 4_100 + 37 * number, 11 + 3 * number
        variable = f"{name[:4].upper()}_{thing.upper()}_PATH"
        made.append(
            Tool(name, purpose, thing, port, timeout, rng.randint(2, 9), f"_{name[:5]}", variable, f"E{7_000 + 11 * number}")
        )
    return made


def manual(tool: Tool) -> str:
    """Return the text of a manual, some five pages."""
    rng, n, thing = Random(tool.name), tool.name, tool.thing
    options = "\n\n".join(
        f"### --{verb}-{thing}s\n\nWith this option {n} will {verb} every {thing} that the command line names. "
        f"Without a name it will {verb} all of them, {rng.choice(['oldest first', 'newest first', 'in their order'])}. "
        f"It {rng.choice(['may be given several times', 'cannot be joined with --dry-run', 'implies --verbose'])}. "
        f"Since version {rng.randint(1, 4)}.{rng.randint(0, 9)} the order of the names is kept."
        for verb in VERBS
    )
    return f"""## Description

The program {n} {tool.purpose}. It runs in the background and is told what to do by short commands.
Every {thing} has a name of up to forty letters. A {thing} that nobody has named for a year is forgotten.
Commands are read from left to right, and the first that fails ends the run.

## Options

{options}

## Network

Clients reach the service over TCP. The default port is {tool.port}. Another one is set with --port.
A connection that says nothing is closed after a timeout of {tool.timeout} seconds.
A request that fails is tried {tool.tries} times before it is given up. Between two tries the pause is doubled.
Addresses may be written as names or as numbers. IPv6 addresses stand in square brackets.

## Files

The configuration is read from {tool.config} when the service starts. Lines that begin with a hash are comments.
Records are kept below /var/lib/{n} in one file a day. Files older than ninety days are compressed.
A lock in /run/{n}.pid keeps a second copy from starting.

## Environment

The variable {tool.variable} tells where the {thing}s are looked for. An empty value stands for the current folder.
When LANG is set, dates are written as is usual there.

## Security

The service gives up its rights as soon as it has opened its port and goes on as the user {tool.user}.
Passwords are never written to the log. Keys have to be readable by their owner only.

## Diagnostics

Error {tool.error} means that a {thing} is locked by another client. Wait, or take the lock away with --force.
The exit status is 0 when all went well and 3 when a {thing} was not found.
With --verbose each step is told in a line of its own.

## Examples

To see what would be done, give --dry-run. To watch the service at work, follow its log.
A list of every {thing} is written to a file with --export-{thing}s and the name of the file.
"""


def manuals() -> dict[str, str]:
    """Return the manuals by title."""
    return {f"{tool.name}(8)": manual(tool) for tool in tools()}


def questions() -> list[str]:
    """Return sixty questions that say what they are about, mixed."""
    asked = []
    for tool in tools():
        asked += [
            f"Which port does {tool.name} use by default?",
            f"Where is the configuration of {tool.name} read from?",
            f"What does error {tool.error} mean?",
            f"What is {tool.variable} for?",
        ]
    Random(11).shuffle(asked)
    return asked[:60]
