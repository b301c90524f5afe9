"""Workers that read: held by kept connections, by slow clients, or it cannot be told."""

from msgspec import structs
from tests.advice.bottleneck_cases import STARVED
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.model import QueueSeen
from httpdyno.report.shared.message import text

HELD = structs.replace(STARVED, doing={"client_read": 4.0}, clients=12.0)


QUEUED = (QueueSeen(address="127.0.0.1:80", backlog=100, mean=12.0, most=12),)


@each_row(
    ("changes", "limit"),
    [
        # Four are kept and have no request; twelve wait in the queue.
        ({"connections": {"established": 16.0}}, "keep_alive"),
        ({"queues": QUEUED}, "keep_alive"),
        # Each of four is sending a large body, with KeepAlive off as with it.
        ({"connections": {"established": 16.0}, "clients": 16.0}, "unknown"),
        ({"queues": QUEUED, "clients": 16.0}, "unknown"),
        # Answered, and closed by the server, which reads until the client closes too.
        ({"connections": {"established": 12.0, "fin-wait-2": 4.0}}, "unknown"),
        ({"connections": {"established": 12.0, "fin-wait-1": 4.0}, "clients": 16.0}, "unknown"),
    ],
)
def test_workers_that_read_are_held_by_kept_connections_only_where_so_many_have_no_request(
    changes, limit
):
    found = bottleneck(structs.replace(HELD, **changes))
    assert found.limit == limit
    is_closing = "fin-wait" in str(changes)
    assert ("(4.0 connections are closing)" in text(found.reason)) is is_closing


CLOSED = {"established": 12.0, "fin-wait-1": 4.0}


@each_row(
    ("changes", "limit"),
    [
        ({"connections": CLOSED}, "slow_clients"),
        # One of four may be at another: at one that is accepted, or at one whose client has all.
        ({"connections": CLOSED | {"established": 13.0}}, "slow_clients"),
        ({"connections": CLOSED | {"fin-wait-2": 2.0}}, "unknown"),
        ({"connections": CLOSED | {"established": 14.0}}, "unknown"),
        # Two write, on connections that are open, and two have written.
        (
            {
                "connections": {"established": 14.0, "fin-wait-1": 2.0},
                "doing": {"client_write": 2.0, "client_read": 2.0},
            },
            "slow_clients",
        ),
    ],
)
def test_who_lingers_over_a_close_is_held_by_a_client_that_has_not_taken_its_answer(changes, limit):
    held = structs.replace(HELD, queues=QUEUED, clients=16.0)
    found = bottleneck(structs.replace(held, **changes))
    assert found.limit == limit
    if limit == "slow_clients":
        n = found.evidence["closing_workers"]
        assert f"({n:.1f} of them are closing the connection)" in text(found.reason)


LOOP = structs.replace(
    STARVED,
    workers=11.0,
    doing={"sleep": 0.9, "idle": 10.0, "running": 0.1},
    unread=15.0,
    loops_asleep=0.9,
)
"""One thread that reads requests and sleeps meanwhile; ten others have nothing to do."""


@each_row(
    ("changes", "limit"),
    [
        ({}, "too_few_workers"),
        # Whatever others use of the cores: who sleeps wants none.
        ({"host_busy": 2.0}, "too_few_workers"),
        ({"doing": {"idle": 10.9, "running": 0.1}, "unclear": 3.0}, "too_few_workers"),
        # It waits for any event: a body may be left unread for who is behind it.
        ({"doing": {"idle": 10.9, "running": 0.1}, "loops_asleep": 0.0}, "unknown"),
        ({"unread": 7.0}, "unknown"),
        ({"doing": {"sleep": 0.6, "running": 0.4, "idle": 10.0}, "loops_asleep": 0.6}, "unknown"),
        ({"doing": {"sleep": 0.9, "backend": 0.3, "idle": 9.8}}, "unknown"),
    ],
)
def test_who_sleeps_while_requests_lie_unread_is_too_few_however_many_threads_are_idle(
    changes, limit
):
    found = bottleneck(structs.replace(LOOP, **changes))
    assert found.limit == limit
    assert ("15 of 16 requests under way lay unread" in text(found.reason)) is (limit != "unknown")
