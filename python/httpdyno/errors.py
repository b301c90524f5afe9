"""Every error that httpdyno raises on purpose.

HttpdynoError                                                 exit code
├── UsageError            the request makes no sense          2
├── StudyFileError        the study file is wrong             2
├── TargetError           the server cannot be reached        3
├── AdapterError          the server cannot be configured     3
│   └── RevertError       it was not put back as it was found 4
├── NotRunError           a program was not to be run   3
├── EngineError           the load engine cannot run          3
├── StoreError            the study database cannot be used   3
└── OutputError           what was found cannot be shown      3

What an experiment is there to find out (a refused configuration, a crash or a timeout under
load) is the outcome of a trial, never an exception.
"""

from collections.abc import Sequence
from typing import TypedDict

from httpdyno.reason import Reason, because


class Amid(TypedDict):
    """All arguments of an error; `str` of another one has its message only, and no cause."""

    message: str
    hint: str
    why: tuple[Reason, ...]
    hints: tuple[Reason, ...]


class HttpdynoError(Exception):
    """Base of them all. The message says what happened, the hint what to do about it."""

    exit_code = 2

    def __init__(
        self,
        message: str = "",
        *,
        hint: str = "",
        why: Sequence[Reason] = (),
        hints: Sequence[Reason] = (),
    ) -> None:
        super().__init__(message or "; ".join(map(str, why)))
        self.message = message
        """What happened; empty where the causes say it."""
        self.hint = hint
        self.hints = tuple(hints)
        """In place of the hint, what to do about causes that are reasons."""
        self.why = tuple(why)
        """What else is known of its causes: shown after the message, or in the place of none."""

    @property
    def reason(self) -> Reason:
        """What it says, with its causes, where it is not raised any further."""
        if not self.why:
            return because("errors.says", message=self.message)
        return because(
            "errors.says_why" if self.message else "errors.why_alone",
            message=self.message,
            why=self.why,
        )

    def within(self, what: str, *, hint: str = "") -> "Amid":
        """Return what an error says that is raised in this one's place.

        Args:
            what: What this one is a part of.
            hint: What to do about it, where this one does not say.
        """
        message = f"{what}: {self.message}" if self.message else what
        known = self.hint or ("" if self.hints else hint)
        return Amid(message=message, hint=known, why=self.why, hints=self.hints)

    @property
    def reason_and_hint(self) -> Reason:
        """The same, with what to do about it where that is known."""
        if not self.hint:
            return self.reason
        return because("errors.with_hint", error=self.reason, hint=self.hint)


class UsageError(HttpdynoError):
    """The request makes no sense."""


class StudyFileError(HttpdynoError):
    """The study file is wrong."""


class TargetError(HttpdynoError):
    """The server cannot be reached."""

    exit_code = 3


class AdapterError(HttpdynoError):
    """The server is not installed, or cannot be configured at all."""

    exit_code = 3


class RevertError(AdapterError):
    """Something was not put back as it was found."""

    exit_code = 4


class NotRunError(HttpdynoError):
    """A program was to be run while a study is only read."""

    exit_code = 3


class EngineError(HttpdynoError):
    """The load engine cannot run."""

    exit_code = 3


class StoreError(HttpdynoError):
    """The study database cannot be used."""

    exit_code = 3


class OutputError(HttpdynoError):
    """What was found cannot be shown: stdout is closed, or the disk behind it full."""

    exit_code = 3
