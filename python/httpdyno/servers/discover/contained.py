"""What goes wrong with one server stays with it: others are looked at all the same.

Any user may run what is called like a server, with a configuration made for whoever looks at it.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

from httpdyno.errors import AdapterError, HttpdynoError
from httpdyno.host.foreign_text import reason
from httpdyno.reason import Reason, because

_T = TypeVar("_T")
_LOG = logging.getLogger(__name__)
PATIENCE_S = 10.0
"""CPU time for one server; what is read well takes milliseconds."""


@dataclass(kw_only=True, slots=True)
class Allowance:
    """CPU time for all that one user's processes have made for whoever looks at them."""

    user: str
    left_s: float = PATIENCE_S
    n_passed_over: int = 0
    """Processes of that user that were not looked at any more."""


class _OverTimeError(BaseException):
    """It comes amid whatever is done, which must not take it for an error of its own."""


def contained(
    look: Callable[[], _T],
    name: str,
    *,
    patience_s: float = PATIENCE_S,
    allowance: Allowance | None = None,
) -> _T | Reason:
    """Return what a look at one server gives, or why it gives nothing.

    Args:
        look: May raise whatever it likes.
        name: Of the server, such as `nginx (pid 1234)`.
        patience_s: CPU time after which it is given up.
        allowance: Of its user, which the time is taken off; None where there is none.
    """
    if allowance and allowance.left_s <= 0:
        return because("discover.not_looked_at", name=name, user=allowance.user)
    patience_s = min(patience_s, allowance.left_s) if allowance else patience_s
    began_s = time.process_time()
    try:
        with foreseen(name), bounded(patience_s):
            return look()
    except HttpdynoError as error:
        return because("discover.cannot_be_read", name=name, why=error.reason)
    finally:
        if allowance:
            allowance.left_s -= time.process_time() - began_s


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
        _LOG.info("not read: %s", name, exc_info=True)
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
