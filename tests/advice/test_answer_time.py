"""What an answer takes of a worker and at the client, where that can be seen."""

import pytest
from msgspec import structs
from tests.advice.bottleneck_cases import LOOKED_AT, STARVED
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.model import QueueSeen
from httpdyno.report.shared.bottleneck import answer_split


def time_of(**changes):
    return bottleneck(structs.replace(STARVED, **changes)).answer_time


def test_an_answer_has_its_time_at_a_worker_and_at_the_client():
    time = time_of()
    assert time is not None
    assert (time.worker_s, time.client_s) == (0.01, 0.04)
    assert sum(time.split.values()) == pytest.approx(time.worker_s)


def test_a_worker_that_waits_for_a_silent_client_is_at_no_request():
    time = time_of(doing={"client_read": 3.0, "backend": 1.0})
    assert time is not None
    assert (time.worker_s, time.client_s) == (0.0025, 0.04)


def test_an_answers_time_at_its_worker_is_divided_where_enough_was_seen():
    doing = {"client_read": 1.0, "backend": 2.25, "running": 0.75}
    time = time_of(doing=doing, n_samples=10)
    assert time is not None
    assert time.split == pytest.approx(
        {"backend": 0.75 * time.worker_s, "running": 0.25 * time.worker_s}
    )
    told = "at the worker it is waiting for a backend 75 %, on a CPU or ready for one 25 %"
    assert answer_split(time) == told
    assert answer_split(time_of(doing={"running": 4.0}, clients=4.0)).endswith(
        "it is on a CPU or ready for one"
    )
    few = time_of(doing=doing, n_samples=9)
    assert few is not None
    assert few.split == {}
    assert answer_split(few) == answer_split(None) == ""


@each_row(
    "changes",
    [
        # An event loop that runs, with all connections accepted; and one with time to spare.
        {"doing": {"running": 4.0}, "connections": {"established": 16.0}},
        {"doing": {"running": 4.0}},
        {"doing": {"running": 1.0, "idle": 3.0}},
        # A proxy and what is behind it are both at a request, so are CGI and its parent.
        {"clients": 2.0},
        {"births": 400},
        {"doing": {"client_read": 4.0}},
    ],
)
def test_where_requests_and_workers_are_not_one_to_one_nothing_is_told(changes):
    assert time_of(**changes) is None


@pytest.mark.parametrize(
    "changes",
    [
        # As many are accepted as there are workers: the others wait in the queue.
        {
            "connections": {"established": 16.0},
            "queues": (QueueSeen(address="127.0.0.1:1", backlog=100, mean=12.0, most=12),),
        },
        {"clients": 4.0},
    ],
)
def test_a_worker_that_only_runs_is_told_of_where_it_must_have_one_request(changes):
    assert time_of(doing={"running": 4.0}, **changes) is not None


@each_row("kept", LOOKED_AT, ids=[each.name for each in LOOKED_AT])
def test_no_answer_of_a_known_server_takes_longer_than_its_client_saw(kept):
    time = bottleneck(kept.look).answer_time
    has_one_each = kept.name in {
        *("cpu", "too_few_workers", "backend", "slow_clients", "disk"),
        *("memory", "lock", "gunicorn sync flat out, 11 users"),
    }
    assert (time is not None) == has_one_each
    assert time is None or 0 < time.worker_s <= time.client_s
