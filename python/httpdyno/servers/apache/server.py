"""Adapter for Apache httpd.

Settings of a study: `modules` (names separated by spaces, as in `perl dir mime`), `mpm` (prefork,
worker or event) and `perl_modules` (Perl modules that its application needs, to say which packages
are missing).

The stop signal is TERM: idle children end within milliseconds of it, while the graceful WINCH
takes seconds. `apache2 -k stop` is never used: it reads a pid file, and pid files lie.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from httpdyno.model import Configuration, Effective, KnobInfo, ServerSpec
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.apache import in_force
from httpdyno.servers.apache.config import (
    CONFIG,
    DOCUMENTS,
    ERROR_LOG,
    asked,
    config_files,
    multi_processing,
    wanted_modules,
)
from httpdyno.servers.apache.installation import (
    find_binary,
    found,
    missing_modules,
    missing_perl_modules,
    server_user,
)
from httpdyno.servers.apache.knob import KNOBS
from httpdyno.servers.instance import Asked, Instance
from httpdyno.servers.port import HeldPort
from httpdyno.servers.process import ServerProcess, log_text
from httpdyno.servers.render import (
    Variables,
    diff_name,
    rendered_environment,
    rendered_prepare,
    rendered_templates,
)
from httpdyno.servers.run_folder import remove_place
from httpdyno.servers.staging import (
    environment,
    hand_over,
    last_lines,
    stage,
    writable_folders,
)

_DUMP = "dump.txt"
_DUMP_BYTES = 1 << 24
_QUIET = re.compile(r"\[\w+:(?:notice|info|debug|trace\d)\]")
_REFUSED = re.compile(r"AH00526|AH00534|AH0001[46]|Syntax error|Configuration Failed")
_IN_USE = "Address already in use"


class Apache:
    """Adapter for Apache httpd."""

    @property
    def name(self) -> str:
        """As in study files."""
        return "apache"

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set, by name."""
        return KNOBS

    def settings(self) -> Mapping[str, str]:
        """Return what it reads of a study's settings."""
        return {
            "modules": "names of modules to load, separated by spaces",
            "mpm": "the multi-processing module",
            "perl_modules": "Perl modules that the application needs",
        }

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return what is not installed and how to install it."""
        perl = missing_perl_modules(tuple(str(spec.settings.get("perl_modules", "")).split()))
        if find_binary() is None:
            return ("Apache is not installed: `apt-get install apache2`", *perl)
        return (*missing_modules(found(), wanted_modules(spec)), *perl)

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        """Return nothing: Apache says at its start what is wrong."""
        del spec, study_folder, configuration
        return ""

    def version(self) -> str:
        """Return Apache's own version.

        Raises:
            AdapterError: It is not installed.
        """
        return found().version

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files as they would be written; touches nothing."""
        variables = Variables.placeholders(spec, configuration, server_user=server_user())
        templates = rendered_templates(spec, study_folder, variables)
        files = {diff_name(target, variables): text for target, text in templates.items()}
        files.update(config_files(spec, study_folder, configuration, variables, found()))
        return Rendered(
            files=files,
            environment=rendered_environment(spec, variables),
            prepare=rendered_prepare(spec, variables),
        )

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Write the files and start Apache in the foreground; does not wait for readiness."""
        port = HeldPort()
        try:
            running = self._started(spec, study_folder, configuration, place, port)
        except BaseException:
            port.release()
            raise
        if isinstance(running, NotRunning):
            port.release()
            remove_place(place)
        return running

    def _started(
        self,
        spec: ServerSpec,
        study_folder: Path,
        configuration: Configuration,
        place: Place,
        port: HeldPort,
    ) -> Running | NotRunning:
        installation = found()
        variables = Variables(
            knobs=configuration.values,
            settings=spec.settings,
            run=str(place.folder),
            memory=str(place.memory_folder),
            port=str(port.number),
            server_user=server_user(),
        )
        files = config_files(spec, study_folder, configuration, variables, installation)
        (place.folder / DOCUMENTS).mkdir()
        refusal = stage(spec, study_folder, place, variables, extra=files)
        if refusal:
            return refusal
        own_environment = environment(spec, variables, place)
        hand_over(place, variables.server_user, writable_folders(spec, variables))
        process = ServerProcess.spawn(
            [
                installation.binary,
                *("-d", str(place.folder)),
                *("-f", str(place.folder / CONFIG)),
                *("-D", "FOREGROUND"),
                # With this it prints its configuration while it reads it, and then serves: the
                # word of the very process that is measured, at no cost.
                *("-D", "DUMP_CONFIG"),
            ],
            place=place,
            environment=own_environment,
            log=place.folder / "apache.log",
            output_to=place.folder / _DUMP,
        )
        return Instance(
            process=process,
            port=port,
            place=place,
            asked=Asked(spec=spec, configuration=configuration, known=frozenset(KNOBS)),
            insight=_Insight(process, place, asked(configuration.values), multi_processing(spec)),
        )


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
        return last_lines("\n".join(line for line in lines if not _QUIET.search(line)))

    def refusal(self, exit_code: int | None, words: str) -> bool:
        return exit_code == 1 and _IN_USE not in words and bool(_REFUSED.search(words))

    def lacking(self) -> str:
        wanted = in_force.processes_at_start(self._mpm, *self._said())
        running = self._process.n_children()
        return f"{running} of {wanted} processes are up" if running < wanted else ""

    def effective(self) -> Effective | NotRunning:
        return self._in_force()

    def _in_force(self) -> Effective:
        return in_force.effective(*self._said(), self._asked, mpm=self._mpm)

    def _said(self) -> tuple[str, str]:
        """Return its dump and its words."""
        dump = log_text(self._place.folder / _DUMP, n_bytes=_DUMP_BYTES)
        log = log_text(self._place.folder / ERROR_LOG)
        return dump, f"{self._process.first_words()}\n{log}"
