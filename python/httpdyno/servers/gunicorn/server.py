"""gunicorn: a WSGI server that is installed with httpdyno, and its default.

The configuration file is the study's base file followed by an overlay, both Python. The overlay
also hooks `when_ready`, in which the running arbiter writes down the settings it really has, and
`post_worker_init`, in which each worker of the first generation says that it has loaded the
application: before all of them have, a server of four workers would be measured with fewer.

Settings of a study: `application` (`module:callable`, required) and `directory` (where it is in
the run folder; default is the run folder itself).

With `python`, `config` or a `folder` it is the person's own gunicorn instead: the interpreter of
their virtual environment, in their folder, with their configuration executed first.
"""

import importlib.util
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, KnobInfo, Level, ServerSpec
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.command.server import COMMAND_LINE, own_user, run_folder
from httpdyno.servers.gunicorn import production
from httpdyno.servers.gunicorn.application import application_complaint
from httpdyno.servers.gunicorn.insight import GunicornInsight
from httpdyno.servers.gunicorn.knob import KNOBS
from httpdyno.servers.gunicorn.overlay import hooks
from httpdyno.servers.instance import Asked
from httpdyno.servers.python_program import python_environment, python_of
from httpdyno.servers.render import (
    Variables,
    inside,
    render_file,
    render_text,
    rendered_configuration,
)
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.spawn import Launch, spawned

_CONFIG = "gunicorn.conf.py"
_TMP_DIR = "worker_tmp_dir"


class Gunicorn:
    """Adapter for gunicorn."""

    @property
    def name(self) -> str:
        """As in study files."""
        return "gunicorn"

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set, by name."""
        return KNOBS

    def settings(self) -> Mapping[str, str]:
        """Return what it reads of a study's settings."""
        return {
            "application": "`module:callable`, required",
            "config": "a configuration file of yours, executed first, never edited",
            "directory": "where the application is in the run folder",
            "python": "the interpreter of your own virtual environment, which has gunicorn",
        }

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return what is not installed and how to install it."""
        del spec
        if importlib.util.find_spec("gunicorn") is None:
            return ("gunicorn is not installed: `pip install gunicorn`",)
        return ()

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return gunicorn's version and the interpreter's.

        Raises:
            AdapterError: It is not installed.
        """
        if spec is not None and study_folder is not None and production.is_theirs(spec):
            return production.version_there(spec, study_folder)
        try:
            return f"gunicorn {installed_version('gunicorn')}, Python {sys.version.split()[0]}"
        except PackageNotFoundError as error:
            raise AdapterError(
                "gunicorn is not installed", hint="Run `pip install gunicorn`."
            ) from error

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        """Return in words why its application cannot be found; empty when it may be."""
        if production.is_theirs(spec):
            return production.production_complaint(spec, study_folder)
        variables = Variables.placeholders(spec, configuration, server_user=own_user())
        return application_complaint(spec, study_folder, variables)

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files as they would be written; touches nothing."""
        variables = Variables.placeholders(spec, configuration, server_user=own_user())
        if production.is_theirs(spec):
            levels = _overlay(configuration, variables)
            line = production.command(spec, study_folder, variables, levels)
            own = production.files(spec, study_folder, variables, levels)
            own[COMMAND_LINE] = "".join(f"{argument}\n" for argument in line)
        else:
            own = {_CONFIG: _config_text(spec, study_folder, configuration, variables)}
        return rendered_configuration(spec, study_folder, variables, own)

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Write the files and start gunicorn in the foreground; does not wait for readiness."""
        is_theirs = production.is_theirs(spec)
        wants_gevent = configuration.values.get("worker_class") == "gevent"
        if wants_gevent and not is_theirs and not _has_gevent():
            remove_place(place)
            return NotRunning(
                status="refused", detail="worker_class gevent needs gevent: `pip install gevent`"
            )

        def launch(variables: Variables) -> Launch:
            levels = _overlay(configuration, variables)
            if is_theirs:
                return Launch(
                    command=production.command(spec, study_folder, variables, levels),
                    log=place.folder / "gunicorn.log",
                    files=production.files(spec, study_folder, variables, levels),
                    folder=run_folder(spec, study_folder),
                    environment=python_environment(python_of(spec, study_folder)),
                    insight=lambda process: GunicornInsight(process, place.folder, levels),
                )
            text = _config_text(spec, study_folder, configuration, variables)
            return Launch(
                command=[sys.executable, "-m", "gunicorn", "-c", str(place.folder / _CONFIG)],
                log=place.folder / "gunicorn.log",
                files={_CONFIG: text},
                insight=lambda process: GunicornInsight(process, place.folder, levels),
            )

        asked = Asked(spec=spec, configuration=configuration, known=frozenset(KNOBS))
        return spawned(asked, study_folder, place, server_user=own_user(), launch=launch)


def _config_text(
    spec: ServerSpec, study_folder: Path, configuration: Configuration, variables: Variables
) -> str:
    base = render_file(study_folder / spec.base, variables, name=spec.base) if spec.base else ""
    application = spec.settings.get("application")
    if not isinstance(application, str):
        raise AdapterError(
            "gunicorn needs to know the application",
            hint='Set `application = "module:callable"` in the study\'s server settings.',
        )
    directory = render_text(
        str(spec.settings.get("directory", ".")), variables, source="settings.directory"
    )
    fixed: dict[str, object] = {
        "wsgi_app": application,
        "chdir": str(inside(directory, variables)),
        "bind": [variables.address],
        "daemon": False,
        "pidfile": None,
        "errorlog": "-",
        "control_socket_disable": True,
    }
    settings: dict[str, object] = {**fixed, **_overlay(configuration, variables)}
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    own = "\n".join(lines) + hooks(variables.run)
    return f"{base.rstrip()}\n\n# httpdyno's overlay\n{own}"


def _overlay(configuration: Configuration, variables: Variables) -> dict[str, Level]:
    """Return gunicorn's own settings of the configuration, as it understands them."""
    overlay = {name: value for name, value in configuration.values.items() if name in KNOBS}
    folders = {"disk": variables.run, "memory": variables.memory}
    if _TMP_DIR in overlay:
        chosen = str(overlay[_TMP_DIR])
        overlay[_TMP_DIR] = folders.get(chosen, chosen)
    return overlay


def _has_gevent() -> bool:
    return importlib.util.find_spec("gevent") is not None
