"""A server that is a Python script of the study: for servers that do what no real one would."""

import sys
from collections.abc import Mapping
from pathlib import Path

from httpdyno.model import Configuration, Effective, KnobInfo, ServerSpec, level_text
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.instance import Asked
from httpdyno.servers.network.address import unix_address
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables
from httpdyno.servers.spawn import Launch, spawned
from httpdyno.servers.staging import last_lines

REFUSES = 78
"""Exit code of a script that refuses its configuration: EX_CONFIG of sysexits.h."""
_KNOB = KnobInfo(
    name="level", summary="handed to the script", kind="integer", default=1, source="sys.argv[2]"
)


class ScriptServer:
    """Adapter for `settings.script`, a file of the study; it gets where it listens, and `level`.

    It listens at each word of `settings.listen`: `port`, which is the default, or `socket`. The
    script's first argument has the number of the port and the path of the socket, joined by commas.
    """

    @property
    def name(self) -> str:
        return "script"

    def knobs(self) -> Mapping[str, KnobInfo]:
        return {_KNOB.name: _KNOB}

    def settings(self) -> Mapping[str, str]:
        return {
            "script": "a file of the study, required",
            "listen": "`port`, `socket` or both",
            "token": "a word more for its command line",
        }

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        del spec
        return ()

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        del spec, study_folder, configuration
        return ""

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        del spec, study_folder
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

        def launch(variables: Variables) -> Launch:
            socket = f"{variables.memory}/socket"
            places = {
                "port": (variables.port, variables.address),
                "socket": (socket, unix_address(socket)),
            }
            listens = [places[word] for word in str(spec.settings.get("listen", "port")).split()]
            return Launch(
                command=[
                    *(sys.executable, "-I", "-S", str(script)),
                    *(",".join(where for where, _ in listens), _level(configuration), *words),
                ],
                log=place.folder / "log",
                addresses=[address for _, address in listens],
                insight=lambda process: _Insight(process, configuration),
            )

        asked = Asked(spec=spec, configuration=configuration, known=frozenset({_KNOB.name}))
        return spawned(asked, study_folder, place, server_user="", launch=launch)


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
