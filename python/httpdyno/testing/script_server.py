"""A server that is a Python script of the study: for servers that do what no real one would."""

import sys
from collections.abc import Mapping
from pathlib import Path

from httpdyno.model import Configuration, Effective, KnobInfo, ServerSpec, level_text
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.instance import Asked, Instance
from httpdyno.servers.port import HeldPort
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run_folder import remove_place
from httpdyno.servers.staging import last_lines

REFUSES = 78
"""Exit code of a script that refuses its configuration: EX_CONFIG of sysexits.h."""
_KNOB = KnobInfo(
    name="level", summary="handed to the script", kind="integer", default=1, source="sys.argv[2]"
)


class ScriptServer:
    """Adapter for `settings.script`, a file of the study; it gets its port and `level`."""

    @property
    def name(self) -> str:
        return "script"

    def knobs(self) -> Mapping[str, KnobInfo]:
        return {_KNOB.name: _KNOB}

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        del spec
        return ()

    def version(self) -> str:
        return "script 1"

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        del spec, study_folder
        return Rendered(files={"command": f"RUN {_level(configuration)}\n"})

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        script = study_folder / str(spec.settings["script"])
        words = [str(spec.settings[name]) for name in ("token",) if name in spec.settings]
        port = HeldPort()
        try:
            process = ServerProcess.spawn(
                [
                    *(sys.executable, "-I", "-S", str(script)),
                    *(str(port.number), _level(configuration), *words),
                ],
                place=place,
                environment={},
                log=place.folder / "log",
            )
        except BaseException:
            port.release()
            remove_place(place)
            raise
        return Instance(
            process=process,
            port=port,
            place=place,
            asked=Asked(spec=spec, configuration=configuration, known=frozenset({_KNOB.name})),
            insight=_Insight(process, configuration),
        )


class _Insight:
    def __init__(self, process: ServerProcess, configuration: Configuration) -> None:
        self._process = process
        self._configuration = configuration

    def words(self) -> str:
        return last_lines(self._process.last_words())

    def refusal(self, exit_code: int | None, words: str) -> bool:
        del words
        return exit_code == REFUSES

    def lacking(self) -> str:
        return ""

    def effective(self) -> Effective | NotRunning:
        level = {_KNOB.name: _level(self._configuration)}
        return Effective(values=level, asked=level, source="the command line")


def _level(configuration: Configuration) -> str:
    return level_text(configuration.values.get(_KNOB.name, 1))
