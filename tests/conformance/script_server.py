"""A server that is a Python script of the study: for servers that do what no real one would."""

import sys
from collections.abc import Mapping
from pathlib import Path

from httpdyno.model import Effective, KnobInfo, Level, ServerSpec, Survey, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.network.address import unix_address
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables
from httpdyno.servers.stack.adapter import Insight, Launch, ServerAdapter
from httpdyno.servers.staging import last_lines

REFUSES = 78
"""Exit code of a script that refuses its configuration: EX_CONFIG of sysexits.h."""
_KNOB = KnobInfo(
    name="level", summary="handed to the script", kind="integer", default=1, source="sys.argv[2]"
)


class ScriptServer(ServerAdapter):
    """Adapter for `settings.script`, a file of the study; it gets where it listens, and `level`.

    It listens at each word of `settings.listen`: `port`, which is the default, or `socket`. The
    script's first argument has the number of the port and the path of the socket, joined by commas.
    """

    name = "script"
    is_made = True

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        del survey
        return {_KNOB.name: _KNOB}

    def settings(self) -> frozenset[str]:
        return frozenset({"script", "listen", "token"})

    def server_user(self) -> str:
        return ""

    def made(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> Launch:
        words = [str(spec.settings[name]) for name in ("token",) if name in spec.settings]
        socket = f"{variables.memory}/socket"
        places = {
            "port": (variables.port, variables.address),
            "socket": (socket, unix_address(socket)),
        }
        listens = [places[word] for word in str(spec.settings.get("listen", "port")).split()]
        level = _level(variables.knobs)
        return Launch(
            command=[
                *(sys.executable, "-I", "-S", str(study_folder / str(spec.settings["script"]))),
                *(",".join(where for where, _ in listens), level, *words),
            ],
            addresses=[address for _, address in listens],
            files={"command": f"{variables.run} {level}\n"},
            insight=lambda process: _Insight(process, level),
        )


class _Insight(Insight):
    def __init__(self, process: ServerProcess, level: str) -> None:
        self._process = process
        self._level = level

    def words(self) -> str:
        return last_lines(self._process.last_words())

    def refusal(self, exit_code: int | None, words: str) -> bool:
        del words
        return exit_code == REFUSES

    def lacking(self) -> Reason | None:
        return None

    def effective(self) -> Effective | NotRunning:
        level = {_KNOB.name: self._level}
        return Effective(values=level, asked=level, sources=(because("command.source"),))


def _level(levels: Mapping[str, Level]) -> str:
    return level_text(levels.get(_KNOB.name, 1))
