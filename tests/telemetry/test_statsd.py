"""What gunicorn sends as statsd, as it writes it, and packets of others."""

import pytest
from tests.rows import each_row

from httpdyno.reason import because
from httpdyno.telemetry.status import StatsdTotals, requests_per_s, statsd_status

ANSWER = (b"gunicorn.request.duration:20.5|ms", b"gunicorn.requests:1|c|@1.0")


def told(*packets: bytes) -> StatsdTotals:
    found = StatsdTotals()
    for packet in packets:
        found.add(packet)
    return found


@each_row(
    ("packets", "n_requests", "answer_s", "remarks"),
    [
        ((), 0, None, ()),
        (ANSWER, 1, 0.0205, ()),
        ((*ANSWER, b"gunicorn.request.duration:0.5|ms"), 1, 0.0105, ()),
        ((b"shop.eu.gunicorn.requests:1|c|@1.0|#a:b,c",) * 3, 3, None, ()),
        ((b"gunicorn.requests:2|c|@1.0\ngunicorn.request.duration:4|ms",), 2, 0.004, ()),
        (
            (b"gunicorn.request.status.503:1|c|@1.0", b"gunicorn.request.status.200:1|c|@1.0"),
            0,
            None,
            (because("telemetry.answers_of_class", digit="5", n=1),),
        ),
        (
            (b"gunicorn.log.exception:1|c|@1.0",),
            0,
            None,
            (because("telemetry.log_lines", level="exception", n=1),),
        ),
        ((b"gunicorn.workers:4|g", b"gunicorn.backlog:3|h"), 0, None, ()),
        ((b"ungunicorn.requests:1|c", b"shop.requests:1|c", b"gunicorn.requests:x|c"), 0, None, ()),
        (
            (b"gunicorn.requests:-1|c", b"gunicorn.requests:" + b"9" * 99 + b"|c", b"\xff"),
            0,
            None,
            (),
        ),
    ],
)
def test_packets_come_to_a_status(packets, n_requests, answer_s, remarks):
    status = statsd_status(StatsdTotals(), told(*packets), 0)
    assert (status.n_requests, status.remarks) == (n_requests, remarks)
    assert status.answer_s == (answer_s and pytest.approx(answer_s))


def test_an_answers_time_is_of_those_since_the_last_status_and_no_request_is_its_own():
    before = told(*ANSWER)
    now = before + told(b"gunicorn.request.duration:100|ms", b"gunicorn.requests:1|c|@1.0")
    first, second = statsd_status(StatsdTotals(), before, 0), statsd_status(before, now, 7)
    assert second.answer_s == pytest.approx(0.1)
    assert requests_per_s(first, second, 2.0) == pytest.approx(0.5)
    assert second.remarks == (because("telemetry.packets_lost", n=7),)
