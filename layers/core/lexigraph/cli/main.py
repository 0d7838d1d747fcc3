"""The command line ``lexigraph``: :func:`run` is its entry point."""

import io
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from lexigraph import __version__
from lexigraph.cli.exits import ExitCode
from lexigraph.cli.group import Commands
from lexigraph.cli.invocation import Invocation, assignments, start_logging
from lexigraph.settings import Settings

_EXIT_CODES = "\n".join(f"  {code.value:>3}  {code.meaning}" for code in ExitCode)
_VARIABLES = "\n".join(
    f"  LEXIGRAPH_{name.upper():<22} {field.description}" for name, field in Settings.model_fields.items()
)
# \b keeps the lines after it as they are
_EPILOG = f"""Global options may also follow the command.

\b
Exit codes
{_EXIT_CODES}

\b
Settings: environment variables, or lines of a file .env in the current folder
{_VARIABLES}"""

app = typer.Typer(
    name="lexigraph",
    cls=Commands,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lexigraph {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the database. (LEXIGRAPH_DATA) [default: .lexigraph]")
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Tenant that owns the data. (LEXIGRAPH_TENANT)")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Override a setting; may be repeated.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log to stderr and show tracebacks.")] = False,
    version: Annotated[  # noqa: ARG001  # its callback does the work
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Turn documents into a lexical graph and questions into cited answers."""
    given = {**assignments(set_ or ()), **{k: v for k, v in {"data": data, "tenant": tenant}.items() if v is not None}}
    invocation = context.obj = Invocation(given, verbose)
    start_logging(invocation.err, verbose)


def run() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that cannot be encoded must not end the run
            stream.reconfigure(errors="replace")
    # what libraries warn about is for developers
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").setLevel(logging.WARNING if {"-v", "--verbose"} & {*sys.argv} else logging.ERROR)
    app(prog_name="lexigraph")
