"""Keys that are pressed on a terminal, while something is shown there."""

import os
import select
import sys
import termios
import time
import tty
from types import TracebackType
from typing import Any, Self

from httpdyno.host.interruption import cleaning

_CONTROLS = 6
"""Where `termios.tcgetattr` has the control characters."""
_PIECE_BYTES = 1024


class Keyboard:
    """Takes keys as they are pressed, unseen; the terminal is afterwards as it was.

    Where stdin is no terminal, or another program's turn, no key is ever pressed. Ctrl-C stays
    what it is. Ctrl-Z does nothing: a shell would be left with half a view.
    """

    def __init__(self) -> None:
        self._handle: int | None = None
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        try:
            handle = sys.stdin.fileno()
            is_ours = os.isatty(handle) and os.tcgetpgrp(handle) == os.getpgrp()
        except (AttributeError, OSError, ValueError):  # closed, or none at all
            return self
        if is_ours:
            self._before = termios.tcgetattr(handle)
            self._handle = handle
            tty.setcbreak(handle)
            now = termios.tcgetattr(handle)
            now[_CONTROLS][termios.VSUSP] = b"\0"
            termios.tcsetattr(handle, termios.TCSADRAIN, now)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            with cleaning():
                # What was typed meanwhile was not meant for the shell.
                termios.tcsetattr(self._handle, termios.TCSAFLUSH, self._before)
            self._handle = None

    def pressed(self, timeout_s: float) -> str:
        """Wait for keys; return them, empty when the time is up."""
        if self._handle is None:
            time.sleep(timeout_s)
            return ""
        ready, _, _ = select.select([self._handle], [], [], timeout_s)
        if not ready:
            return ""
        keys = os.read(self._handle, _PIECE_BYTES).decode("latin-1")
        if not keys:  # the terminal is gone
            self._handle = None
        return keys
