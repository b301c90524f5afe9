"""What goes wrong with one server stays with it: others are looked at all the same.

Any user may run what is called like a server, with a configuration made for whoever looks at it.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from httpdyno.errors import AdapterError, HttpdynoError
from httpdyno.foreign_text import reason

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)
PATIENCE_S = 10.0
"""CPU time for one server; what is read well takes milliseconds."""


class _OverTimeError(BaseException):
    """It comes amid whatever is done, which must not take it for an error of its own."""


def contained(look: Callable[[], _T], name: str, *, patience_s: float = PATIENCE_S) -> _T | str:
    """Return what a look at one server gives, or in one sentence why it gives nothing.

    Args:
        look: May raise whatever it likes.
        name: Of the server, such as `nginx (pid 1234)`.
        patience_s: CPU time after which it is given up.
    """
    try:
        with foreseen(name), bounded(patience_s):
            return look()
    except HttpdynoError as error:
        return f"{name}: cannot be read: {' '.join(str(error).split())}"


@contextmanager
def foreseen(name: str) -> Iterator[None]:
    """Let nothing out of what is inside but errors that say what to do.

    Raises:
        HttpdynoError: As inside; in place of anything else an AdapterError, which is logged.
    """
    try:
        yield
    except HttpdynoError:
        raise
    except Exception as error:  # nobody foresaw it, and the others are to be seen
        _LOG.info("%s cannot be read", name, exc_info=True)
        why = reason(error) if isinstance(error, OSError) else str(error)
        kind = type(error).__name__
        raise AdapterError(f"{kind}: {why}" if why else kind, hint="`-v` says where.") from error


@contextmanager
def bounded(patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Let what is inside take so much CPU time and no more.

    Raises:
        AdapterError: It took more.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise _OverTimeError

    before = signal.signal(signal.SIGPROF, give_up)
    outer_s, _ = signal.setitimer(signal.ITIMER_PROF, patience_s)
    try:
        yield
    except _OverTimeError:
        raise AdapterError(
            f"reading it took more than {patience_s:g} s of CPU time, expected milliseconds",
            hint="Let it include the files that it needs, and no folders of others.",
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, outer_s)
        signal.signal(signal.SIGPROF, before)
