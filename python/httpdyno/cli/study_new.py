"""`httpdyno study new`: a small study in a new folder."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from httpdyno.catalog import open_study
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say
from httpdyno.errors import HttpdynoError, OutputError, UsageError
from httpdyno.host.foreign_text import reason
from httpdyno.registry import load_target
from httpdyno.study.starter import STARTERS, Wish, starter

EXAMPLE = """Example:

\b
  httpdyno study new gunicorn shop:app --python venv/bin/python
  httpdyno study new command -- node server.js --port {port}
"""


def new(  # noqa: PLR0913 - one parameter for each option
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"Kind of server: {', '.join(STARTERS)}.")
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGS",
            help="Application `module:name` for gunicorn and uvicorn. Program and arguments, "
            "after `--`, for command.",
            show_default=False,
        ),
    ] = None,
    *,
    python: Annotated[
        str,
        typer.Option("--python", metavar="PATH", help="Interpreter of your virtual environment."),
    ] = "",
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="Folder of the application.")
    ] = ".",
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="DIR", help="New folder.  [default: NAME-study]"),
    ] = "",
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Write a small study into a new folder.

    It runs as it stands if its server is installed. Replace its example knobs and requests with
    yours. For a server that already runs here, use `httpdyno adopt`.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    if python and kind not in {"gunicorn", "uvicorn"}:
        raise UsageError(
            f"`--python` is for gunicorn and uvicorn, not for {kind}",
            hint="a command names its own interpreter",
        )
    made = starter(
        Wish(
            kind=kind,
            words=tuple(words or ()),
            # Not resolved: it is by its own path that an interpreter knows its environment.
            python=str(Path(python).absolute()) if python else "",
            folder=str(Path(folder).resolve()),
            n_cpus=len(os.sched_getaffinity(0)),
        )
    )
    target = Path(output or f"{made.name}-study")
    _write(target, made.files)
    study = open_study(str(target))
    stack = load_target(study)
    trouble = stack.missing(study.server)
    if not trouble:
        try:
            stack.check(study.server, target, study.start_configuration())
        except HttpdynoError as error:
            trouble = (str(error),)
    written = [str(target / name) for name in made.files]
    if outputs.json is not None:
        document = {"study": study.name, "files": written, "cannot_run": list(trouble)}
        outputs.write_json(document)
    if outputs.has_text:
        say(f"wrote {', '.join(written)}")
        for each in trouble:
            say(f"it cannot run yet: {each}")
        say(f"next: `httpdyno study check {target}`, then `httpdyno tune {target}`")
    return 0


def _write(target: Path, files: Mapping[str, str]) -> None:
    if target.exists():
        raise UsageError(f"`{target}` is there already", hint="name another folder with `--output`")
    try:
        for name, text in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"`{target}` cannot be written: {reason(error)}") from error
