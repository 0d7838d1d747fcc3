"""``lexigraph doctor``: what is configured, what is reachable, what to do."""

import difflib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from lexigraph import __version__
from lexigraph.cli.checks import (
    Check,
    check_disk,
    check_documents,
    check_extras,
    check_files,
    check_models,
    check_stores,
    without_secrets,
)
from lexigraph.cli.exits import ExitCode
from lexigraph.cli.invocation import current, require_database
from lexigraph.cli.output import one_line, print_json
from lexigraph.model.errors import NotFound
from lexigraph.model.numbers import counted
from lexigraph.model.secrets import SECRET_NAME
from lexigraph.settings import Settings

_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting as it stands and where it comes from: default, environment, .env or option. Secrets are masked."""

    name: str
    variable: str
    value: Any
    source: str


def doctor(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what an interrupted run left behind.")] = False,
    probe_llm: Annotated[bool, typer.Option("--probe-llm", help="Send a one-word request to the language model.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON, including all settings.")] = False,
) -> int:
    """Check settings, stores, models, disk and documents, and suggest a fix for each problem."""
    invocation = current(context)
    settings = invocation.settings()
    rows = list(setting_rows(settings, invocation.given))
    checks = []
    if not json_:
        _print_settings(invocation.out, rows)
    for check in examine(settings, repair=repair, probe_llm=probe_llm):
        checks.append(check)
        if not json_:
            _print_check(invocation.out, check, first=len(checks) == 1 or checks[-2].area != check.area)
    problems = sum(c.status == "problem" for c in checks)
    if json_:
        named = {"version": __version__, "healthy": not problems, "settings": [asdict(r) for r in rows]}
        print_json({**named, "connections": connections(settings), "checks": [asdict(c) for c in checks]})
    else:
        invocation.out.print(f"\n{problems or 'no'} problem{'' if problems == 1 else 's'}")
    return ExitCode.UNHEALTHY if problems else ExitCode.OK


def examine(settings: Settings, *, repair: bool, probe_llm: bool) -> Iterator[Check]:
    """Yield all checks, quick ones first."""
    yield from check_variables(os.environ)
    yield from check_disk(settings)
    yield from check_extras()
    stores: list[Check] = []
    try:
        require_database(settings)
    except NotFound as error:
        yield Check("stores", "database", "note", str(error))
    else:
        for check in (*check_files(settings, repair=repair), *check_stores(settings)):
            stores.append(check)
            yield check
    yield from check_models(settings, probe_llm=probe_llm)
    # compared with stores or models that are not its own, every document would look damaged
    if stores and all(check.status != "problem" for check in stores):
        yield from check_documents(settings, repair=repair)
    elif stores:
        yield Check("documents", "comparison", "note", "skipped", "fix the stores first")


def check_variables(environment: Mapping[str, str]) -> Iterator[Check]:
    """Find environment variables that look like settings and are none."""
    known = [f"LEXIGRAPH_{name.upper()}" for name in Settings.model_fields]
    for variable in sorted(environment):
        if variable.upper().startswith("LEXIGRAPH_") and variable.upper() not in known:
            near = difflib.get_close_matches(variable.upper(), known, 1)
            remedy = f"did you mean {near[0]}?" if near else "unset it; `lexigraph --help` lists the settings"
            yield Check("settings", variable, "note", "is not a setting and has no effect", remedy)


def setting_rows(settings: Settings, given: Mapping[str, object]) -> Iterator[SettingRow]:
    """Yield every setting with its value and source."""
    environment = {name.upper() for name in os.environ}
    dotenv = _dotenv_names(Path(".env"))
    for name in Settings.model_fields:
        variable = f"LEXIGRAPH_{name.upper()}"
        if name in given:
            source = "option"
        elif variable in environment:
            source = "environment"
        else:
            source = ".env" if variable in dotenv else "default"
        yield SettingRow(name, variable, _shown(name, getattr(settings, name)), source)


def connections(settings: Settings) -> dict[str, str]:
    """Return the connection strings in force, without secrets."""
    return {store: without_secrets(connection) for store, connection in settings.connections.items()}


def _dotenv_names(path: Path) -> set[str]:
    from dotenv import dotenv_values

    return {name.upper() for name in dotenv_values(path)} if path.is_file() else set()


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, dict):  # its own name counts, too: that of keys by tenant
        return {k: _shown(f"{name}.{k}", v) for k, v in value.items()}
    if isinstance(value, str):
        return "***" if value and SECRET_NAME.search(name) else without_secrets(value)
    return str(value) if isinstance(value, Path) else value


def _print_settings(console: Console, rows: list[SettingRow]) -> None:
    changed = [r for r in rows if r.source != "default"]
    console.print(f"Lexigraph {__version__}\nsettings", style="bold")
    for row in changed:
        value = json.dumps(row.value) if isinstance(row.value, dict) else row.value
        console.print(f"  {row.name:<22}{one_line(str(value))}  ({row.source})", soft_wrap=True)
    others = counted(len(rows) - len(changed), "other has its default value", "others have their default values")
    console.print(f"  {others} (--json lists them)")


def _print_check(console: Console, check: Check, *, first: bool) -> None:
    if first:
        console.print(check.area, style="bold")
    mark = Text(f"  {check.status:<8}", style=_STYLES[check.status])
    console.print(Text.assemble(mark, f"{one_line(check.name)}: {one_line(check.detail)}"), soft_wrap=True)
    if check.remedy:
        console.print(f"          -> {one_line(check.remedy)}", soft_wrap=True)
