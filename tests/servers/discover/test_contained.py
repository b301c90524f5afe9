"""What goes wrong with one server is one sentence of that server's, whatever it is."""

import logging
import re
import signal

import pytest
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.report.shared.message import text
from httpdyno.servers.discover.contained import bounded, contained

NAME = "nginx (pid 7)"


def raising(error):
    def look():
        raise error

    return look


def endless():
    while True:
        # What reads a configuration tries many things, and takes this for none of its own errors.
        try:
            re.match(r"(a|b|ab)*c", "ab" * 28)
        except Exception as error:
            raise AssertionError from error


def too_deep():
    return too_deep()


@each_row(
    ("look", "words"),
    [
        (raising(AdapterError("`x` line 3:\n no end")), "`x` line 3: no end"),
        (raising(KeyError("a")), "KeyError: 'a'"),
        (raising(OSError(36, "File name too long")), "OSError: file name too long"),
        (raising(ValueError()), "ValueError"),
        (too_deep, "RecursionError: maximum recursion depth exceeded"),
        (endless, "reading it took more than 0.05 s of CPU time, expected milliseconds"),
    ],
)
def test_an_error_of_one_server_is_its_line(look, words):
    found = contained(look, NAME, patience_s=0.05)
    assert text(found) == f"{NAME}: cannot be read: {words}"


def test_what_can_be_read_is_what_comes_of_it():
    before = signal.getsignal(signal.SIGPROF)
    assert contained(lambda: 3, NAME) == 3
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    assert signal.getsignal(signal.SIGPROF) is before


def test_what_nobody_foresaw_is_logged_with_where_it_came_from(caplog):
    with caplog.at_level(logging.INFO):
        contained(raising(KeyError("a")), NAME)
    assert "Traceback" in caplog.text


def test_one_that_ends_it_is_let_through():
    with pytest.raises(KeyboardInterrupt):
        contained(raising(KeyboardInterrupt), NAME)
    with bounded(1.0):
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
