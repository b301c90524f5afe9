"""What a study file says of how its server is run: command, folder, signal, readiness."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

from httpdyno.errors import StudyFileError
from httpdyno.model.study import ServerSpec
from httpdyno.servers.sandbox.evaluator import PatternError, fits

GET = "GET "
TCP = "tcp"
LOG = "log "

Wrong = Callable[[str, object, str], StudyFileError]

_KNOW_THEIR_COMMAND = frozenset({"apache", "gunicorn", "uvicorn"})
_IN_ITS_PLACE = "apache"
_READY = "`GET /path`, `GET /path 200`, `tcp` or `log PATTERN`"
_STATUS = re.compile(r"[1-5]\d\d")


def get_of(table: ServerSpec, wrong: Wrong) -> tuple[str, int | None]:
    """Return path and status of the GET that says that the server is ready.

    Raises:
        StudyFileError: `ready` is none of its forms, or says what another key says differently.
    """
    if not table.ready.startswith(GET):
        if table.ready not in {"", TCP} and not table.ready.startswith(LOG):
            raise wrong("server.ready", table.ready, _READY)
        return table.ready_path, table.ready_status
    path, *status = table.ready.split()[1:] or [""]
    if len(status) > 1 or not all(map(_STATUS.fullmatch, status)):
        raise wrong("server.ready", table.ready, _READY)
    said = (path, int(status[0]) if status else None)
    if table.ready_path not in {"/", path} or table.ready_status not in {None, said[1]}:
        raise wrong("server.ready", table.ready, "the same as ready_path and ready_status say")
    return said


def check_command(table: ServerSpec, folder: Path, wrong: Wrong) -> None:
    """Refuse what the server does not read, a folder that is not there, an unknown signal.

    Raises:
        StudyFileError: So it is.
    """
    if table.command and table.adapter in _KNOW_THEIR_COMMAND:
        expected = f'none: {table.adapter} has one of its own, and `adapter = "command"` any'
        raise wrong("server.command", list(table.command), expected)
    if table.folder and table.adapter == _IN_ITS_PLACE:
        raise wrong("server.folder", table.folder, f"none: {table.adapter} runs in its run folder")
    if twice := [name for name in table.pass_environment if name in table.environment]:
        raise wrong("server.pass_environment", twice[0], "a variable that `environment` has not")
    if table.command and not table.command[0]:
        raise wrong("server.command", list(table.command), "a program first")
    if table.folder and not (folder / table.folder).is_dir():
        raise wrong("server.folder", table.folder, "a folder that is there")
    if f"SIG{table.stop}" not in signal.Signals.__members__ or table.stop in {"KILL", "STOP"}:
        raise wrong("server.stop", table.stop, "a signal that can be caught, such as TERM or INT")
    if table.ready.startswith(LOG):
        try:
            fits(table.ready.removeprefix(LOG), "")
        except PatternError as error:
            raise wrong("server.ready", table.ready, f"a regular expression ({error})") from error
