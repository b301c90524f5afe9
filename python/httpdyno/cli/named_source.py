"""How a person names a server that runs: by a source, or by an option that says the same."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.errors import UsageError
from httpdyno.servers.discover.source import (
    FileSource,
    KindSource,
    Source,
    canonical_kind,
    parse_source,
)

PidOption = Annotated[
    int | None, typer.Option("--pid", metavar="N", help="Process id, instead of SOURCE.")
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server", metavar="KIND", help="Kind of server, instead of SOURCE, such as `apache`."
    ),
]
ConfigOption = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Configuration file, instead of SOURCE."),
]


def named_source(
    words: list[str], *, pid: int | None, server: str | None, config: str | None
) -> Source | None:
    """Return what was named, whichever way; None where nothing was.

    Raises:
        UsageError: It was named in more than one way, or the words mean nothing.
    """
    folder = Path.cwd()
    ways: list[Source] = [parse_source(words, folder)] if words else []
    if pid is not None:
        ways.append(parse_source([f"pid:{pid}"], folder))
    if server is not None:
        ways.append(KindSource(canonical_kind(server)))
    if config is not None:
        ways.append(FileSource(folder / config))
    if len(ways) > 1:
        raise UsageError(
            "a server was named in more than one way",
            hint="one of SOURCE, `--pid`, `--server` and `--config`",
        )
    return ways[0] if ways else None
