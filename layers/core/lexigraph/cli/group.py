"""The commands, and how every one begins and ends: global options anywhere, one line an error, an exit code."""

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_from_info, get_group_from_info
from typer.models import CommandInfo, TyperInfo

from lexigraph.cli.exits import ExitCode, exit_code_of
from lexigraph.cli.output import printable
from lexigraph.model.errors import LexigraphError

# where each command, or group of commands, is; in the order in which help lists them
MODULES = {
    "ingest": "ingest.ingest",
    "query": "ask.query",
    "retrieve": "ask.retrieve",
    "recall": "recall.recall",
    "documents": "documents.app",
    "entities": "entities.app",
    "stats": "stats.stats",
    "doctor": "doctor.doctor",
    "backup": "backup.backup",
    "restore": "backup.restore",
    "export": "exchange.export",
    "import": "exchange.import_",
    "bulk": "bulk.app",
    "reembed": "reembed.reembed",
    "demo": "demo.demo",
    "serve": "serve.serve",
    "mcp": "serve.mcp",
    "keys": "keys.app",
    "bench": "bench.commands.app",
}
# global options that may also stand behind the command; True for those that take a value
HOISTED = {"--data": True, "--tenant": True, "--set": True, "--verbose": False, "-v": False}
_RESUME = "interrupted: what was finished stays; run the same command again and it goes on from there"


class Commands(TyperGroup):
    """The commands; each returns its exit code, nothing for OK, and whatever ends one early becomes one line on stderr.

    A command is imported when it is asked for: all of them take longer to load than a question to answer.
    """

    def main(self, args: Sequence[str] | None = None, *positional: Any, **options: Any) -> Any:
        """Run a command and exit."""
        args = hoisted(sys.argv[1:] if args is None else args) or ["--help"]
        options["standalone_mode"] = False
        verbose = "--verbose" in args or "-v" in args
        try:
            code = super().main(args, *positional, **options)
            sys.stdout.flush()
        except BrokenPipeError:
            code = _reader_left()
        except typer.Abort:
            code = _complain("cancelled", ExitCode.INTERRUPTED)
        except LexigraphError as error:
            code = _complain(f"error: {error}", exit_code_of(error), verbose)
        except OSError as error:  # of the system, as a full disk below stdout
            place = f"{error.filename}: " if error.filename else ""
            code = _complain(f"error: {place}{(error.strerror or str(error)).lower()}", ExitCode.UNEXPECTED, verbose)
        except Exception as error:  # noqa: BLE001  # the last resort of a program
            code = _usage_or_bug(error, verbose)
        sys.exit(int(code or 0))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # the parser's interface
        """Return the names of the commands."""
        return [*MODULES]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # the parser's interface
        """Return a command, None for an unknown name."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of a parsed command line; for an unknown name, an error that suggests those like it."""
        if args[0] not in MODULES:
            for name in MODULES:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command of a parsed command line."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return _reader_left()
        except KeyboardInterrupt:
            return _complain(_RESUME, ExitCode.INTERRUPTED)


def _load(name: str) -> Any:
    module, _, attribute = MODULES[name].rpartition(".")
    found = getattr(import_module(f"lexigraph.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        group = TyperInfo(found, name=name)
        return get_group_from_info(group, pretty_exceptions_short=False, suggest_commands=True, rich_markup_mode=None)
    return get_command_from_info(CommandInfo(name, callback=found), pretty_exceptions_short=False, rich_markup_mode=None)


def hoisted(args: Sequence[str]) -> list[str]:
    """Return the arguments with the global options in front, where the parser wants them; ``--`` ends the search."""
    front: list[str] = []
    rest: list[str] = []
    todo = list(args)
    while todo:
        word = todo.pop(0)
        if word == "--":
            rest += [word, *todo]
            break
        name = word.partition("=")[0] if word.startswith("--") else word
        if name not in HOISTED:
            rest.append(word)
        elif HOISTED[name] and "=" not in word:
            front += [word, *todo[:1]]
            del todo[:1]
        else:
            front.append(word)
    return front + rest


def _reader_left() -> ExitCode:
    """End well: the reader has what it wanted. What is still buffered must not fail when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.OK


def _complain(message: str, code: ExitCode, verbose: bool = False) -> ExitCode:
    if verbose:
        traceback.print_exc()
    sys.stderr.write(printable(" ".join(message.split())) + "\n")
    return code


def _usage_or_bug(error: Exception, verbose: bool) -> int:
    """Tell a mistake on the command line, for which the parser has its own exceptions, from one of the program."""
    show = getattr(error, "format_message", None)
    if show is None:
        return _complain(
            f"unexpected error: {type(error).__name__}: {error} (--verbose shows where; please report it)",
            ExitCode.UNEXPECTED,
            verbose,
        )
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    told = show().rstrip(".").replace("Value error, ", "")  # what a library puts before the words of a check
    return _complain(f"error: {told}{hint}", ExitCode.INVALID)
