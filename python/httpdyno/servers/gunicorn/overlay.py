"""What httpdyno puts after a person's own settings of gunicorn, and what comes of it.

A configuration that is code is never edited. The overlay is a module that executes theirs first,
with its own `__file__`, and then adds to it: no file, socket or address of theirs is written or
taken. Levels of knobs come as flags on the command line, which gunicorn reads last of all; only a
switch that no flag turns off stands in the overlay.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpdyno.model import Effective, Level, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.gunicorn.knob import FLAGS, KNOBS, SWITCHES, as_understood
from httpdyno.servers.log_file import log_text
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.stack.adapter import Insight
from httpdyno.servers.staging import last_lines

EFFECTIVE = "effective.json"
"""Where the arbiter writes down what it is set to."""
BOOTED = "booted"
"""Where each worker that has loaded the application leaves a sign."""

_HOOKS_PROGRAM = """
_when_ready_before = globals().get("when_ready")
_post_worker_init_before = globals().get("post_worker_init")


def when_ready(server):
    import json, os, sys
    import gunicorn
    # Opened by who starts gunicorn: its workers may be another user.
    global _booted
    _booted = os.open(BOOTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    said = {name: setting.get() for name, setting in server.cfg.settings.items()}
    said["worker_class"] = server.cfg.worker_class_str
    said = {name: value for name, value in said.items()
            if value is None or isinstance(value, (bool, int, float, str))}
    said["program"] = "gunicorn %s, Python %s" % (gunicorn.__version__, sys.version.split()[0])
    said["executable"] = sys.executable
    with open(EFFECTIVE + ".new", "w") as file:
        json.dump(said, file)
    os.rename(EFFECTIVE + ".new", EFFECTIVE)
    if _when_ready_before is not None:
        _when_ready_before(server)


def post_worker_init(worker):
    if worker.age <= worker.cfg.workers:
        import os
        os.write(_booted, b"1")
    if _post_worker_init_before is not None:
        _post_worker_init_before(worker)
"""

_THEIR_PROGRAM = """\
# {name}, as it is
__file__ = THEIRS
with open(THEIRS, "rb") as _file:
    exec(compile(_file.read(), THEIRS, "exec"))

"""
_PLACES_PROGRAM = """\
# httpdyno's overlay: nothing of theirs is written to or listened at
daemon = False
control_socket_disable = True
statsd_host = None
syslog = False
logconfig = logconfig_json = None
logconfig_dict = {}
if globals().get("accesslog") not in (None, "-"):
    accesslog = RUN + "/access.log"
"""


def hooks(run: str) -> str:
    """Return the hooks by which the arbiter and its workers say what they are.

    Args:
        run: The run folder.
    """
    text = _HOOKS_PROGRAM
    for name, file in (("EFFECTIVE", EFFECTIVE), ("BOOTED", BOOTED)):
        text = text.replace(name, repr(f"{run}/{file}"))
    return text


def overlay(config: str, run: str, levels: Mapping[str, Level]) -> str:
    """Return the module that executes a person's configuration and adds to it.

    Args:
        config: Path of theirs; empty for none.
        run: The run folder.
        levels: Those of gunicorn's own settings.
    """
    theirs = _THEIR_PROGRAM.format(name=config).replace("THEIRS", repr(config)) if config else ""
    places = _PLACES_PROGRAM.replace("RUN", repr(run))
    switches = "".join(
        f"{name} = {value!r}\n"
        for name, value in levels.items()
        if name not in FLAGS and (name, value) not in SWITCHES
    )
    return theirs + places + switches + hooks(run)


class GunicornInsight(Insight):
    """What gunicorn's log and its own settings say."""

    def __init__(self, process: ServerProcess, folder: Path, asked: Mapping[str, Level]) -> None:
        self._process = process
        self._folder = folder
        self._asked = asked

    def words(self) -> str:
        """Return the end of its log."""
        return last_lines(self._process.last_words())

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited by itself because of a setting."""
        # 1 is gunicorn's own "Error: …" about a setting; 3 and 4 are an application that failed.
        return exit_code == 1 and "Error" in words

    def lacking(self) -> Reason | None:
        """Return how many workers have not loaded the application yet."""
        said = self._said()
        if not said:
            return because("servers.arbiter_not_ready")
        workers = said.get("workers", 0)
        booted = len(log_text(self._folder / BOOTED))
        if booted >= workers:
            return None
        return because("servers.workers_up", n=booted, of=workers)

    def effective(self) -> Effective | NotRunning:
        """Return the settings of the running arbiter, with what was asked of it."""
        said = self._said()
        if not said:
            return NotRunning(status="refused", detail=because("servers.no_settings"))
        return Effective(
            values={name: _text(said.get(name)) for name in KNOBS},
            asked={
                name: _text(value)
                for name, value in as_understood(self._asked, said.get("threads", 1)).items()
            },
            sources=(
                because(
                    "gunicorn.source",
                    program=str(said["program"]),
                    executable=str(said["executable"]),
                ),
            ),
        )

    def _said(self) -> dict[str, Any]:
        try:
            said = json.loads(log_text(self._folder / EFFECTIVE))
        except (ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}


def _text(value: object) -> str:
    return level_text(value) if isinstance(value, bool | int | float | str) else "none"
