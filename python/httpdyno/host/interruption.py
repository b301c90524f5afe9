"""Ctrl-C and its like: the first asks for an end, and what is being cleaned up then stays whole.

A second and a third are what people do when an end takes long. Raised as exceptions they would
break off the very thing they wait for, and leave servers behind; so they are only counted, and
whoever pressed is told. Every wait of a clean-up has an end of its own.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks for an end: Ctrl-C, `kill`, and a terminal that is gone."""
_INTERRUPTED = 130
_WORDS = b"cleaning up; that takes some seconds and is not broken off\n"


class _State:
    """Of this process; signals are its own too."""

    depth = 0
    is_due = False
    """Whether one came during a clean-up that nobody had asked to end before."""
    is_ending = False


def end_at_once() -> None:
    """Let Ctrl-C end this process while it loads, when nothing of it is to be cleaned up yet."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _on_early_signal)


def take_signals() -> None:
    """Let the first signal that asks for an end raise KeyboardInterrupt, and later ones wait.

    What was ignored when the process began, as under `nohup`, stays ignored.
    """
    for number in ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)


def let_no_signal_change_the_end() -> None:
    """Hold signals back for good: the interpreter's own end would let them kill it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)


@contextmanager
def cleaning() -> Iterator[None]:
    """Do not break off what is inside; an end that is asked for meanwhile comes after it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
    # Not in place of an error of the clean-up itself: that is worth more.
    if _State.is_due and not _State.depth:
        _State.is_due = False
        _end()


def _on_early_signal(_number: int, _frame: FrameType | None) -> None:
    # An exception would come out of whatever module is being loaded, as that module's error.
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    if not (_State.depth or _State.is_ending):
        _end()
    _State.is_due |= not _State.is_ending
    with suppress(OSError):
        os.write(2, _WORDS)


def _end() -> None:
    _State.is_ending = True
    raise KeyboardInterrupt


@contextmanager
def interruptions() -> Iterator[list[int]]:
    """Collect the signals that ask for an end, so that none falls between two statements.

    Raised as an exception, one that comes while the engine starts would lose the run's handle. What
    is ignored, as under `nohup`, stays ignored.
    """
    seen: list[int] = []
    heard = [each for each in ENDS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda each, _: seen.append(each)) for number in heard}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
