"""Adapter for Apache httpd.

Settings of a study: `modules` (names separated by spaces, as in `perl dir mime`), `mpm` (prefork,
worker or event; it may be a knob instead) and `perl_modules` (Perl modules that its application
needs, to say which packages are missing).

The stop signal is TERM: idle children end within milliseconds of it, while the graceful WINCH
takes seconds. `apache2 -k stop` is never used: it reads a pid file, and pid files lie.
"""

from collections.abc import Mapping
from pathlib import Path

from httpdyno.host.runnable import NotOursError
from httpdyno.model import Configuration, Effective, KnobInfo, ServerSpec
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.apache import in_force
from httpdyno.servers.apache.as_read import absent_perl_modules, installation
from httpdyno.servers.apache.config import (
    CONFIG,
    DOCUMENTS,
    ERROR_LOG,
    asked_of_server,
    config_files,
    multi_processing,
    wanted_modules,
)
from httpdyno.servers.apache.installation import find_binary, found, missing_modules, server_user
from httpdyno.servers.apache.knob import KNOBS, MPM
from httpdyno.servers.apache.loaded import interpreters
from httpdyno.servers.instance import Asked
from httpdyno.servers.log_file import log_text
from httpdyno.servers.network.probe import HttpStatusPage, StatusPage
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables, rendered_configuration
from httpdyno.servers.spawn import Launch, spawned
from httpdyno.servers.staging import last_lines

_DUMP = "dump.txt"
_DUMP_BYTES = 1 << 24
_KNOBS: Mapping[str, KnobInfo] = {**KNOBS, MPM.name: MPM}
_IN_USE = "Address already in use"


class Apache:
    """Adapter for Apache httpd."""

    @property
    def name(self) -> str:
        """As in study files."""
        return "apache"

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set, by name."""
        return _KNOBS

    def settings(self) -> Mapping[str, str]:
        """Return what it reads of a study's settings."""
        return {
            "modules": "names of modules to load, separated by spaces",
            "mpm": "the multi-processing module",
            "perl_modules": "Perl modules that the application needs",
        }

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return what is not installed and how to install it."""
        perl = absent_perl_modules(str(spec.settings.get("perl_modules", "")).split())
        if find_binary() is None:
            return ("Apache is not installed: `apt-get install apache2`", *perl)
        try:
            return (*missing_modules(installation(), wanted_modules(spec)), *perl)
        except NotOursError as error:
            return (str(error), *perl)

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        """Return nothing: Apache says at its start what is wrong."""
        del spec, study_folder, configuration
        return ""

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return Apache's own version, and those of the interpreters that a study's loads.

        Raises:
            AdapterError: It is not installed.
        """
        installation = found()
        loaded = () if spec is None else interpreters(spec, study_folder or Path(), installation)
        return " ".join((installation.version, *loaded))

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files as they would be written; touches nothing."""
        variables = Variables.placeholders(spec, configuration, server_user=server_user())
        own = config_files(spec, study_folder, configuration, variables, installation())
        return rendered_configuration(spec, study_folder, variables, own)

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Write the files and start Apache in the foreground; does not wait for readiness."""
        installation, user = found(), server_user()

        def launch(variables: Variables) -> Launch:
            return Launch(
                command=[
                    installation.binary,
                    *("-d", str(place.folder)),
                    *("-f", str(place.folder / CONFIG)),
                    *("-D", "FOREGROUND"),
                    # With this it prints its configuration while it reads it, and then serves: the
                    # word of the very process that is measured, at no cost.
                    *("-D", "DUMP_CONFIG"),
                ],
                log=place.folder / "apache.log",
                error_logs=(place.folder / ERROR_LOG,),
                output_to=place.folder / _DUMP,
                files=config_files(spec, study_folder, configuration, variables, installation),
                folders=(DOCUMENTS,),
                user=user,
                insight=lambda process: _Insight(
                    process,
                    place,
                    asked_of_server(configuration.values),
                    multi_processing(spec, configuration.values),
                ),
            )

        wanted = Asked(spec=spec, configuration=configuration, known=frozenset(_KNOBS))
        return spawned(wanted, study_folder, place, server_user=user, launch=launch)


class _Insight:
    """What Apache's logs and dumps say."""

    def __init__(
        self, process: ServerProcess, place: Place, asked: Mapping[str, str], mpm: str
    ) -> None:
        self._mpm = mpm
        self._process = process
        self._place = place
        self._asked = asked

    def words(self) -> str:
        log = log_text(self._place.folder / ERROR_LOG, from_end=True)
        lines = f"{self._process.last_words()}\n{log}".splitlines()
        return last_lines("\n".join(line for line in lines if not in_force.QUIET.search(line)))

    def refusal(self, exit_code: int | None, words: str) -> bool:
        return exit_code == 1 and _IN_USE not in words and bool(in_force.REFUSED.search(words))

    def lacking(self) -> str:
        said = self._said()
        if MPM.name in self._asked and not in_force.running_mpm(said[1]):
            return "which module runs its processes is not in its log"
        wanted = in_force.processes_at_start(self._mpm, *said)
        running = self._process.n_children()
        return f"{running} of {wanted} processes are up" if running < wanted else ""

    def effective(self) -> Effective | NotRunning:
        return self._in_force()

    def status_pages(self) -> tuple[StatusPage, ...]:
        dump = self._said()[0]
        listens = [e.arguments for e in in_force.directives(dump) if e.name.lower() == "listen"]
        paths = dict.fromkeys(in_force.status_paths(dump))
        network = self._place.network
        return tuple(
            HttpStatusPage(address=listens[0], path=path, network=network)
            for path in paths
            if listens
        )

    def _in_force(self) -> Effective:
        return in_force.effective(*self._said(), self._asked, mpm=self._mpm)

    def _said(self) -> tuple[str, str]:
        """Return its dump and its words."""
        dump = log_text(self._place.folder / _DUMP, n_bytes=_DUMP_BYTES)
        log = log_text(self._place.folder / ERROR_LOG)
        return dump, f"{self._process.first_words()}\n{log}"
