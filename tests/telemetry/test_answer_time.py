"""How long answers hold workers, by what made-up status pages say."""

from collections.abc import Iterable

import pytest
from tests.rows import each_row

from httpdyno.telemetry.status import APACHE, GUNICORN, NGINX, Status
from httpdyno.telemetry.watched import StatusTally, tallied


def page(n_requests: int | None, server: str = APACHE, **states: int) -> Status:
    words = {"W": "W answering", "L": "L logging", "K": "K keep-alive", "writing": "writing"}
    return Status(
        server=server,
        of="workers",
        states={words[name]: n for name, n in states.items()},
        answering="writing" if server == NGINX else "W answering",
        n_requests=n_requests,
        uptime_s=None,
    )


def after(pages: Iterable[Status | None]) -> StatusTally | None:
    tally = None
    for at_s, each in enumerate(pages):
        tally = tallied(tally, each, float(at_s))
    return tally


def test_it_is_workers_at_answers_over_answers_a_second():
    # Besides the page itself 3 at answers in each look, 100 answers a second.
    tally = after(page(101 * k, W=3, L=1, K=5) for k in range(5))
    assert tally is not None
    took = tally.answer_time
    assert took is not None
    assert took.seconds == pytest.approx(0.03)
    assert (took.n_looks, took.n_seen) == (5, 15)


def test_of_nginx_it_is_connections_that_are_written():
    tally = after(page(11 * k, NGINX, writing=6) for k in range(3))
    assert tally is not None
    assert tally.answer_time is not None
    assert tally.answer_time.seconds == pytest.approx(0.5)


def test_a_look_without_an_answer_is_left_out():
    tally = after([page(0, W=6), None, page(201, W=6)])
    assert tally is not None
    assert tally.answer_time is not None
    assert tally.answer_time.seconds == pytest.approx(0.05)


def test_a_server_that_began_anew_is_counted_anew():
    tally = after([page(9000, W=60), page(9100, W=60), page(5, W=6), page(106, W=6)])
    assert tally is not None
    assert tally.answer_time is not None
    assert (tally.answer_time.n_looks, tally.answer_time.n_seen) == (2, 10)
    assert tally.answer_time.seconds == pytest.approx(0.05)


@each_row(
    "pages",
    [
        [page(0, W=60)],
        [page(0, W=3), page(101, W=3)],
        [page(None, W=60), page(None, W=60)],
        [page(7, W=60), page(8, W=60)],
    ],
    ids=["one look", "few seen", "not counted", "no answers"],
)
def test_of_too_little_nothing_is_said(pages):
    tally = after(pages)
    assert tally is not None
    assert tally.answer_time is None


def test_who_tells_it_itself_is_not_reckoned():
    assert after([page(7, GUNICORN), page(9, GUNICORN)]) is None
