"""The gunicorn of a person's own virtual environment, with their configuration, in their folder."""

import os
from functools import lru_cache
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.runnable import NotOursError
from httpdyno.model import Level, ServerSpec
from httpdyno.servers.command.program import first_line
from httpdyno.servers.gunicorn.overlay import flags, overlay, own_places
from httpdyno.servers.python_program import python_environment, python_of
from httpdyno.servers.render import Variables, inside, render_text

OVERLAY = "overlay.conf.py"
_USUAL = "gunicorn.conf.py"
"""What gunicorn reads of the folder that it runs in, without being told."""
_ASK = (
    "import sys, gunicorn; "
    "print('gunicorn', gunicorn.__version__ + ', Python', sys.version.split()[0])"
)


def is_theirs(spec: ServerSpec) -> bool:
    """Whether a study is about a person's own gunicorn, and not about the one of httpdyno."""
    return bool(spec.folder or {"python", "config"} & spec.settings.keys())


def config_of(spec: ServerSpec, study_folder: Path) -> str:
    """Return the path of their configuration file; empty where there is none."""
    folder = (study_folder / spec.folder).resolve()
    named = str(spec.settings.get("config", "")).removeprefix("file:")
    if named:
        return str(folder / named)
    usual = folder / _USUAL
    return str(usual) if spec.folder and usual.is_file() else ""


def files(
    spec: ServerSpec, study_folder: Path, variables: Variables, levels: dict[str, Level]
) -> dict[str, str]:
    """Return the overlay, by name."""
    return {OVERLAY: overlay(config_of(spec, study_folder), variables.run, levels)}


def command(
    spec: ServerSpec, study_folder: Path, variables: Variables, levels: dict[str, Level]
) -> list[str]:
    """Return the command line: theirs would be the same, but for what is at its end."""
    application = spec.settings.get("application")
    directory = render_text(
        str(spec.settings.get("directory", ".")), variables, source="settings.directory"
    )
    chdir = [] if spec.folder else ["--chdir", str(inside(directory, variables))]
    return [
        *(python_of(spec, study_folder), "-m", "gunicorn"),
        *("--config", f"{variables.run}/{OVERLAY}"),
        *chdir,
        *own_places(variables.address, variables.run),
        *flags(levels),
        *([application] if isinstance(application, str) else []),
    ]


def production_complaint(spec: ServerSpec, study_folder: Path) -> str:
    """Return in words what is wrong with their interpreter or configuration; empty when nothing."""
    python = python_of(spec, study_folder)
    if not os.access(python, os.X_OK) or not Path(python).is_file():
        return f"server.settings.python names `{python}`, which is no program"
    named = str(spec.settings.get("config", ""))
    if named.startswith("python:"):
        return (
            f"server.settings.config names the module `{named}`, which only its interpreter can "
            'find: name the file, as in `config = "gunicorn.conf.py"`'
        )
    config = config_of(spec, study_folder)
    if config and not Path(config).is_file():
        return f"server.settings.config names `{config}`, which is not there"
    if complaint := _complaint_there(python):
        return complaint
    if spec.base:
        return "server.base is for httpdyno's own gunicorn; theirs has `config`"
    return ""


def version_there(spec: ServerSpec, study_folder: Path) -> str:
    """Return the version of gunicorn and of Python, and where that is.

    Raises:
        AdapterError: It has no gunicorn, or is not run: others may write it.
    """
    python = python_of(spec, study_folder)
    said = _version_there(python)
    if not said:
        raise AdapterError(
            f"gunicorn is not installed for `{python}`",
            hint=f"Run `{python} -m pip install gunicorn`.",
        )
    return f"{said} ({python})"


def _complaint_there(python: str) -> str:
    try:
        is_there = bool(_version_there(python))
    except NotOursError as error:
        return str(error)
    install = f"`{python} -m pip install gunicorn`"
    return "" if is_there else f"gunicorn is not installed for `{python}`: {install}"


@lru_cache(maxsize=32)
def _version_there(python: str) -> str:
    return first_line([python, "-c", _ASK], python_environment(python))
