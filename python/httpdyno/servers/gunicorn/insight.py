"""What gunicorn's log and its own settings say."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpdyno.model import Effective, Level, level_text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.gunicorn.knob import KNOBS, as_understood
from httpdyno.servers.gunicorn.overlay import BOOTED, EFFECTIVE
from httpdyno.servers.log_file import log_text
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.staging import last_lines


class GunicornInsight:
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

    def lacking(self) -> str:
        """Return how many workers have not loaded the application yet."""
        said = self._said()
        if not said:
            return "its arbiter has not said that it is ready"
        workers = said.get("workers", 0)
        booted = len(log_text(self._folder / BOOTED))
        return f"{booted} of {workers} workers are up" if booted < workers else ""

    def effective(self) -> Effective | NotRunning:
        """Return the settings of the running arbiter, with what was asked of it."""
        said = self._said()
        if not said:
            return NotRunning(status="refused", detail="gunicorn did not say its settings")
        return Effective(
            values={name: _text(said.get(name)) for name in KNOBS},
            asked={
                name: _text(value)
                for name, value in as_understood(self._asked, said.get("threads", 1)).items()
            },
            source=f"settings of the running arbiter, {said['program']} at {said['executable']}",
        )

    def _said(self) -> dict[str, Any]:
        try:
            said = json.loads(log_text(self._folder / EFFECTIVE))
        except (ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}


def _text(value: object) -> str:
    return level_text(value) if isinstance(value, bool | int | float | str) else "none"
