"""uvicorn: an ASGI server, of httpdyno's own environment or of a person's.

Settings of a study: `application` (`module:name`, required), `python` (the interpreter of their
virtual environment) and `arguments` (their own flags, as on a command line). It runs in the run
folder, or in place in `folder`. Levels are flags at the end of the command line: of those given
twice, uvicorn takes the last.

uvicorn says nothing of itself. Its processes are counted, its backlog is asked of the kernel, loop
and parser are seen in what its processes have mapped, and the rest is read from its command line.
"""

import importlib.util
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.runnable import NotOursError
from httpdyno.model import Configuration, KnobInfo, ServerSpec
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.command.program import first_line
from httpdyno.servers.command.server import COMMAND_LINE, own_user, run_folder
from httpdyno.servers.instance import Asked
from httpdyno.servers.python_program import python_environment, python_of
from httpdyno.servers.render import Variables, render_argument, rendered_configuration
from httpdyno.servers.spawn import Launch, spawned
from httpdyno.servers.uvicorn.in_force import UvicornInsight
from httpdyno.servers.uvicorn.knob import KNOBS, flags

_ASK = (
    "import sys, uvicorn; "
    "print('uvicorn', uvicorn.__version__ + ', Python', sys.version.split()[0])"
)


class Uvicorn:
    """Adapter for uvicorn."""

    @property
    def name(self) -> str:
        """As in study files."""
        return "uvicorn"

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set, by name."""
        return KNOBS

    def settings(self) -> Mapping[str, str]:
        """Return what it reads of a study's settings."""
        return {
            "application": "`module:name`, required",
            "arguments": "flags of your own, as on a command line",
            "python": "the interpreter of your own virtual environment, which has uvicorn",
        }

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return what is not installed and how to install it."""
        if "python" not in spec.settings and importlib.util.find_spec("uvicorn") is None:
            return ("uvicorn is not installed: `pip install uvicorn[standard]`",)
        return ()

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        """Return in words what is wrong with interpreter or application; empty when nothing is."""
        del configuration
        if spec.base:
            return "server.base does nothing: uvicorn has no configuration file"
        python = python_of(spec, study_folder)
        if not Path(python).is_file() or not os.access(python, os.X_OK):
            return f"server.settings.python names `{python}`, which is no program"
        try:
            is_there = bool(_version_there(python))
        except NotOursError as error:
            return str(error)
        if not is_there:
            return f"uvicorn is not installed for `{python}`: `{python} -m pip install uvicorn`"
        return ""

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return uvicorn's version and the interpreter's, and where that is.

        Raises:
            AdapterError: It is not installed there, or is not run: others may write it.
        """
        python = python_of(spec or ServerSpec(adapter=self.name), study_folder or Path())
        said = _version_there(python)
        if not said:
            raise AdapterError(
                f"uvicorn is not installed for `{python}`",
                hint=f"Run `{python} -m pip install uvicorn`.",
            )
        return f"{said} ({python})"

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return command line, files and environment; touches nothing."""
        variables = Variables.placeholders(spec, configuration, server_user=own_user())
        line = _command(spec, study_folder, variables)
        text = "".join(f"{argument}\n" for argument in line)
        return rendered_configuration(spec, study_folder, variables, {COMMAND_LINE: text})

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Start uvicorn in the foreground; does not wait for readiness."""

        def launch(variables: Variables) -> Launch:
            return Launch(
                command=_command(spec, study_folder, variables),
                log=place.folder / "uvicorn.log",
                folder=run_folder(spec, study_folder),
                environment=python_environment(python_of(spec, study_folder)),
                insight=lambda process: UvicornInsight(
                    process, f"127.0.0.1:{variables.port}", configuration.values
                ),
            )

        asked = Asked(spec=spec, configuration=configuration, known=frozenset(KNOBS))
        return spawned(asked, study_folder, place, server_user=own_user(), launch=launch)


def _command(spec: ServerSpec, study_folder: Path, variables: Variables) -> list[str]:
    application = spec.settings.get("application")
    if not isinstance(application, str):
        raise AdapterError(
            "uvicorn needs to know the application",
            hint='Set `application = "module:name"` in the study\'s server settings.',
        )
    own = shlex.split(str(spec.settings.get("arguments", "")))
    return [
        *(python_of(spec, study_folder), "-m", "uvicorn", application),
        *(render_argument(part, variables, source="settings.arguments") for part in own),
        *("--host", "127.0.0.1", "--port", variables.port),
        *flags(variables.knobs),
    ]


def _version_there(python: str) -> str:
    return first_line([python, "-c", _ASK], python_environment(python))
